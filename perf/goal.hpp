#pragma once

#include <fmt/format.h>

#include <chrono>

namespace sextant::perf {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// One line: what, measured, goal. @param relation ">=" or "<=".
inline void print(char const* what, double value, char const* unit, double goal, char const* relation) {
    bool const met = relation[0] == '>' ? value >= goal : value <= goal;
    fmt::print("{:<62} {:>12.4g} {:<14} goal {} {:g}  {}\n", what, value, unit, relation, goal, met ? "met" : "MISSED");
}

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
