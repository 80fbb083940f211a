#include "cost_models/serving/request_waves.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

/// Mean iteration of `decodes` sequences while their cache grows, by the middle points of the integral.
Seconds mean_decode(IterationModel const& model, RequestShape const& request, double decodes) {
    constexpr int pieces = 8;
    Seconds sum;
    for (int i = 0; i < pieces; ++i) {
        double const context = request.prompt + request.output * (i + 0.5) / pieces;
        sum += model({.decodes = decodes, .decode_context = decodes * context, .samples = decodes}).total();
    }
    return sum / pieces;
}

}  // namespace

ServingEstimate request_waves(IterationModel const& model, RequestShape const& request, double concurrency) {
    // The steady state knows what fits, and refuses what does not.
    ServingEstimate out = closed_loop(model, request, concurrency);
    ServingPlan const& plan = model.what().plan;
    double const groups = static_cast<double>(plan.attention_dp * plan.pp);
    ServingMemory const& memory = model.memory();
    double const fitting = largest_batch(model.what(), memory, request.prompt + request.output / 2);
    double const together = std::min(concurrency, std::max(1.0, fitting));
    double const each = together / groups;
    double const fresh = std::max(1.0, request.prompt - request.cached);
    double const parts = std::ceil(each * fresh / static_cast<double>(plan.max_batched_tokens));
    double const prompts = each / parts;
    double const decoding = each * (parts - 1) / (2 * parts);
    IterationLoad const part{.prefill_tokens = prompts * fresh,
                             .prefill_attention = prompts * model.prefill_attention(request.cached, fresh),
                             .decodes = decoding,
                             .decode_context = decoding * request.prompt,
                             .samples = prompts + decoding};
    IterationTime const wave = model(part);
    Seconds const all = parts * wave.total();
    Seconds const decode = mean_decode(model, request, each);
    double const steps = std::max(0.0, request.output - 1);
    double const alone = std::max(0.0, steps - (parts - 1) / 2);
    Seconds const cycle = all + alone * decode;

    // In step with the others: a chunk of prompts beside all other decodes, after half an iteration.
    double const own = std::min(each, std::max(1.0, std::floor(static_cast<double>(plan.max_batched_tokens) / fresh)));
    double const chunks = std::max(1.0, std::ceil(fresh / static_cast<double>(plan.max_batched_tokens)));
    double const others = each - own;
    out.chunk = model({.prefill_tokens = own * fresh / chunks,
                       .prefill_attention = own / chunks * model.prefill_attention(request.cached, fresh),
                       .decodes = others,
                       .decode_context = others * (request.prompt + request.output / 2),
                       .samples = each});
    double const share = model.what().engine.wave_share.value;
    Seconds const waiting =
        share * (parts - 1) / 2 * wave.total() + (1 - share) * (others > 0 ? decode / 2 : Seconds{});
    out.ttft.host = share * wave.host + (1 - share) * chunks * out.chunk.host;
    out.ttft.prefill = share * wave.device() + (1 - share) * chunks * out.chunk.device();
    Seconds const first = waiting + out.ttft.host + out.ttft.prefill;
    if (steps > 0) out.tpot = std::max(decode, (cycle - first) / steps);
    out.ttft.queue = waiting + (concurrency / together - 1) * cycle;
    out.iteration =
        model({.decodes = each, .decode_context = each * (request.prompt + request.output / 2), .samples = each});
    out.decodes = together;
    out.latency = out.ttft.total() + steps * out.tpot;
    out.requests_per_s = concurrency / (out.latency / units::s);
    out.output_tokens_per_s = out.requests_per_s * request.output;
    return out;
}

}  // namespace sextant
