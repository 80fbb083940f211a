#include "calibrate/import/cell_row.hpp"

#include "core/csv.hpp"
#include "core/error.hpp"
#include "core/is_one_of.hpp"
#include "core/measurements/row_cells.hpp"
#include "core/nearest.hpp"
#include "core/text.hpp"
#include "cost_models/collective_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace sextant {
namespace {

constexpr std::array training_columns{std::string_view("source_id"),
                                      std::string_view("source_ref"),
                                      std::string_view("model"),
                                      std::string_view("arch"),
                                      std::string_view("layers"),
                                      std::string_view("hidden"),
                                      std::string_view("ffn_hidden"),
                                      std::string_view("heads"),
                                      std::string_view("kv_heads"),
                                      std::string_view("head_dim"),
                                      std::string_view("vocab"),
                                      std::string_view("gated_mlp"),
                                      std::string_view("tied_embed"),
                                      std::string_view("moe_experts"),
                                      std::string_view("moe_topk"),
                                      std::string_view("moe_ffn_hidden"),
                                      std::string_view("moe_shared"),
                                      std::string_view("seq_len"),
                                      std::string_view("gpu"),
                                      std::string_view("num_gpus"),
                                      std::string_view("gpus_per_node"),
                                      std::string_view("intra_node_link"),
                                      std::string_view("inter_node_link"),
                                      std::string_view("inter_node_bw_gbps_per_gpu"),
                                      std::string_view("framework"),
                                      std::string_view("precision"),
                                      std::string_view("dp"),
                                      std::string_view("tp"),
                                      std::string_view("pp"),
                                      std::string_view("cp"),
                                      std::string_view("ep"),
                                      std::string_view("vpp"),
                                      std::string_view("pp_schedule"),
                                      std::string_view("zero_stage"),
                                      std::string_view("sequence_parallel"),
                                      std::string_view("recompute"),
                                      std::string_view("micro_batch"),
                                      std::string_view("global_batch_seqs"),
                                      std::string_view("flash_attention"),
                                      std::string_view("iter_time_s"),
                                      std::string_view("tokens_per_s_per_gpu"),
                                      std::string_view("peak_mem_gb_per_gpu"),
                                      std::string_view("notes")};

constexpr std::array served_columns{std::string_view("source_id"),
                                    std::string_view("source_ref"),
                                    std::string_view("model"),
                                    std::string_view("gpu"),
                                    std::string_view("num_gpus"),
                                    std::string_view("tp"),
                                    std::string_view("pp"),
                                    std::string_view("ep"),
                                    std::string_view("dp"),
                                    std::string_view("engine"),
                                    std::string_view("engine_version"),
                                    std::string_view("weight_dtype"),
                                    std::string_view("kv_dtype"),
                                    std::string_view("input_len"),
                                    std::string_view("output_len"),
                                    std::string_view("concurrency_or_batch"),
                                    std::string_view("request_rate"),
                                    std::string_view("output_tokens_per_s"),
                                    std::string_view("total_tokens_per_s"),
                                    std::string_view("ttft_ms"),
                                    std::string_view("tpot_ms"),
                                    std::string_view("itl_ms"),
                                    std::string_view("e2e_latency_ms"),
                                    std::string_view("requests_per_s"),
                                    std::string_view("notes")};

constexpr std::array unsaid_columns{std::string_view("collective"), std::string_view("intra_link"),
                                    std::string_view("inter_link"), std::string_view("run_id")};

void check_collective(std::string const& name) {
    try {
        static_cast<void>(collective_kind_of(name));
    } catch (RowSkip const& skip) {
        throw InputError("--set: {}", skip.what());
    }
}

}  // namespace

std::span<std::string_view const> training_step_columns() { return training_columns; }
std::span<std::string_view const> served_load_columns() { return served_columns; }
std::span<std::string_view const> unsaid_collective_columns() { return unsaid_columns; }

std::string cells_csv(std::vector<CellRow> const& rows, std::span<std::string_view const> columns) {
    if (rows.empty()) return "";
    std::vector<std::string> header;
    for (std::string_view const column : columns)
        if (std::any_of(rows.begin(), rows.end(), [&](CellRow const& row) { return row.contains(column); }))
            header.emplace_back(column);
    std::string out = csv_line(header);
    for (CellRow const& row : rows) {
        std::vector<std::string> cells;
        for (std::string const& column : header) {
            auto const found = row.find(column);
            cells.push_back(found == row.end() ? "" : found->second);
        }
        out += csv_line(cells);
    }
    return out;
}

void put(CellRow& row, std::string_view column, std::string value) {
    if (!value.empty()) row.insert_or_assign(std::string(column), std::move(value));
}

std::optional<double> number_cell(CellRow const& row, std::string_view column) {
    auto const found = row.find(column);
    std::string problem;
    auto const value = found == row.end() ? std::nullopt : number_in(found->second, column, problem);
    return problem.empty() && value && *value > 0 ? value : std::nullopt;
}

CellRow cells_set(std::vector<std::string> const& settings) {
    CellRow out;
    for (std::string const& setting : settings) {
        std::size_t const sign = setting.find('=');
        std::string const column(trimmed(std::string_view(setting).substr(0, sign)));
        if (sign == std::string::npos || trimmed(std::string_view(setting).substr(sign + 1)).empty())
            throw InputError("--set: '{}' gives no value (COLUMN=VALUE, such as --set seq_len=8192)", setting);
        if (column == "gpu") throw InputError("--set: the accelerator of all rows is said by --device NAME");
        std::string const value(trimmed(std::string_view(setting).substr(sign + 1)));
        if (!is_one_of(training_columns, column) && !is_one_of(served_columns, column) &&
            !is_one_of(unsaid_columns, column)) {
            std::vector<std::string> known(training_columns.begin(), training_columns.end());
            known.insert(known.end(), served_columns.begin(), served_columns.end());
            known.insert(known.end(), unsaid_columns.begin(), unsaid_columns.end());
            throw InputError(
                "--set: no column '{}'{} (columns of training steps and of serving are in "
                "docs/validation.md; of collectives collective, intra_link, inter_link and run_id can be set)",
                column, did_you_mean(column, known));
        }
        if (column == "collective") check_collective(value);
        put(out, column, value);
    }
    return out;
}

double needed_cell(CellRow const& row, std::string_view column) {
    if (auto const value = number_cell(row, column)) return *value;
    throw RowSkip(fmt::format("the log does not say {} (give it: --set {}=VALUE)", column, column));
}

void need_cells(CellRow const& row, std::initializer_list<std::string_view> columns) {
    std::vector<std::string> missing, options;
    for (std::string_view const column : columns)
        if (!row.contains(column)) {
            missing.emplace_back(column);
            options.push_back(fmt::format("--set {}=VALUE", column));
        }
    if (missing.empty()) return;
    throw RowSkip(fmt::format("the log does not say {} (give {}: {})", join(missing),
                              missing.size() == 1 ? "it" : "them", join(options, " ")));
}

}  // namespace sextant
