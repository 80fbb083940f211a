#include "core/error.hpp"
#include "core/graph/model_flops.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "planner/report.hpp"
#include "planner/support.hpp"
#include "planner/validation/open_cells.hpp"
#include "planner/validation/row_spelling.hpp"
#include "planner/validation/train_validation.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace sextant {
namespace {

/// Bytes of the unit that a source prints as "GB": powers of 1000, but for tables that mean GiB.
/// Source of the exception: eight of nine baseline rows agree with the counted bytes to 1.6 % in GiB, to 7 % in GB.
Bytes printed_unit(TrainingRow const& row) { return row.source_id.starts_with("sail-vocab") ? units::GiB : units::GB; }

Bytes fullest(std::vector<StageMemory> const& stages, Bytes (StageMemory::*figure)() const) {
    Bytes most;
    for (StageMemory const& stage : stages)
        most = std::max(most, (stage.*figure)());
    return most;
}

/// "STATUS=OOM" or a note that is just "OOM".
bool ran_out_of_memory(TrainingRow const& row) {
    if (row.notes_have("STATUS=OOM")) return true;
    std::string const notes = "; " + row.notes + ";";
    return notes.find("; OOM;") != std::string::npos;
}

Seconds time_with_network(TrainingCase const& c, double faster) {
    ClusterSpec cluster = *c.cluster;
    cluster.scale_out->bandwidth.value = faster * cluster.scale_out->bandwidth.value;
    return ClosedForm(c.model, c.workload, cluster, *c.framework, c.plan.precision)
        .evaluate(c.plan, PipelineMethod::rounds)
        .time;
}

/// The 80 % interval of a step, and wider by what the row leaves to assume: a framework that is only like the one whose
/// constants it has may do as badly as any, and a network that is not stated may be of the generation before or after
/// the usual one (100, 200, 400, 800 Gbit/s), unless it was measured and steps on it are in the interval already.
IntervalFactors interval_for(TrainingCase const& c, StepEstimate const& estimate) {
    auto const terms = unsupported_terms(c.model, *c.cluster, *c.framework, c.plan);
    StepInterval const own = step_interval(*c.framework, c.model, estimate, terms);
    IntervalFactors out{.low = own.low, .high = own.high};
    if (c.kinship == Kinship::kin) {
        static FrameworkProfile const any = find_framework("generic", "generic");
        StepInterval const others = step_interval(any, c.model, estimate, terms);
        out = {.low = std::min(own.low, others.low), .high = std::max(own.high, others.high)};
    }
    bool const leaves_domain = c.plan.world_size() > c.cluster->domain_size && c.cluster->scale_out;
    auto const& network = c.cluster->network_model;
    bool const is_known = c.network_is_stated || (network && network->out_part.basis != Basis::assumed);
    if (leaves_domain && !is_known && c.predicts_time) {
        out.low *= std::min(1.0, static_cast<double>(time_with_network(c, 2) / estimate.time));
        out.high *= std::max(1.0, static_cast<double>(time_with_network(c, 0.5) / estimate.time));
    }
    return out;
}

/// The row with what is usual in a blank cell, as sources say what is not; nothing where nothing is.
std::optional<TrainingRow> as_usual(TrainingRow row, OpenCell cell) {
    AcceleratorProfile const* const device = known_accelerator(row.gpu);
    if (is_mlperf(row) || device == nullptr) return std::nullopt;
    switch (cell) {
        case OpenCell::precision:  // on Blackwell fp8 is as usual
            row.precision = "bf16";
            return device->generation == "blackwell" ? std::nullopt : std::optional(row);
        case OpenCell::recompute:  // remat_policy of MaxText's base.yml, and what EasyLM and Levanter do
            row.recompute = "full";
            return row;
        case OpenCell::micro_batch:  // a pipeline wants many of them
            row.micro_batch = 1;
            return row.pp.value_or(1) > 1 ? std::optional(row) : std::nullopt;
        default: return std::nullopt;
    }
}

}  // namespace

Bytes comparable_memory(MemoryQuantity quantity, std::vector<StageMemory> const& stages,
                        FrameworkMemory const& framework) {
    switch (quantity) {
        case MemoryQuantity::allocated_last_rank: return stages.back().allocated();
        case MemoryQuantity::reserved_first_rank: return stages.front().reserved();
        case MemoryQuantity::allocated_fullest: return fullest(stages, &StageMemory::allocated);
        case MemoryQuantity::reserved_fullest: return fullest(stages, &StageMemory::reserved);
        case MemoryQuantity::device_fullest: return fullest(stages, &StageMemory::reserved) + framework.context.value;
        case MemoryQuantity::state_and_activations_first: return stages.front().state() + stages.front().activations;
    }
    return {};
}

