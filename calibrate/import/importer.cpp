#include "calibrate/import/importer.hpp"

#include "core/error.hpp"
#include "core/is_one_of.hpp"
#include "core/measurements/stated_format.hpp"
#include "core/nearest.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace sextant {
namespace {

std::string number(double value) { return fmt::format("{:.7g}", value); }

std::string cache_word(CacheState state) {
    switch (state) {
        case CacheState::hot: return "hot";
        case CacheState::cold: return "cold";
        case CacheState::rotated: return "rotated";
    }
    return "";
}

void check_sizes(std::initializer_list<std::int64_t> sizes) {
    for (std::int64_t const size : sizes)
        if (size < 1) throw RowSkip("a size is below 1");
}

void check_amount(double amount, char const* what) {
    if (!std::isfinite(amount) || amount <= 0) throw RowSkip(fmt::format("{} is not finite and above zero", what));
}

void check_format(std::string const& dtype) {
    if (dtype.empty()) throw RowSkip("its number format is not stated");
}

}  // namespace

void ImportedTables::add(ImportedProduct row) {
    check_format(row.dtype);
    check_sizes({row.m, row.n, row.k, row.batch});
    check_amount(row.microseconds, "its time");
    products.push_back(std::move(row));
}

void ImportedTables::add(ImportedAttention row) {
    check_format(row.dtype);
    check_format(row.cache_dtype);
    check_sizes({row.batch, row.length, row.heads, row.kv_heads, row.head_dim});
    check_amount(row.microseconds, "its time");
    attention.push_back(std::move(row));
}

void ImportedTables::add(ImportedMemoryKernel row) {
    check_amount(std::round(row.bytes), "what it moves");  // tables have whole bytes
    check_amount(row.microseconds, "its time");
    memory.push_back(std::move(row));
}

void ImportedTables::add(ImportedCollective row) {
    check_sizes({row.nodes, row.per_node});
    if (row.nodes == 1 && row.per_node == 1) throw RowSkip("over one rank: nothing is communicated");
    check_amount(std::round(row.bytes), "its size");
    check_amount(row.microseconds, "its time");
    if (row.in_place) check_amount(*row.in_place, "its time in place");
    collectives.push_back(std::move(row));
}

void ImportedTables::add_step(CellRow row, ImportRequest const& request) {
    for (auto const& [column, value] : request.cells)
        put(row, column, value);
    need_cells(row, {"model", "gpu", "num_gpus", "seq_len", "global_batch_seqs"});
    if (row.contains("layers")) need_cells(row, {"vocab"});  // else the model's name says all sizes
    steps.push_back(std::move(row));
}

void ImportedTables::add_load(CellRow row, ImportRequest const& request) {
    for (auto const& [column, value] : request.cells)
        put(row, column, value);
    need_cells(row, {"model", "gpu", "engine", row.contains("tp") ? "tp" : "num_gpus"});
    loads.push_back(std::move(row));
}

void ImportedTables::keep_shortest() {
    std::map<std::string, std::string> runs;
    std::map<std::string, std::size_t> places;
    std::vector<ImportedCollective> kept;
    for (ImportedCollective& row : collectives) {
        if (!row.group.empty()) {
            std::string const run = fmt::format("{}|{}|{}|{}|{}|{}", row.collective, row.group, row.device, row.nodes,
                                                row.per_node, row.library_version);
            row.run = runs.try_emplace(run, row.run).first->second;
            auto const [place, is_new] = places.try_emplace(fmt::format("{}|{}", run, row.bytes), kept.size());
            if (!is_new) {
                double& shortest = kept[place->second].microseconds;
                shortest = std::min(shortest, row.microseconds);
                continue;
            }
        }
        kept.push_back(std::move(row));
    }
    collectives = std::move(kept);
}

