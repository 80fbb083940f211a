#include "cost_models/serving/steady_state.hpp"

#include "core/error.hpp"
#include "core/quantity_text.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

/// One group of a replica: with attention data parallelism and pipelining each has its own sequences in flight.
double groups_of(IterationModel const& model) {
    return static_cast<double>(model.what().plan.attention_dp * model.what().plan.pp);
}

double mean_context(RequestShape const& r) { return r.prompt + r.output / 2; }

/// Iterations that a request decodes in: the last of its prompt makes the first token.
double decoding_iterations(RequestShape const& r) { return std::max(1.0, r.output - 1); }

double fresh_tokens(RequestShape const& r) { return std::max(1.0, r.prompt - r.cached); }

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
    return std::min(fitting / groups_of(model), supplied);
}

/// How prompts and decodes share iterations when a group decodes `decodes` sequences.
struct Mix {
    double chunks;  ///< iterations that one prompt needs
    double share;   ///< of the iterations that carry prompt tokens
    IterationTime plain;
    IterationTime mixed;
    Seconds mean;
};

Mix mix_at(IterationModel const& model, RequestShape const& request, double decodes) {
    double const fresh = fresh_tokens(request);
    double const room = std::max(1.0, static_cast<double>(model.what().plan.max_batched_tokens) - decodes);
    Mix mix{};
    mix.chunks = std::ceil(fresh / room);
    double const ending = decodes / decoding_iterations(request);  // requests per iteration
    mix.share = std::min(1.0, ending * mix.chunks);
    double const tokens = mix.share > 0 ? ending * fresh / mix.share : fresh / mix.chunks;
    double const prompts = tokens / fresh;  // of which this iteration does the attention
    IterationLoad load{.decodes = decodes, .decode_context = decodes * mean_context(request), .samples = decodes};
    mix.plain = model(load);
    load.prefill_tokens = tokens;
    load.prefill_attention = prompts * model.prefill_attention(request.cached, fresh);
    load.samples += std::min(1.0, prompts);
    mix.mixed = model(load);
    // In a pipeline a stage works on the iterations of all groups in turn: one without prompts waits for the prompts
    // that others have, a stage's share of their time each.
    auto const stages = static_cast<double>(model.what().plan.pp);
    double const others = mix.share * (stages - 1) / stages;
    Seconds const longer = std::max(Seconds{}, mix.mixed.total() - mix.plain.total());
    mix.mean = (1 - mix.share) * (mix.plain.total() + others * longer) + mix.share * mix.mixed.total();
    return mix;
}

/// Requests a second of a group that decodes `decodes` sequences.
double rate_at(IterationModel const& model, RequestShape const& request, double decodes) {
    return decodes / (decoding_iterations(request) * (mix_at(model, request, decodes).mean / units::s));
}

/// @param busy probability that an iteration runs when a request comes
ServingEstimate estimate_at(IterationModel const& model, RequestShape const& request, double decodes, Mix const& mix,
                            double busy) {
    EngineProfile const& engine = model.what().engine;
    ServingEstimate out;
    out.decodes = decodes * groups_of(model);
    out.iteration = mix.plain;
    out.chunk = mix.mixed;
    out.tpot = mix.mean;
    out.ttft.boundary = engine.request_overhead.value;
    out.ttft.tokenise = engine.tokenise_per_token.value * request.prompt;
    // The rest of the iteration that runs when it arrives, and the next, where that has been put together already.
    out.ttft.queue = busy * mix.mean * (engine.planning == IterationPlanning::ahead ? 1.5 : 0.5);
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
    Mix mix = mix_at(model, request, decodes);
    for (int step = 0; step < 20; ++step) {
        // Requests that are not decoding: in their prefill, or waiting for the iteration that runs.
        Seconds const before = estimate_at(model, request, decodes, mix, busy).ttft.total();
        double const waiting = before / mix.mean / decoding_iterations(request);
        decodes = std::min(most, wanted / (1 + waiting));
        mix = mix_at(model, request, decodes);
    }
    ServingEstimate out = estimate_at(model, request, decodes, mix, busy);
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
    ServingEstimate out;
    double const capacity = rate_at(model, request, most);
    if (capacity <= arriving) {
        out = estimate_at(model, request, most, mix_at(model, request, most), 1);
        out.saturated = true;
        out.requests_per_s = capacity * groups;
        finish(out, model, request);
        return out;
    }
    double low = 0;
    double high = most;
    for (int step = 0; step < 60; ++step) {
        double const middle = (low + high) / 2;
        (rate_at(model, request, middle) < arriving ? low : high) = middle;
    }
    Mix const mix = mix_at(model, request, high);
    out = estimate_at(model, request, high, mix, -std::expm1(-high));  // Poisson: at least one decodes
    double const busy = std::min(0.999, arriving * (mix.chunks * mix.mixed.total() / units::s));
    out.ttft.queue += busy / (2 * (1 - busy)) * mix.chunks * mix.mixed.total();
    out.requests_per_s = rate;
    finish(out, model, request);
    return out;
}

double serving_capacity(IterationModel const& model, RequestShape const& request) {
    return groups_of(model) * rate_at(model, request, most_decodes(model, request));
}

}  // namespace sextant
