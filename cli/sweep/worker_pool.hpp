#pragma once

#include "cli/sweep/table.hpp"
#include "core/units.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace sextant::cli {

/// Child processes that evaluate points. Processes, not threads: what a command does (signal handlers, a simulation
/// engine that allows one of itself, a crash, all memory taken) stays in one of them, and a point that kills its worker
/// is one failed row. Each begins as a copy of this process.
class WorkerPool {
public:
    using Evaluate = std::function<SweepRow(std::int64_t point)>;

    /// Starts the workers; `evaluate` is called in them. A point that takes longer than `limit` is a failed row, and
    /// its worker is replaced. @pre this process has one thread.
    /// @throws InputError when no process can be started.
    WorkerPool(Evaluate evaluate, unsigned workers, Seconds limit = no_limit);
    static constexpr Seconds no_limit = 1e18 * units::s;
    /// Kills whatever still runs.
    ~WorkerPool();
    WorkerPool(WorkerPool const&) = delete;
    WorkerPool& operator=(WorkerPool const&) = delete;

    [[nodiscard]] unsigned size() const { return static_cast<unsigned>(workers_.size()); }
    /// Points that one worker has before it at a time: more of quick ones.
    [[nodiscard]] std::size_t depth() const;
    /// How many more points keep all workers busy until somebody looks again.
    [[nodiscard]] std::int64_t wanted() const;
    void submit(std::int64_t point);
    /// Points that were submitted and whose rows did not come back yet.
    [[nodiscard]] std::int64_t pending() const { return pending_; }

    /// Waits until a row comes or `patience` is over, then gives every row that is there, in no order. Returns early at
    /// a signal.
    std::vector<SweepRow> collect(std::chrono::milliseconds patience);

private:
    struct Worker {
        pid_t process = -1;
        int socket = -1;
        std::deque<std::int64_t> given;               ///< in the order in which their rows come
        std::chrono::steady_clock::time_point begun;  ///< of the first of them
        std::string received;
    };
    void start(Worker& worker);
    void stop(Worker& worker) noexcept;
    void hand_out();
    void receive(Worker& worker, std::vector<SweepRow>& rows);
    void bury(Worker& worker, std::vector<SweepRow>& rows);
    void fail_first(Worker& worker, std::vector<SweepRow>& rows, std::string reason);
    void end_late(std::vector<SweepRow>& rows);

    Evaluate evaluate_;
    Seconds limit_;
    std::vector<Worker> workers_;
    std::deque<std::int64_t> waiting_;
    std::int64_t pending_ = 0;
    double seconds_per_point_ = 1;  ///< of one worker, smoothed; slow until it is known
    std::chrono::steady_clock::time_point last_measured_;
    std::int64_t since_measured_ = 0;
    std::int64_t deaths_in_a_row_ = 0;  ///< without any row between them
};

}  // namespace sextant::cli
