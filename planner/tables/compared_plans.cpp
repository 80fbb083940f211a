#include "planner/tables/compared_plans.hpp"

#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/schedule_traits.hpp"
#include "planner/explain.hpp"
#include "planner/refine_recompute.hpp"
#include "planner/search.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace sextant {
namespace {

constexpr char const* machine = "h100-sxm";

struct Way {
    char const* name;
    char const* framework;
    int zero;
};

constexpr std::array ways{Way{"DDP", "pytorch", 0}, Way{"ZeRO-1", "megatron", 1}, Way{"FSDP", "fsdp", 3},
                          Way{"FSDP2", "torchtitan", 3}, Way{"ZeRO-3", "deepspeed", 3}};

std::string reason(StepReport const& report) {
    if (!report.fits)
        return fmt::format("does not fit: {} of {} (state {})", human(report.estimate.peak()),
                           human(report.limit.usable), human(report.estimate.memory.state()));
    StepBreakdown const& b = report.estimate.breakdown;
    struct Part {
        char const* name;
        Seconds time;
    };
    std::array const parts{Part{"recompute", b.recompute},
                           Part{"tp", b.tp},
                           Part{"cp", b.cp},
                           Part{"ep", b.ep},
                           Part{"pp", b.pp},
                           Part{"bubble", b.bubble},
                           Part{"dp", b.dp},
                           Part{"host", b.host},
                           Part{"optimizer", b.optimizer}};
    auto sorted = parts;
    std::stable_sort(sorted.begin(), sorted.end(), [](Part const& x, Part const& y) { return x.time > y.time; });
    std::string out;
    for (std::size_t i = 0; i < 2; ++i)
        if (sorted[i].time > 0.005 * report.estimate.time)
            out += fmt::format("{}{} {:.0f} %", out.empty() ? "" : ", ", sorted[i].name,
                               100 * (sorted[i].time / report.estimate.time));
    return out.empty() ? "nothing above half a percent is lost" : out;
}

/// The plan's report, or why it breaks a rule.
ComparedPlan compared(std::string const& model_name, Workload const& workload, ParallelPlan const& plan,
                      std::string way, std::string const& framework_name) {
    ComparedPlan out{.model = model_name,
                     .accelerators = plan.world_size(),
                     .way = std::move(way),
                     .framework = framework_name,
                     .report = {},
                     .remark = {}};
    ModelSpec const model = find_model(model_name);
    ClusterSpec const cluster = find_cluster(machine, "tables");
    FrameworkProfile const framework = find_framework(framework_name, "tables");
    try {
        ClosedForm form(model, workload, cluster, framework, plan.precision);
        out.report = make_report(form, plan, default_memory_limit(cluster, framework));
        out.remark = reason(*out.report);
    } catch (InputError const& error) {
        out.remark = error.what();
    }
    return out;
}

/// Policies of recompute with the layers that run again: none, parts of a layer, and eighths of all layers whole.
std::vector<std::pair<Recompute, std::int64_t>> recomputations(std::int64_t layers) {
    std::vector<std::pair<Recompute, std::int64_t>> out{
        {Recompute::none, 0}, {Recompute::selective, 0}, {Recompute::full, 0}};
    for (std::int64_t eighths = 1; eighths < 8; ++eighths)
        if (std::int64_t const some = layers * eighths / 8; some > 0) out.emplace_back(Recompute::full, some);
    return out;
}

/// The fastest that fits of all micro-batches and recomputations of one way, or else the smallest.
ComparedPlan best_of_way(std::string const& model, Workload const& workload, std::int64_t accelerators,
                         Way const& way) {
    std::optional<ComparedPlan> best;
    auto const better = [&](StepReport const& a, StepReport const& b) {
        if (a.fits != b.fits) return a.fits;
        return a.fits ? a.estimate.time < b.estimate.time : a.estimate.peak() < b.estimate.peak();
    };
    for (auto const& [recompute, layers] : recomputations(find_model(model).layer_count()))
        for (std::int64_t micro_batch = 1; micro_batch <= 16; micro_batch *= 2) {
            if (workload.global_batch % (accelerators * micro_batch) != 0) continue;
            ParallelPlan plan;
            plan.dp = accelerators;
            plan.zero = way.zero;
            plan.recompute = recompute;
            plan.recompute_layers = layers;
            plan.micro_batch = micro_batch;
            ComparedPlan next =
                compared(model, workload, plan, fmt::format("{}: {}", way.name, plan_label(plan)), way.framework);
            if (!best || (next.report && (!best->report || better(*next.report, *best->report))))
                best = std::move(next);
        }
    return best.value();
}

ComparedPlan best_of_search(std::string const& model_name, Workload const& workload, std::int64_t accelerators) {
    ModelSpec const model = find_model(model_name);
    ClusterSpec const cluster = find_cluster(machine, "tables");
    FrameworkProfile const framework = find_framework("megatron", "tables");
    SearchOptions options;
    options.top = 1;
    options.keep = Kept::to_refine;
    SearchConstraints const constraints = constraints_of(framework);
    std::vector<SearchSpace> const spaces{make_search_space(model, workload, cluster, accelerators, constraints)};
    MemoryLimit const limit = default_memory_limit(cluster, framework);
    SearchResult found = search(model, workload, cluster, framework, spaces, limit, options);
    if (found.best.empty())
        return {.model = model_name,
                .accelerators = accelerators,
                .way = "3D",
                .framework = "megatron",
                .report = {},
                .remark = "nothing fits"};
    ClosedForm form(model, workload, cluster, framework, found.best.front().plan.precision);
    found.pareto.clear();
    refine_with_recompute(found, form, spaces, limit, options);
    ParallelPlan const& plan = found.best.front().plan;
    return compared(model_name, workload, plan, "3D: " + plan_label(plan), "megatron");
}

}  // namespace

