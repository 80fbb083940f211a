#pragma once

#include "core/graph/stage_layout.hpp"
#include "cost_models/block_price.hpp"
#include "simulator/closed_form.hpp"
#include "simulator/task_graph.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// How finely a simulation cuts a pass over a pipeline stage: its kernels and collectives one by one, a few tasks per
/// layer, or a few per stage.
enum class Granularity : std::uint8_t { op, layer, stage };
std::string_view name_of(Granularity granularity);
/// @throws InputError with the known names.
Granularity granularity_from(std::string_view name, std::string_view where);

/// A rank group and what a collective over it asks of the network.
struct ProgramGroup {
    CollectiveKind kind = CollectiveKind::all_reduce;
    GroupKind group = GroupKind::tensor;
    std::int64_t size = 1;
    std::int64_t stride = 1;  ///< between members, within the ranks of a pipeline stage
    NetworkShares shares{};
    bool operator==(ProgramGroup const&) const = default;
};

/// One step of a program: it begins when the one before it has ended.
struct ProgramItem {
    std::uint16_t name = 0;
    TaskPart part = TaskPart::compute;
    std::int16_t group = -1;  ///< index into `StepProgram::groups`; -1: compute
    double duration = 0;      ///< seconds
    double latency = 0;
    double concentration = 1;  ///< sum of the squares of its kernels' times, in squares of `duration`; 1: one kernel
    enum class Side : std::uint8_t { backward, forward } side = Side::backward;  ///< of a pair
    [[nodiscard]] bool is_compute() const { return group < 0; }
};

/// Communication beside the items: it starts together with item `start` (or when the one before it has ended) and is
/// over before anything after item `join` begins.
struct ProgramOverlap {
    ProgramItem item;
    std::size_t start = 0;
    std::size_t join = 0;
};

/// Items in order, and what runs beside them. What is hidden fits: alone, no item waits for it.
struct Program {
    std::vector<ProgramItem> items;
    std::vector<ProgramOverlap> overlaps;
    double waiting = 0;   ///< for the host, the part of the items
    double launched = 0;  ///< what the host needs to launch it
    [[nodiscard]] double duration() const;
    [[nodiscard]] double compute() const;
};

/// All passes over one block.
struct BlockProgram {
    Program forward;
    std::array<Program, 3> rerun;  ///< what each `Recompute` policy runs before the backward pass
    Program backward;              ///< all of it
    Program backward_input;        ///< its halves
    Program backward_weight;
    std::array<Bytes, 3> kept{};       ///< activations kept per microbatch under each policy
    std::array<Bytes, 3> offloaded{};  ///< of these, what lies in host memory where activations are offloaded
    std::array<Bytes, 3> waiting{};    ///< what each has again until a weight half
};

/// One block of a model chunk: which program, and under which recompute policy.
struct ProgramUnit {
    std::size_t block = 0;
    Recompute recompute = Recompute::none;
    enum class Kind : std::uint8_t { end, layer, moe_layer } kind = Kind::layer;
};

/// What every pipeline stage executes for one microbatch, priced, as items without shapes.
struct StepProgram {
    std::vector<BlockProgram> blocks;              ///< one per layer kind, then embedding, head, mtp
    std::vector<std::vector<ProgramUnit>> chunks;  ///< of each model chunk, in model order
    std::vector<ProgramGroup> groups;
    std::vector<std::string> names;

    std::uint16_t name(std::string_view text);
    std::int16_t group(ProgramGroup const& group);
    /// Activations of one microbatch over a chunk; all, or those that would be offloaded.
    [[nodiscard]] Bytes kept(std::size_t chunk, std::array<Bytes, 3> BlockProgram::*which = &BlockProgram::kept) const;
};

/// Which program of a block a pass is.
Program const& program_of(BlockProgram const& block, TaskPass pass);

/// The programs of a plan. Alone and run one after another, the items of a pass take what `ClosedForm` says of it.
/// @pre the plan is valid. @throws InputError: the passes of a reference have no program.
StepProgram build_step_program(ClosedForm& form, ParallelPlan const& plan);

/// `parts` one after another.
Program joined(std::vector<Program const*> const& parts);
/// The same time in one item per part: all compute, then the communication of each part. Granularity `layer` and
/// `stage` are this, over a layer and over a stage.
Program coalesced(Program const& program, StepProgram& names);
/// A forward and a backward side by side: expert-parallel communication of each, and the transfers to the neighbours,
/// hide behind the compute of the other, and it runs while the other waits for the host; as long as `pair_time` says.
/// Source: arXiv:2412.19437 sec. 3.2.1.
struct Pair {
    Program program;
    double shown = 0;  ///< share of that communication that still shows; the transfers are the caller's to run
};
/// @param transfers seconds of both passes' transfers.
Pair paired(Program const& forward, Program const& backward, double transfers);

}  // namespace sextant
