#include "planner/validation/open_cells.hpp"

#include <fmt/format.h>

namespace sextant {

std::string_view name_of(OpenCell cell) {
    switch (cell) {
        case OpenCell::none: return "nothing";
        case OpenCell::micro_batch: return "micro_batch";
        case OpenCell::recompute: return "recompute policy";
        case OpenCell::global_batch: return "global batch";
        case OpenCell::precision: return "precision";
    }
    return "?";
}

OpenCellSkip::OpenCellSkip(OpenCell open) : RowSkip(fmt::format("{} is not stated", name_of(open))), cell(open) {}

std::vector<TrainingRow> fillings(TrainingRow const& row, OpenCell cell) {
    std::vector<TrainingRow> out;
    auto const add = [&](auto member, auto const& value) {
        out.push_back(row);
        out.back().*member = value;
    };
    switch (cell) {
        case OpenCell::none: break;
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
    }
    return out;
}

}  // namespace sextant
