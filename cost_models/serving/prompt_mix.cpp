#include "cost_models/serving/prompt_mix.hpp"

#include "cost_models/serving/ahead_steps.hpp"
#include "cost_models/serving/joint_step.hpp"
#include "cost_models/serving/pipeline_pace.hpp"
#include "cost_models/serving/prompt_queue.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace sextant {
namespace {

constexpr double busiest = 0.999;  // of a queue with a mean

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
    mix.beside = mix.apart ? 0 : decodes;
    mix.prompt_attention = model.prefill_attention(request.cached, fresh);
    mix.decode_attention = model.decode_attention(decodes, decodes * mean_context(request));
    mix.plain = model({.decodes = decodes,
                       .decode_context = decodes * mean_context(request),
                       .samples = decodes,
                       .elsewhere = (attention_groups(model) - 1) * decodes,
                       .decode_attention = mix.decode_attention});
    return mix;
}

/// All groups of a stage step together: prompts of one hold up the others. What an iteration with prompts of a group
/// takes, and one with prompts of any.
void add_prompts(IterationModel const& model, RequestShape const& request, PromptMix& mix) {
    double const groups = attention_groups(model);
    double const carrying = carrying_of(mix);
    mix.mixed = own_step(model, request, mix, carrying);
    mix.any = groups > 1 ? 1 - std::pow(1 - std::min(1.0, carrying), groups) : carrying;
    mix.carried = groups > 1 ? carried_by(model, request, mix, carrying, groups, mix.any) : mix.mixed;
}

/// Iterations with prompts for each step of the decodes, q prompts beginning meanwhile as others end.
double prompt_iterations(PromptMix const& mix, double q) {
    return mix.chunks > 1 ? std::min(1.0, q * mix.chunks) : -std::expm1(-q);  // any in one iteration
}

/// A prompt that has to be cut leaves room in its last iteration, which the next one takes where there is one.
double chunks_of(PromptMix const& mix, double use) {
    return mix.most < 1 ? (1 - use) * mix.chunks + use / mix.most : mix.chunks;
}

/// Groups whose prompts come together: a request goes to the one with the fewest, so that what comes in an iteration is
/// spread over all of them. Prompts that have to be cut stay where they are, and where prompts go first only their
/// group pauses: then each group is by itself.
double pooled_groups(IterationModel const& model, PromptMix const& mix) {
    return mix.most >= 1 && !mix.apart ? attention_groups(model) : 1;
}

/// Share of the iterations of a request that carry prompts of others, of any group.
/// @param requests in a group
double met_share(IterationModel const& model, PromptMix const& mix, double requests) {
    double const groups = attention_groups(model);
    double const all = requests * groups;
    if (pooled_groups(model, mix) > 1) return others_of(all) * mix.any;
    double const own = carrying_of(mix, others_of(requests) * mix.share);
    if (groups == 1) return own;
    double const elsewhere = requests < 1 ? others_of(all) * groups / (groups - 1) : 1;
    return 1 - (1 - std::min(1.0, own)) * std::pow(1 - std::min(1.0, elsewhere * carrying_of(mix)), groups - 1);
}

StagedTime staged(IterationModel const& model, IterationTime const& t) {
    return {t.total(), model.at_slowest_stage(t)};
}

/// The iteration of a group without prompts, where others may have some.
Seconds without_own(IterationModel const& model, RequestShape const& request, PromptMix const& mix, double carrying,
                    PipelinePace const& pace) {
    Seconds const plain = pace.step(staged(model, mix.plain));
    double const groups = attention_groups(model) - 1;
    double const any = 1 - std::pow(1 - carrying, groups);
    if (groups <= 0 || any <= 0) return plain;
    return (1 - any) * plain + any * pace.step(staged(model, carried_by(model, request, mix, carrying, groups, any)));
}

/// An iteration with so many prompts of all groups, spread evenly over them.
IterationTime spread_over_groups(IterationModel const& model, RequestShape const& request, PromptMix const& mix,
                                 double prompts) {
    double const groups = attention_groups(model);
    double const own = std::max(std::min(1.0, prompts), prompts / groups);
    double const elsewhere =
        (prompts - own) * fresh_tokens(request) + (groups - 1) * (prompts < groups ? mix.decodes : mix.beside);
    return beside_others(model, request, mix, own, elsewhere);
}

/// Prompts that are spread over the groups: iterations that have any have so many.
void spread_prompts(IterationModel const& model, RequestShape const& request, double share, double prompts,
                    PromptMix& mix) {
    double const groups = attention_groups(model);
    mix.any = share;
    mix.share = share * std::min(1.0, prompts / groups);
    mix.prompts = std::max(std::min(1.0, prompts), prompts / groups);
    mix.mixed = mix.carried = spread_over_groups(model, request, mix, prompts);
}

