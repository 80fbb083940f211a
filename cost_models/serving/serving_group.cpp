#include "cost_models/serving/serving_group.hpp"

#include "core/error.hpp"
#include "core/quantity_text.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {

double groups_of(IterationModel const& model) {
    return static_cast<double>(model.what().plan.attention_dp * model.what().plan.pp);
}

PromptMix steady_mix(IterationModel const& model, RequestShape const& request, double decodes, double requests) {
    return mix_at(model, request, decodes, decodes / decoding_iterations(request), requests);
}

Seconds prompt_wait(PromptMix const& mix, RequestShape const& request, double decodes, double requests,
                    Seconds boundary) {
    double const taken = std::max(1.0, mix.most);  // by one iteration
    double const beginning = decodes / decoding_iterations(request);
    double const use = std::min(1.0, beginning * mix.chunks / taken);
    double const others = others_of(requests);
    double const queued = mix.apart ? 0 : 0.5 * others * std::pow(use, taken) / (1 - others * use);
    double const together =
        mix.apart ? others * beginning : std::min(requests - 1, beginning * (1 - use) * (boundary / mix.plain.total()));
    double const bunched = 0.5 * std::max(0.0, together + 1 - taken);
    return (queued + bunched) / taken * mix.chunks * mix.mixed.total();
}

double most_requests(IterationModel const& model, RequestShape const& request) {
    ServingMemory const& memory = model.memory();
    if (largest_batch(model.what(), memory, request.prompt + request.output, request.shared) < 1)
        throw InputError(
            "serving: one request of {:.0f} tokens does not fit the cache, which holds {:.0f} ({} for weights, {} of "
            "{} usable)",
            request.prompt + request.output, memory.longest(), human(memory.weights), human(memory.usable),
            human(memory.capacity));
    double const context = admitted_context(model.what().engine, request);
    return largest_batch(model.what(), memory, context, request.shared) / groups_of(model);
}

double prefill_steps(PromptMix const& mix, Seconds wait) {
    return mix.apart ? 0 : mix.chunks + wait / mix.mixed.total();
}

double decodes_of(RequestShape const& request, double requests, double outside) {
    double const steps = decoding_iterations(request);
    return requests * steps / (steps + outside);
}

ServingGroup group_of(IterationModel const& model, RequestShape const& request, double requests) {
    double const budget = static_cast<double>(model.what().plan.max_batched_tokens);
    bool const shared = model.what().engine.prompts == PromptOrder::mixed;
    double const steps = decoding_iterations(request);
    double const supplied = shared ? budget / (1 + fresh_tokens(request) / steps) : budget;
    ServingGroup group;
    group.decodes = std::min(requests, supplied);
    group.mix = steady_mix(model, request, group.decodes, requests);
    if (!request.has_later_tokens()) {
        group.rate = prompt_rate(model, request, requests);
        return group;
    }
    Seconds wait{};
    constexpr double close = 1e-3;
    for (int step = 0; step < 12; ++step) {
        wait = prompt_wait(group.mix, request, group.decodes, requests, {});
        double const last = group.decodes;
        double const next = std::min(supplied, decodes_of(request, requests, prefill_steps(group.mix, wait)));
        if (std::abs(next - last) < close * last) break;
        group.decodes = 0.5 * (last + next);
        group.mix = steady_mix(model, request, group.decodes, requests);
    }
    Seconds const decoding = steps * group.mix.mean;
    Seconds const held = decoding + wait + group.mix.chunks * group.mix.mixed.total();
    group.rate = std::min(requests / (held / units::s), supplied / (decoding / units::s));
    return group;
}

ServingGroup full_group(IterationModel const& model, RequestShape const& request) {
    return group_of(model, request, most_requests(model, request));
}

ServingEstimate estimate_at(IterationModel const& model, RequestShape const& request, double decodes,
                            PromptMix const& mix) {
    EngineProfile const& engine = model.what().engine;
    ServingEstimate out;
    out.decodes = decodes * groups_of(model);
    out.iteration = mix.plain;
    out.chunk = mix.mixed;
    out.tpot = mix.mean;
    out.ttft.boundary = engine.request_overhead.value;
    out.ttft.tokenise = engine.tokenise_per_token.value * request.prompt;
    out.ttft.host = mix.chunks * mix.mixed.host;
    out.ttft.prefill = mix.chunks * mix.mixed.device();
    return out;
}

void finish(ServingEstimate& out, IterationModel const& model, RequestShape const& request) {
    out.prompts = out.requests_per_s * ((out.ttft.host + out.ttft.prefill) / units::s);  // Little's law
    finish_batch(out, model, request);
}

void finish_batch(ServingEstimate& out, IterationModel const& model, RequestShape const& request) {
    out.latency = out.ttft.total() + (request.output - 1) * out.tpot;
    out.output_tokens_per_s = out.requests_per_s * request.output;
    ServingMemory const& memory = model.memory();
    auto const caches = static_cast<double>(model.what().plan.attention_dp);
    double const held = caches * memory.prefix_tokens(request.shared) +
                        out.decodes * memory.shape.own(mean_context(request), request.shared) +
                        out.prompts * memory.shape.own(request.prompt, request.shared);
    out.cache_share = std::min(1.0, held / (memory.cache_tokens * caches));
}

double working_share(IterationModel const& model, double requests) {
    return std::min(1.0, requests / static_cast<double>(model.what().plan.pp));
}

}  // namespace sextant
