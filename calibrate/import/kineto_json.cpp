// A trace of PyTorch's profiler (Kineto, Chrome trace JSON) taken with record_shapes=True. Kernels are joined to the
// operator that launched them by "External id"; the time of an operator is that of its kernels together, and of the
// same shape the median. Read are aten::mm, addmm, linear, _scaled_mm, _int_mm (products), flash attention and cuDNN's,
// forward and backward (of a training library, not of a serving engine), and NCCL kernels with their "Collective name".
// Kernels in a step find their operands in memory, so products count as cold.
#include "calibrate/import/importer.hpp"
#include "calibrate/import/kineto_attention.hpp"
#include "calibrate/import/kineto_collective.hpp"
#include "calibrate/import/kineto_product.hpp"
#include "calibrate/import/log_line.hpp"
#include "calibrate/import/told_text.hpp"
#include "core/error.hpp"
#include "core/is_one_of.hpp"
#include "core/json/foreign_fields.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <string_view>

namespace sextant {
namespace {

using Json = nlohmann::json;
using Dims = std::vector<std::int64_t>;

bool recognises(std::string_view text) {
    auto const begin = text.find_first_not_of(" \t\r\n");
    return begin != std::string_view::npos && (text[begin] == '{') &&
           text.find("\"traceEvents\"") != std::string_view::npos;
}

std::string text_in(Json const& object, char const* key) {
    if (!object.is_object()) return "";
    auto const found = object.find(key);
    if (found == object.end() || found->is_null()) return "";
    return found->is_string() ? found->get<std::string>() : found->dump();
}

/// Every list of sizes among an operator's inputs; a scalar or a list of tensors is an empty one.
std::vector<Dims> dims_of(Json const& arguments) {
    std::vector<Dims> out;
    auto const found = arguments.is_object() ? arguments.find("Input Dims") : arguments.end();
    if (!arguments.is_object() || found == arguments.end() || !found->is_array()) return out;
    for (Json const& tensor : *found) {
        Dims dims;
        bool const plain = tensor.is_array() && std::all_of(tensor.begin(), tensor.end(),
                                                            [](Json const& size) { return size.is_number_integer(); });
        if (plain) dims = tensor.get<Dims>();
        out.push_back(std::move(dims));
    }
    return out;
}

std::string item_in(Json const& arguments, char const* key, std::size_t index) {
    auto const found = arguments.is_object() ? arguments.find(key) : arguments.end();
    if (!arguments.is_object() || found == arguments.end() || !found->is_array() || found->size() <= index) return "";
    return (*found)[index].is_string() ? (*found)[index].get<std::string>() : (*found)[index].dump();
}

/// Products of which there is a model.
constexpr std::array products{"aten::mm", "aten::_scaled_mm", "aten::_int_mm", "aten::linear", "aten::addmm"};

/// Whether there is a model of the operator; the arguments of others are not kept.
bool is_modelled(std::string_view name) { return is_one_of(products, name) || attention_operator(name) != nullptr; }

/// Of an operator's arguments what rows are made of.
Json needed_of(Json& arguments) {
    Json out = Json::object();
    for (char const* key : {"Input Dims", "Input type", "Concrete Inputs"})
        if (auto const found = arguments.is_object() ? arguments.find(key) : arguments.end();
            arguments.is_object() && found != arguments.end())
            out[key] = std::move(*found);
    return out;
}

/// "[TP00] " of the process "[TP00] 1": SGLang writes the ranks of a merged trace so, whose ids repeat. Else empty.
std::string rank_in(std::string const& process) {
    auto const end = process.find("] ");
    return process.starts_with('[') && end != std::string::npos ? process.substr(0, end + 2) : "";
}

/// An operator as the trace has it.
struct Operator {
    std::string_view name, process;  ///< of the trace's names
    Json arguments;                  ///< null where there is no model of it
};

/// The kernels that one operator launched.
struct Launched {
    double microseconds = 0;
    std::size_t kernels = 0;
    bool in_tf32 = false;    ///< as a kernel's name says: the operands are float32
    std::string device;      ///< its number
    bool on_others = false;  ///< and kernels on another device
};

/// Rows of one shape and all their times.
template <class Row>
struct Repeated {
    Row row;
    std::vector<double> times;
};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values.size() % 2 == 1 ? values[values.size() / 2]
                                  : 0.5 * (values[values.size() / 2 - 1] + values[values.size() / 2]);
}

/// Takes one event of a trace after another and keeps of it what rows are made of, not its text: traces are large.
class Trace {
public:
    explicit Trace(ImportRequest const& request) : request_(request) {}

