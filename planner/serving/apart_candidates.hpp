#pragma once

#include "core/spec/engine_profile.hpp"
#include "planner/serving/serve_plan.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sextant {

/// Deployments whose prompts have replicas of their own; none unless the question asks for them.
///
/// Either side is chosen by itself, as what the one does is nothing to the other but its load: for prompts the replicas
/// that cost least at the rate within the TTFT (the open loop of answers of one token), for decodes those that cost
/// least within the TPOT. A replica that decodes D sequences of a mean context, and nothing else, takes a step of T(D)
/// and serves D / (steps T(D)) requests a second; D is the largest that keeps the TPOT and that the cache holds. Their
/// least number has D at all times; the likely one m on average, m + sqrt(m) = D: the numbers at random lie one
/// deviation below (assumed). The three best of either side are paired, those
/// for prompts with each chunk of the question, where the caches of the ones are those of the
/// others (`handover_fault`). Pipelines that the engine does not take
/// (`pipeline_fault`) are left out unless stages are named.
std::vector<ServeCandidate> apart_candidates(ServeQuestion const& question);

/// Why an engine, as released, hands no caches over between replicas cut so, a sentence; nothing where it does: vLLM's
/// connector refuses pipelines, SGLang has none of replicas that decode alone.
/// Source: vLLM, issues 40674 and 52913 ("does not support PP-disaggregated KV transfer"); SGLang, pull request 8846
/// and issue 11857 (pipelines of prompts only).
std::optional<std::string> pipeline_fault(EngineProgram program, ServingPlan const& prompts,
                                          ServingPlan const& decodes);

/// What is said of a value of replicas for prompts: its options named as they are asked for ("--prefill-tp").
std::string of_prompts(std::string message);

/// @throws InputError: splits of replicas for prompts that the model does not allow.
void check_prompt_splits(ServeQuestion const& question);

}  // namespace sextant
