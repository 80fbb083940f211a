#include "planner/settings_advice.hpp"

#include "core/graph/plan_check.hpp"
#include "planner/search_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace sextant {
namespace {

struct ChangedSettings {
    ParallelPlan plan;
    StepEstimate estimate;
    int changes = 0;
};

/// Only full recompute can be of some layers.
void set_recompute(ParallelPlan& plan, Recompute policy, std::int64_t layers) {
    plan.recompute = policy;
    plan.recompute_layers = layers;
    plan.recompute_modules = attention_core;
    plan.kept_activations = {};
}

std::vector<ParallelPlan> recompute_variants(ParallelPlan const& plan, ClosedForm const& form) {
    std::vector<ParallelPlan> out{plan};
    auto const add = [&](Recompute policy, std::int64_t layers) {
        ParallelPlan other = plan;
        set_recompute(other, policy, layers);
        out.push_back(std::move(other));
    };
    if (plan.recompute != Recompute::none) add(Recompute::none, 0);
    if (plan.recompute != Recompute::full || plan.recompute_layers > 0) add(Recompute::full, 0);
    std::int64_t const of_stage = form.model().layer_count() / plan.pp;
    for (std::int64_t layers = recompute_step(form.framework(), plan); layers < of_stage; layers *= 2)
        if (plan.recompute != Recompute::full || layers != plan.recompute_layers) add(Recompute::full, layers);
    return out;
}

/// All plans that differ in one or more of the settings, the given one among them.
std::vector<ParallelPlan> settings_variants(ParallelPlan const& plan, ClosedForm const& form) {
    std::vector<ParallelPlan> out;
    for (ParallelPlan of_recompute : recompute_variants(plan, form))
        for (std::int64_t const micro_batch : {plan.micro_batch, plan.micro_batch / 2, std::int64_t{1}}) {
            if (micro_batch < 1) continue;
            of_recompute.micro_batch = micro_batch;
            for (int const zero : {plan.zero, 1}) {
                if (zero < plan.zero) continue;
                of_recompute.zero = zero;
                for (Switch const split : {plan.sequence_parallel, Switch::on}) {
                    if (split == Switch::on && plan.tp == 1) continue;
                    of_recompute.sequence_parallel = split;
                    out.push_back(of_recompute);
                    if (plan.sequence_parallel == Switch::on) break;
                }
                if (plan.zero > 0) break;
            }
            if (plan.micro_batch == 1) break;
        }
    return out;
}

std::string options_between(ParallelPlan const& from, ParallelPlan const& to, int& changes) {
    std::string options;
    auto const add = [&](std::string const& option) {
        options += (options.empty() ? "" : " ") + option;
        ++changes;
    };
    if (to.micro_batch != from.micro_batch) add(fmt::format("--micro-batch {}", to.micro_batch));
    if (to.recompute != from.recompute || to.recompute_layers != from.recompute_layers)
        add(fmt::format("--recompute {}{}", name_of(to.recompute),
                        to.recompute_layers > 0 ? fmt::format(" --recompute-layers {}", to.recompute_layers) : ""));
    if (to.zero != from.zero) add(fmt::format("--zero {}", to.zero));
    if (to.sequence_parallel != from.sequence_parallel) add("--sequence-parallel");
    return options;
}

}  // namespace

std::optional<SettingsAdvice> better_settings(StepReport const& report, ClosedForm& form) {
    constexpr double worth_saying = 0.98;
    constexpr double as_good = 1.015;
    ParallelPlan const& plan = report.plan;
    std::vector<ChangedSettings> found;
    for (ParallelPlan const& other : settings_variants(plan, form)) {
        ChangedSettings candidate{.plan = other, .estimate = {}};
        options_between(plan, other, candidate.changes);
        if (candidate.changes == 0 || find_problem(form.model(), other, form.workload()) || !zero_suits_pipeline(other))
            continue;
        candidate.estimate = form.evaluate(other);
        bool const is_faster = candidate.estimate.time < worth_saying * report.estimate.time;
        if (report.limit.admits(candidate.estimate.memory) && (is_faster || !report.fits))
            found.push_back(std::move(candidate));
    }
    if (found.empty()) return {};
    Seconds const best = std::min_element(found.begin(), found.end(), [](auto const& a, auto const& b) {
                             return a.estimate.time < b.estimate.time;
                         })->estimate.time;
    std::erase_if(found, [&](ChangedSettings const& c) { return c.estimate.time > as_good * best; });
    std::stable_sort(found.begin(), found.end(), [](ChangedSettings const& a, ChangedSettings const& b) {
        return a.changes != b.changes ? a.changes < b.changes : a.estimate.time < b.estimate.time;
    });
    // The walk says what the plan at hand takes: of the first that holds by it, too, the figures are said.
    for (ChangedSettings const& candidate : found) {
        StepEstimate walked = form.evaluate(candidate.plan, PipelineMethod::walk);
        bool const is_faster = walked.time < worth_saying * report.estimate.time;
        if (!report.limit.admits(walked.memory) || (report.fits && !is_faster)) continue;
        int changes = 0;
        return SettingsAdvice{.options = options_between(plan, candidate.plan, changes), .estimate = std::move(walked)};
    }
    return {};
}

}  // namespace sextant