    void add_device(std::string const& number, std::string name) {
        if (devices_.empty()) first_device_ = name;
        devices_.insert_or_assign(number, std::move(name));
    }

    void set_library(std::string version) { library_version_ = std::move(version); }

    void add_event(Json& event) {
        std::string const category = text_in(event, "cat");
        if (category == "kernel") guarded([&, this] { add_kernel(event); });
        if (category == "Kernel")  // as the first releases wrote them
            ++out_.skipped
                  ["a kernel of an older profiler ('Kernel' for 'kernel': take the trace with a newer PyTorch)"];
        if (category != "cpu_op" || !event.contains("args")) return;
        std::string const id = text_in(event["args"], "External id");
        if (id.empty()) return;
        std::string_view const name = *names_.insert(text_in(event, "name")).first;
        std::string_view const process = *names_.insert(text_in(event, "pid")).first;
        Operator& op = operators_[rank_in(std::string(process)) + id];
        if (op.name.data() != nullptr && op.process != process) refuse_merged();
        op = {.name = name, .process = process, .arguments = is_modelled(name) ? needed_of(event["args"]) : Json()};
    }

    ImportedTables take() {
        for (auto const& [id, launched] : launched_)
            if (!operators_.contains(id))
                out_.skipped
                    ["a kernel of no operator (was the trace taken with CPU activities, and without CUDA graphs?)"] +=
                    launched.kernels;
            else
                guarded([this, &id = id, &launched = launched] { add(operators_.at(id), launched); });
        if (launched_.empty() && collectives_.empty() && out_.skipped.empty() && !operators_.empty())
            out_.skipped["an operator without a kernel on a GPU (was the trace taken with ProfilerActivity.CUDA?)"] =
                operators_.size();
        add_medians(products_);
        add_medians(attention_);
        for (auto const& [key, entry] : collectives_)
            guarded([this, &entry = entry] {
                ImportedCollective row = entry.row.row;
                row.device = device_named(row.device);
                row.library_version = library_version_;
                GroupNodes const group = group_nodes(entry.row.named, entry.row.ranks, node_size());
                row.nodes = group.nodes;
                row.per_node = group.per_node;
                // A rank that comes early waits in the kernel for the others: the shortest is nearest to the transfer.
                row.microseconds = *std::min_element(entry.times.begin(), entry.times.end());
                out_.add(std::move(row));
            });
        return std::move(out_);
    }

private:
    /// The name of the device of this number, which the trace may say behind the events; of none the first one's.
    std::string device_named(std::string const& number) const {
        auto const found = devices_.find(number);
        return device_of(request_, found != devices_.end() ? found->second : first_device_);
    }

    /// A process that sees several devices sees those of its node; one alone may be what a launcher left it.
    std::int64_t node_size() const {
        return devices_.size() > 1 ? static_cast<std::int64_t>(devices_.size()) : usual_node_size;
    }

    template <class Row>
    void add_medians(std::map<std::string, Repeated<Row>> const& shapes) {
        for (auto const& [key, entry] : shapes)
            guarded([this, &entry = entry] {
                Row row = entry.row;
                row.microseconds = median(entry.times);
                out_.add(std::move(row));
            });
    }
    template <class Work>
    void guarded(Work const& work) {
        try {
            work();
        } catch (RowSkip const& skip) {
            ++out_.skipped[skip.what()];
        }
    }