/// The least ZeRO stage with which a run that ran fits, where the row does not state its stage and the usual one does
/// not; nothing if none does.
std::optional<TrainPredictor::Predicted> TrainPredictor::with_more_sharding(TrainingRow const& row,
                                                                            TrainingCase const& c) {
    // Megatron's optimizer has the first stage only, and a pipeline keeps gradients and weights whole.
    int const most = c.plan.pp > 1 || is_framework(*c.framework, "megatron") ? 1 : 3;
    for (int stage = c.plan.zero + 1; stage <= most; ++stage) {
        TrainingRow sharded = row;
        sharded.zero_stage = stage;
        if (auto out = filled_that_fits(sharded, fmt::format("ZeRO-{}, the least stage that fits", stage))) return out;
    }
    return std::nullopt;
}

/// Expert parallelism that the row does not state, the least that fits, before any recompute.
std::optional<TrainPredictor::Predicted> TrainPredictor::with_experts_divided(TrainingRow const& row,
                                                                              TrainingCase const& c) {
    if (row.ep || !c.model.moe) return std::nullopt;
    for (std::int64_t ep = 2; c.model.moe->experts % ep == 0 && ep <= c.plan.world_size() / c.plan.pp; ep *= 2) {
        TrainingRow divided = row;
        divided.ep = ep;
        auto out = filled_that_fits(divided, fmt::format("expert parallelism {}, the least that fits", ep));
        if (out && !out->recompute_put_in) return out;
    }
    return std::nullopt;
}

std::optional<TrainPredictor::Predicted> TrainPredictor::with_recompute(TrainingRow const& row, TrainingCase const& c) {
    // Megatron recomputes by modules and layers: of 16 published steps that state none and are predicted not to fit, 14
    // are nearer without recompute than with all of it. Elsewhere it is on or off.
    bool const is_open = row.recompute.empty() && c.plan.recompute == Recompute::none;
    if (!is_open || is_framework(*c.framework, "megatron")) return std::nullopt;
    TrainingRow again = row;
    again.recompute = "full";
    auto out = filled_that_fits(again, "full recompute, without which it does not fit");
    if (out) out->recompute_put_in = true;
    return out;
}

std::optional<TrainPredictor::Predicted> TrainPredictor::filled_that_fits(TrainingRow const& filled,
                                                                          std::string assumption) {
    try {
        Predicted out = predict_case(filled);
        if (out.prediction.fits != true) return std::nullopt;
        out.prediction.assumptions.push_back(std::move(assumption));
        out.prediction.ran.reset();  // that it fits was put in
        return out;
    } catch (RowSkip const&) {  // not with this plan
        return std::nullopt;
    }
}

std::optional<TrainPredictor::Predicted> TrainPredictor::that_fits(TrainingRow const& row, TrainingCase const& c) {
    if (!c.zero_is_stated)
        if (auto sharded = with_more_sharding(row, c)) return sharded;
    if (auto divided = with_experts_divided(row, c)) return divided;
    return with_recompute(row, c);
}

TrainPredictor::Predicted TrainPredictor::predict_case(TrainingRow const& row) {
    TrainingCase c = builder_.build(row);
    Predicted out{.prediction = {}, .work = model_flops_per_step(c.model, c.workload), .open = c.open_cell};
    RowPrediction& p = out.prediction;
    ClosedForm form(c.model, c.workload, *c.cluster, *c.framework, c.plan.precision);
    StepEstimate const estimate = form.evaluate(c.plan, PipelineMethod::rounds);
    std::vector<StageMemory> const stages = memory_by_stage(form, c.plan);
    FrameworkMemory const& memory = c.framework->memory;
    Bytes const unit = printed_unit(row);
    if (c.predicts_time) p.time = estimate.time;
    p.interval = interval_for(c, estimate);
    p.memory_gb = comparable_memory(c.memory_quantity, stages, memory) / unit;
    p.fits = estimate.peak() <= default_memory_limit(*c.cluster, *c.framework).usable;
    p.question = fmt::format("{}|{}|{}|{}|{}|{}|{}|{}", row.source_id, row.model, row.gpu, row.precision, row.framework,
                             c.plan.world_size(), c.workload.sequence, c.workload.global_batch);
    p.time_reason = std::move(c.time_reason);
    p.memory_reason = std::move(c.memory_reason);
    p.measured_time = measured_time(row, c);
    bool const oom = ran_out_of_memory(row);
    // A row without that mark is of a run that fitted, and an assumption by which it does not is wrong.
    if (!oom && !*p.fits)
        if (auto fitting = that_fits(row, c)) return *std::move(fitting);
    if (!oom && !*p.fits && !c.has_to_fit.empty()) throw RowSkip(c.has_to_fit);
    if (!oom) p.measured_memory_gb = row.peak_mem_gb;
    bool const tells = c.memory_quantity != MemoryQuantity::state_and_activations_first && p.memory_reason.empty();
    if (oom)
        p.ran = false;
    else if (tells && (row.peak_mem_gb || (p.measured_time && !row.recompute.empty())))
        p.ran = true;
    p.assumptions = std::move(c.assumptions);
    return out;
}

