#include "planner/validation/open_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sextant {

std::string_view name_of(OpenCell cell) {
    switch (cell) {
        case OpenCell::none: return "nothing";
        case OpenCell::micro_batch: return "micro_batch";
        case OpenCell::recompute: return "recompute policy";
        case OpenCell::global_batch: return "global batch";
        case OpenCell::precision: return "precision";
        case OpenCell::degrees: return "tp";
        case OpenCell::layers: return "layers";
    }
    return "?";
}

OpenCellSkip::OpenCellSkip(OpenCell open) : RowSkip(fmt::format("{} is not stated", name_of(open))), cell(open) {}

namespace {

using Group = std::vector<TrainingRow>;

/// Tensor and context parallelism of a group of `sharing` accelerators, with so many pipeline stages.
void add_divisions(Group& out, TrainingRow const& row, std::int64_t sharing, std::int64_t stages) {
    constexpr std::int64_t most_tp = 8;  // of a node
    for (std::int64_t tp = 1; tp <= std::min(most_tp, sharing); tp *= 2) {
        if (sharing % tp != 0) continue;
        TrainingRow& filled = out.emplace_back(row);
        filled.tp = tp;
        filled.cp = row.cp.value_or(sharing / tp);
        filled.pp = stages;
    }
}

std::vector<Group> divisions(TrainingRow const& row) {
    std::vector<Group> out;
    std::int64_t const gpus = row.num_gpus.value_or(0);
    std::int64_t const batch = row.global_batch.value_or(0);
    std::int64_t const steps = row.accumulation_steps().value_or(0);
    constexpr std::int64_t most = 1'000'000'000;  // of accelerators: more is no cluster
    if (gpus <= 0 || gpus > most || batch <= 0 || steps <= 0) return out;
    // A rank that runs one sequence at a time has batch / steps others beside it.
    std::int64_t const replicas = std::max<std::int64_t>(1, std::min(gpus, batch / steps));
    for (std::int64_t sharing = (gpus + replicas - 1) / replicas; sharing <= gpus; sharing *= 2) {
        if (gpus % sharing != 0) continue;
        add_divisions(out.emplace_back(), row, sharing, 1);
        Group staged;
        for (std::int64_t stages = 2; stages <= sharing; stages *= 2)
            if (sharing % stages == 0) add_divisions(staged, row, sharing / stages, stages);
        if (!staged.empty()) out.push_back(std::move(staged));
    }
    return out;
}

}  // namespace

std::vector<Group> fillings(TrainingRow const& row, OpenCell cell) {
    if (cell == OpenCell::degrees) return divisions(row);
    Group out;
    auto const add = [&](auto member, auto const& value) {
        out.push_back(row);
        out.back().*member = value;
    };
    switch (cell) {
        case OpenCell::none:
        case OpenCell::degrees: break;
        case OpenCell::micro_batch:
            for (std::int64_t const value : {1, 2, 4, 8, 16, 32})
                add(&TrainingRow::micro_batch, value);
            break;
        case OpenCell::recompute:
            for (char const* const value : {"none", "minimal", "full"})
                add(&TrainingRow::recompute, value);
            break;
        case OpenCell::global_batch:
            // Without a pipeline: one microbatch of every accelerator, or some.
            for (std::int64_t const microbatches : {1, 2, 4, 8, 16})
                add(&TrainingRow::global_batch, microbatches * row.micro_batch.value_or(1) * row.num_gpus.value_or(1) /
                                                    (row.tp.value_or(1) * row.cp.value_or(1)));
            break;
        case OpenCell::precision:
            for (char const* const value : {"bf16", "fp8"})
                add(&TrainingRow::precision, value);
            break;
        case OpenCell::layers:
            // Of a model cut until it fits: as many on every stage.
            for (std::int64_t const count : {4, 8, 12, 16, 24, 32})
                if (count % std::max<std::int64_t>(1, row.pp.value_or(1) * row.vpp.value_or(1)) == 0)
                    add(&TrainingRow::layers, count);
            break;
    }
    return {out};
}

}  // namespace sextant