    double duration(Json const& event) const {
        auto const found = event.find("dur");
        if (found == event.end() || !found->is_number()) throw RowSkip("a kernel without a duration");
        double const value = found->get<double>();
        if (!std::isfinite(value) || value < 0)
            throw InputError("{}: a kernel takes {} us (a finite time of at least 0)", request_.name, value);
        if (value <= 0) throw RowSkip("a kernel without a duration");
        return value;
    }

    void add_kernel(Json const& event) {
        double const time = duration(event);
        if (!event.contains("args")) throw RowSkip("a kernel without arguments");
        if (std::string const name = text_in(event["args"], "Collective name"); !name.empty()) {
            add_collective(name, event["args"], time);
            return;
        }
        std::string const device = text_in(event["args"], "device");
        Launched& launched = launched_[rank_in(text_in(event, "pid")) + text_in(event["args"], "External id")];
        launched.on_others = launched.on_others || (launched.kernels > 0 && launched.device != device);
        launched.microseconds += time;
        ++launched.kernels;
        launched.in_tf32 = launched.in_tf32 || is_tf32_kernel(text_in(event, "name"));
        launched.device = device;
    }

    void add_collective(std::string const& name, Json const& arguments, double time) {
        KinetoCollectiveRow row = kineto_collective({.name = name,
                                                     .dtype = text_in(arguments, "dtype"),
                                                     .size = text_in(arguments, "Group size"),
                                                     .ranks = text_in(arguments, "Process Group Ranks"),
                                                     .in_elements = text_in(arguments, "In msg nelems"),
                                                     .out_elements = text_in(arguments, "Out msg nelems"),
                                                     .in_parts = text_in(arguments, "In split size"),
                                                     .out_parts = text_in(arguments, "Out split size")},
                                                    request_);
        row.row.device = text_in(arguments, "device");
        auto& entry = collectives_[fmt::format("{} {}", row.row.run, row.row.bytes)];
        entry.row = std::move(row);
        entry.times.push_back(time);
    }

    /// Ids of one rank are those of others, so that kernels of all would count as one operator's.
    [[noreturn]] void refuse_merged() const {
        throw InputError("{}: a merged trace, whose ids repeat: import each rank's file (several files go in one call)",
                         request_.name);
    }

    void add(Operator const& op, Launched const& launched) {
        std::string_view const name = op.name;
        if (launched.on_others && is_modelled(name)) refuse_merged();
        Json const& arguments = op.arguments;
        auto const dims = dims_of(arguments);
        if (is_one_of(products, name))
            add_product(name, arguments, dims, launched);
        else if (AttentionOperator const* const attention = attention_operator(name))
            add_attention(*attention, arguments, dims, launched);
        else
            throw RowSkip(fmt::format("no model of the operator '{}'", name.substr(0, 60)));
    }

    void add_product(std::string_view name, Json const& arguments, std::vector<Dims> const& dims,
                     Launched const& launched) {
        std::size_t const first = name == "aten::addmm" ? 1 : 0;
        bool const scaled = name == "aten::_scaled_mm";
        auto const sizes = [&](std::size_t at) { return at < dims.size() ? dims[at] : Dims(); };
        auto const type = [&](std::size_t at) { return item_in(arguments, "Input type", at); };
        ImportedProduct row = kineto_product({.op = std::string(name),
                                              .a = sizes(first),
                                              .b = sizes(first + 1),
                                              .a_scales = scaled ? sizes(2) : Dims(),
                                              .b_scales = scaled ? sizes(3) : Dims(),
                                              .type = type(first),
                                              .a_scale_type = scaled ? type(2) : "",
                                              .b_scale_type = scaled ? type(3) : "",
                                              .in_tf32 = launched.in_tf32});
        row.source = source_of(request_, "kineto " + request_.name);
        row.device = device_named(launched.device);
        auto& entry = products_[fmt::format("{} {} {} {} {} {}", name, row.dtype, row.m, row.n, row.k, row.device)];
        entry.row = std::move(row);
        entry.times.push_back(launched.microseconds);
    }

