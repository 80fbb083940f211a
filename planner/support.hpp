#pragma once

#include "planner/search_space.hpp"
#include "simulator/closed_form.hpp"

#include <span>
#include <string>
#include <vector>

namespace sextant {

/// What of a step's time no measurement in the shipped or given calibrations supports, a sentence each: products of a
/// format, or attention, that were not measured on this generation of devices, a network that no run is of, constants
/// of a framework that few steps on this generation in this format were fitted to, or none of a model with experts, a
/// schedule, a mode of context parallelism or an optimizer that no measured step ran, offload, recurrent layers, sparse
/// attention. Only terms that this plan uses; empty: every term of it was measured somewhere near.
std::vector<std::string> unsupported_terms(ModelSpec const& model, ClusterSpec const& cluster,
                                           FrameworkProfile const& framework, ParallelPlan const& plan);

/// The networks that so many accelerators of a cluster use and no run of which, or of their class, was fitted.
std::vector<std::string> unmeasured_networks(ClusterSpec const& cluster, std::int64_t accelerators);

/// Whether a measured step ran under this schedule. Source: the column pp_schedule of the rows behind
/// docs/validation.md.
bool is_measured(Schedule schedule);

/// Takes out of a space what no measurement supports and a plan can do without: schedules, offload.
/// @throws InputError when nothing is left of an axis.
void keep_measured(SearchSpace& space, FrameworkProfile const& framework, std::string const& generation);

/// Whether a step waits for the host for a tenth of its time and more: the processor that launches kernels, and
/// whether a release records them in graphs, are in no profile.
bool waits_for_host(StepEstimate const& estimate);

/// The 80 % interval of a framework's steps that have experts, wait for the host, or neither.
StepInterval interval_of_kind(FrameworkProfile const& framework, bool has_experts, bool waits);

/// The 80 % interval of a step's time, as factors on it: of the framework's rows and left-out sources, for mixtures of
/// experts of all such rows, for steps that wait for the host of those at least, and wider by a quarter for each
/// unsupported term (assumed), up to four of them.
StepInterval step_interval(FrameworkProfile const& framework, ModelSpec const& model, StepEstimate const& estimate,
                           std::span<std::string const> unsupported);

}  // namespace sextant
