#include "planner/measured_gap.hpp"

#include "core/graph/plan_check.hpp"
#include "core/quantity_text.hpp"
#include "planner/settings_advice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

namespace sextant {
namespace {

/// Steps of one plan where something of the machine or the framework is another.
class OtherConditions {
public:
    OtherConditions(StepReport const& report, ClosedForm const& form) : report_(report), form_(form) {}

    [[nodiscard]] Seconds with_products(double factor) const {
        FrameworkProfile framework = form_.framework();
        for (FrameworkTiming& timing : framework.timing)
            for (auto* const scale : {&timing.gemm_scale, &timing.grouped_gemm_scale, &timing.attention_scale})
                scale->value /= factor;  // rates
        return step(form_.cluster(), framework);
    }
    [[nodiscard]] Seconds with_nodes_joined_by(double share) const {
        ClusterSpec cluster = form_.cluster();
        cluster.scale_out->bandwidth.value = share * cluster.scale_out->bandwidth.value;
        return step(cluster, form_.framework());
    }
    [[nodiscard]] Seconds with_links_inside_at(double share) const {
        ClusterSpec cluster = form_.cluster();
        cluster.scale_up.bandwidth.value = share * cluster.scale_up.bandwidth.value;
        return step(cluster, form_.framework());
    }
    [[nodiscard]] Seconds without_overlap() const {
        FrameworkProfile framework = form_.framework();
        for (FrameworkTiming& timing : framework.timing)
            for (auto* const share : {&timing.dp_overlap, &timing.fsdp_overlap, &timing.ep_overlap, &timing.tp_overlap})
                share->value = 0;
        return step(form_.cluster(), framework);
    }

private:
    [[nodiscard]] Seconds step(ClusterSpec const& cluster, FrameworkProfile const& framework) const {
        ClosedForm other(form_.model(), form_.workload(), cluster, framework, report_.plan.precision);
        return other.evaluate(report_.plan, PipelineMethod::walk).time;
    }