/// An iteration with so many prompts, of all groups or of one.
IterationTime iteration_with(IterationModel const& model, RequestShape const& request, PromptMix const& mix,
                             double prompts) {
    if (pooled_groups(model, mix) > 1) return spread_over_groups(model, request, mix, prompts);
    return step_with(model, request, mix, prompts, carrying_of(mix));
}

/// Whether an iteration with so many prompts is the same however often others have some.
bool alike_beside_others(IterationModel const& model, PromptMix const& mix) {
    return attention_groups(model) == pooled_groups(model, mix);
}

/// Iterations with `numbers` of prompts, of all groups or of one; of none the plain one.
std::vector<StagedTime> iterations_with(IterationModel const& model, RequestShape const& request, PromptMix const& mix,
                                        std::vector<double> const& numbers) {
    std::vector<StagedTime> out{staged(model, mix.plain)};
    out.reserve(numbers.size());
    for (std::size_t i = 1; i < numbers.size(); ++i)
        out.push_back(staged(model, iteration_with(model, request, mix, numbers[i])));
    return out;
}

/// Seconds of these.
std::vector<double> iteration_seconds(IterationModel const& model, RequestShape const& request, PromptMix const& mix,
                                      std::vector<StagedTime> const& iterations, PipelinePace const& pace) {
    Seconds const none = pooled_groups(model, mix) > 1 ? pace.step(iterations.front())
                                                       : without_own(model, request, mix, carrying_of(mix), pace);
    std::vector<double> out{none / units::s};
    out.reserve(iterations.size());
    for (std::size_t i = 1; i < iterations.size(); ++i)
        out.push_back(pace.step(iterations[i]) / units::s);
    return out;
}

/// The batches of a pipeline, over which sequences are spread evenly.
/// @param prompts in an iteration of one that has any, of all groups or of one
/// @param met share of the iterations of a request that have prompts of others of its batch
/// @param one an iteration with one prompt, or the most if that is less, where it is known
PipelinePace pace_of(IterationModel const& model, RequestShape const& request, PromptMix const& mix, double prompts,
                     double met, std::optional<StagedTime> const& one = {}) {
    double const stages = stages_of(model);
    if (stages == 1) return {};
    double const sequences = mix.decodes * stages * attention_groups(model);
    double const most = mix.most * pooled_groups(model, mix);
    double const some = std::min(1.0, most);
    double const carried = most < 1 ? prompts : std::max(1.0, prompts);  // of one that is cut, full parts and its rest
    double const many = std::min(most, prompts + 3 * std::sqrt(prompts) + 1);
    auto const with = [&](double number) {
        return std::pair(number, staged(model, iteration_with(model, request, mix, number)));
    };
    return {std::clamp(sequences - 1, 0.0, stages - 1),
            {.none = 1 - std::min(1.0, mix.any), .prompts = carried, .most = most < 1 ? carried : most},
            1 - std::min(1.0, met),
            staged(model, mix.plain),
            one ? std::pair(some, *one) : with(some),
            with(many)};
}

