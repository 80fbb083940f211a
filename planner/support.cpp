#include "planner/support.hpp"

#include "core/error.hpp"
#include "core/is_one_of.hpp"
#include "core/spec/kernel_calibration.hpp"
#include "core/spec/network_calibration.hpp"
#include "cost_models/block_price.hpp"
#include "cost_models/kernel_estimate.hpp"
#include "cost_models/token_dispatch.hpp"
#include "planner/kernel_bases.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace sextant {
namespace {

/// Of steps of mixtures of experts, whatever the framework: errors of 47 such steps of four sources, fitted and left
/// out in equal parts. Source: what `sextant calibrate fit --train` prints of the tables that the profiles are fitted
/// to.
constexpr StepInterval expert_interval{.low = 0.785, .high = 1.47, .rows = 94};

/// Of steps of dense models that wait for the host: errors of 92 such steps. Source: as above.
constexpr StepInterval waiting_interval{.low = 0.882, .high = 1.19, .rows = 184};

/// The most accelerators of a step that the profiles are fitted to. Source: megatron-sc21-table1 (A100) and
/// google-maxtext-tpu (v5e).
constexpr std::int64_t largest_gpu_job = 3072;
constexpr std::int64_t largest_tpu_job = 8192;

constexpr std::array measured_schedules{Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved,
                                        Schedule::overlapped};

/// The second by steps on one GPU: torchtune's and those of kernels/train_step.
constexpr std::array measured_optimizers{Optimizer::adamw, Optimizer::adamw_pure_bf16};

/// The kernels of a step: products in its format and in two bytes, which the rest of it keeps to, and attention.
void add_kernels(std::vector<std::string>& out, AcceleratorProfile const& a, Precision precision) {
    std::string_view const format = gemm_format(precision).name;
    std::string_view const wide = gemm_format(two_byte_precision(a)).name;
    KernelBases const kernels = training_kernels(a, format);
    // One sentence where nothing is known: a calibration of some other kernel makes a step no less certain.
    if (kernels.products == KernelBasis::any && kernels.attention == KernelBasis::any) {
        out.push_back(fmt::format("kernels on {}: no device of its generation was measured", a.name));
        return;
    }
    auto const add = [&](KernelBasis basis, std::string_view what) {
        if (basis >= KernelBasis::others)
            out.push_back(fmt::format("{} on {}: not measured on its generation", what, a.name));
    };
    add(kernels.format, fmt::format("{} products", format));
    if (is_narrow(precision)) add(kernel_basis(a, product_kind(a), wide), fmt::format("{} products", wide));
    add(kernels.attention, "attention");
}

/// Where too few measured steps are behind a framework's constants for this generation and format.
std::optional<std::string> unmeasured_steps(FrameworkProfile const& framework, FrameworkTiming const& timing,
                                            std::string const& generation, Precision precision) {
    constexpr std::int64_t enough = 5;  // as a fit of one's own needs
    auto const is_of = [&](FrameworkTiming const& entry) { return entry.generation == generation; };
    auto const has_steps = [&](FrameworkTiming const& entry) { return is_of(entry) && entry.steps.value_or(0) > 0; };
    if (is_of(timing) && !timing.steps && timing.gemm_scale.basis != Basis::assumed) return std::nullopt;
    if (std::none_of(framework.timing.begin(), framework.timing.end(), has_steps))
        return fmt::format("framework {}: no step on {} was fitted", framework.name, generation);
    std::string_view const format = name_of(unscaled(precision));
    bool const is_of_format = timing.precision == format || !is_narrow(precision);
    std::int64_t const steps = is_of_format ? timing.steps.value_or(0) : 0;
    if (steps >= enough) return std::nullopt;
    if (steps == 0)
        return fmt::format("framework {}: no step in {} on {} was fitted", framework.name, format, generation);
    return fmt::format("framework {}: fitted to {} step{} in {} on {} only", framework.name, steps,
                       steps == 1 ? "" : "s", format, generation);
}

/// What measured steps had in host memory.
bool is_measured(Offload offload, FrameworkProfile const& framework, std::string const& generation) {
    bool const on_tpus = is_framework(framework, "maxtext") && generation == "tpu";
    return offload == Offload::none || (offload == Offload::activations && on_tpus);
}
constexpr std::string_view measured_offload =
    "no measured step offloaded anything, but activations under MaxText on TPUs";

}  // namespace

std::vector<std::string> unmeasured_networks(ClusterSpec const& cluster, std::int64_t accelerators) {
    std::vector<std::string> out;
    auto const add = [&](char const* part, NetworkModel::Part const* model) {
        if (model == nullptr || model->basis == Basis::assumed)
            out.push_back(fmt::format("{} network of {}: no run on such a network was fitted", part, cluster.name));
    };
    NetworkModel const* const model = cluster.network_model.get();
    if (accelerators > 1 && cluster.domain_size > 1) add("scale-up", model != nullptr ? &model->up_part : nullptr);
    if (accelerators > cluster.domain_size) add("scale-out", model != nullptr ? &model->out_part : nullptr);
    return out;
}

bool is_measured(Schedule schedule) { return is_one_of(measured_schedules, schedule); }

