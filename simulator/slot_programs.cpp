#include "simulator/slot_programs.hpp"

#include <algorithm>

namespace sextant {

Program const& SlotPrograms::of_unit(ProgramUnit const& unit, TaskPass pass) {
    auto const [found, is_new] = units_.try_emplace({unit.block, unit.recompute, pass});
    if (!is_new) return found->second;
    BlockProgram const& block = program_.blocks[unit.block];
    bool const again = pass == TaskPass::backward || pass == TaskPass::backward_input;
    std::vector<Program const*> parts{&program_of(block, pass)};
    if (again && unit.recompute != Recompute::none)
        parts.insert(parts.begin(), &block.rerun[static_cast<std::size_t>(unit.recompute)]);
    Program whole = joined(parts);
    found->second = granularity_ == Granularity::op ? std::move(whole) : coalesced(whole, program_);
    return found->second;
}

Program const& SlotPrograms::of_stage(std::int32_t stage, TaskPass pass) {
    auto const [found, is_new] = stages_.try_emplace({stage, pass});
    if (!is_new) return found->second;
    std::vector<Program const*> parts;
    for (ProgramUnit const& unit : units_of(stage))
        parts.push_back(&of_unit(unit, pass));
    if (pass != TaskPass::forward) std::reverse(parts.begin(), parts.end());
    Program whole = joined(parts);
    found->second = granularity_ == Granularity::stage ? coalesced(whole, program_) : std::move(whole);
    return found->second;
}

}  // namespace sextant
