#include "cost_models/serving/prompt_mix.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

constexpr double busiest = 0.999;  // of a queue with a mean

IterationTime with_prompts(IterationModel const& model, RequestShape const& request, double decodes, double prompts) {
    double const fresh = fresh_tokens(request);
    return model({.prefill_tokens = prompts * fresh,
                  .prefill_attention = prompts * model.prefill_attention(request.cached, fresh),
                  .decodes = decodes,
                  .decode_context = decodes * mean_context(request),
                  .samples = decodes + std::min(1.0, prompts)});
}

double stages_of(IterationModel const& model) { return static_cast<double>(model.what().plan.pp); }

/// What does not depend on how many prompts there are.
PromptMix mix_without(IterationModel const& model, RequestShape const& request, double decodes) {
    double const fresh = fresh_tokens(request);
    auto const budget = static_cast<double>(model.what().plan.max_batched_tokens);
    PromptMix mix;
    mix.decodes = decodes;
    mix.apart = model.what().engine.prompts == PromptOrder::first;
    if (mix.apart) {
        mix.most = std::max(1.0, std::floor(budget / fresh));  // whole prompts
    } else {
        double const room = std::max(1.0, budget - decodes);
        mix.chunks = std::ceil(fresh / room);
        mix.most = room / fresh;
    }
    double const beside = mix.apart ? 0 : decodes;
    mix.plain = model({.decodes = decodes, .decode_context = decodes * mean_context(request), .samples = decodes});
    mix.fullest = with_prompts(model, request, beside, mix.most);
    return mix;
}

enum class Beginning : std::uint8_t {
    as_others_end,
    at_random,  ///< as a Poisson process
};

/// Root x of x e^x = q, by Newton's method.
double lambert(double q) {
    double x = std::log1p(q);
    for (int i = 0; i < 4; ++i)
        x -= (x - q * std::exp(-x)) / (1 + x);
    return x;
}

/// Iterations with prompts for each step of the decodes, q prompts beginning meanwhile.
double prompt_iterations(PromptMix const& mix, Beginning how, double q) {
    if (mix.chunks > 1) return std::min(1.0, q * mix.chunks);
    // Any in one iteration.
    if (!mix.apart || how == Beginning::as_others_end) return -std::expm1(-q);
    // They come while others of them run, too: f = (1 + f)(1 - e^-x) of f + 1 iterations, x = q / (1 + f) in each.
    return std::expm1(lambert(q));
}

/// In a pipeline a stage works on the iterations of all groups in turn: between two of one group it has one of each
/// other, a stage's share of its device time and all of its host's. Sequences are spread evenly.
Seconds of_other_stages(PromptMix const& mix, ServingPlan const& plan) {
    if (plan.pp == 1) return {};
    auto const stages = static_cast<double>(plan.pp);
    double const sequences = mix.decodes * stages * static_cast<double>(plan.attention_dp);
    double const working = std::clamp((sequences - 1) / (stages - 1), 0.0, 1.0);
    double const carrying = mix.apart ? mix.share / (1 + mix.share) : mix.share;
    auto const at_a_stage = [&](IterationTime const& t) { return t.device() / stages + t.host; };
    return working * (stages - 1) * ((1 - carrying) * at_a_stage(mix.plain) + carrying * at_a_stage(mix.mixed));
}

void add_prompts(PromptMix& mix, IterationModel const& model, RequestShape const& request, Beginning how, double q) {
    mix.share = prompt_iterations(mix, how, q);
    mix.prompts = mix.share > 0 ? q / mix.share : 1 / mix.chunks;
    if (mix.prompts > mix.most) {
        mix.prompts = mix.most;
        mix.share = q / mix.most;
    }
    mix.mixed = with_prompts(model, request, mix.apart ? 0 : mix.decodes, mix.prompts);
    Seconds const others = of_other_stages(mix, model.what().plan);
    auto const step = [&](IterationTime const& t) {
        return std::max(t.total(), t.device() / stages_of(model) + t.host + others);
    };
    mix.mean = (mix.apart ? 1.0 : 1 - mix.share) * step(mix.plain) + mix.share * step(mix.mixed);
}

}  // namespace

