#include "cost_models/serving/steady_state.hpp"

#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "cost_models/serving/batch_occupancy.hpp"
#include "cost_models/serving/prompt_mix.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

/// One group of a replica: with attention data parallelism and pipelining each has its own sequences in flight.
double groups_of(IterationModel const& model) {
    return static_cast<double>(model.what().plan.attention_dp * model.what().plan.pp);
}

/// As many prompts begin as answers end.
PromptMix steady_mix(IterationModel const& model, RequestShape const& request, double decodes) {
    return mix_at(model, request, decodes, decodes / decoding_iterations(request));
}

/// Of the time that a request holds a place in the batch.
double decoding_share(PromptMix const& mix, RequestShape const& request) {
    Seconds const decoding = (request.output - 1) * mix.mean;
    return decoding / (decoding + mix.chunks * mix.mixed.total());
}

/// Most sequences that decode at a time in one group: as many as fit the cache, and as leave room among the tokens of
/// an iteration for the prompts that follow them.
double most_decodes(IterationModel const& model, RequestShape const& request) {
    ServingMemory const& memory = model.memory();
    // A request holds the blocks of its tokens so far; a batch of all ages holds the mean.
    double const fitting = largest_batch(model.what(), memory, mean_context(request));
    double const whole = largest_batch(model.what(), memory, request.prompt + request.output);
    if (whole < 1)
        throw InputError(
            "serving: one request of {:.0f} tokens does not fit the cache, which holds {:.0f} ({} for weights, {} of "
            "{} usable)",
            request.prompt + request.output, memory.longest(), human(memory.weights), human(memory.usable),
            human(memory.capacity));
    double const budget = static_cast<double>(model.what().plan.max_batched_tokens);
    double const supplied = budget / (1 + fresh_tokens(request) / decoding_iterations(request));
    double const places = fitting / groups_of(model);
    double decodes = std::min(places, supplied);
    if (request.output < 2) return decodes;
    // Prompts hold a place, too, while they are processed.
    for (int step = 0; step < 8; ++step)
        decodes = std::min(supplied, places * decoding_share(steady_mix(model, request, decodes), request));
    return decodes;
}

/// Requests a second of a group that decodes `decodes` sequences.
double rate_at(IterationModel const& model, RequestShape const& request, double decodes) {
    return decodes / (decoding_iterations(request) * (steady_mix(model, request, decodes).mean / units::s));
}

/// All but what a request waits for before its own iterations.
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
    out.latency = out.ttft.total() + (request.output - 1) * out.tpot;
    out.output_tokens_per_s = out.requests_per_s * request.output;
    ServingMemory const& memory = model.memory();
    double const held = out.decodes * memory.shape.kept(mean_context(request));
    out.cache_share = std::min(1.0, held / (memory.cache_tokens * static_cast<double>(model.what().plan.attention_dp)));
}

}  // namespace

ServingEstimate static_batch(IterationModel const& model, RequestShape const& request, double sequences) {
    double const batch = sequences / groups_of(model);
    double const fresh = fresh_tokens(request);
    double const at_a_time =
        std::max(1.0, std::floor(static_cast<double>(model.what().plan.max_batched_tokens) / fresh));
    double const rounds = std::ceil(batch / at_a_time);
    double const together = batch / rounds;
    IterationLoad const prompts{.prefill_tokens = together * fresh,
                                .prefill_attention = together * model.prefill_attention(request.cached, fresh),
                                .samples = together};
    ServingEstimate out;
    out.chunk = model(prompts);
    // The integral over the growing cache by its middle points.
    constexpr int pieces = 8;
    for (int i = 0; i < pieces; ++i) {
        double const context = request.prompt + request.output * (i + 0.5) / pieces;
        IterationLoad const decode{.decodes = batch, .decode_context = batch * context, .samples = batch};
        out.tpot += model(decode).total() / pieces;
        if (i == pieces / 2) out.iteration = model(decode);
    }
    EngineProfile const& engine = model.what().engine;
    out.ttft.boundary = engine.request_overhead.value;
    out.ttft.tokenise = engine.tokenise_per_token.value * request.prompt;
    out.ttft.host = rounds * out.chunk.host;
    out.ttft.prefill = rounds * out.chunk.device();
    out.decodes = sequences;
    Seconds const whole = out.ttft.total() + (request.output - 1) * out.tpot;
    out.requests_per_s = sequences * units::s / whole;
    finish(out, model, request);
    return out;
}