std::vector<ComparedPlan> compare_data_parallelism() {
    struct Size {
        char const* model;
        std::int64_t accelerators;
        Workload workload;
    };
    std::array const sizes{Size{"gpt3-1.3b", 64, {2048, 512}}, Size{"llama-3.1-8b", 64, {8192, 512}},
                           Size{"llama-2-13b", 64, {4096, 1024}}, Size{"llama-3.1-70b", 256, {8192, 512}},
                           Size{"gpt3-175b", 512, {2048, 1536}}};
    std::vector<ComparedPlan> rows;
    for (Size const& size : sizes) {
        for (Way const& way : ways)
            rows.push_back(best_of_way(size.model, size.workload, size.accelerators, way));
        rows.push_back(best_of_search(size.model, size.workload, size.accelerators));
    }
    return rows;
}

std::vector<ComparedPlan> compare_schedules() {
    struct Row {
        Schedule schedule;
        std::int64_t vpp;
    };
    constexpr std::array schedules{
        Row{Schedule::gpipe, 1},       Row{Schedule::one_f_one_b, 1},  Row{Schedule::interleaved, 2},
        Row{Schedule::interleaved, 4}, Row{Schedule::interleaved, 12}, Row{Schedule::breadth_first, 2},
        Row{Schedule::zb_h1, 1},       Row{Schedule::zb_h2, 1},        Row{Schedule::zb_v, 2},
        Row{Schedule::dualpipe, 1},    Row{Schedule::dualpipe_v, 2}};
    std::vector<ComparedPlan> rows;
    for (Row const& row : schedules) {
        ParallelPlan plan;
        plan.tp = 8;
        plan.pp = 8;
        plan.schedule = row.schedule;
        plan.vpp = std::max(row.vpp, traits_of(row.schedule).usual_chunks());
        if (row.schedule == Schedule::interleaved || row.schedule == Schedule::breadth_first) plan.vpp = row.vpp;
        plan.sequence_parallel = Switch::on;
        plan.zero = 1;
        std::string const way =
            fmt::format("{}{}", name_of(row.schedule), plan.vpp > 1 ? fmt::format(", {} chunks", plan.vpp) : "");
        rows.push_back(compared("gpt3-175b", {.sequence = 2048, .global_batch = 32}, plan, way, "megatron"));
    }
    return rows;
}

double bubble_share(StepReport const& report) { return report.estimate.breakdown.bubble / report.estimate.time; }

}  // namespace sextant
