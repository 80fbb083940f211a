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

/// Of the time of a request, with client, server and tokeniser: no accelerator works for it.
double away_share(ServingEstimate const& e) { return (e.ttft.boundary + e.ttft.tokenise) / e.latency; }

/// Share of its time that a stage works with so many requests: with fewer than stages, one at a time.
double working_share(IterationModel const& model, double requests) {
    return std::min(1.0, requests / static_cast<double>(model.what().plan.pp));
}

/// The same of requests that go round on their own, each of them away for a part of the time.
double working_in_loop(IterationModel const& model, ServingEstimate const& e, double concurrency) {
    double const away = away_share(e);
    return std::min(1 - std::pow(away, concurrency), working_share(model, concurrency * (1 - away)));
}

/// The same of requests that come at random.
double working_at_random(IterationModel const& model, BatchOccupancy const& batch) {
    double share = 0;
    for (std::size_t n = 1; n < batch.numbers.size(); ++n)
        share += batch.numbers[n] * working_share(model, static_cast<double>(n));
    return share;
}

/// The chunks of a prompt by itself, each as long as the token limit and the last what is left: their mean.
void add_chunks_alone(IterationModel const& model, RequestShape const& request, PromptMix& mix) {
    double const fresh = fresh_tokens(request);
    double const limit = model.what().engine.prompts == PromptOrder::mixed
                             ? static_cast<double>(model.what().plan.max_batched_tokens)
                             : fresh;  // a prompt is never cut
    mix.chunks = std::ceil(fresh / limit);
    mix.mixed = {};
    for (double done = 0; done < fresh; done += limit) {
        double const tokens = std::min(limit, fresh - done);
        mix.mixed += model({.prefill_tokens = tokens,
                            .prefill_attention = model.prefill_attention(request.cached + done, tokens),
                            .samples = done + tokens < fresh ? 0.0 : 1.0});
    }
    mix.mixed = (1 / mix.chunks) * mix.mixed;
}

/// A request by itself in its batch, as a loop of no more requests than a pipeline has stages: no iteration of its own
/// carries prompts or decodes of others. A stage has a step of each in turn, for i of it; for
/// a prompt of the others a request waits (c - 1) n i^2 / (2 cycle) in the mean, i of one of its n iterations.
ServingEstimate alone_in_group(IterationModel const& model, RequestShape const& request, double concurrency) {
    double const steps = request.output - 1;
    PromptMix mix;
    add_chunks_alone(model, request, mix);
    mix.plain = model({.decodes = 1, .decode_context = mean_context(request), .samples = 1});
    double const prompt = model.at_slowest_stage(mix.mixed) / units::s;
    Seconds const step = std::max(mix.plain.total(), concurrency * model.at_slowest_stage(mix.plain));
    double const others = std::max(0.0, concurrency - 1);
    Seconds wait{};
    ServingEstimate out;
    for (int round = 0; round < 10; ++round) {
        mix.mean = step + wait;
        out = estimate_at(model, request, 1, mix);
        out.ttft.queue = mix.chunks * wait;
        finish(out, model, request);
        wait = others * mix.chunks * prompt * prompt / (2 * (out.latency / units::s)) * units::s;
    }
    out.requests_per_s = concurrency / (out.latency / units::s);
    out.decodes = out.requests_per_s * steps * (out.tpot / units::s);
    finish(out, model, request);
    out.busy = working_in_loop(model, out, concurrency);
    return out;
}

}  // namespace