/// What the queue says of the mix.
void set_prompts(IterationModel const& model, RequestShape const& request, PromptQueue const& queue, PromptMix& mix) {
    double const resting = std::max(1e-3, 1 - queue.carrying);
    double const prompts = queue.prompts / queue.carrying;
    mix.chunks = queue.chunks;
    mix.mean = mix.apart ? queue.mean / resting : queue.mean;
    if (pooled_groups(model, mix) > 1) return spread_prompts(model, request, queue.carrying, prompts, mix);
    mix.share = mix.apart ? queue.carrying / resting : queue.carrying;
    mix.prompts = prompts;
    add_prompts(model, request, mix);
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

/// Seconds by which an iteration that is a second longer makes the next one longer, between those without prompts and
/// the mean of those with any: `rate` come in a second.
double carried_on(PromptQueue const& queue, PromptIterations const& steps, double rate) {
    double const plain = steps.seconds.front();
    double const with = (queue.mean / units::s - (1 - queue.carrying) * plain) / queue.carrying;
    if (with <= plain) return 0;
    return (steps.at_random(rate * with) - steps.at_random(rate * plain)) / (with - plain);
}

/// What a request's steps take beyond as many mean ones: prompts that came while it waited are there when its own is
/// through. Of x more prompts than in the mean each makes an iteration b longer and brings rate b others, so that they
/// cost b x / (1 - rate b) in all: at once where prompts go first, else beginning with the iteration that follows, and
/// every second one where engines plan ahead. Groups that queue together have prompts of several in one iteration,
/// which takes hardly longer for it: they cost what the next iteration is longer by, which fades by `carried_on`.
/// @param pool groups that queue together
Seconds later_steps(PromptQueue const& queue, PromptIterations const& steps, PromptMix const& mix, double pool,
                    double count, double rate, IterationPlanning planning) {
    if (count <= 0) return {};
    double const plain = steps.seconds.front();
    if (mix.apart) {
        double const each = (queue.mean / units::s - (1 - queue.carrying) * plain) / queue.prompts;
        double const more = std::max(0.0, queue.left - rate * plain);
        return more * each / (1 - std::min(busiest, rate * each)) * units::s;
    }
    double const mean = queue.mean / units::s;
    double first = 0;
    double all = 0;
    if (pool > 1) {
        first = steps.at_random(queue.left) - mean;
        all = first / (1 - std::min(busiest, carried_on(queue, steps, rate)));
    } else {
        double const each = std::max(0.0, (steps.seconds.back() - plain) / steps.most());
        first = queue.next / units::s - mean;
        all = (queue.left - queue.there) * each / (1 - std::min(busiest, rate * each));
    }
    if (all <= 0 || first <= 0) return {};
    double const turns = planning == IterationPlanning::ahead ? count / 2 : count;
    return all * (1 - std::pow(1 - std::min(1.0, first / all), turns)) * units::s;
}

/// The rest of the iteration that runs when a prompt comes, of one batch.
Seconds running_rest(PromptQueue const& queue) { return 0.5 * (1 - queue.asleep) * queue.next; }

/// Until the first of the batches of a pipeline begins its next iteration. Those without prompts follow each other
/// evenly. Of P batches of which k have prompts, all take P times as long as a stage has prompts, t; one without is
/// through right behind the one before it, so that of the moments at which one begins k - 1 are t apart, and the next
/// is P - k + 1 times that away: the mean rest is (k - 1 + (P - k + 1)^2) t / 2 P. One without sequences is free, and
/// the prompt waits for the first stage alone, k^2 t / 2 P.
/// @param busy share of a batch's time in iterations with prompts
/// @param with such an iteration
/// @param awake share of the time in which there is any
Seconds first_rest(PromptMix const& mix, double stages, double busy, Seconds with, double awake) {
    double chance = std::pow(1 - busy, stages);  // of k
    Seconds rest = chance * awake * mix.plain.total() / (2 * stages);
    for (double k = 1; k <= stages; ++k) {
        chance = busy >= 1 ? (k == stages ? 1 : 0) : chance * (stages - k + 1) / k * busy / (1 - busy);
        double const apart = stages - k + 1;
        double const free = 1 - std::pow(-std::expm1(-mix.decodes), stages - k);
        double const squares = free * k * k + (1 - free) * (k - 1 + apart * apart);
        rest += chance * squares * with / (2 * stages * stages);
    }
    return rest;
}

/// The same where prompts come at random.
Seconds first_rest(PromptMix const& mix, PromptQueue const& queue, PromptIterations const& steps, double stages) {
    if (stages == 1) return running_rest(queue);
    double const awake = 1 - queue.asleep;
    Seconds const beside_others = steps.seconds.front() * units::s;                // longer where those have prompts
    Seconds const in_prompts = queue.mean - (1 - queue.carrying) * beside_others;  // of an iteration's mean time
    double const busy = std::clamp<double>(in_prompts / queue.mean, 0, 1);
    return first_rest(mix, stages, busy * awake, in_prompts / queue.carrying, awake);
}

}  // namespace

double mean_context(RequestShape const& r) { return r.prompt + r.output / 2; }

double admitted_context(EngineProfile const& engine, RequestShape const& request) {
    return engine.admission == Admission::whole ? request.prompt + request.output : mean_context(request);
}

double others_of(double requests) { return 1 - 1 / std::max(1.0, requests); }

double decoding_iterations(RequestShape const& r) { return std::max(1.0, r.output - 1); }

double fresh_tokens(RequestShape const& r) { return std::max(1.0, r.prompt - r.cached); }

PromptMix mix_at(IterationModel const& model, RequestShape const& request, double decodes, double beginning,
                 double requests) {
    PromptMix mix = mix_without(model, request, decodes);
    double const pool = pooled_groups(model, mix);
    double const all = beginning * pool;
    double const most = mix.most * pool;
    mix.chunks = chunks_of(mix, std::min(1.0, beginning / mix.most));
    double share = prompt_iterations(mix, all);
    double prompts = share > 0 ? all / share : 1 / mix.chunks;
    if (prompts > most) {
        prompts = most;
        share = all / most;
    }
    if (pool > 1) {
        spread_prompts(model, request, share, prompts, mix);
    } else {
        mix.share = share;
        mix.prompts = prompts;
        add_prompts(model, request, mix);
    }
    double const met = met_share(model, mix, requests);
    PipelinePace const pace = pace_of(model, request, mix, prompts, met);
    mix.own_pace = pace.own_pace();
    Seconds const iteration =
        stages_of(model) > 1 ? pace.mean() : (1 - met) * mix.plain.total() + met * mix.carried.total();
    mix.mean = mix.apart ? (1 + others_of(requests) * mix.share) * iteration : iteration;
    return mix;
}