TrainPredictor::Predicted TrainPredictor::with_usual(TrainingRow const& filled, OpenCell cell) {
    Predicted out = predict_stated(filled);
    out.prediction.assumptions.push_back(fmt::format("{} not stated: the usual one", name_of(cell)));
    return out;
}

/// With every usual value of a cell that the row leaves blank. Where those that fit give one answer, the blank does not
/// matter to it. @throws RowSkip where it does.
TrainPredictor::Predicted TrainPredictor::predict_any(TrainingRow const& row, OpenCell cell) {
    constexpr double alike = 1.2;  // of the slowest to the fastest; assumed, about half of what a step's interval spans
    if (ran_out_of_memory(row)) throw RowSkip(fmt::format("{} is not stated", name_of(cell)));
    std::vector<Predicted> fitting;
    std::set<std::string> refused;  // why a value cannot have been that of such a run, or the row cannot be predicted
    bool predicted = false;
    std::vector<std::vector<TrainingRow>> const groups = fillings(row, cell);
    if (groups.empty()) throw RowSkip(fmt::format("{} is not stated", name_of(cell)));
    auto const attempt = [&](TrainingRow const& filled) {
        try {
            Predicted one = predict_stated(filled);
            predicted = true;
            if (one.prediction.time && one.prediction.fits == true) fitting.push_back(std::move(one));
        } catch (RowSkip const& skip) {
            refused.insert(skip.what());
        } catch (InputError const& error) {
            refused.insert(error.what());
        }
    };
    for (auto group = groups.begin(); group != groups.end() && fitting.empty(); ++group)
        std::for_each(group->begin(), group->end(), attempt);
    if (!predicted && refused.size() == 1) throw RowSkip(*refused.begin());
    auto const filled = as_usual(row, cell);
    if (fitting.empty() && predicted && filled) return with_usual(*filled, cell);
    if (fitting.empty()) throw RowSkip(fmt::format("{} is not stated, and no usual one fits", name_of(cell)));
    // What needs no recompute says more than what would fit with it.
    auto const put_in = [](Predicted const& one) { return one.recompute_put_in; };
    if (!std::all_of(fitting.begin(), fitting.end(), put_in)) std::erase_if(fitting, put_in);
    // Over the work, which batch and layers decide as well: a measured rate is of that.
    auto const pace = [](Predicted const& one) { return *one.prediction.time / one.work; };
    std::sort(fitting.begin(), fitting.end(), [&](auto const& a, auto const& b) { return pace(a) < pace(b); });
    auto const fastest = pace(fitting.front());
    auto const slowest = pace(fitting.back());
    if (filled && slowest > alike * fastest) {
        Predicted usual = with_usual(*filled, cell);
        if (usual.prediction.time && usual.prediction.fits == true) {
            usual.prediction.interval->low *= std::min(1.0, fastest / pace(usual));
            usual.prediction.interval->high *= std::max(1.0, slowest / pace(usual));
            return usual;
        }
    }
    if (slowest > alike * fastest)
        throw RowSkip(fmt::format("{} is not stated, and usual ones that fit differ by more than {:.0f} %",
                                  name_of(cell), 100 * (alike - 1)));
    Predicted middle = fitting[fitting.size() / 2];
    RowPrediction& p = middle.prediction;
    p.interval->low *= fastest / pace(middle);
    p.interval->high *= slowest / pace(middle);
    p.memory_reason = fmt::format("{} is not stated", name_of(cell));
    p.ran.reset();  // what does not fit was left out
    p.assumptions.push_back(fmt::format("{} not stated: the usual ones that fit differ by at most {:.0f} %",
                                        name_of(cell), 100 * (alike - 1)));
    return middle;
}

TrainPredictor::Predicted TrainPredictor::predict_stated(TrainingRow const& row) {
    try {
        Predicted out = predict_case(row);
        if (out.open == OpenCell::none) return out;
        try {
            return predict_any(row, out.open);
        } catch (RowSkip const&) {
            return out;  // its memory, not its time
        }
    } catch (OpenCellSkip const& blank) {
        return predict_any(row, blank.cell);
    }
}

RowPrediction TrainPredictor::predict(TrainingRow const& row) {
    RowPrediction p;
    try {
        return predict_stated(row).prediction;
    } catch (RowSkip const& skip) {
        p.skip_reason = skip.what();
    } catch (InputError const& error) {
        p.skip_reason = error.what();
    }
    return p;
}

}  // namespace sextant