ServingEstimate closed_loop(IterationModel const& model, RequestShape const& request, double concurrency) {
    double const groups = groups_of(model);
    double const most = most_decodes(model, request);
    double const wanted = concurrency / groups;
    double const busy = std::clamp(wanted - 1, 0.0, 1.0);  // others of the loop
    double decodes = std::min(most, wanted);
    PromptMix mix = steady_mix(model, request, decodes);
    // The rest of the iteration that runs when it arrives, and the next, where that has been put together already.
    double const before_it = busy * (model.what().engine.planning == IterationPlanning::ahead ? 1.5 : 0.5);
    auto const estimate = [&] {
        ServingEstimate out = estimate_at(model, request, decodes, mix);
        out.ttft.queue = before_it * mix.mean;
        return out;
    };
    for (int step = 0; step < 20; ++step) {
        // Requests that are not decoding: in their prefill, or waiting for the iteration that runs.
        double const waiting = estimate().ttft.total() / mix.mean / decoding_iterations(request);
        decodes = std::min(most, wanted / (1 + waiting));
        mix = steady_mix(model, request, decodes);
    }
    ServingEstimate out = estimate();
    Seconds const alone = out.ttft.total() + (request.output - 1) * out.tpot;
    // When the batch is full the rest waits: Little's law over the whole cycle. Answers of one token are never in the
    // batch: what they wait for is the tokens of prompts that an iteration takes.
    bool const decoding = request.output >= 2;
    double const served =
        decoding ? decodes / ((request.output - 1) * mix.mean / units::s) : rate_at(model, request, most);
    double const rate = std::min(wanted / (alone / units::s), served);
    out.requests_per_s = rate * groups;
    Seconds const cycle = wanted / rate * units::s;
    if ((decodes >= most || !decoding) && cycle > alone) out.ttft.queue += cycle - alone;
    finish(out, model, request);
    return out;
}

ServingEstimate open_loop(IterationModel const& model, RequestShape const& request, double rate) {
    double const groups = groups_of(model);
    double const most = most_decodes(model, request);
    double const arriving = rate / groups;
    double const capacity = rate_at(model, request, most);
    if (capacity <= arriving) {
        ServingEstimate out = estimate_at(model, request, most, steady_mix(model, request, most));
        out.saturated = true;
        out.use = arriving / capacity;
        out.requests_per_s = capacity * groups;
        finish(out, model, request);
        return out;
    }
    double const steps = request.output - 1;
    struct Held {
        PromptMix mix;
        double decodes = 0;
        PromptWait wait;
        Seconds time;  ///< that a request holds a place
    };
    auto const held_at = [&](double requests) {
        Held held;
        held.mix = mix_at_rate(model, request, requests / groups * steps / (steps + 1), arriving);
        held.decodes = requests / groups * decoding_share(held.mix, request);
        held.mix = mix_at_rate(model, request, held.decodes, arriving);
        held.wait = prompt_wait(model, request, held.mix, arriving);
        held.time = steps * held.mix.mean + held.wait.after + held.mix.chunks * held.mix.mixed.total();
        return held;
    };
    double const places = largest_batch(model.what(), model.memory(), mean_context(request));
    BatchOccupancy const batch = batch_occupancy(rate, places, [&](double requests) {
        return requests < places ? requests / (held_at(requests).time / units::s) : capacity * groups;
    });
    Held const held = held_at(batch.mean);
    ServingEstimate out = estimate_at(model, request, held.decodes, held.mix);
    if (steps > 0) {
        Seconds const decoding = batch.mean / rate * units::s - held.mix.chunks * held.mix.mixed.total();
        out.tpot = std::max(held.mix.plain.total(), decoding / steps);  // Little's law
        out.decodes = rate * steps * (out.tpot / units::s);
    }
    out.ttft.queue = batch.wait + (1 - batch.idle) * held.wait.before;
    out.use = arriving / capacity;
    out.requests_per_s = rate;
    finish(out, model, request);
    return out;
}

double serving_capacity(IterationModel const& model, RequestShape const& request) {
    return groups_of(model) * rate_at(model, request, most_decodes(model, request));
}

}  // namespace sextant
