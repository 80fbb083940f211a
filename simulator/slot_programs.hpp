#pragma once

#include "simulator/step_program.hpp"

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace sextant {

/// Programs of whole passes over a stage (model chunk) and over each of its blocks, as fine as asked for; made once.
class SlotPrograms {
public:
    SlotPrograms(StepProgram& program, Granularity granularity) : program_(program), granularity_(granularity) {}

    [[nodiscard]] std::vector<ProgramUnit> const& units_of(std::int32_t stage) const {
        return program_.chunks[static_cast<std::size_t>(stage)];
    }
    /// One block, recompute included where the pass is a backward; at granularity `stage` as coarse as `layer`.
    Program const& of_unit(ProgramUnit const& unit, TaskPass pass);
    Program const& of_stage(std::int32_t stage, TaskPass pass);

private:
    StepProgram& program_;
    Granularity granularity_;
    std::map<std::tuple<std::size_t, Recompute, TaskPass>, Program> units_;
    std::map<std::pair<std::int32_t, TaskPass>, Program> stages_;
};

}  // namespace sextant