double mean_context(RequestShape const& r) { return r.prompt + r.output / 2; }

double decoding_iterations(RequestShape const& r) { return std::max(1.0, r.output - 1); }

double fresh_tokens(RequestShape const& r) { return std::max(1.0, r.prompt - r.cached); }

PromptMix mix_at(IterationModel const& model, RequestShape const& request, double decodes, double beginning) {
    PromptMix mix = mix_without(model, request, decodes);
    add_prompts(mix, model, request, Beginning::as_others_end, beginning);
    return mix;
}

PromptMix mix_at_rate(IterationModel const& model, RequestShape const& request, double decodes, double rate) {
    PromptMix mix = mix_without(model, request, decodes);
    // Longest step: every iteration full; where prompts go first, as many of these as come meanwhile.
    double const use = rate * (mix.fullest.total() / units::s) / mix.most;
    Seconds const longest = mix.apart ? mix.plain.total() / (1 - std::min(busiest, use)) + mix.fullest.total()
                                      : std::max(mix.plain.total(), mix.fullest.total());
    double const most = mix.apart ? rate * (longest / units::s) : mix.most;
    auto const step = [&](Seconds guess) {
        add_prompts(mix, model, request, Beginning::at_random, std::min(most, rate * (guess / units::s)));
        return mix.mean;
    };
    // Root of step(c) - c, which falls: bracketed, then by regula falsi (Illinois).
    Seconds low = mix.plain.total();
    Seconds high = longest * stages_of(model);
    Seconds below = step(low) - low;
    Seconds above = step(high) - high;
    for (int i = 0; i < 12 && below > Seconds{} && above < Seconds{}; ++i) {
        Seconds const middle = low + (high - low) * (below / (below - above));
        Seconds const off = step(middle) - middle;
        if (std::max(off, -1.0 * off) < 1e-4 * middle) break;
        if (off > Seconds{}) {
            low = middle;
            below = off;
            above = 0.5 * above;
        } else {
            high = middle;
            above = off;
            below = 0.5 * below;
        }
    }
    return mix;
}

PromptWait prompt_wait(IterationModel const& model, RequestShape const& request, PromptMix const& mix, double rate) {
    Seconds const plain = mix.plain.total();
    Seconds const mixed = mix.mixed.total();
    Seconds const each = mix.fullest.total() / mix.most;
    double const use = std::min(busiest, rate * (each / units::s));
    Seconds rest;       // of what is running
    double others = 0;  // in the own iteration
    double load = use;  // prompts that follow one, in its iteration's time
    if (mix.apart) {
        double const prompting = 1 - plain / mix.mean;  // share of the time
        rest = 0.5 * (prompting * mixed + (1 - prompting) * plain);
        others = rate * (2 * rest / units::s);
    } else if (mix.most < 1) {
        rest = 0.5 * (use * each + (1 - use) * plain);
    } else {
        double const of_one = std::max(0.0, (mixed - plain) / units::s) / mix.prompts;
        load = std::min(busiest, rate * of_one);
        Seconds const seen = mix.mean + load * of_one / (1 - load * load) * units::s;
        rest = 0.5 * seen;
        others = rate * (seen / units::s);
    }
    double const beside = mix.apart ? 0 : mix.decodes;
    Seconds const own =
        others > 0 ? with_prompts(model, request, beside, std::min(mix.most, 1 + others)).total() : mixed;
    auto const stages = static_cast<double>(model.what().plan.pp);  // the first group that begins an iteration
    PromptWait out;
    out.before = std::max(Seconds{}, rest / stages + own - mixed) + use * use / (2 * (1 - use)) * each;
    if (model.what().engine.planning == IterationPlanning::ahead)
        out.before += mix.mean / (mix.apart ? 1 + mix.share : 1.0) / stages;
    double const steps = request.output - 1;
    if (!mix.apart && steps > 0)
        out.after = load * (1 - std::pow(load, steps)) / (1 - load) * std::max(Seconds{}, own - mix.mean);
    return out;
}

}  // namespace sextant
