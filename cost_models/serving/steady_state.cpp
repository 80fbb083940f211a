#include "cost_models/serving/steady_state.hpp"

#include "cost_models/serving/serving_group.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

/// Of the time of a request, with client, server and tokeniser: no accelerator works for it.
double away_share(ServingEstimate const& e) { return (e.ttft.boundary + e.ttft.tokenise) / e.latency; }

/// Share of its time that a stage works with requests that go round on their own, each of them away for a part of the
/// time.
double working_in_loop(IterationModel const& model, ServingEstimate const& e, double concurrency) {
    double const away = away_share(e);
    return std::min(1 - std::pow(away, concurrency), working_share(model, concurrency * (1 - away)));
}

/// Iterations of a prompt by itself: each as long as the token limit and the last what is left, of an engine that cuts
/// prompts.
struct PromptChunks {
    double number = 1;
    IterationTime mean;
};

/// @param elsewhere tokens of other groups for each of its own
PromptChunks chunks_alone(IterationModel const& model, RequestShape const& request, double elsewhere) {
    double const fresh = fresh_tokens(request);
    double const limit = model.what().engine.prompts == PromptOrder::mixed
                             ? static_cast<double>(model.what().plan.max_batched_tokens)
                             : fresh;
    PromptChunks out{.number = std::ceil(fresh / limit), .mean = {}};
    for (double done = 0; done < fresh; done += limit) {
        double const tokens = std::min(limit, fresh - done);
        out.mean += model({.prefill_tokens = tokens,
                           .prefill_attention = model.prefill_attention(request.cached + done, tokens),
                           .samples = done + tokens < fresh ? 0.0 : 1.0,
                           .elsewhere = elsewhere * tokens});
    }
    out.mean = (1 / out.number) * out.mean;
    return out;
}

/// A request by itself in its batch, as a loop of no more requests than a pipeline has stages: no iteration of its own
/// carries prompts or decodes of others. A stage has a step of each in turn. No step overtakes a prompt of another,
/// which takes S of its time L, so that it makes none in 1 - (1 - S / L)^(c - 1) of its own; a prompt waits for one
/// that is in the first stage.
ServingEstimate alone_in_group(IterationModel const& model, RequestShape const& request, double concurrency) {
    double const steps = request.output - 1;
    PromptChunks const chunks = chunks_alone(model, request, 0);
    PromptMix mix;
    mix.chunks = chunks.number;
    mix.mixed = chunks.mean;
    mix.plain = model({.decodes = 1, .decode_context = mean_context(request), .samples = 1});
    double const stage = model.at_slowest_stage(mix.mixed) / units::s;
    Seconds const prompt = mix.chunks * mix.mixed.total();
    Seconds const step = std::max(mix.plain.total(), concurrency * model.at_slowest_stage(mix.plain));
    double const others = std::max(0.0, concurrency - 1);
    ServingEstimate out;
    double free = 1;  // share of the time in which nobody else has a prompt
    Seconds queue{};
    for (int round = 0; round < 30; ++round) {
        mix.mean = step / free;
        out = estimate_at(model, request, 1, mix);
        out.ttft.queue = queue;
        finish(out, model, request);
        free = 0.5 * (free + std::pow(1 - prompt / out.latency, others));
        queue = others * mix.chunks * mix.chunks * stage * stage / (2 * (out.latency / units::s)) * units::s;
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
    double const together = batch / std::ceil(batch / at_a_time);
    PromptChunks chunks = chunks_alone(model, request, others);
    if (chunks.number <= 1)
        chunks.mean = model({.prefill_tokens = together * fresh,
                             .prefill_attention = together * model.prefill_attention(request.cached, fresh),
                             .samples = together,
                             .elsewhere = others * together * fresh});
    double const rounds = std::ceil(batch / at_a_time) * chunks.number;
    ServingEstimate out;
    out.chunk = chunks.mean;
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
    finish_batch(out, model, request);
    out.busy = working_share(model, sequences) * (1 - away_share(out));
    return out;
}

ServingEstimate closed_loop(IterationModel const& model, RequestShape const& request, double concurrency) {
    double const groups = groups_of(model);
    double const wanted = concurrency / groups;
    double const requests = std::min(wanted, most_requests(model, request));
    double const at_a_time = concurrency / static_cast<double>(model.what().plan.pp);  // in one batch, of all groups
    if (at_a_time <= 1 && requests >= wanted) return alone_in_group(model, request, concurrency);
    ServingGroup const full = full_group(model, request);
    double const busy = std::clamp(at_a_time - 1, 0.0, 1.0);  // others of the loop
    // The rest of the iteration that runs when it arrives, and the next, where that has been put together already.
    auto const before_it = [&](PromptMix const& mix) {
        bool const ahead = model.what().engine.planning == IterationPlanning::ahead;
        Seconds const next = ahead ? mix.mean / static_cast<double>(model.what().plan.pp) : Seconds{};
        return busy * (rest_in_loop(model, mix) + next);
    };
    double decodes = std::min(full.decodes, wanted);
    PromptMix mix = steady_mix(model, request, decodes, requests);
    ServingEstimate out;
    // By halves: what prompts wait grows without bound as they fill the iterations, and whole steps jump to and fro.
    for (int step = 0; step < 40; ++step) {
        out = estimate_at(model, request, decodes, mix);
        Seconds const away = out.ttft.boundary + out.ttft.tokenise;
        Seconds const wait = prompt_wait(mix, request, decodes, requests, away);
        Seconds const before = before_it(mix);
        out.ttft.queue = before + wait;
        double const outside = (away + before) / mix.mean + prefill_steps(mix, wait);
        decodes = 0.5 * (decodes + std::min(full.decodes, decodes_of(request, wanted, outside)));
        mix = steady_mix(model, request, decodes, requests);
    }
    // When the batch is full the rest waits: Little's law over the whole cycle. Answers of one token are never in the
    // batch: what they wait for is the tokens of prompts that an iteration takes.
    Seconds const alone = out.ttft.total() + (request.output - 1) * out.tpot;
    double const rate = std::min(wanted / (alone / units::s), full.rate);
    out.ttft.queue += wanted / rate * units::s - alone;
    out.requests_per_s = rate * groups;
    if (request.has_later_tokens()) out.decodes = out.requests_per_s * (request.output - 1) * (out.tpot / units::s);
    finish(out, model, request);
    out.busy = mix.own_pace * working_in_loop(model, out, concurrency);
    return out;
}

double serving_capacity(IterationModel const& model, RequestShape const& request) {
    return groups_of(model) * full_group(model, request).rate;
}

}  // namespace sextant
