#include "planner/run_plan/training_run.hpp"

#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "planner/explain.hpp"
#include "planner/refine_recompute.hpp"
#include "planner/run_plan/global_batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace sextant {
namespace {

constexpr std::int64_t longest_usual_sequence = 8192;
constexpr double least_ratio = 1e-6;
constexpr std::int64_t largest_workload = std::int64_t{1} << 31;  ///< tokens of a sequence, sequences of a batch
constexpr double most_tokens = 1e18;

std::string why_nothing_fits(SearchResult const& result, MemoryLimit const& limit) {
    if (result.smallest_misfit)
        return fmt::format("memory: {} needs {} of {}", plan_label(result.smallest_misfit->plan),
                           human(result.smallest_misfit->estimate.peak()), human(limit.usable));
    if (result.counts.enumerated == 0) return "no degrees that the framework runs multiply to it";
    return rejection_summary(result.counts);
}

std::string why_cluster_cannot(ClusterSpec const& cluster, std::int64_t accelerators) {
    if (cluster.max_accelerators > 0 && accelerators > cluster.max_accelerators)
        return fmt::format("{} has {} accelerators", cluster.name, cluster.max_accelerators);
    if (accelerators > cluster.domain_size && !cluster.scale_out)
        return fmt::format("{} has no network beyond {}", cluster.name, cluster.domain_size);
    return "";
}

/// Share of the wall clock that counts.
double share_of(PlannedStep const& planned) { return planned.goodput ? planned.goodput->expected.ratio() : 1; }

}  // namespace

Workload run_workload(RunSetting const& setting, ModelSpec const& model, double tokens) {
    if (!(tokens >= 1 && tokens <= most_tokens))
        throw InputError("run-plan: {:.4g} tokens for {} (1 to {:g})", tokens, model.name, most_tokens);
    Workload workload;
    std::int64_t const longest = model.max_positions > 0 ? model.max_positions : longest_usual_sequence;
    workload.sequence = setting.sequence.value_or(std::min(longest_usual_sequence, longest));
    if (workload.sequence < 1 || workload.sequence > largest_workload)
        throw InputError("--seq: {} is out of range (1 to {})", workload.sequence, largest_workload);
    if (model.position == PositionKind::learned && workload.sequence > model.max_positions)
        throw InputError("--seq: {} is longer than the {} learned positions of {}", workload.sequence,
                         model.max_positions, model.name);
    workload.global_batch = setting.global_batch.value_or(usual_global_batch(tokens, workload.sequence));
    if (workload.global_batch < 1 || workload.global_batch > largest_workload)
        throw InputError("--global-batch: {} is out of range (1 to {})", workload.global_batch, largest_workload);
    workload.document = document_tokens(setting.document, workload.sequence);
    return workload;
}

PlannedStep plan_step(RunSetting const& setting, ModelSpec const& model, Workload const& workload,
                      std::int64_t accelerators, std::size_t layouts) {
    PlannedStep planned{.accelerators = accelerators, .report = {}, .best = {}, .goodput = {}, .reason = {}};
    planned.reason = why_cluster_cannot(setting.cluster, accelerators);
    if (!planned.reason.empty()) return planned;
    if (setting.progress) setting.progress(fmt::format("{} on {}", model.name, grouped_digits(accelerators)));
    std::vector<SearchSpace> spaces;
    try {
        spaces.push_back(make_search_space(model, workload, setting.cluster, accelerators, setting.constraints));
    } catch (InputError const& nothing_left) {
        planned.reason = nothing_left.what();
        return planned;
    }
    SearchOptions options;
    options.top = layouts;
    options.keep = Kept::to_refine;
    options.threads = setting.threads;
    options.stop = setting.stop;
    options.longest_sequence = setting.longest_sequence;
    SearchResult result = search(model, workload, setting.cluster, setting.framework, spaces, setting.limit, options);
    planned.interrupted = result.interrupted;
    if (result.best.empty()) {
        planned.reason = result.interrupted ? "interrupted" : why_nothing_fits(result, setting.limit);
        return planned;
    }
    ClosedForm form(model, workload, setting.cluster, setting.framework, setting.constraints.base.precision);
    form.hold_longest(setting.longest_sequence);
    result.pareto.clear();
    refine_with_recompute(result, form, spaces, setting.limit, options);
    planned.best = std::move(result.best);
    ParallelPlan const& plan = planned.best.front().plan;
    planned.report = make_report(form, plan, setting.limit, planned.best.front().estimate);
    if (plan.pp > 1)
        planned.stage_work =
            mean_stage_work(form.assemble(form.price_shape(plan), plan), planned.report->estimate.slowest_stage);
    if (setting.failures == nullptr) return planned;
    planned.goodput = run_goodput(*setting.failures, setting.cluster, setting.framework, model, planned.report->plan);
    if (!(planned.goodput->expected.ratio() > least_ratio)) {
        planned.report.reset();
        planned.reason =
            fmt::format("failures, every {}, leave no time to train", human(planned.goodput->expected.mtbf));
    }
    return planned;
}

TrainingRun training_run(RunSetting const& setting, PlannedStep const& planned, double tokens) {
    StepReport const& step = *planned.report;
    TrainingRun run;
    run.step = step;
    run.goodput = planned.goodput;
    run.tokens = tokens;
    run.steps = std::ceil(tokens / static_cast<double>(step.workload.tokens()) * (1 - 1e-12));
    run.productive = run.steps * step.estimate.time;
    run.wall = run.productive / share_of(planned);
    auto const accelerators = static_cast<double>(step.accelerators);
    run.accelerator_hours = accelerators * run.wall.in(units::hour);
    if (auto const price = price_of(setting.cluster, step.accelerators)) run.cost = *price * run.wall;
    run.energy = run_energy(setting.power, setting.cluster.accelerator, step.estimate, planned.stage_work, accelerators,
                            run.wall);
    return run;
}

double tokens_within(PlannedStep const& planned, Seconds wall) {
    double const steps = std::floor(wall * share_of(planned) / planned.report->estimate.time);
    return steps * static_cast<double>(planned.report->workload.tokens());
}

}  // namespace sextant
