#include "cost_models/serving/prompt_mix.hpp"

#include "cost_models/serving/prompt_queue.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

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

/// Iterations with prompts for each step of the decodes, q prompts beginning meanwhile as others end.
double prompt_iterations(PromptMix const& mix, double q) {
    return mix.chunks > 1 ? std::min(1.0, q * mix.chunks) : -std::expm1(-q);  // any in one iteration
}

/// A prompt that has to be cut leaves room in its last iteration, which the next one takes where there is one.
double chunks_of(PromptMix const& mix, double use) {
    return mix.most < 1 ? (1 - use) * mix.chunks + use / mix.most : mix.chunks;
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

/// From one iteration of a group to its next, where one takes `t` alone.
Seconds step_of(IterationTime const& t, Seconds others, double stages) {
    return std::max(t.total(), t.device() / stages + t.host + others);
}

/// Iterations with none, 1, 2, 4, ... prompts up to the most; with what is left of one, where one has to be cut.
std::vector<double> numbers_of_prompts(double most) {
    std::vector<double> out{0};
    double const rest = 1 - (std::ceil(1 / most - 1e-9) - 1) * most;
    if (rest < 0.999 * most) out.push_back(rest);
    for (double n = 1; n < most; n *= 2)
        out.push_back(n);
    out.push_back(most);
    return out;
}

/// What a request's steps take beyond as many mean ones: prompts that came while it waited are there when its own is
/// through. Of x more prompts than in the mean each makes an iteration b longer and brings rate b others, so that they
/// cost b x / (1 - rate b) in all: at once where prompts go first, else beginning with the iteration that follows, and
/// every second one where engines plan ahead.
Seconds later_steps(PromptQueue const& queue, PromptIterations const& steps, PromptMix const& mix, double count,
                    double rate, IterationPlanning planning) {
    if (count <= 0) return {};
    double const plain = steps.seconds.front();
    if (mix.apart) {
        double const each = (queue.mean / units::s - (1 - queue.carrying) * plain) / queue.prompts;
        double const more = std::max(0.0, queue.left - rate * plain);
        return more * each / (1 - std::min(busiest, rate * each)) * units::s;
    }
    double const each = std::max(0.0, steps.seconds.back() - plain) / steps.most();
    double const all = (queue.left - queue.there) * each / (1 - std::min(busiest, rate * each));
    double const first = (queue.next - queue.mean) / units::s;
    if (all <= 0 || first <= 0) return {};
    double const turns = planning == IterationPlanning::ahead ? count / 2 : count;
    return all * (1 - std::pow(1 - std::min(1.0, first / all), turns)) * units::s;
}

}  // namespace

double mean_context(RequestShape const& r) { return r.prompt + r.output / 2; }

double decoding_iterations(RequestShape const& r) { return std::max(1.0, r.output - 1); }

double fresh_tokens(RequestShape const& r) { return std::max(1.0, r.prompt - r.cached); }

PromptMix mix_at(IterationModel const& model, RequestShape const& request, double decodes, double beginning) {
    PromptMix mix = mix_without(model, request, decodes);
    mix.chunks = chunks_of(mix, std::min(1.0, beginning / mix.most));
    mix.share = prompt_iterations(mix, beginning);
    mix.prompts = mix.share > 0 ? beginning / mix.share : 1 / mix.chunks;
    if (mix.prompts > mix.most) {
        mix.prompts = mix.most;
        mix.share = beginning / mix.most;
    }
    mix.mixed = with_prompts(model, request, mix.apart ? 0 : mix.decodes, mix.prompts);
    Seconds const others = of_other_stages(mix, model.what().plan);
    double const stages = stages_of(model);
    mix.mean = (mix.apart ? 1.0 : 1 - mix.share) * step_of(mix.plain, others, stages) +
               mix.share * step_of(mix.mixed, others, stages);
    return mix;
}

RandomPrompts random_prompts(IterationModel const& model, RequestShape const& request, double decodes, double rate) {
    RandomPrompts out;
    PromptMix& mix = out.mix;
    mix = mix_without(model, request, decodes);
    double const beside = mix.apart ? 0 : decodes;
    double const stages = stages_of(model);
    // Nobody decodes, in any group, in e^-D of the time without prompts: that ends with a prompt, the rest with a step.
    double const nobody = std::exp(-decodes * stages);
    double const asleep = nobody * rate * (mix.plain.total() / units::s);
    double const idle = asleep / (asleep + (1 - nobody));
    std::vector<double> const numbers = numbers_of_prompts(mix.most);
    std::vector<IterationTime> times{mix.plain};
    for (std::size_t i = 1; i < numbers.size(); ++i)
        times.push_back(with_prompts(model, request, beside, numbers[i]));
    PromptIterations steps{.prompts = numbers, .seconds = std::vector<double>(numbers.size())};
    Seconds others{};
    PromptQueue queue;
    // What the other groups of a pipeline do in between follows from the mix.
    for (int round = 0; round < (stages > 1 ? 3 : 1); ++round) {
        for (std::size_t i = 0; i < numbers.size(); ++i)
            steps.seconds[i] = step_of(times[i], others, stages) / units::s;
        queue = prompt_queue(steps, std::min(rate, busiest * steps.most() / steps.seconds.back()), idle);
        double const resting = std::max(1e-3, 1 - queue.carrying);
        mix.share = mix.apart ? queue.carrying / resting : queue.carrying;
        mix.prompts = queue.prompts / queue.carrying;
        mix.chunks = queue.chunks;
        mix.mixed = with_prompts(model, request, beside, mix.prompts);
        mix.mean = mix.apart ? queue.mean / resting : queue.mean;
        others = of_other_stages(mix, model.what().plan);
    }
    Seconds const full = steps.seconds.back() * units::s;
    double const behind = mix.apart ? 0 : queue.behind;
    // The first group that begins an iteration takes it, and it is through when that is.
    out.before = queue.wait / stages + behind * full + (queue.own - step_of(mix.mixed, others, stages)) -
                 (mix.chunks - 1) * mix.mixed.total();
    if (model.what().engine.planning == IterationPlanning::ahead)
        out.before += queue.mean / stages * (1 - queue.asleep) * (1 - nobody);  // a next one that would be empty waits
    out.before = std::max(Seconds{}, out.before);
    out.during = queue.own + (mix.chunks - 1) * full;
    out.after = later_steps(queue, steps, mix, request.output - 1, rate, model.what().engine.planning);
    return out;
}

}  // namespace sextant
