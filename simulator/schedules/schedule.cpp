#include "simulator/schedules/schedule.hpp"

#include <fmt/format.h>

namespace sextant {

std::string text_of(Slot const& slot) {
    switch (slot.kind) {
        case SlotKind::forward: return fmt::format("{}F{}", slot.stage, slot.microbatch);
        case SlotKind::backward: return fmt::format("{}B{}", slot.stage, slot.microbatch);
        case SlotKind::backward_input: return fmt::format("{}I{}", slot.stage, slot.microbatch);
        case SlotKind::backward_weight: return fmt::format("{}W{}", slot.stage, slot.microbatch);
        case SlotKind::forward_backward: break;
    }
    return fmt::format("({}F{};{}B{})OVERLAP_F_B", slot.stage, slot.microbatch, slot.backward_stage,
                       slot.backward_microbatch);
}

}  // namespace sextant
