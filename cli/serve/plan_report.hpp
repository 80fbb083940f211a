#pragma once

#include "cli/view/table.hpp"
#include "planner/serving/serve_plan.hpp"
#include "planner/serving/serving_support.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sextant::cli {

struct ServePlanReport {
    ServeQuestion question;
    ServeAnswer answer;
    std::string trace;                      ///< the file of recorded requests; empty: they are drawn
    std::optional<std::int64_t> context{};  ///< --context; nothing: the model's
    bool priced = false;
    std::vector<std::string> assumptions;
};

/// How far its predicted times may be off.
ServingSupport support_of(ServeQuestion const& question, ServeCandidate const& candidate);

/// What of a deployment is of replicas for prompts and of those that decode: "4 + 1", or of replicas that do both.
/// @param value of a plan, as text
template <class Value>
std::string of_both(ServeCandidate const& candidate, Value const& value) {
    std::string const here = value(candidate.plan);
    return candidate.prompts ? value(candidate.prompts->plan) + " + " + here : here;
}

/// "3", of replicas for prompts and others "3 + 2".
std::string replicas_text(ServeCandidate const& candidate);

/// Where the requests come from, and how long they are: "poisson", or "2000 recorded in trace.csv".
struct ServeLoadWords {
    std::string arrivals;
    std::string prompts;
    std::string answers;
};
ServeLoadWords load_words(ServePlanReport const& report);

/// One sentence for an answer without a deployment: why, and what may help.
std::string no_deployment(ServePlanReport const& report);

/// Machines without a price among others, and what follows; empty where there is none.
std::string missing_prices(ServePlanReport const& report);

/// A line for each machine of which nothing is listed: why.
std::vector<std::string> unlisted_machines(ServePlanReport const& report);

/// What the first misses at the upper end of its 80 % interval, or may by how far its simulations differ; empty where
/// neither holds.
std::string tight_words(ServePlanReport const& report);

/// What simulations with other seeds said of the first, a sentence; empty without one, and of recorded requests.
std::string confirmed_words(ServePlanReport const& report);

/// What the answer stands on, a line each. @param notes on formats and prices
std::vector<std::string> plan_assumptions(ServePlanReport const& report, std::vector<std::string> const& notes);

/// How many configurations there were and what became of them, a phrase each.
std::vector<std::string> search_counts(ServeAnswer const& answer);
std::string serve_plan_text(ServePlanReport const& report);
/// The table, or what is in its way where nothing is found, and what it stands on.
std::string serve_plan_markdown(ServePlanReport const& report);
std::string serve_plan_json(ServePlanReport const& report);
Table serve_plan_table(ServePlanReport const& report);

}  // namespace sextant::cli
