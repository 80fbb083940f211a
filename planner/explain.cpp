#include "planner/explain.hpp"

#include "core/graph/plan_check.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/schedule_traits.hpp"
#include "planner/expert_overlap.hpp"
#include "planner/framework_rules.hpp"
#include "planner/settings_advice.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sextant {
namespace {

/// "5,4x6,3": layers of the chunks, and how many in a row hold as many.
std::string stages_label(std::vector<std::int64_t> const& layers) {
    std::string text;
    for (std::size_t i = 0, end = 0; i < layers.size(); i = end) {
        while (end < layers.size() && layers[end] == layers[i])
            ++end;
        text += fmt::format("{}{}", text.empty() ? "" : ",", layers[i]);
        if (end - i > 1) text += fmt::format("x{}", end - i);
    }
    return text;
}

double share(Seconds part, StepEstimate const& estimate) { return 100 * (part / estimate.time); }

std::string bottleneck_sentence(StepEstimate const& e) {
    auto parts = breakdown_parts(e.breakdown);
    std::stable_sort(parts.begin(), parts.end(), [](auto const& a, auto const& b) { return a.second > b.second; });
    return fmt::format("the largest part is {} with {:.0f} % of the step, then {} with {:.0f} %", parts[0].first,
                       share(parts[0].second, e), parts[1].first, share(parts[1].second, e));
}

std::string communication_sentence(StepEstimate const& e) {
    StepBreakdown const& b = e.breakdown;
    Seconds const all = b.tp + b.cp + b.ep + b.pp + b.dp;
    std::string line = fmt::format("exposed communication {} ({:.1f} %)", human(all), share(all, e));
    char const* before = ": ";
    for (auto const& [name, time] : {std::pair{"tp", b.tp}, {"cp", b.cp}, {"ep", b.ep}, {"pp", b.pp}, {"dp", b.dp}}) {
        if (time <= Seconds{}) continue;
        line += fmt::format("{}{} {}", before, name, human(time));
        before = ", ";
    }
    return line;
}

/// What another plan takes, if it can be run and is faster than the one reported by more than rounding.
std::optional<StepEstimate> faster(ParallelPlan const& plan, StepReport const& report, ClosedForm& form) {
    constexpr double noticeable = 0.999;
    if (find_problem(form.model(), plan, form.workload())) return {};
    StepEstimate estimate = form.evaluate(plan, PipelineMethod::walk);
    if (estimate.time > noticeable * report.estimate.time) return {};
    return estimate;
}

/// The largest degree below the plan's whose ranks, as replicas, make it faster; 0: none.
std::int64_t faster_tensor_degree(StepReport const& report, ClosedForm& form) {
    for (std::int64_t degree = report.plan.tp - 1; degree > 0; --degree) {
        if (report.plan.tp % degree != 0) continue;
        ParallelPlan plan = report.plan;
        plan.tp = degree;
        plan.dp *= report.plan.tp / degree;
        if (degree == 1) plan.sequence_parallel = Switch::off;
        if (faster(plan, report, form)) return degree;
    }
    return 0;
}

std::string tensor_sentence(StepReport const& report, ClosedForm& form) {
    ParallelPlan const& p = report.plan;
    // Less of it takes more memory.
    std::int64_t const degree = report.fits ? faster_tensor_degree(report, form) : 0;
    std::string const less =
        degree > 0 ? fmt::format("--tp {} (more data parallelism, if it fits) may help, ", degree) : "";
    return fmt::format(
        "tensor parallelism {}: {}overlapping it (now {:.0f} % hidden) would help",
        place(GroupKind::tensor, p, form.cluster()).domains > 1 ? "crosses scale-up domains" : "stays inside a domain",
        less, 100 * form.timing().tp_overlap.value);
}

/// The plan with another schedule, in the fewest chunks, two or more, that the layers can be split into; nothing where
/// they cannot.
std::optional<ParallelPlan> in_chunks(ParallelPlan plan, Schedule schedule, ClosedForm const& form) {
    plan.schedule = schedule;
    for (plan.vpp = 2; plan.pp * plan.vpp <= form.model().layer_count(); ++plan.vpp)
        if (!find_problem(form.model(), plan, form.workload())) return plan;
    return {};
}

/// What would shrink the bubble: of a schedule of one chunk also the framework's of several, where that is faster.
std::string bubble_sentence(StepReport const& report, ClosedForm& form) {
    ParallelPlan const& p = report.plan;
    Schedule const chunked = usual_schedule(launcher_of(form.framework()), 2);
    if (p.schedule == Schedule::gpipe || p.schedule == Schedule::one_f_one_b)
        if (auto const plan = in_chunks(p, chunked, form))
            if (auto const e = faster(*plan, report, form); e && e->breakdown.bubble < report.estimate.breakdown.bubble)
                return fmt::format(
                    "a larger global batch, fewer stages or --schedule {} --vpp {}, if it fits, would shrink the "
                    "bubble",
                    name_of(chunked), plan->vpp);
    return "a larger global batch or fewer stages would shrink the bubble";
}

/// With what options the exchanges of experts would hide; nothing where Megatron-Core cannot have them hide, or no time
/// is won.
std::optional<std::string> overlap_sentence(StepReport const& report, ClosedForm& form) {
    ParallelPlan plan = report.plan;
    std::string options = "--schedule 1f1b-overlap";
    plan.schedule = Schedule::overlapped;
    bool const full = plan.recompute == Recompute::full;
    if (full) plan.recompute = Recompute::none;
    if (plan.pp > 1 && plan.vpp == 1) {
        auto const chunked = in_chunks(plan, plan.schedule, form);
        if (!chunked) return {};
        plan = *chunked;
        options += fmt::format(" --vpp {}", plan.vpp);
    }
    if (full) options += " --recompute none";
    if (!can_overlap_experts(plan) || !faster(plan, report, form)) return {};
    return fmt::format(
        "expert parallelism: with {}, if it fits, exchanges would hide beside another pass, as far as the host keeps "
        "up",
        options);
}

/// Whether it is experts that the host is slowest to launch.
bool experts_wait_longest(ClosedForm const& form) {
    FrameworkTiming const& t = form.timing();
    return form.model().moe && (t.moe_floor_forward.value > t.host_floor_forward.value ||
                                t.moe_floor_backward.value > t.host_floor_backward.value);
}

std::string host_sentence(StepReport const& report, ClosedForm const& form) {
    return fmt::format("the host launches kernels slower than the device runs them: {}CUDA graphs{} would help",
                       report.microbatches >= 2 ? "a larger micro-batch or " : "",
                       experts_wait_longest(form) ? ", which have to cover the layers with experts," : "");
}

void explain_memory(StepReport const& report, std::vector<std::string>& lines) {
    StepEstimate const& e = report.estimate;
    Bytes const headroom = report.limit.usable - e.peak();
    if (e.memory.host > report.limit.host)
        lines.push_back(fmt::format("host memory: {} are offloaded but there are {} per accelerator",
                                    human(e.memory.host), human(report.limit.host)));
    lines.push_back(headroom >= Bytes{}
                        ? fmt::format("memory: stage {} is the fullest, {} of {} usable, {} to spare", e.fullest_stage,
                                      human(e.peak()), human(report.limit.usable), human(headroom))
                        : fmt::format("memory: stage {} needs {}, {} more than the {} that are usable", e.fullest_stage,
                                      human(e.peak()), human(-headroom), human(report.limit.usable)));
    if (auto const room = roomier_limit(report))
        lines.push_back(fmt::format("memory is tight: the upper end of the 80 % range is {}; a plan within {} has room",
                                    human(e.memory.reserved_high), human(*room)));
}

}  // namespace