    void add_attention(AttentionOperator const& of, Json const& arguments, std::vector<Dims> const& dims,
                       Launched const& launched) {
        std::size_t const first = of.backward() ? 1 : 0;
        auto const said = [&](std::size_t at) { return at > 0 ? item_in(arguments, "Concrete Inputs", at) : ""; };
        ImportedAttention row = kineto_attention(of, {.sizes = dims,
                                                      .dtype = item_in(arguments, "Input type", first),
                                                      .cache_dtype = item_in(arguments, "Input type", first + 1),
                                                      .dropout = said(of.dropout),
                                                      .causal = said(of.causal),
                                                      .window = said(of.window),
                                                      .soft_cap = said(of.soft_cap)});
        row.source = source_of(request_, "kineto " + request_.name);
        row.device = device_named(launched.device);
        auto& entry = attention_[fmt::format("{} {} {} {} {} {} {} {}", of.name, row.dtype, row.batch, row.length,
                                             row.heads, row.kv_heads, row.head_dim, row.device)];
        entry.row = std::move(row);
        entry.times.push_back(launched.microseconds);
    }

    ImportRequest const& request_;
    std::map<std::string, std::string> devices_;  ///< names by number
    std::string first_device_;
    std::string library_version_;  ///< of NCCL, as the trace says it
    std::set<std::string> names_;  ///< of operators and processes
    std::map<std::string, Operator> operators_;
    std::map<std::string, Launched> launched_;
    std::map<std::string, Repeated<ImportedProduct>> products_;
    std::map<std::string, Repeated<ImportedAttention>> attention_;
    std::map<std::string, Repeated<KinetoCollectiveRow>> collectives_;
    ImportedTables out_;
};

/// Hands each event to the trace as soon as it is parsed and drops it, and drops all that is no event.
class EventReader {
public:
    EventReader(Trace& trace, std::string const& name) : trace_(trace), name_(name) {}

    bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
        using Event = Json::parse_event_t;
        if (depth > deepest) throw InputError("{}: nested deeper than {} levels (it is no trace)", name_, deepest);
        if (depth == 0) return true;
        if (depth == 1 && event == Event::key) {
            key_ = parsed.get<std::string>();
            return true;
        }
        if (key_ == "traceEvents") {
            if (depth == 1) has_events_ = has_events_ || event == Event::array_end;
            if (depth == 1) return event != Event::array_end;
            if (depth > 2 || event == Event::object_start) return true;
            if (event != Event::object_end) return false;  // no event
            trace_.add_event(parsed);
            return false;
        }
        if (depth == 1 && key_ == "deviceProperties" && event == Event::array_end)
            for (Json const& device : parsed)
                trace_.add_device(text_in(device, "id"), text_in(device, "name"));
        if (depth == 1 && key_ == "distributedInfo" && event == Event::object_end)
            trace_.set_library(text_in(parsed, "nccl_version"));
        return key_ == "deviceProperties" || key_ == "distributedInfo";
    }

    [[nodiscard]] bool has_events() const { return has_events_; }

private:
    static constexpr int deepest = 100;
    Trace& trace_;
    std::string const& name_;
    std::string key_;
    bool has_events_ = false;
};

ImportedTables read(std::string_view text, ImportRequest const& request) {
    Trace trace(request);
    EventReader reader(trace, request.name);
    ToldText told(text, request.progress);
    Json const root = Json::parse(told.begin(), told.end(), std::ref(reader), false);
    if (root.is_discarded()) throw no_json(text, request.name);
    if (!root.is_object() || !reader.has_events()) throw InputError("{}: has no list of traceEvents", request.name);
    return trace.take();
}

}  // namespace

extern constinit Importer const kineto_importer;
constinit Importer const kineto_importer{
    .name = "kineto",
    .summary = "a trace of PyTorch's profiler with record_shapes=True",
    .source = "github.com/pytorch/kineto libkineto/src/output_json.cpp; torch/csrc/profiler",
    .recognises = recognises,
    .read = read,
};

}  // namespace sextant
