#pragma once

#include "core/json/object_reader.hpp"
#include "core/spec/parallel_plan.hpp"
#include "core/spec/serving_plan.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace sextant::cli {

/// A plan that `sextant plan`, `estimate` or `run-plan` wrote with `--format json`.
struct PlanFile {
    std::string model, cluster, framework;
    Workload workload;
    ParallelPlan plan;
    std::string digest{};  ///< of the graph that the plan runs (`StepReport::digest`); empty: the file has none
    double seconds = 0;    ///< predicted of a step; 0: likewise
    std::optional<std::int64_t> steps{};  ///< of a run
};

/// The names in a file may be those of models and clusters of one's own: what to do where the catalogue has none, or
/// another, of that name.
std::string give_again(std::string const& plan_file);
/// @throws InputError, with that, where the catalogue does not know them.
void require_known_names(std::string const& model, std::string const& cluster, std::string const& plan_file);

/// The candidate of this rank (1: the best); a step report and a run have one. @throws InputError: another format or
/// version, no such rank, an unknown key in the plan.
PlanFile read_plan_file(std::string const& path, std::int64_t rank);
PlanFile read_plan_document(JsonDocument const& document, std::int64_t rank);

/// A deployment that `sextant serve plan --format json` wrote.
struct ServePlanFile {
    std::string model, cluster;
    std::string engine, scheduler;  ///< empty: the file does not say
    ServingPlan plan;               ///< block size and imbalance are not in the file: the defaults
    std::optional<double> memory_utilisation;
    std::optional<std::int64_t> context;  ///< longest request; nothing: the model's
    std::int64_t replicas = 1;
    /// Replicas for prompts, where the others decode only.
    struct Prompts {
        ServingPlan plan;
        std::optional<double> memory_utilisation;
        std::int64_t replicas = 1;
    };
    std::optional<Prompts> prompts{};
    std::int64_t request_length = 0;  ///< tokens of a prompt and its answer, 0: not all requests have the same
    /// What --weights was, or would be: `plan.weights`, unless these only run what is stored in another format.
    [[nodiscard]] std::string const& asked_weights() const { return asked_weights(plan); }
    static std::string const& asked_weights(ServingPlan const& plan);
};
ServePlanFile read_serve_plan_file(std::string const& path, std::int64_t rank);
ServePlanFile read_serve_plan_document(JsonDocument const& document, std::int64_t rank);

}  // namespace sextant::cli
