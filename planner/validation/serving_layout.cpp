#include "planner/validation/serving_layout.hpp"

#include "core/error.hpp"
#include "core/measurements/row_cells.hpp"
#include "cost_models/serving/serving_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace sextant {
namespace {

/// How often the degree of the experts is in a row's accelerators and in its tp (or dp): once too often where the
/// source multiplies tensor and expert parallelism of the same accelerators. InferenceX runs on one node; its rows of
/// 16 and 64 with moe_tp = moe_ep = 4 and 8 take the time of its rows of 4 and 8 to 1 %, those of 4 that of its rows
/// of 2.
std::int64_t counted_twice(ServingRow const& row, double ranks) {
    auto const moe_tp = row.noted("moe_tp");
    std::int64_t const ep = row.ep.value_or(1);
    bool const squared =
        row.num_gpus && moe_tp && ep > 1 && *moe_tp == ep && static_cast<double>(ep) * static_cast<double>(ep) == ranks;
    return squared && row.source_id.starts_with("inferencex") ? ep : 1;
}

/// Devices of what a row calls one: an MI250 is two to the engines, and that suite runs models on "one" (Mixtral 8x7B
/// in two bytes, 64 sequences of Llama 2 7B) that only both hold. Source: arXiv:2411.00136 table 2.
std::int64_t dies_of(ServingRow const& row, ServedCase& out) {
    if (!row.source_id.starts_with("argonne") || out.what.cluster.accelerator.generation != "cdna2") return 1;
    out.assumptions.emplace_back("both dies of an MI250, tensor parallel");
    return 2;
}

/// Cores that tables of Neuron count as ranks, of a chip of ours. Source: AWS Neuron documentation, architecture of
/// Trn1 and Trn2.
std::int64_t cores_of(AcceleratorProfile const& device) {
    if (device.name == "trainium1") return 2;
    return device.name == "trainium2" ? 8 : 1;
}

/// tp and pp over no more devices than there are. tp of a Trainium counts cores where it is more than the chips, or
/// these are not stated; ours is of chips.
std::int64_t ranks_of_tp(ServingRow const& row, std::int64_t tp, std::int64_t pp, ServedCase& out) {
    double const wanted = static_cast<double>(tp) * static_cast<double>(pp);
    bool const too_many = row.num_gpus && wanted > static_cast<double>(*row.num_gpus);
    std::int64_t const cores = cores_of(out.what.cluster.accelerator);
    if (cores > 1 && (too_many || !row.num_gpus)) {
        std::int64_t const chips = std::max<std::int64_t>(1, tp / cores);
        if (tp % chips == 0 && (!row.num_gpus || static_cast<double>(chips) * static_cast<double>(pp) <=
                                                     static_cast<double>(*row.num_gpus))) {
            out.assumptions.push_back(fmt::format("tp counts cores, {} a chip", cores));
            return chips;
        }
    }
    if (too_many) throw RowSkip("tp x pp is more than num_gpus (the column counts all accelerators)");
    return tp;
}

/// A degree of zero is none: neither 1 nor what is not stated can be read into it.
void refuse_zero_degrees(ServingRow const& row) {
    for (auto const& [name, degree] :
         {std::pair{"tp", row.tp}, {"pp", row.pp}, {"dp", row.dp}, {"num_gpus", row.num_gpus}})
        if (degree == 0)
            throw RowSkip(
                fmt::format("{} is zero (1 where nothing is divided, an empty cell where it is not stated)", name));
}

}  // namespace

void apply_layout(ServingRow const& row, ServedCase& out) {
    refuse_zero_degrees(row);
    ServingPlan& plan = out.what.plan;
    std::int64_t const dies = dies_of(row, out);
    std::int64_t gpus = dies * std::max<std::int64_t>(1, row.num_gpus.value_or(0));
    std::int64_t const pp = std::max<std::int64_t>(1, row.pp.value_or(1));
    std::int64_t dp = std::max<std::int64_t>(1, row.dp.value_or(1));
    plan.pp = pp;
    plan.tp = row.tp ? dies * ranks_of_tp(row, *row.tp, pp, out) : std::max<std::int64_t>(1, gpus / (pp * dp));
    if (!row.tp && !row.num_gpus) throw RowSkip("neither tp nor num_gpus is stated");
    if (!row.tp && plan.tp > dies) out.assumptions.emplace_back("tp over all accelerators, where it is not stated");
    std::int64_t const ep = std::max<std::int64_t>(1, row.ep.value_or(1));
    if (auto const twice = counted_twice(row, static_cast<double>(plan.tp) * static_cast<double>(dp)); twice > 1) {
        gpus /= twice;
        (plan.tp > 1 ? plan.tp : dp) /= twice;
        out.assumptions.emplace_back("tp less what the experts are divided by, which the source counts twice");
    }
    if (out.what.model.moe && !row.num_gpus && !row.noted("attention_dp") &&
        static_cast<double>(row.noted("moe_tp").value_or(1)) * static_cast<double>(row.noted("moe_ep").value_or(1)) >
            static_cast<double>(plan.tp) * static_cast<double>(dp))
        throw RowSkip("experts on more ranks than tp says, and how the attention is divided is not stated");
    if (dp > 1) {
        auto const attention_dp = row.noted("attention_dp");
        bool const inside_tp = gpus == plan.tp && plan.tp % dp == 0;
        if (attention_dp.value_or(1) > 1 || (out.what.model.moe && (ep > 1 || inside_tp))) {
            plan.attention_dp = dp;
            if (inside_tp) plan.tp /= dp;
        } else {
            out.replicas = static_cast<double>(dp);
        }
    }
    if (ep > 1 && out.what.model.moe) {
        bool const over_all = ep == plan.tp * plan.attention_dp && out.what.model.moe->experts % ep == 0;
        if (over_all)
            plan.ep = ep;
        else
            out.assumptions.emplace_back("experts divided over some of the ranks, as over none");
    }
    if (row.tp && row.num_gpus && plan.accelerators() < gpus && !row.dp && gpus % plan.accelerators() == 0) {
        out.replicas = static_cast<double>(gpus / plan.accelerators());
        out.assumptions.emplace_back("replicas on the accelerators that tp and pp leave");
    }
}

void share_experts(ServedCase& out) {
    ServingPlan& plan = out.what.plan;
    bool const shares = is_vllm_or_sglang(out.what.engine.program);
    if (!out.what.model.moe || !shares || out.replicas < 2 || plan.attention_dp > 1) return;
    try {
        if (serving_memory(out.what).fits()) return;
    } catch (InputError const&) {
        return;  // a layout that no engine takes: the prediction says so
    }
    plan.attention_dp = static_cast<std::int64_t>(out.replicas);
    out.replicas = 1;
    out.assumptions.emplace_back("experts cut over the ranks of all dp, since they do not fit those of one");
}

}  // namespace sextant
