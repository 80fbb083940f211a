#pragma once

#include <fmt/format.h>

#include <chrono>

namespace sextant::perf {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// How `print` writes: lines for a person, or CSV with the columns target, value, unit, relation, goal, reference_s.
enum class Format { text, csv };
void set_format(Format format);

/// Seconds of a fixed piece of work (sorting, a hash table, sums of doubles), best of three: what a slower or busier
/// machine does to any program. A time over it, or a rate times it, can be compared between runs.
double reference_seconds();

/// One line: what, measured, goal; in CSV the reference work as well, timed just after. @param relation ">=" or "<=".
void print(char const* what, double value, char const* unit, double goal, char const* relation);

/// The goals of the simulator.
void simulator_goals();
/// Those of collectives as flows.
void collective_goals();
/// Those of fitted scaling laws.
void scaling_goals();
/// Those of simulated serving.
void serving_goals();
/// Those of sweeps.
void sweep_goals();

}  // namespace sextant::perf
