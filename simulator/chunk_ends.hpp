#pragma once

#include "simulator/schedules/schedule.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace sextant {

/// The first forward and the last backward of each chunk on each rank of a schedule: when weights are gathered and
/// gradients are complete. Positions are those of slots in the order of their rank; the backward of a split schedule
/// is its weight half, and a pair is both.
class ChunkEnds {
public:
    explicit ChunkEnds(PipelineSchedule const& schedule);

    struct FirstForward {
        std::size_t position = 0;
        std::int32_t stage = 0;
    };
    /// In the order of the rank.
    [[nodiscard]] std::vector<FirstForward> first_forwards(std::size_t rank) const;
    /// @pre the rank has a forward (a backward) of the stage.
    [[nodiscard]] bool begins(std::size_t rank, std::int32_t stage, std::size_t position) const {
        return first_forward_.at({rank, stage}) == position;
    }
    [[nodiscard]] bool ends(std::size_t rank, std::int32_t stage, std::size_t position) const {
        return last_backward_.at({rank, stage}) == position;
    }
    /// Whether nothing but forwards follows on the rank. @pre it has a backward.
    [[nodiscard]] bool ends_rank(std::size_t rank, std::size_t position) const { return last_.at(rank) == position; }
    /// Schedules of inference have no backwards.
    [[nodiscard]] bool has_backwards() const { return !last_backward_.empty(); }

private:
    std::map<std::pair<std::size_t, std::int32_t>, std::size_t> first_forward_, last_backward_;
    std::map<std::size_t, std::size_t> last_;  ///< position of a rank's last backward
};

}  // namespace sextant