std::vector<std::pair<std::string_view, Seconds>> breakdown_parts(StepBreakdown const& b) {
    return {{"matrix products", b.gemm}, {"attention", b.attention}, {"memory-bound kernels", b.memory_bound},
            {"host and gaps", b.host},   {"recompute", b.recompute}, {"tp communication", b.tp},
            {"cp communication", b.cp},  {"ep communication", b.ep}, {"pp transfers", b.pp},
            {"bubble", b.bubble},        {"dp communication", b.dp}, {"optimizer", b.optimizer},
            {"offload", b.offload},      {"reference", b.reference}, {"fixed", b.fixed}};
}

std::string largest_losses(StepEstimate const& estimate) {
    auto parts = breakdown_parts(estimate.breakdown);
    parts.erase(parts.begin(), parts.begin() + 2);
    std::stable_sort(parts.begin(), parts.end(), [](auto const& a, auto const& b) { return a.second > b.second; });
    auto const word = [](std::string_view name) { return name.substr(0, name.find(' ')); };
    std::string text;
    for (std::size_t i = 0; i < 2; ++i) {
        if (share(parts[i].second, estimate) < 0.5) break;
        text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", word(parts[i].first),
                            share(parts[i].second, estimate));
    }
    return text.empty() ? "compute" : text;
}

