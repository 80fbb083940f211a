#pragma once

#include "core/spec/hardware_profile.hpp"
#include "simulator/closed_form.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sextant {

/// What the energy of a run stands on besides the accelerator's rated power.
struct PowerModel {
    Sourced<double> idle_share{0.12, Basis::assumed,
                               "drawn by a waiting accelerator, of its rated power: makers publish no figure"};
    Sourced<double> host_share{0.4, Basis::assumed,
                               "processors, network and fans per accelerator, of its rated power: half of the 0.82 "
                               "that a DGX H100 may draw at most (datasheet: 10.2 kW with 8 x 700 W)"};
    Sourced<double> pue{1.1, Basis::assumed,
                        "power usage effectiveness of the site, as in arXiv:2302.13971 section 6; the industry's mean "
                        "is nearer 1.5"};
};

/// Power and energy of a run.
struct RunEnergy {
    double busy_share = 0;    ///< of the step, with a kernel that computes, mean over the accelerators
    double device_watts = 0;  ///< of one accelerator, mean over the step
    double site_watts = 0;    ///< of all accelerators with hosts and site
    double kilowatt_hours = 0;
};

/// Work of the mean pipeline rank over that of the slowest, which the breakdown of a step is of: 1 where all are equal.
double mean_stage_work(PipelineCost const& pipeline, std::int64_t slowest_stage);

/// Share of a step in which an accelerator computes: products, attention, memory-bound kernels, recompute, update.
/// @param stage_work as `mean_stage_work`; the update is taken as the slowest stage's.
double busy_share(StepEstimate const& estimate, double stage_work);

/// device = rated (idle + (1 - idle) busy), site = accelerators (device + host rated) pue, energy = site * wall.
/// The whole wall clock, restarts included, is counted at the power of a step (assumed).
RunEnergy run_energy(PowerModel const& power, AcceleratorProfile const& accelerator, StepEstimate const& estimate,
                     double stage_work, double accelerators, Seconds wall);

/// What the energy assumes, a sentence each.
std::vector<std::string> power_assumptions(PowerModel const& power, AcceleratorProfile const& accelerator);

}  // namespace sextant