Seconds rest_in_loop(IterationModel const& model, PromptMix const& mix) {
    double const stages = stages_of(model);
    if (stages == 1) return 0.5 * mix.mean;
    Seconds const with = std::max(mix.mixed.total(), stages * model.at_slowest_stage(mix.mixed));
    return first_rest(mix, stages, std::clamp<double>(mix.share * with / mix.mean, 0, 1), with, 1);
}

double prompt_rate(IterationModel const& model, RequestShape const& request, double places) {
    PromptMix const mix = mix_without(model, request, 0);
    double const prompts = std::min(std::max(1.0, places), mix.most);
    double const elsewhere = (attention_groups(model) - 1) * prompts * fresh_tokens(request);
    IterationTime const time = with_prompts(model, request, mix, prompts, elsewhere);
    double const batches = stages_of(model) * std::min(1.0, places);  // of a pipeline, that work
    return std::min(1.0, places) * prompts /
           (std::max(time.total(), batches * model.at_slowest_stage(time)) / units::s);
}

RandomPrompts random_prompts(IterationModel const& model, RequestShape const& request, double decodes, double rate) {
    RandomPrompts out;
    PromptMix& mix = out.mix;
    mix = mix_without(model, request, decodes);
    double const stages = stages_of(model);
    double const groups = attention_groups(model);
    // Nobody decodes, in any group, in e^-D of the time without prompts: that ends with a prompt, the rest with a step.
    double const nobody = std::exp(-decodes * stages * groups);
    double const asleep = nobody * groups * rate * (mix.plain.total() / units::s);
    double const idle = asleep / (asleep + (1 - nobody));
    double const pool = pooled_groups(model, mix);
    double const arriving = pool * rate;
    PromptIterations steps{.prompts = numbers_of_prompts(mix.most * pool), .seconds = {}};
    std::vector<StagedTime> iterations = iterations_with(model, request, mix, steps.prompts);
    std::optional<StagedTime> one;
    if (alike_beside_others(model, mix)) {
        auto const at = std::find(steps.prompts.begin(), steps.prompts.end(), std::min(1.0, steps.most()));
        one = iterations[static_cast<std::size_t>(at - steps.prompts.begin())];
    }
    PipelinePace pace;
    PromptQueue queue;
    // What other batches of a pipeline do in between, and other groups meanwhile, follows from the mix.
    for (int round = 0; round < (stages > 1 || groups > pool ? 3 : 1); ++round) {
        if (round > 0 && !one) iterations = iterations_with(model, request, mix, steps.prompts);
        steps.seconds = iteration_seconds(model, request, mix, iterations, pace);
        queue = prompt_queue(steps, std::min(arriving, busiest * steps.most() / steps.seconds.back()), idle);
        set_prompts(model, request, queue, mix);
        pace = pace_of(model, request, mix, queue.prompts / queue.carrying, mix.any, one);
    }
    mix.own_pace = pace.own_pace();
    Seconds const full = steps.seconds.back() * units::s;
    double const behind = mix.apart ? 0 : queue.behind;
    // The first batch that begins an iteration takes it, and it is through when that is.
    out.before = (queue.wait - running_rest(queue)) / stages + first_rest(mix, queue, steps, stages) + behind * full +
                 (queue.own - pace.step(staged(model, mix.mixed))) - (mix.chunks - 1) * mix.mixed.total();
    IterationPlanning const planning = model.what().engine.planning;
    bool const ahead = planning == IterationPlanning::ahead;
    if (ahead)
        out.before += queue.mean / stages * (1 - queue.asleep) * (1 - nobody);  // a next one that would be empty waits
    out.before = std::max(Seconds{}, out.before);
    out.during = queue.own + (mix.chunks - 1) * full;
    double const count = request.output - 1;
    out.after = later_steps(queue, steps, mix, pool, count, arriving, planning);
    double const is_short = short_answer(count);
    if (ahead && is_short > 0 && stages == 1 && groups == 1 && mix.most >= 1)
        out.after += is_short * (ahead_steps(queue, steps, mix, count, arriving) - out.after);
    return out;
}

}  // namespace sextant