namespace {

bool wants_feed_forward(AdapterTargets targets) {
    return targets.has(AdapterTarget::gate) || targets.has(AdapterTarget::up) || targets.has(AdapterTarget::down) ||
           targets.has(AdapterTarget::gate_up);
}

}  // namespace

std::vector<std::string> explain(StepReport const& report, ClosedForm& form) {
    StepEstimate const& e = report.estimate;
    ParallelPlan const& p = report.plan;
    StepBreakdown const& b = e.breakdown;
    std::vector<std::string> lines;
    lines.push_back(bottleneck_sentence(e));
    if (b.tp + b.cp + b.ep + b.pp + b.dp > Seconds{}) lines.push_back(communication_sentence(e));
    if (p.pp > 1) {
        lines.push_back(fmt::format("bubble {} ({:.1f} %) with {} {} on {} stages; stage {} is the slowest",
                                    human(b.bubble), share(b.bubble, e), report.microbatches,
                                    report.microbatches == 1 ? "microbatch" : "microbatches", p.pp, e.slowest_stage));
        if (share(b.bubble, e) > 5) lines.push_back(bubble_sentence(report, form));
    }
    if (p.tp > 1 && share(b.tp, e) > 8) lines.push_back(tensor_sentence(report, form));
    if (share(b.ep, e) > 8 && is_usual(p.schedule) && p.zero < 2 && is_framework(form.framework(), "megatron"))
        if (auto line = overlap_sentence(report, form)) lines.push_back(std::move(*line));
    if (share(b.host, e) > 8) lines.push_back(host_sentence(report, form));
    std::optional<SettingsAdvice> const settings = better_settings(report, form);
    if (share(b.recompute, e) > 5)
        lines.push_back(fmt::format(
            "recompute runs {} again per step{}", human(b.recompute),
            settings || !report.fits ? "" : ": freeing memory elsewhere (ZeRO, tp, pp, micro-batch) could avoid it"));
    if (p.adapters.on())
        lines.push_back(fmt::format(
            "{} parameters of adapters are trained; MFU counts the work that this needs: forward, gradients of inputs "
            "and adapters, none of frozen weights{}",
            grouped_digits(report.trained_parameters),
            form.model().moe && wants_feed_forward(p.adapters.targets) ? "; experts have no adapters here" : ""));
    explain_memory(report, lines);
    if (settings)
        lines.push_back(
            fmt::format("with {} it {} {}{}, {} of {}", settings->options,
                        report.fits ? "would take" : "fits:", human(settings->estimate.time),
                        report.fits ? fmt::format(" ({:.0f} % less)", 100 - share(settings->estimate.time, e)) : "",
                        human(settings->estimate.peak()), human(report.limit.usable)));
    else if (!report.fits)
        lines.emplace_back(
            "no micro-batch, recompute, ZeRO 1 or sequence parallelism makes these degrees fit: 'sextant plan' "
            "searches others, 'sextant memory' says what takes the memory");
    return lines;
}

std::string grouped_digits(std::int64_t value) {
    std::string text = fmt::format("{}", value);
    for (std::ptrdiff_t i = static_cast<std::ptrdiff_t>(text.size()) - 3; i > (value < 0 ? 1 : 0); i -= 3)
        text.insert(static_cast<std::size_t>(i), ",");
    return text;
}

