#include "planner/settings_advice.hpp"

#include "core/graph/plan_check.hpp"
#include "planner/framework_rules.hpp"
#include "planner/search_space.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>
#include <vector>

namespace sextant {

void set_recompute(ParallelPlan& plan, Recompute policy, std::int64_t layers) {
    plan.recompute = policy;
    plan.recompute_layers = layers;
    plan.recompute_modules = attention_core;
    plan.kept_activations = {};
}

std::vector<std::string> options_between(ParallelPlan const& from, ParallelPlan const& to) {
    std::vector<std::string> options;
    if (to.micro_batch != from.micro_batch) options.push_back(fmt::format("--micro-batch {}", to.micro_batch));
    if (to.recompute != from.recompute || to.recompute_layers != from.recompute_layers) {
        options.push_back(fmt::format("--recompute {}", name_of(to.recompute)));
        if (to.recompute_layers > 0) options.back() += fmt::format(" --recompute-layers {}", to.recompute_layers);
    }
    if (to.loss_chunks != from.loss_chunks) options.push_back(fmt::format("--loss-chunks {}", to.loss_chunks));
    if (to.fused_cross_entropy != from.fused_cross_entropy) options.emplace_back("--fused-cross-entropy");
    if (to.zero != from.zero) options.push_back(fmt::format("--zero {}", to.zero));
    if (to.sequence_parallel != from.sequence_parallel)
        options.emplace_back(to.sequence_parallel == Switch::on ? "--sequence-parallel" : "--no-sequence-parallel");
    if (to.attention != from.attention) options.push_back(fmt::format("--attention {}", name_of(to.attention)));
    if (to.vpp != from.vpp) options.push_back(fmt::format("--vpp {}", to.vpp));
    if (to.dropout != from.dropout) options.emplace_back("--dropout");
    return options;
}

namespace {

struct ChangedSettings {
    ParallelPlan plan;
    StepEstimate estimate;
    std::vector<std::string> options;
};

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

/// The plan, and where it does not fit also with fewer logits at once.
std::vector<ParallelPlan> loss_variants(StepReport const& report, ClosedForm const& form) {
    ParallelPlan const& plan = report.plan;
    std::vector<ParallelPlan> out{plan};
    if (report.fits || form.model().head != OutputHead::vocabulary) return out;
    Launcher const launcher = launcher_of(form.framework());
    if (plan.loss_chunks == 1 && cuts_loss(launcher)) out.emplace_back(plan).loss_chunks = usual_loss_chunks;
    if (plan.fused_cross_entropy == Switch::off && fuses_loss(launcher))
        out.emplace_back(plan).fused_cross_entropy = Switch::on;
    return out;
}

/// All plans that differ from this one in one or more of the settings, and itself.
std::vector<ParallelPlan> settings_variants(ParallelPlan const& plan, ClosedForm const& form) {
    std::vector<std::int64_t> micro_batches{plan.micro_batch};
    if (plan.micro_batch > 3) micro_batches.push_back(plan.micro_batch / 2);
    if (plan.micro_batch > 1) micro_batches.push_back(1);
    std::vector<int> zeros{plan.zero};
    if (plan.zero == 0) zeros.push_back(1);
    std::vector<Switch> splits{plan.sequence_parallel};
    if (plan.tp > 1 && plan.sequence_parallel != Switch::on) splits.push_back(Switch::on);

    std::vector<ParallelPlan> out;
    for (ParallelPlan other : recompute_variants(plan, form))
        for (std::int64_t const micro_batch : micro_batches)
            for (int const zero : zeros)
                for (Switch const split : splits) {
                    other.micro_batch = micro_batch;
                    other.zero = zero;
                    other.sequence_parallel = split;
                    out.push_back(other);
                }
    return out;
}

}  // namespace

std::optional<SettingsAdvice> better_settings(StepReport const& report, ClosedForm& form) {
    constexpr double worth_saying = 0.98;
    constexpr double as_good = 1.015;
    ParallelPlan const& plan = report.plan;
    std::vector<ChangedSettings> found;
    std::vector<ParallelPlan> variants;
    for (ParallelPlan const& with_loss : loss_variants(report, form))
        for (ParallelPlan& other : settings_variants(with_loss, form))
            variants.push_back(std::move(other));
    for (ParallelPlan const& other : variants) {
        ChangedSettings candidate{.plan = other, .estimate = {}, .options = options_between(plan, other)};
        if (candidate.options.empty() || find_problem(form.model(), other, form.workload()) ||
            !zero_suits_pipeline(other))
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
        return std::tuple(a.options.size(), a.estimate.time) < std::tuple(b.options.size(), b.estimate.time);
    });
    // The walk says what the plan at hand takes: of the first that holds by it, too, the figures are said.
    for (ChangedSettings const& candidate : found) {
        StepEstimate walked = form.evaluate(candidate.plan, PipelineMethod::walk);
        bool const is_faster = walked.time < worth_saying * report.estimate.time;
        if (!report.limit.admits(walked.memory) || (report.fits && !is_faster)) continue;
        return SettingsAdvice{.options = fmt::format("{}", fmt::join(candidate.options, " ")),
                              .estimate = std::move(walked)};
    }
    return {};
}

}  // namespace sextant
