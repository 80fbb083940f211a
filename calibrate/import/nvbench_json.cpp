// NVBench's JSON (--json): states with axis values M, N and K are matrix products, unless another counts a batch of
// them; states that state their memory traffic (add_global_memory_reads/writes) are memory-bound kernels, whose bytes
// are the reported bandwidth times the time. Single launches (nv/cold/...) are cold, batches (nv/batch/...) hot; the
// former are timed alone between two events, as sextant-bench's are, and lose their start. Figures are written as
// texts.
#include "calibrate/import/importer.hpp"
#include "core/error.hpp"
#include "core/json/foreign_fields.hpp"
#include "core/measurements/kernel_row.hpp"
#include "core/measurements/product_count.hpp"
#include "core/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

using Json = nlohmann::json;

bool recognises(std::string_view text) {
    auto const begin = text.find_first_not_of(" \t\r\n");
    return begin != std::string_view::npos && text[begin] == '{' &&
           text.find("\"benchmarks\"") != std::string_view::npos && text.find("\"states\"") != std::string_view::npos;
}

std::string text_in(Json const& object, char const* key) {
    if (!object.is_object()) return "";
    auto const found = object.find(key);
    if (found == object.end() || found->is_null()) return "";
    return found->is_string() ? found->get<std::string>() : found->dump();
}

Json const& list_in(Json const& object, char const* key) {
    static Json const none = Json::array();
    if (!object.is_object()) return none;
    auto const found = object.find(key);
    return found != object.end() && found->is_array() ? *found : none;
}

/// One state with what it says of itself.
class State {
public:
    State(Json const& json, std::string where) : json_(json), where_(std::move(where)) {}

    /// Value of the axis of this name in any case, or empty.
    [[nodiscard]] std::string axis(std::string_view name) const {
        for (Json const& value : list_in(json_, "axis_values")) {
            std::string axis_name = lower_case(text_in(value, "name"));
            axis_name = axis_name.substr(0, axis_name.find('{'));  // "T{ct}"
            if (axis_name == name) return text_in(value, "value");
        }
        return "";
    }

    /// `value` of the summary with this tag; nothing where there is none. @throws RowSkip with the place: no number,
    /// not finite, negative.
    [[nodiscard]] std::optional<double> summary(std::string_view tag) const {
        for (Json const& entry : list_in(json_, "summaries")) {
            if (text_in(entry, "tag") != tag) continue;
            for (Json const& datum : list_in(entry, "data"))
                if (text_in(datum, "name") == "value") return read_stated(text_in(datum, "value"), tag);
        }
        return std::nullopt;
    }

    /// The same of the axis of this name.
    [[nodiscard]] std::optional<std::int64_t> size(std::string_view name) const {
        return read(axis(name), name, count_in);
    }

    [[nodiscard]] std::string text(char const* key) const { return text_in(json_, key); }

private:
    /// In tables "nan" is a blank cell; here it is a time that NVBench could not take.
    [[nodiscard]] std::optional<double> read_stated(std::string const& text, std::string_view tag) const {
        auto const value = read(text, tag, number_in);
        if (!value && !text.empty()) throw RowSkip(std::string(tag) + " is not finite", where_ + ": '" + text + "'");
        return value;
    }
    template <class Value>
    [[nodiscard]] std::optional<Value> read(std::string const& text, std::string_view what,
                                            std::optional<Value> (*in)(std::string_view, std::string_view,
                                                                       std::string&)) const {
        std::string problem;
        auto const value = in(text, what, problem);
        if (!problem.empty()) throw RowSkip(problem, fmt::format("{}: '{}'", where_, text.substr(0, 60)));
        return value;
    }
    Json const& json_;
    std::string where_;
};

struct Timing {
    char const* time;
    char const* bandwidth;
    bool cold;
};
constexpr Timing timings[] = {{"nv/cold/time/gpu/mean", "nv/cold/bw/global/bytes_per_second", true},
                              {"nv/batch/time/gpu/mean", "nv/batch/bw/global/bytes_per_second", false}};

std::string dtype_of(State const& state) {
    for (char const* axis : {"t", "dtype", "type", "datatype"})
        if (std::string const value = state.axis(axis); !value.empty()) return table_dtype(value);
    return "";
}

/// Whether the state is of many products at once: an axis that counts them says more than one.
bool is_batched(State const& state) {
    return std::any_of(product_counts.begin(), product_counts.end(), [&](ProductCount const& axis) {
        std::string problem;  // of an axis that is no count, as a layout
        return count_in(state.axis(axis.name), axis.name, problem).value_or(1) > 1;
    });
}

