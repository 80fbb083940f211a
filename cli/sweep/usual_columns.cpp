#include "cli/sweep/question.hpp"

namespace sextant::cli {
namespace {

/// The values of a command's report that answer its question, in few columns.
struct Usual {
    std::string_view command;
    std::vector<std::string> columns;
};

std::vector<Usual> const& all_usual() {
    static std::vector<Usual> const all{
        {"plan",
         {"candidates.0.plan.dp", "candidates.0.plan.tp", "candidates.0.plan.pp", "candidates.0.plan.zero",
          "candidates.0.plan.micro_batch", "candidates.0.plan.recompute", "candidates.0.report.iteration_time_s",
          "candidates.0.report.tokens_per_s", "candidates.0.report.mfu", "candidates.0.report.memory.peak_bytes",
          "candidates.0.report.million_tokens_cost_usd"}},
        {"estimate",
         {"iteration_time_s", "tokens_per_s", "mfu", "memory.peak_bytes", "fits", "million_tokens_cost_usd"}},
        {"simulate",
         {"iteration_time_s", "tokens_per_s", "mfu", "bubble_share", "closed_form_time_s", "uncontended_time_s"}},
        {"run-plan",
         {"run.gpus", "tokens", "law.loss.value", "run.iteration_time_s", "run.mfu",
          "run.effective_training_time_ratio", "run.days", "run.dollars", "run.energy.kwh"}},
        {"goodput",
         {"closed_form.effective_training_time_ratio", "simulation.effective_training_time_ratio", "closed_form.wall_s",
          "closed_form.mtbf_s", "tiers.0.interval_s", "simulation.failures.mean"}},
        {"trials budget", {"methods.0.method", "methods.0.units", "methods.0.simulation.wall_units"}},
        {"trials schedule", {"steps", "tokens", "learning_rate_sum"}},
        {"scaling predict", {"parameters", "tokens", "flops", "loss", "loss_interval.low_80", "loss_interval.high_80"}},
        {"scaling optimum", {"flops", "parameters", "tokens", "tokens_per_parameter", "loss"}},
        {"serve estimate",
         {"capacity_requests_per_s", "largest_batch", "rows.0.concurrency", "rows.0.ttft_s", "rows.0.tpot_s",
          "rows.0.output_tokens_per_s", "memory.cache_tokens"}},
        {"serve simulate",
         {"state", "requests_per_s", "output_tokens_per_s", "ttft.p50_s", "ttft.p99_s", "tpot.p50_s", "tpot.p99_s",
          "usd_per_million_output_tokens"}},
        {"serve plan",
         {"candidates.0.cluster", "candidates.0.replicas", "candidates.0.gpus", "candidates.0.usd_per_hour",
          "candidates.0.simulation.ttft_p99_s", "candidates.0.simulation.tpot_p99_s", "best_ttft_s", "best_tpot_s"}},
        {"rl",
         {"best_mode", "modes.0.best.step_time_s", "modes.1.best.step_time_s", "modes.2.best.step_time_s",
          "modes.2.best.rollout_gpus"}},
        {"collective",
         {"closed_form.0.bytes", "closed_form.0.time_s", "closed_form.0.busbw_bytes_per_s",
          "closed_form.0.interval.low_s", "closed_form.0.interval.high_s"}},
        {"memory",
         {"stages.0.peak_bytes", "stages.0.weights_bytes", "stages.0.gradients_bytes", "stages.0.optimizer_bytes",
          "stages.0.activations_bytes", "stages.0.usable_bytes"}},
        {"flops", {"forward_flops_per_token", "step_model_flops", "step_executed_flops", "stages.0.parameters"}},
        {"models show",
         {"parameters_total", "parameters_active", "kv_cache_bytes_per_token", "forward_flops_per_token"}},
    };
    return all;
}

}  // namespace

std::vector<std::string> usual_columns(std::vector<std::string> const& command) {
    std::string name;
    for (std::string const& word : command)
        name += (name.empty() ? "" : " ") + word;
    for (Usual const& usual : all_usual())
        if (usual.command == name) return usual.columns;
    return {};
}

}  // namespace sextant::cli
