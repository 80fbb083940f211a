#pragma once

#include <cstdio>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "kernels/harness/bench.hpp"

namespace sextant::bench {

/// What stands in every row of a run.
struct Machine {
    std::string backend;
    std::string device;
    std::string driver;
};

/// One problem of one benchmark with the variants that are still to be measured.
struct Task {
    Bench const* bench;
    Problem problem;
    std::vector<Variant> todo;
};

/// Resume keys of the rows that a task still has to give.
std::set<std::string> keys_of(Task const& task, Machine const& machine);

/// Row of a variant before it is measured.
Row blank_row(Machine const& machine, Bench const& bench, Problem const& problem, Variant variant);

/// All problems of `benches` without the rows that `have` (resume keys) already. A benchmark that throws Unavailable
/// when it lists its problems goes to `unavailable` with the reason.
struct Plan {
    std::vector<Task> tasks;
    std::vector<std::string> unavailable;
    std::size_t rows() const;
};
Plan plan_of(std::vector<Bench const*> const& benches, Scope const& scope, Machine const& machine,
             std::set<std::string> const& have);

/// Takes the tasks in an order that has nothing to do with kernel or size, the same in every process and run, so that
/// a run that time cuts short covers all of them.
void mix(Plan& plan);

/// Takes the tasks of which a row is among `failures` (resume keys) last: one that ends the run again, as where CUDA
/// does not recover, then keeps it from nothing else. Processes of one run agree on what the first one knows.
void failures_last(Plan& plan, Machine const& machine, std::set<std::string> const& failures);

/// Seconds that a task will take: set-up and check, and per variant the sampling time.
double estimated_seconds(Task const& task, StopRule const& rule);

struct Outcome {
    std::size_t rows = 0;
    std::size_t failures = 0;
    std::size_t unsupported = 0;
    std::size_t left = 0;  ///< rows not measured because time was up
};

/// Runs the plan: prepares each problem, compares it with its reference, then measures its variants. A wrong result or
/// a failure is a row too, without times, and the run goes on; so is what throws Unavailable, which is no failure.
/// @throws LeavesOthers: a failure, but for a wrong result, in one of several processes. What `recover` throws: the row
/// of the failure before it is written, and no more can be measured.
struct SessionSettings {
    Machine machine;
    Scope scope;
    StopRule rule;
    double max_seconds = 0;  ///< 0: no limit
    std::function<void(Row const&)> write;
    /// Called before a task and after it, where it came to an end, with its `keys_of`. May be empty.
    std::function<void(std::set<std::string> const&)> begin, end;
    std::function<void(std::string const&)> progress;
    std::function<double()> now;
    /// Called after a failure, before anything else is measured; throws where nothing more can be. May be empty.
    std::function<void()> recover;
};
Outcome run_plan(Plan const& plan, SessionSettings const& settings);

/// "1h02m", "3m20s", "12s".
std::string duration_text(double seconds);
/// Now in UTC as 2026-01-31T12:00:00Z.
std::string utc_date();

}  // namespace sextant::bench
