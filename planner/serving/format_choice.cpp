#include "planner/serving/format_choice.hpp"

#include "core/spec/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sextant {
namespace {

/// "e4m3", as measured; "bf16" where the products widen the weights.
std::string activation_format(ServingPlan const& plan, std::optional<FormatQuality> const& products) {
    GemmFormat const& format = *find_gemm_format(plan.weights);
    if (products && !format.widens()) return products->formats.substr(products->formats.find('+') + 1);
    return std::string(format.integers ? format.name : name_of(format.precision));
}

FormatChoice choice_of(ServingCase const& what, RequestShape const& request, LoadedReplica const& load,
                       std::span<FormatError const> errors) {
    ServingPlan const& plan = what.plan;
    FormatChoice out;
    out.products_in = plan.weights;
    out.released = plan.released;
    out.cache = plan.cache;
    out.products = weights_quality(errors, plan);
    out.attention = cache_quality(errors, plan.cache);
    out.error = format_error_of(errors, plan);
    out.activations = activation_format(plan, out.products);
    out.memory = serving_memory(what);
    out.cache_bytes_per_token = kv_cache_bytes_per_token(what.model, bytes_per_value(out.cache));
    out.largest = std::max(0.0, largest_batch(what, out.memory, request.prompt + request.output));
    out.refused = missing_hardware(what.cluster.accelerator, plan.weights);
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

std::vector<FormatChoice> compare_formats(ServingCase const& base, CheckpointFormat const& checkpoint,
                                          RequestShape const& request, LoadedReplica const& load,
                                          std::span<std::string const> weights, std::span<CacheFormat const> caches,
                                          std::span<FormatError const> errors) {
    std::vector<FormatChoice> out;
    for (std::string const& asked : weights) {
        check_weights_format(asked, "--weights");
        UsualWeights const run = chosen_weights(asked, checkpoint, base.cluster.accelerator, base.engine);
        for (CacheFormat const cache : caches) {
            ServingCase what = base;
            run.put_into(what.plan);
            what.plan.cache = cache;
            check_serving_plan(what.model, what.plan);
            FormatChoice choice = choice_of(what, request, load, errors);
            choice.weights = asked;
            choice.note = run.note;
            out.push_back(std::move(choice));
        }
    }
    return out;
}

}  // namespace sextant