void ImportedTables::set_links(CellRow const& cells) {
    auto const intra = cells.find("intra_link");
    auto const inter = cells.find("inter_link");
    for (ImportedCollective& row : collectives) {
        if (intra != cells.end())
            row.intra_link = row.intra_link.empty() ? intra->second : intra->second + ", " + row.intra_link;
        if (inter != cells.end()) row.inter_link = inter->second;
    }
}

std::string products_csv(ImportedTables const& tables) {
    if (tables.products.empty()) return "";
    // A column beside the usual ones only where a row needs it.
    bool const with_quantised = std::any_of(tables.products.begin(), tables.products.end(),
                                            [](ImportedProduct const& p) { return quantises(p.dtype); });
    std::vector<std::string> header{"source_ref", "device", "kernel_source", "dtype",  "m",
                                    "n",          "k",      "latency_us",    "tflops", "cache"};
    bool const with_batch = std::any_of(tables.products.begin(), tables.products.end(),
                                        [](ImportedProduct const& p) { return p.batch > 1; });
    if (with_quantised) header.emplace_back("quantised");
    if (with_batch) header.emplace_back("batch");
    bool const with_results = std::any_of(tables.products.begin(), tables.products.end(),
                                          [](ImportedProduct const& p) { return p.result_bytes.has_value(); });
    if (with_results) header.emplace_back("result_bytes");
    std::string out = csv_line(header);
    for (ImportedProduct const& p : tables.products) {
        double const work = 2.0 * static_cast<double>(p.batch) * static_cast<double>(p.m) * static_cast<double>(p.n) *
                            static_cast<double>(p.k);
        std::vector<std::string> cells{p.source,
                                       p.device,
                                       p.kernel,
                                       p.dtype,
                                       fmt::to_string(p.m),
                                       fmt::to_string(p.n),
                                       fmt::to_string(p.k),
                                       number(p.microseconds),
                                       fmt::format("{:.4g}", 1e-6 * work / p.microseconds),
                                       cache_word(p.cache)};
        if (with_quantised) cells.emplace_back(!quantises(p.dtype) ? "" : p.quantised_before ? "before" : "with");
        if (with_batch) cells.emplace_back(fmt::to_string(p.batch));
        if (with_results) cells.emplace_back(p.result_bytes ? fmt::to_string(*p.result_bytes) : "");
        out += csv_line(cells);
    }
    return out;
}

std::string attention_csv(ImportedTables const& tables) {
    if (tables.attention.empty()) return "";
    bool const of_training = std::any_of(tables.attention.begin(), tables.attention.end(),
                                         [](ImportedAttention const& a) { return !a.library.empty(); });
    std::vector<std::string> header{"source_ref", "device",  "kind",      "attn_dtype",   "kv_dtype", "batch",
                                    "isl",        "past_kv", "num_heads", "num_kv_heads", "head_dim", "latency_us"};
    if (of_training) header.insert(header.end(), {"library", "pass"});
    std::string out = csv_line(header);
    for (ImportedAttention const& a : tables.attention) {
        std::vector<std::string> cells{a.source,
                                       a.device,
                                       a.kind,
                                       a.dtype,
                                       a.cache_dtype,
                                       fmt::to_string(a.batch),
                                       fmt::to_string(a.length),
                                       fmt::to_string(a.past),
                                       fmt::to_string(a.heads),
                                       fmt::to_string(a.kv_heads),
                                       fmt::to_string(a.head_dim),
                                       number(a.microseconds)};
        if (of_training) cells.insert(cells.end(), {a.library, a.library.empty() ? "" : a.backward ? "bwd" : "fwd"});
        out += csv_line(cells);
    }
    return out;
}

std::string memory_csv(ImportedTables const& tables) {
    if (tables.memory.empty()) return "";
    std::string out = "source_ref,device,kernel,dtype,bytes_moved,cache,latency_us\n";
    for (ImportedMemoryKernel const& m : tables.memory)
        out += csv_line({m.source, m.device, m.kernel, m.dtype, fmt::format("{:.0f}", m.bytes), m.cold ? "cold" : "hot",
                         number(m.microseconds)});
    return out;
}