std::string rejection_summary(SearchCounts const& counts) {
    std::vector<std::pair<std::int64_t, std::string_view>> kinds;
    for (std::size_t i = 0; i < rejection_kinds; ++i)
        if (counts.rejected[i] > 0) kinds.emplace_back(counts.rejected[i], rejection_name(i));
    std::stable_sort(kinds.begin(), kinds.end(), [](auto const& a, auto const& b) { return a.first > b.first; });
    if (kinds.empty()) return "none rejected";
    std::string text = grouped_digits(counts.rejected_total()) + " rejected:";
    for (std::size_t i = 0; i < kinds.size(); ++i)
        text += fmt::format("{} {} {}", i == 0 ? "" : ",", grouped_digits(kinds[i].first), kinds[i].second);
    return text;
}

std::string commonest_refusal(SearchResult const& result, ModelSpec const& model, Workload const& workload) {
    auto const& rejected = result.counts.rejected;
    auto const most = std::max_element(rejected.begin(), rejected.begin() + structural_problems);
    ParallelPlan const* const plan = result.refused.of(static_cast<PlanProblem>(most - rejected.begin()));
    if (plan == nullptr) return {};
    std::optional<PlanFault> const fault = find_fault(model, *plan, workload);
    return fmt::format("the first, {}: {}", plan_label(*plan),
                       fault ? fault->message
                             : fmt::format("{} needs {}", name_of(plan->schedule),
                                           fmt::join(missing_for_expert_overlap(*plan), ", ")));
}

std::string rejection_summary(SearchResult const& result, ModelSpec const& model, Workload const& workload) {
    std::string const first = commonest_refusal(result, model, workload);
    return rejection_summary(result.counts) + (first.empty() ? "" : "; " + first);
}

std::string plan_label(ParallelPlan const& p) {
    std::string text;
    auto const add = [&](char const* name, std::int64_t value) {
        if (value != 1) text += fmt::format("{}{} ", name, value);
    };
    add("tp", p.tp);
    add("cp", p.cp);
    add("pp", p.pp);
    add("dp", p.dp);
    add("ep", p.ep);
    add("etp", p.expert_tp);
    add("vpp", p.vpp);
    if (p.cp > 1 && p.cp_mode != ContextParallel::ring) text += fmt::format("{} ", name_of(p.cp_mode));
    if (p.ep > 1 && p.dispatcher == Dispatcher::deduplicated) text += "deduplicated ";
    if (p.pp > 1 && !p.stage_layers.empty()) text += fmt::format("stages {} ", stages_label(p.stage_layers));
    if (!is_usual(p.schedule) && (p.pp > 1 || p.schedule == Schedule::overlapped))
        text += fmt::format("{} ", name_of(p.schedule));
    text += fmt::format("mb{} zero{}", p.micro_batch, p.zero);
    if (p.zero > 0 && p.shard_group > 0) text += fmt::format(" groups-of-{}", p.shard_group);
    if (p.recompute != Recompute::none) {
        text += fmt::format(" recompute-{}", p.recompute == Recompute::selective ? selective_label(p.recompute_modules)
                                                                                 : name_of(p.recompute));
        if (p.recompute == Recompute::full && p.recompute_layers > 0) text += fmt::format("-{}", p.recompute_layers);
        if (keeps_activations(p)) text += fmt::format("(keeps {})", activations_text(p.kept_activations, "+"));
    }
    if (p.gradients == GradientFormat::bf16) text += " bf16-gradients";
    if (p.fp8_activation_input == Switch::on) text += " fp8-activation-input";
    if (p.narrow_copies == Switch::on) text += " narrow-copies";
    if (p.offload != Offload::none) text += fmt::format(" offload-{}", name_of(p.offload));
    if (offloads_some_activations(p)) text += fmt::format("({})", activations_text(p.offloaded_activations, "+"));
    if (offloads_some_layers(p)) text += fmt::format("({} layers)", p.offload_layers);
    if (p.tp > 1 && p.sequence_parallel == Switch::on) text += " sp";
    if (p.adapters.on()) text += " " + adapters_label(p.adapters);
    return text;
}

}  // namespace sextant
