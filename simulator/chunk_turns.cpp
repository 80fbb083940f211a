#include "simulator/chunk_turns.hpp"

#include <algorithm>
#include <cstddef>

namespace sextant {

ChunkTurns chunk_turns(std::int64_t chunks, std::int64_t first_group, std::int64_t last_group) {
    auto const others = static_cast<double>(chunks - 1);
    ChunkTurns turns{.chunks = static_cast<double>(chunks)};
    turns.forwards_ahead = others * static_cast<double>(first_group);
    turns.inputs_after = turns.weights_after = others * static_cast<double>(last_group);
    return turns;
}

ChunkTurns chunk_turns(std::vector<Slot> const& order) {
    struct Turn {
        std::int32_t stage;
        std::size_t first, last;  // positions of its first forward and its last backward
    };
    std::vector<Turn> turns;
    auto const turn_of = [&](std::int32_t stage, std::size_t position) -> Turn& {
        auto found = std::find_if(turns.begin(), turns.end(), [&](Turn const& turn) { return turn.stage == stage; });
        if (found == turns.end()) found = turns.insert(found, {.stage = stage, .first = position, .last = position});
        return *found;
    };
    for (std::size_t i = 0; i < order.size(); ++i) {
        Turn& turn = turn_of(order[i].stage, i);
        if (order[i].kind == SlotKind::forward_backward)
            turn_of(order[i].backward_stage, i).last = i;
        else if (order[i].kind != SlotKind::forward)
            turn.last = i;
    }
    ChunkTurns result{.chunks = static_cast<double>(turns.size())};
    std::size_t begun = 0, ended = order.size();
    for (Turn const& turn : turns) {
        begun = std::max(begun, turn.first);
        ended = std::min(ended, turn.last);
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
        SlotKind const kind = order[i].kind;
        bool const pair = kind == SlotKind::forward_backward;
        bool const whole = kind == SlotKind::backward || pair;
        if (i < begun) {
            result.forwards_ahead += kind == SlotKind::forward || pair ? 1 : 0;
            result.backwards_ahead += whole ? 1 : 0;
        } else if (i > ended) {
            result.inputs_after += kind == SlotKind::backward_input || whole ? 1 : 0;
            result.weights_after += kind == SlotKind::backward_weight || whole ? 1 : 0;
        }
    }
    return result;
}

}  // namespace sextant
