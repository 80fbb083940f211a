#pragma once

#include "simulator/step_program.hpp"
#include "simulator/task_graph.hpp"

#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <vector>

namespace sextant {

/// Which slot a task belongs to.
struct SlotTag {
    std::int16_t stage = -1;
    std::int32_t microbatch = -1;
    TaskPass pass = TaskPass::step;
};

/// Tasks of one point in time, one list per lane: what comes next has to wait for them.
using LaneTasks = std::vector<std::uint32_t>;

/// Appends tasks to a graph for all ranks of one pipeline stage at once. A lane is a simulated rank of a stage: one
/// that stands for all (folded), or each of them, tp fastest, then cp, then dp (unfolded).
class LaneWriter {
public:
    struct Shape {
        std::int64_t stages = 1;  ///< pipeline ranks
        std::int64_t lanes = 1;   ///< simulated ranks of each
        std::int64_t width = 1;   ///< ranks that each has
        std::int64_t domain = 1;  ///< ranks of a scale-up domain
        std::int64_t pod = 0;     ///< ranks of a pod; 0: all are in one
        std::int64_t most_tasks = 20'000'000;
    };
    LaneWriter(Shape const& shape, StepProgram& program, double jitter, std::uint64_t seed);

    /// Makes the compute of one rank slower. @pre unfolded.
    void slow_down(std::int64_t rank, double factor) { speed_[static_cast<std::size_t>(rank)] *= factor; }

    /// Runs the items one after another on every lane of a pipeline rank, from its tail on.
    void run(std::int64_t rank, Program const& program, SlotTag const& tag) { run(rank, program, tag, tag); }
    /// The same of a pair of passes.
    void run(std::int64_t rank, Program const& program, SlotTag const& backward, SlotTag const& forward);
    /// One item, the same way; without a network where `group` is -1 and the stream is not compute.
    void run_item(std::int64_t rank, ProgramItem const& item, Stream stream, SlotTag const& tag);
    /// Groups of a transfer between ranks of one domain, and of one pod.
    struct Nearer {
        std::int16_t in_domain = -1;
        std::int16_t in_pod = -1;
    };
    /// A transfer to the same lane of another pipeline rank, which the sender waits for. The receiver waits for the
    /// tasks that `tail` gives afterwards. It uses the network of the item's group, or of one `nearer`; one that stands
    /// for several lanes that of those furthest apart.
    void send(std::int64_t from, std::int64_t to, ProgramItem const& item, Nearer const& nearer, SlotTag const& tag);

    /// A task per lane or group beside compute, on a stream of its own: after the last task of that stream and the
    /// tasks in `after`. Returns the task of each lane.
    LaneTasks beside(std::int64_t rank, ProgramItem const& item, Stream stream, std::span<LaneTasks const> after,
                     SlotTag const& tag);

    /// What the next item of each lane waits for.
    [[nodiscard]] std::vector<LaneTasks> tail(std::int64_t rank) const;
    /// Makes the next item of each lane of a rank wait for these, too: one list per lane, or one task per lane.
    void wait_for(std::int64_t rank, std::span<LaneTasks const> tasks);
    void wait_for(std::int64_t rank, LaneTasks const& one_per_lane);
    /// The next item waits for what is on this stream so far.
    void wait_for_stream(std::int64_t rank, Stream stream);
    /// All lanes of all ranks wait for one another.
    void barrier(std::string_view name);

    /// What follows belongs to another training step.
    void begin_step() {
        if (!graph_.tasks.empty()) graph_.steps.push_back(graph_.tasks.size());
    }

    [[nodiscard]] std::int64_t lanes() const { return shape_.lanes; }
    TaskGraph finish();

private:
    struct Lane {
        LaneTasks tail;
        std::array<std::int64_t, stream_count> last{};  ///< task of each stream, -1: none
    };
    [[nodiscard]] std::size_t index(std::int64_t rank, std::int64_t lane) const {
        return static_cast<std::size_t>(rank * shape_.lanes + lane);
    }
    /// Lanes of one rank group, and where its demand is listed.
    struct Members {
        std::int64_t first = 0, count = 1, stride = 1;
    };
    [[nodiscard]] std::int64_t groups_of(std::int16_t group) const;
    [[nodiscard]] Members members_of(std::int16_t group, std::int64_t ordinal) const;
    std::int32_t demand_of(std::int16_t group, std::int64_t rank, std::int64_t ordinal);
    /// Whether a lane of two pipeline ranks lies in two blocks of `size` ranks.
    [[nodiscard]] bool leaves(std::int64_t size, std::int64_t from, std::int64_t to, std::int64_t lane) const;
    std::uint32_t add(Task task, ProgramItem const& item, SlotTag const& tag);
    /// What the item takes on this lane: a log-normal deviate of mean one makes each of its kernels longer or shorter,
    /// independently, and all of them the deviate of the same mean and variance as their sum. Source: L. F. Fenton,
    /// IRE Transactions on Communications Systems 8(1), 1960.
    double noisy(ProgramItem const& item, std::size_t lane);

    Shape shape_;
    StepProgram& program_;
    double jitter_;
    std::mt19937_64 random_;
    TaskGraph graph_;
    std::vector<Lane> lanes_;
    std::vector<double> speed_;
    std::map<std::pair<std::int16_t, std::int64_t>, std::int32_t> demands_;         ///< first of a group on a rank
    std::map<std::pair<std::size_t, std::size_t>, std::int32_t> pipeline_demands_;  ///< by simulated ranks
    LaneTasks waiting_;                                                             ///< dependencies being collected
};

}  // namespace sextant