std::string collectives_csv(ImportedTables const& tables) {
    if (tables.collectives.empty()) return "";
    std::string out =
        "run_id,source_ref,gpu,nodes,gpus_per_node,nranks,intra_link,inter_link,nccl_version,collective,size_bytes,"
        "time_us_oop,algbw_gbs_oop,busbw_gbs_oop,time_us_ip,algbw_gbs_ip,busbw_gbs_ip\n";
    for (ImportedCollective const& c : tables.collectives)
        out += csv_line({c.run, c.source, c.device, fmt::to_string(c.nodes), fmt::to_string(c.per_node),
                         fmt::to_string(c.nodes * c.per_node), c.intra_link, c.inter_link, c.library_version,
                         c.collective, fmt::format("{:.0f}", c.bytes), number(c.microseconds), "", "",
                         c.in_place ? number(*c.in_place) : "", "", ""});
    return out;
}

std::string training_csv(ImportedTables const& tables) { return cells_csv(tables.steps, training_step_columns()); }

std::string serving_csv(ImportedTables const& tables) { return cells_csv(tables.loads, served_load_columns()); }

double needed_number(RowCells const& row, std::string_view column) {
    auto const value = row.number(column);
    if (!value) throw RowSkip(fmt::format("{} is not stated", column));
    if (*value <= 0) throw RowSkip(fmt::format("{} is zero", column));
    return *value;
}

std::int64_t needed_count(RowCells const& row, std::string_view column) { return need(row.count(column), column); }

std::string device_of(ImportRequest const& request, std::string const& of_row) {
    if (!request.device.empty()) return request.device;
    if (!of_row.empty()) return of_row;
    if (request.device_where_unstated.empty()) throw RowSkip("does not say its device (--device NAME)");
    return request.device_where_unstated;
}

std::string source_of(ImportRequest const& request, std::string const& of_row) {
    return request.source.empty() ? of_row : request.source;
}

void put_source(CellRow& row, ImportRequest const& request, std::string_view wrote, std::string const& device) {
    put(row, "source_id", "log " + request.name.substr(request.name.rfind('/') + 1));
    put(row, "source_ref", source_of(request, fmt::format("{} {}", wrote, request.name)));
    put(row, "gpu", device_of(request, device));
}

bool header_has(std::string_view text, std::initializer_list<std::string_view> columns) {
    constexpr std::size_t longest_header = std::size_t{64} << 10;
    try {
        auto const head = parse_csv_records(text.substr(0, std::min(text.find('\n'), longest_header)), "");
        return !head.empty() && std::all_of(columns.begin(), columns.end(), [&](std::string_view column) {
            auto const& names = head.front().cells;
            return std::any_of(names.begin(), names.end(),
                               [&](std::string const& name) { return lower_case(trimmed(name)) == column; });
        });
    } catch (InputError const&) {  // no CSV
        return false;
    }
}

bool quantises(std::string_view dtype) {
    GemmFormat const* const format = stated_format(dtype);
    return format != nullptr && format->quantises;
}

std::string table_dtype(std::string_view name) {
    GemmFormat const* const format = stated_format(name);
    return format != nullptr ? std::string(format->alias) : lower_case(name);
}

double element_bytes(std::string_view dtype) {
    std::string const name = table_dtype(dtype);
    if (is_one_of(std::array{"float32", "int", "int32", "uint32"}, name)) return 4;
    if (is_one_of(std::array{"bfloat16", "float16", "short"}, name)) return 2;
    if (is_one_of(std::array{"fp8", "float8_e5m2", "byte", "char", "bool", "int8", "uint8", "sq"}, name)) return 1;
    if (is_one_of(std::array{"double", "long", "int64", "uint64"}, name)) return 8;
    throw RowSkip(fmt::format("a collective of unknown elements '{}'", name.substr(0, 40)));
}

}  // namespace sextant