std::vector<std::string> unsupported_terms(ModelSpec const& model, ClusterSpec const& cluster,
                                           FrameworkProfile const& framework, ParallelPlan const& plan) {
    std::vector<std::string> out;
    AcceleratorProfile const& a = cluster.accelerator;
    add_kernels(out, a, plan.precision);
    for (std::string& term : unmeasured_networks(cluster, plan.world_size()))
        out.push_back(std::move(term));
    std::int64_t const largest_job = a.generation == "tpu" ? largest_tpu_job : largest_gpu_job;
    if (plan.world_size() > largest_job)
        out.push_back(
            fmt::format("{} accelerators: no measured step ran on more than {}, and what slow ranks cost grows",
                        plan.world_size(), largest_job));
    FrameworkTiming const& timing = timing_for(framework, a.generation, plan.precision);
    if (auto term = unmeasured_steps(framework, timing, a.generation, plan.precision)) out.push_back(*std::move(term));
    if (plan.pp > 1 && !is_measured(plan.schedule))
        out.push_back(fmt::format("schedule {}: no measured step ran it", name_of(plan.schedule)));
    // A family whose rows have no experts keeps what it started with.
    if (model.moe && timing.moe_floor_forward.value == Seconds{})
        out.push_back(fmt::format("experts under {}: no step of such a model was fitted", framework.name));
    if (plan.cp > 1 && plan.cp_mode != ContextParallel::ring)
        out.push_back(fmt::format("cp mode {}: no measured step ran it", name_of(plan.cp_mode)));
    if (model.moe && plan.ep > 1 && plan.dispatcher == Dispatcher::deduplicated &&
        !sends_once(cluster, place(GroupKind::expert, plan, cluster)))
        out.emplace_back(
            "dispatcher deduplicated: its kernels do not run over this network; timed as alltoall, while steps of "
            "Qwen3-30B-A3B that sent through hosts on EFA took 1.03 to 2.9 times as long");
    if (!is_one_of(measured_optimizers, plan.optimizer))
        out.push_back(fmt::format("optimizer {}: no measured step ran it", name_of(plan.optimizer)));
    if (plan.precision == Precision::fp32 || plan.precision == Precision::tf32)
        out.push_back(fmt::format("{}: no measured step ran it, and no fused attention in it was measured",
                                  name_of(plan.precision)));
    if (plan.precision == Precision::fp8_block) out.emplace_back("fp8-block: no measured step scaled by blocks");
    bool const as_it_is = plan.adapters.base == BaseWeights::fp8 && unscaled(plan.precision) == Precision::fp8;
    if (plan.adapters.on() && plan.adapters.base != BaseWeights::bf16 && !as_it_is)
        out.push_back(
            fmt::format("base weights {}: no measured step dequantised weights", name_of(plan.adapters.base)));
    if (model.attention.index) out.emplace_back("sparse attention: its kernels were not measured");
    if (!model.causal) out.emplace_back("attention that looks both ways: no measured step ran it");
    if (model.recurrent) out.emplace_back("recurrent layers: their kernels were not measured");
    if (!is_measured(plan.offload, framework, a.generation))
        out.push_back(fmt::format("offload {}: {}", name_of(plan.offload), measured_offload));
    return out;
}

void keep_measured(SearchSpace& space, FrameworkProfile const& framework, std::string const& generation) {
    std::erase_if(space.pipelining, [](auto const& p) { return !is_measured(p.schedule); });
    if (space.pipelining.empty())
        throw InputError(
            "--only-validated: no measured step ran this schedule (gpipe, 1f1b, interleaved and 1f1b-overlap were)");
    if (!is_one_of(space.cp_modes, ContextParallel::ring)) {
        std::erase_if(space.cp, [](std::int64_t cp) { return cp > 1; });
        if (space.cp.empty()) throw InputError("--only-validated: no measured step ran this cp mode (ring was)");
    }
    space.cp_modes = {ContextParallel::ring};
    std::erase_if(space.offload, [&](Offload offload) { return !is_measured(offload, framework, generation); });
    if (space.offload.empty()) throw InputError("--only-validated: {}", measured_offload);
}

bool waits_for_host(StepEstimate const& estimate) { return estimate.breakdown.host >= 0.1 * estimate.time; }

StepInterval interval_of_kind(FrameworkProfile const& framework, bool has_experts, bool waits) {
    if (has_experts) return expert_interval;
    StepInterval out = framework.interval;
    if (waits) {
        out.low = std::min(out.low, waiting_interval.low);
        out.high = std::max(out.high, waiting_interval.high);
    }
    return out;
}

StepInterval step_interval(FrameworkProfile const& framework, ModelSpec const& model, StepEstimate const& estimate,
                           std::span<std::string const> unsupported) {
    constexpr double widening = 1.25;  // assumed
    double const power = std::pow(widening, static_cast<double>(std::min<std::size_t>(unsupported.size(), 4)));
    StepInterval out = interval_of_kind(framework, model.moe.has_value(), waits_for_host(estimate));
    out.low = std::pow(out.low, power);
    out.high = std::pow(out.high, power);
    return out;
}

}  // namespace sextant