    StepReport const& report_;
    ClosedForm const& form_;
};

/// The factor between `from` and `to` at which a monotone step takes as long as measured; nothing where none does.
std::optional<double> factor_for(Seconds measured, double from, double to, std::function<Seconds(double)> const& step) {
    auto const is_longer = [&](double factor) { return step(factor) >= measured; };
    if (is_longer(from) == is_longer(to)) return {};
    constexpr int halvings = 12;  // of the logarithm: to a thousandth
    bool const longer_at_start = is_longer(from);
    for (int i = 0; i < halvings; ++i) {
        double const middle = std::sqrt(from * to);
        (is_longer(middle) == longer_at_start ? from : to) = middle;
    }
    return std::sqrt(from * to);
}

/// Plans that a run may have had in place of this one, each with one setting of another value.
std::vector<ParallelPlan> other_settings(ParallelPlan const& plan) {
    std::vector<ParallelPlan> out;
    auto const add = [&](auto change) { change(out.emplace_back(plan)); };
    for (Recompute const policy : {Recompute::none, Recompute::selective, Recompute::full})
        if (plan.recompute != policy || (policy == Recompute::full && plan.recompute_layers > 0))
            add([&](ParallelPlan& p) { set_recompute(p, policy, 0); });
    for (AttentionKernel const kernel : {AttentionKernel::flash, AttentionKernel::unfused, AttentionKernel::eager})
        if (kernel != plan.attention) add([&](ParallelPlan& p) { p.attention = kernel; });
    if (plan.tp > 1)
        add([&](ParallelPlan& p) {
            p.sequence_parallel = plan.sequence_parallel == Switch::on ? Switch::off : Switch::on;
        });
    for (int const zero : {0, 1, 2, 3})
        if (plan.dp > 1 && zero != plan.zero) add([&](ParallelPlan& p) { p.zero = zero; });
    if (plan.vpp > 1 && plan.schedule == Schedule::interleaved)
        add([](ParallelPlan& p) {
            p.vpp = 1;
            p.schedule = Schedule::one_f_one_b;
            p.stage_layers.clear();
        });
    if (plan.micro_batch > 1) add([](ParallelPlan& p) { p.micro_batch = 1; });
    if (plan.dropout == Switch::off) add([](ParallelPlan& p) { p.dropout = Switch::on; });
    return out;
}

/// What no device of this kind does, whatever it runs.
bool is_beyond_peak(StepReport const& report, Seconds measured) {
    return report.hfu * (report.estimate.time / measured) > 1;
}

std::string impossible_sentence(StepReport const& report, ClosedForm const& form, Seconds measured) {
    double const peaks = report.hfu * (report.estimate.time / measured);
    return fmt::format(
        "no {0} does that: {1} accelerators would run at {2} times their peak; is the time of a whole step and in "
        "its unit, and are --global-batch {3}, --seq {4} and --gpus {1} those of the run?",
        form.cluster().accelerator.name, report.accelerators,
        peaks < 10 ? fmt::format("{:.2g}", peaks) : fmt::format("{:.0f}", peaks), report.workload.global_batch,
        report.workload.sequence);
}

std::string position_sentence(StepReport const& report, Seconds measured) {
    Seconds const predicted = report.estimate.time;
    double const ratio = measured / predicted;
    std::string const times = ratio < 0.1 ? fmt::format("{:.2g}", ratio) : fmt::format("{:.2f}", ratio);
    std::string const mfu = is_beyond_peak(report, measured) ? ""
                                                             : fmt::format("; MFU {:.1f} %, predicted {:.1f} %",
                                                                           100 * report.mfu / ratio, 100 * report.mfu);
    bool const below = measured < report.interval.low * predicted;
    bool const above = measured > report.interval.high * predicted;
    return fmt::format("{} is {} times the predicted {}, {} the 80 % interval ({} to {}){}", human(measured), times,
                       human(predicted),
                       below   ? "below"
                       : above ? "above"
                               : "inside",
                       human(report.interval.low * predicted), human(report.interval.high * predicted), mfu);
}

/// What of the machine would make the step as long as measured.
void add_conditions(std::vector<std::string>& out, StepReport const& report, ClosedForm const& form, Seconds measured) {
    constexpr double most = 20;
    OtherConditions const other(report, form);
    bool const slower = measured > report.estimate.time;
    if (auto const factor = factor_for(measured, slower ? 1 : 1 / most, slower ? most : 1,
                                       [&](double f) { return other.with_products(f); }))
        out.push_back(fmt::format(
            "as long if matrix products and attention take {:.2f} times what is predicted ({})", *factor,
            slower ? "clocks, power limit, other kernels; on all accelerators, or on one that the others wait for"
                   : "better kernels, higher clocks, or less work than is counted"));
    else if (!slower)
        out.push_back(
            fmt::format("not by quicker products alone, which at the peak would make it {}: fewer tokens or layers "
                        "than are counted, "
                        "more accelerators, or another device",
                        human(other.with_products(1 / most))));
    if (!slower) return;
    bool const over_nodes = form.cluster().scale_out && report.accelerators > form.cluster().domain_size;
    auto const add_link = [&](char const* links, bool has, std::function<Seconds(double)> const& step) {
        if (!has) return;
        if (auto const share = factor_for(measured, 1, 1 / most, step))
            out.push_back(fmt::format("as long if {} reach {:.2f} of the bandwidth that is predicted", links, *share));
        else
            out.push_back(fmt::format("not {} alone: at a twentieth of their bandwidth it would take {}", links,
                                      human(step(1 / most))));
    };
    add_link("the links between nodes", over_nodes, [&](double f) { return other.with_nodes_joined_by(f); });
    add_link("the links inside a node", report.accelerators > 1,
             [&](double f) { return other.with_links_inside_at(f); });
    out.push_back(
        fmt::format("as long if {} of each step lie outside of it (data loading, logging, evaluation, checkpoints)",
                    human(measured - report.estimate.time)));
}

/// Settings that make up a quarter of the difference and more, those nearest to the measured step first.
void add_settings(std::vector<std::string>& out, StepReport const& report, ClosedForm& form, Seconds measured) {
    constexpr double worth_saying = 0.25;
    constexpr double beyond = 1.5;
    constexpr std::size_t most_said = 4;
    Seconds const gap = measured - report.estimate.time;
    std::vector<std::pair<double, std::string>> found;  // distance from the measured step, what is said
    auto const offer = [&](std::string const& with, Seconds time) {
        double const part = (time - report.estimate.time) / gap;
        if (part < worth_saying || part > beyond) return;
        found.emplace_back(std::abs(1 - part), fmt::format("{} it would take {} ({:.0f} % of the difference)", with,
                                                           human(time), 100 * part));
    };
    for (ParallelPlan const& other : other_settings(report.plan)) {
        if (find_problem(form.model(), other, form.workload()) || !zero_suits_pipeline(other)) continue;
        offer(fmt::format("with {}", fmt::join(options_between(report.plan, other), " ")),
              form.evaluate(other, PipelineMethod::walk).time);
    }
    offer("with no communication beside compute", OtherConditions(report, form).without_overlap());
    std::stable_sort(found.begin(), found.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < std::min(most_said, found.size()); ++i)
        out.push_back(found[i].second);
}

}  // namespace

std::vector<std::string> measured_gap(StepReport const& report, ClosedForm& form, Seconds measured) {
    constexpr double rounding = 1e-3;
    if (is_beyond_peak(report, measured))
        return {impossible_sentence(report, form, measured), position_sentence(report, measured)};
    std::vector<std::string> out{position_sentence(report, measured)};
    if (std::abs(measured / report.estimate.time - 1) < rounding) return out;
    add_conditions(out, report, form, measured);
    add_settings(out, report, form, measured);
    return out;
}

}  // namespace sextant