/// The kernel's part of a time; nothing, and counted, where that is hardly more than its start.
std::optional<Seconds> time_of(double seconds, Timing const& timing, ImportedTables& out) {
    Seconds const time = seconds * units::s;
    if (!timing.cold) return time;
    try {
        return without_start(time);
    } catch (RowSkip const& skip) {
        count_skip(out.skipped, skip);
        return std::nullopt;
    }
}

void add_state(State const& state, std::string const& bench, std::string const& device, ImportRequest const& request,
               ImportedTables& out) {
    if (state.text("is_skipped") == "true") throw RowSkip("NVBench skipped the state");
    std::string const source = source_of(request, "nvbench " + request.name);
    std::string const dtype = dtype_of(state);
    auto const m = state.size("m");
    auto const n = state.size("n");
    auto const k = state.size("k");
    bool found = false;
    for (Timing const& timing : timings) {
        std::optional<double> seconds;
        try {
            seconds = state.summary(timing.time);
        } catch (RowSkip const& skip) {  // the other timing may be whole
            count_skip(out.skipped, skip);
            found = true;
        }
        if (!seconds || *seconds <= 0) continue;
        auto const kernel = time_of(*seconds, timing, out);
        if (!kernel) {
            found = true;
            continue;
        }
        if (m && n && k) {
            if (dtype.empty()) throw RowSkip("a product without an axis of its number format (T, dtype)");
            if (is_batched(state)) throw RowSkip("products in a batch or in groups (the table has single ones)");
            out.add(ImportedProduct{.source = source,
                                    .device = device_of(request, device),
                                    .kernel = bench,
                                    .dtype = dtype,
                                    .m = *m,
                                    .n = *n,
                                    .k = *k,
                                    .microseconds = kernel->in(units::us),
                                    .cache = timing.cold ? CacheState::cold : CacheState::hot,
                                    .quantised_before = quantises(dtype)});
            found = true;
            continue;
        }
        auto const bandwidth = state.summary(timing.bandwidth);
        double bytes = bandwidth ? *bandwidth * *seconds : 0;
        // A batch states no bandwidth of its own in some versions; its bytes are those of the single launch.
        if (bytes <= 0)
            bytes = state.summary(timings[0].bandwidth).value_or(0) * state.summary(timings[0].time).value_or(0);
        if (bytes <= 0) throw RowSkip("states neither M, N and K nor its memory traffic");
        out.add(ImportedMemoryKernel{.source = source,
                                     .device = device_of(request, device),
                                     .kernel = bench,
                                     .dtype = dtype,
                                     .bytes = bytes,
                                     .microseconds = kernel->in(units::us),
                                     .cold = timing.cold});
        found = true;
    }
    if (!found) throw RowSkip("has no GPU time");
}

/// Names of the devices by the id that states refer to.
std::map<std::string, std::string> device_names(Json const& root) {
    std::map<std::string, std::string> names;
    for (Json const& device : list_in(root, "devices"))
        names[text_in(device, "id")] = text_in(device, "name");
    return names;
}

ImportedTables read(std::string_view text, ImportRequest const& request) {
    Json const root = Json::parse(text, nullptr, false);
    if (root.is_discarded()) throw no_json(text, request.name);
    if (!root.is_object() || !root.contains("benchmarks"))
        throw InputError("{}: is no result of NVBench", request.name);
    auto const names = device_names(root);
    ImportedTables out;
    for (Json const& bench : list_in(root, "benchmarks"))
        for (Json const& json : list_in(bench, "states")) {
            std::string const name = text_in(bench, "name");
            State const state(json, fmt::format("{}, {}", name, text_in(json, "name")));
            auto const device = names.find(state.text("device"));
            try {
                add_state(state, name, device != names.end() ? device->second : "", request, out);
            } catch (RowSkip const& skip) {
                count_skip(out.skipped, skip);
            }
        }
    return out;
}

}  // namespace

extern constinit Importer const nvbench_importer;
constinit Importer const nvbench_importer{
    .name = "nvbench",
    .summary = "NVBench's JSON: products by axes M, N, K, others by their memory traffic",
    .source = "github.com/NVIDIA/nvbench python/scripts, python/test",
    .recognises = recognises,
    .read = read,
};

}  // namespace sextant
