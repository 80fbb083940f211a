#include "core/graph/model_flops.hpp"

#include "core/graph/block.hpp"
#include "core/spec/parameters.hpp"

#include <map>

namespace sextant {
namespace {

enum class MtpModules { counted, left_out };

/// Forward work of one sequence on one device, all layers, embedding and head; head and mtp on the unpadded vocabulary.
Work forward_work(ModelSpec const& model, std::int64_t sequence, MtpModules mtp_modules) {
    ParallelPlan const one_device{};
    Work total;
    std::map<LayerKind, Work> of_kind;
    for (LayerKind const kind : model.layers) {
        auto const [found, is_new] = of_kind.try_emplace(kind);
        if (is_new) found->second = build_layer(model, kind, one_device, sequence).work(Pass::forward);
        total += found->second;
    }
    auto const tokens = static_cast<double>(sequence);
    Flops const head = 2 * tokens * static_cast<double>(model.hidden) * static_cast<double>(model.vocab) * units::flop;
    total.executed += head;
    total.model += head;
    if (mtp_modules == MtpModules::counted && model.mtp_modules > 0) {
        Work const mtp = build_mtp(model, one_device, sequence).work(Pass::forward);
        total += mtp;
    }
    return total;
}

}  // namespace

Flops forward_flops_per_token(ModelSpec const& model, std::int64_t sequence) {
    return forward_work(model, sequence, MtpModules::left_out).model / static_cast<double>(sequence);
}

Flops causal_forward_flops_per_token(ModelSpec const& model, std::int64_t sequence) {
    return forward_work(model, sequence, MtpModules::left_out).executed / static_cast<double>(sequence);
}

Flops model_flops_per_step(ModelSpec const& model, Workload const& workload) {
    return 3 * forward_work(model, workload.sequence, MtpModules::counted).model *
           static_cast<double>(workload.global_batch);
}

Flops six_n_d(ModelSpec const& model, Workload const& workload) {
    return 6.0 * static_cast<double>(count_parameters(model).active) * static_cast<double>(workload.tokens()) *
           units::flop;
}

Flops megatron_step_flops(ModelSpec const& model, Workload const& workload) {
    auto const h = static_cast<double>(model.hidden);
    auto const l = static_cast<double>(model.layer_count());
    auto const s = static_cast<double>(workload.sequence);
    auto const v = static_cast<double>(model.vocab);
    return 96 * static_cast<double>(workload.global_batch) * s * l * h * h * (1 + s / (6 * h) + v / (16 * l * h)) *
           units::flop;
}

}  // namespace sextant
