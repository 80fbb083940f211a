#include "planner/report.hpp"

#include "planner/price_words.hpp"
#include "planner/support.hpp"

#include "core/error.hpp"
#include "core/graph/executed_flops.hpp"
#include "core/graph/model_flops.hpp"
#include "core/graph/plan_check.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/hourly_price.hpp"
#include "core/text.hpp"
#include "cost_models/attention_peak.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <variant>
#include <vector>

namespace sextant {
namespace {

struct AttentionFlops {
    Flops model;
    Flops executed;
};

/// Attention's of a step, over all accelerators; `last`: of the ops that run again of a layer.
AttentionFlops attention_flops(StepGraph graph, Rerun last) {
    auto const keep_attention = [](Block& block) {
        std::erase_if(block.ops, [](Op const& op) { return !std::holds_alternative<Attention>(op.what); });
    };
    for (Block& layer : graph.blocks.layers)
        keep_attention(layer);
    for (Block* const end : {&graph.blocks.embedding, &graph.blocks.head, &graph.blocks.mtp})
        keep_attention(*end);
    ParallelPlan const& p = graph.plan;
    double const ranks = static_cast<double>(graph.microbatches) * static_cast<double>(p.tp * p.cp * p.dp);
    AttentionFlops flops{.model = {}, .executed = executed_flops_per_step(graph, last).total};
    for (std::size_t stage = 0; stage < graph.layout.stages.size(); ++stage)
        for (Pass const pass : {Pass::forward, Pass::backward})
            flops.model += ranks * stage_work(graph, stage, pass).model;
    return flops;
}

}  // namespace

MemoryLimit default_memory_limit(ClusterSpec const& cluster, FrameworkProfile const& framework) {
    Bytes const capacity = cluster.accelerator.memory_capacity.value;
    Bytes const usable = framework.memory.usable_of(capacity);
    return {.capacity = capacity, .usable = usable, .host = cluster.host_memory.value, .of_device = usable};
}

MemoryLimit parse_memory_limit(std::string_view text, ClusterSpec const& cluster, FrameworkProfile const& framework,
                               std::string_view where) {
    MemoryLimit limit = default_memory_limit(cluster, framework);
    Bytes const capacity = limit.capacity;
    if (text.ends_with('%')) {
        double percent = 0;
        std::string_view const number = trimmed(text.substr(0, text.size() - 1));  // reports write "90 %"
        char const* const end = number.data() + number.size();
        auto const [stop, error] = std::from_chars(number.data(), end, percent);
        if (error != std::errc{} || stop != end || !std::isfinite(percent))
            throw InputError("{}: '{}' is not a percentage (such as 90%)", where, text);
        limit.usable = percent / 100 * capacity;
    } else {
        double number = 0;
        auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error == std::errc{} && stop == text.data() + text.size())
            throw InputError("{}: '{}' has no unit (such as '90%' of the device's memory, or '70 GB')", where, text);
        limit.usable = parse_quantity<Bytes>(text, where);
    }
    if (limit.usable <= Bytes{} || limit.usable > capacity)
        throw InputError("{}: '{}' is outside the device's memory (above 0, up to {})", where, text, human(capacity));
    return limit;
}

std::optional<Bytes> roomier_limit(StepReport const& report) {
    Bytes const high = report.estimate.memory.reserved_high;
    Bytes const device = std::max(report.limit.of_device, report.limit.usable);
    if (!report.fits || high <= device) return {};
    return report.estimate.peak() * (device / high);
}

std::optional<DollarsPerSecond> price_of(ClusterSpec const& cluster, std::int64_t accelerators) {
    std::optional<Sourced<double>> const price = hourly_price(cluster);
    if (!price) return {};
    return price->value * static_cast<double>(accelerators) * units::USD / units::hour;
}

std::vector<std::string> all_assumptions(StepReport const& report) {
    std::vector<std::string> lines;
    if (report.price) lines.push_back(price_assumption(*report.price));
    lines.insert(lines.end(), report.assumptions.begin(), report.assumptions.end());
    return lines;
}

StepReport make_report(ClosedForm& form, ParallelPlan const& plan, MemoryLimit const& limit) {
    return make_report(form, plan, limit, form.evaluate(plan, PipelineMethod::walk));
}

StepReport make_report(ClosedForm& form, ParallelPlan const& plan, MemoryLimit const& limit,
                       StepEstimate const& estimate) {
    StepGraph const graph = build_step_graph(form.model(), plan, form.workload());
    StepReport report;
    report.plan = plan;
    report.workload = form.workload();
    report.accelerators = plan.world_size();
    report.microbatches = graph.microbatches;
    report.estimate = estimate;
    Seconds const time = report.estimate.time;
    auto const accelerators = static_cast<double>(report.accelerators);
    auto const tokens = static_cast<double>(form.workload().tokens());
    report.tokens_per_second = tokens / time.base();
    Flops const model = model_flops_per_step(form.model(), form.workload(), plan.adapters);
    report.model_rate = model / time / accelerators;
    report.hardware_rate = executed_flops_per_step(graph, form.pricer().last_rerun()).total / time / accelerators;
    FlopsPerSecond const peak = form.cluster().accelerator.peak_of(plan.precision).value;
    report.mfu = report.model_rate / peak;
    report.hfu = report.hardware_rate / peak;
    FlopsPerSecond const of_attention = attention_peak(form.cluster().accelerator, plan);
    if (of_attention > peak) {
        // Utilisation is the time that FLOPs take at peak, of the time that they take.
        AttentionFlops const attention = attention_flops(graph, form.pricer().last_rerun());
        auto const less = [&](Flops flops) { return (flops / peak - flops / of_attention) / (accelerators * time); };
        report.mfu -= less(attention.model);
        report.hfu -= less(attention.executed);
    }
    report.limit = limit;
    report.fits = limit.admits(report.estimate.memory);
    report.price = hourly_price(form.cluster());
    if (auto const price = price_of(form.cluster(), report.accelerators)) {
        report.step_cost = *price * time;
        report.million_tokens_cost = *report.step_cost * (1e6 / tokens);
    }
    report.unsupported = unsupported_terms(form.model(), form.cluster(), form.framework(), plan);
    if (form.workload().preference != Preference::none)
        report.unsupported.push_back(
            fmt::format("preference {}: no measured step trained on pairs", name_of(form.workload().preference)));
    report.interval = step_interval(form.framework(), form.model(), estimate, report.unsupported);
    report.assumptions = collect_assumptions(form.model(), form.cluster(), form.framework(), form.timing(), plan);
    if (form.workload().has_reference())
        report.assumptions.emplace_back(
            plan.adapters.on() ? "the reference is the model without its adapters, in a forward pass of its own"
                               : "the reference is on the device, in the working format, sharded where weights are; it "
                                 "has a forward pass of its own");
    if (of_attention > peak)
        report.assumptions.push_back(fmt::format(
            "MFU and HFU: attention's FLOPs are of {}, a third of the TF32 peak, as its products in fp32 run as three "
            "in TF32; all others are of {}",
            human(of_attention), human(peak)));
    if (plan.schedule == Schedule::interleaved && graph.microbatches % plan.pp != 0)
        report.assumptions.push_back(fmt::format(
            "interleaved schedule with {} microbatches, no multiple of pp {}: they go through the chunks in groups of "
            "more than pp, which the framework has to be told (Megatron-LM: microbatch group size)",
            graph.microbatches, plan.pp));
    if (plan.adapters.on()) report.trained_parameters = count_adapter_parameters(form.model(), plan.adapters);
    report.digest = digest(graph);
    return report;
}

}  // namespace sextant
