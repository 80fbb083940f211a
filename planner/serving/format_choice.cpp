#include "planner/serving/format_choice.hpp"

#include "core/spec/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sextant {
namespace {

FormatChoice choice_of(ServingCase const& what, RequestShape const& request, LoadedReplica const& load,
                       std::span<FormatError const> errors) {
    FormatChoice out;
    out.weights = what.plan.weights;
    out.cache = what.plan.cache;
    out.products = weights_quality(errors, out.weights);
    out.attention = cache_quality(errors, out.cache);
    out.error = format_error_of(errors, out.weights, out.cache);
    GemmFormat const& format = *find_gemm_format(out.weights);
    out.activations = out.products ? out.products->formats.substr(out.products->formats.find('+') + 1)
                                   : std::string(format.integers ? format.name : name_of(format.precision));
    out.memory = serving_memory(what);
    out.cache_bytes_per_token = kv_cache_bytes_per_token(what.model, bytes_per_value(out.cache));
    out.largest = std::max(0.0, largest_batch(what, out.memory, request.prompt + request.output));
    out.refused = missing_hardware(what.cluster.accelerator, out.weights);
    if (out.refused.empty() && out.largest < 1) out.refused = "does not fit the memory";
    if (out.refused.empty()) out.estimate = load(IterationModel(what), request);
    return out;
}

}  // namespace

std::string missing_hardware(AcceleratorProfile const& device, std::string_view weights) {
    GemmFormat const* const format = find_gemm_format(weights);
    if (format != nullptr && device.multiplies(*format)) return {};
    return fmt::format("the device has no {} products", weights);
}

std::vector<FormatChoice> compare_formats(ServingCase const& base, RequestShape const& request,
                                          LoadedReplica const& load, std::span<std::string const> weights,
                                          std::span<CacheFormat const> caches, std::span<FormatError const> errors) {
    std::vector<FormatChoice> out;
    for (std::string const& format : weights)
        for (CacheFormat const cache : caches) {
            ServingCase what = base;
            what.plan.weights = format;
            what.plan.cache = cache;
            check_serving_plan(what.model, what.plan);
            out.push_back(choice_of(what, request, load, errors));
        }
    return out;
}

}  // namespace sextant