ServingEstimate static_batch(IterationModel const& model, RequestShape const& request, double sequences) {
    double const batch = std::ceil(sequences / groups_of(model));  // of the fullest group: sequences are not divided
    double const stages = static_cast<double>(model.what().plan.pp);
    double const others = std::min(std::ceil(sequences / stages), batch * groups_of(model) / stages) / batch - 1;
    double const fresh = fresh_tokens(request);
    double const at_a_time =
        std::max(1.0, std::floor(static_cast<double>(model.what().plan.max_batched_tokens) / fresh));
    double const rounds = std::ceil(batch / at_a_time);
    double const together = batch / rounds;
    IterationLoad const prompts{.prefill_tokens = together * fresh,
                                .prefill_attention = together * model.prefill_attention(request.cached, fresh),
                                .samples = together,
                                .elsewhere = others * together * fresh};
    ServingEstimate out;
    out.chunk = model(prompts);
    // The integral over the growing cache by its middle points.
    constexpr int pieces = 8;
    for (int i = 0; i < pieces; ++i) {
        double const context = request.prompt + request.output * (i + 0.5) / pieces;
        IterationLoad const decode{
            .decodes = batch, .decode_context = batch * context, .samples = batch, .elsewhere = others * batch};
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
    out.busy = working_share(model, sequences) * (1 - away_share(out));
    return out;
}

ServingEstimate closed_loop(IterationModel const& model, RequestShape const& request, double concurrency) {
    double const groups = groups_of(model);
    double const most = most_decodes(model, request);
    double const wanted = concurrency / groups;
    double const at_a_time = concurrency / static_cast<double>(model.what().plan.pp);  // in one batch, of all groups
    if (at_a_time <= 1 && largest_batch(model.what(), model.memory(), mean_context(request)) >= concurrency)
        return alone_in_group(model, request, concurrency);
    double const busy = std::clamp(at_a_time - 1, 0.0, 1.0);  // others of the loop
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
    out.busy = mix.own_pace * working_in_loop(model, out, concurrency);
    return out;
}

ServingEstimate open_loop(IterationModel const& model, RequestShape const& request, double rate) {
    return open_loop(model, request, rate, serving_capacity(model, request));
}

ServingEstimate open_loop(IterationModel const& model, RequestShape const& request, double rate, double capacity) {
    double const groups = groups_of(model);
    double const arriving = rate / groups;
    if (capacity <= rate) {
        double const most = most_decodes(model, request);
        ServingEstimate out = estimate_at(model, request, most, steady_mix(model, request, most));
        out.saturated = true;
        out.use = rate / capacity;
        out.requests_per_s = capacity;
        finish(out, model, request);
        return out;
    }
    double const steps = request.output - 1;
    struct Held {
        RandomPrompts prompts;
        double decodes = 0;
        Seconds time;  ///< that a request holds a place
    };
    /// @param share of its time that a request decodes, a guess
    auto const held_at = [&](double requests, double share) {
        Held held;
        held.decodes = requests / groups * share;
        held.prompts = random_prompts(model, request, held.decodes, arriving);
        held.time = steps * held.prompts.mix.mean + held.prompts.during + held.prompts.after;
        return held;
    };
    auto const share_of = [&](Held const& held) { return decoding_share(held.prompts.mix, request); };
    double const places = largest_batch(model.what(), model.memory(), mean_context(request));
    // Batches are asked for in rising order: each begins with what was found of the one before.
    double share = share_of(held_at(1, steps / (steps + 1)));
    BatchOccupancy const batch = batch_occupancy(rate, places, [&](double requests) {
        if (requests >= places) return capacity;
        Held const held = held_at(requests, share);
        share = share_of(held);
        return requests / (held.time / units::s);
    });
    Held const held = held_at(batch.mean, share_of(held_at(batch.mean, share)));
    PromptMix const& mix = held.prompts.mix;
    ServingEstimate out = estimate_at(model, request, held.decodes, mix);
    if (steps > 0) {
        // Where every place is taken prompts begin as others end, not at random.
        Seconds const during =
            held.prompts.during + batch.full * (mix.chunks * mix.mixed.total() - held.prompts.during);
        Seconds const decoding = batch.mean / rate * units::s - during;
        out.tpot = std::max(mix.plain.total(), decoding / steps);  // Little's law
        out.decodes = rate * steps * (out.tpot / units::s);
    }
    out.ttft.queue = batch.wait + held.prompts.before;
    out.use = rate / capacity;
    out.busy = mix.own_pace * working_at_random(model, batch);
    if (places < static_cast<double>(model.what().plan.max_batch) || model.what().plan.pp > 1)
        out.trusted = least_trusted_use;
    out.requests_per_s = rate;
    finish(out, model, request);
    return out;
}

double serving_capacity(IterationModel const& model, RequestShape const& request) {
    return groups_of(model) * rate_at(model, request, most_decodes(model, request));
}

}  // namespace sextant
