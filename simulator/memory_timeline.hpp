#pragma once

#include "simulator/task_graph.hpp"

#include <span>
#include <vector>

namespace sextant {

/// What a stage (model chunk) needs in memory beside the state of its rank.
struct StageActivations {
    Bytes kept;          ///< per microbatch, from the start of its forward to the end of its backward
    Bytes forward;       ///< on top while a forward of the stage runs: logits, gathered layers
    Bytes backward;      ///< while a whole backward does: the same, or what a layer that is run again needs
    Bytes offloaded{};   ///< of `kept`, what lies on the host between passes
    Bytes passing{};     ///< and what of that is on the device while a pass runs
    Bytes input_half{};  ///< on top while the input half of a split backward runs
    Bytes waiting{};     ///< from its start to the end of the weight half: what was run again
    Bytes logits{};      ///< from the end of a forward to the start of its backward
    Bytes gradients{};   ///< of logits, from the end of an input half to the end of the weight half
};

/// What a simulated step needs in memory.
struct MemoryInput {
    std::vector<Bytes> fixed;              ///< by simulated rank: weights, gradients, optimizer, buffers
    std::vector<StageActivations> stages;  ///< by stage, in model order
    std::vector<Bytes> updating{};         ///< by simulated rank, from its last pass to the end of a step; empty: none
};

/// Memory of a rank from `time` on.
struct MemoryStep {
    double time = 0;  ///< seconds
    Bytes bytes;
};

struct MemoryTimeline {
    std::vector<MemoryStep> steps;  ///< at time 0 and at each change; times ascend
    Bytes peak;
    Seconds peak_time;  ///< when the peak was first reached
};

/// Memory over time of every simulated rank, from what `times` says. A stage's activations come with the start of the
/// first forward task of a (rank, stage, microbatch) on the compute stream and go with the end of its last backward
/// task, of the weight half where the backward is split; without a backward they go with the forward. Offloaded ones
/// are there while passes run, and from the input half to the weight half whole. Logits wait from a forward to its
/// backward. What ends at an instant is gone before what starts then comes.
/// @pre `fixed` (and `updating`, unless it is empty) has every rank, `stages` every stage.
std::vector<MemoryTimeline> memory_timelines(TaskGraph const& graph, TaskTimes const& times, MemoryInput const& input);

}  // namespace sextant
