#pragma once

#include "planner/serving/serve_plan.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sextant {

/// Everything that could be chosen: every machine with every way to cut a replica, in each of the formats and with each
/// of the limits of the question.
///
/// Tensor-parallel ranks stay within a domain. Stages of a pipeline and groups of attention data parallelism may go
/// beyond it, up to four domains a replica; groups are of mixtures of experts, whose experts are then divided over all
/// ranks. Values that the question gives are taken as they are.
std::vector<ServeCandidate> serve_candidates(ServeQuestion const& question);

/// Sequences that may decode at a time in a replica of this plan: those that the question gives, else 32, 128, 512 and
/// 1024 of each attention group, as engines count them (vLLM's `max_num_seqs` is of a data-parallel rank).
/// Source: of 1024 vLLM 0.11, engine/arg_utils.py (devices of 70 GB and more); the others assumed.
std::vector<std::int64_t> batch_limits(ServeQuestion const& question, ServingPlan const& plan);

/// Why the formats of a candidate are out: its device has none such, or they are not accurate enough; empty: neither.
std::string format_fault(ServeQuestion const& question, ServeCandidate const& candidate);

/// Tokens of the longest request of a trace, prompt and answer; 0 without one.
std::int64_t longest_recorded(ServeQuestion const& question);

/// Whether two deployments differ in the limits of a batch at most, those of replicas for prompts among them.
bool alike(ServeCandidate const& a, ServeCandidate const& b);
/// Where runs of candidates that are alike begin, and the end of the last.
std::vector<std::size_t> alike_runs(std::vector<ServeCandidate> const& all);

/// @throws InputError: values of tp, pp or attention-dp that the model does not allow, limits of a batch below one.
void check_given_splits(ServeQuestion const& question);

}  // namespace sextant
