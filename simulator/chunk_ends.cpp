#include "simulator/chunk_ends.hpp"

namespace sextant {

ChunkEnds::ChunkEnds(PipelineSchedule const& schedule) {
    for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
        std::vector<Slot> const& order = schedule.ranks[rank];
        for (std::size_t i = 0; i < order.size(); ++i) {
            Slot const& slot = order[i];
            bool const pair = slot.kind == SlotKind::forward_backward;
            bool const forward = slot.kind == SlotKind::forward;
            if (forward || pair) first_forward_.try_emplace({rank, slot.stage}, i);
            if (forward) continue;
            last_backward_[{rank, pair ? slot.backward_stage : slot.stage}] = i;
            last_.insert_or_assign(rank, i);
        }
    }
}

std::vector<ChunkEnds::FirstForward> ChunkEnds::first_forwards(std::size_t rank) const {
    std::map<std::size_t, std::int32_t> by_position;
    for (auto const& [key, position] : first_forward_)
        if (key.first == rank) by_position.emplace(position, key.second);
    std::vector<FirstForward> forwards;
    for (auto const& [position, stage] : by_position)
        forwards.push_back({.position = position, .stage = stage});
    return forwards;
}

}  // namespace sextant
