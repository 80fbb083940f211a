#include "core/graph/model_flops.hpp"

#include "core/graph/block.hpp"
#include "core/graph/shapes.hpp"
#include "core/spec/parameters.hpp"

#include <map>

namespace sextant {
namespace {

enum class MtpModules { counted, left_out };

/// Work of one pass over one sequence on one device, all layers, embedding and head; the head on the unpadded
/// vocabulary.
Work pass_work(ModelSpec const& model, SequenceShape const& sequence, MtpModules mtp_modules, Pass pass,
               LowRankAdapters const& adapters) {
    ParallelPlan one_device{};
    one_device.adapters = adapters;
    one_device.vocab_multiple = 1;
    Work total;
    std::map<LayerKind, Work> of_kind;
    for (LayerKind const kind : model.layers) {
        auto const [found, is_new] = of_kind.try_emplace(kind);
        if (is_new) found->second = build_layer(model, kind, one_device, sequence).work(pass);
        total += found->second;
    }
    auto const tokens = static_cast<double>(sequence.tokens);
    std::int64_t const width = table_width(model);
    // Projections from and to a narrower embedding table, and what comes before the output matrix.
    std::int64_t const projections = (model.embedding_width > 0 ? 2 * width * model.hidden : 0) +
                                     (model.head_transform ? model.hidden * model.hidden : 0);
    Flops const head = 2 * tokens * static_cast<double>(width * model.outputs() + projections) * units::flop;
    double const products = pass == Pass::backward && !adapters.on() ? 2 : 1;
    total.executed += products * head;
    total.model += products * head;
    if (mtp_modules == MtpModules::counted && model.mtp_modules > 0) {
        Work const mtp = build_mtp(model, one_device, sequence).work(pass);
        total += mtp;
    }
    return total;
}

Work forward_work(ModelSpec const& model, SequenceShape const& sequence, MtpModules mtp_modules) {
    return pass_work(model, sequence, mtp_modules, Pass::forward, {});
}

}  // namespace

Flops forward_flops_per_token(ModelSpec const& model, SequenceShape const& sequence) {
    return forward_work(model, sequence, MtpModules::left_out).model / static_cast<double>(sequence.tokens);
}

Flops causal_forward_flops_per_token(ModelSpec const& model, SequenceShape const& sequence) {
    return forward_work(model, sequence, MtpModules::left_out).executed / static_cast<double>(sequence.tokens);
}

Flops model_flops_per_step(ModelSpec const& model, Workload const& workload) {
    double const passes = workload.has_reference() ? 4 : 3;
    return passes * forward_work(model, workload.shape(), MtpModules::counted).model *
           static_cast<double>(workload.global_batch);
}

Flops model_flops_per_step(ModelSpec const& model, Workload const& workload, LowRankAdapters const& adapters) {
    if (!adapters.on()) return model_flops_per_step(model, workload);
    Flops total;
    for (Pass const pass : {Pass::forward, Pass::backward})
        total += pass_work(model, workload.shape(), MtpModules::counted, pass, adapters).model;
    if (workload.has_reference()) total += forward_work(model, workload.shape(), MtpModules::counted).model;
    return total * static_cast<double>(workload.global_batch);
}

Flops six_n_d(ModelSpec const& model, Workload const& workload) {
    return 6.0 * static_cast<double>(count_parameters(model).active) * static_cast<double>(workload.tokens()) *
           units::flop;
}

Flops megatron_step_flops(ModelSpec const& model, Workload const& workload) {
    auto const h = static_cast<double>(model.hidden);
    auto const l = static_cast<double>(model.layer_count());
    auto const s = static_cast<double>(workload.sequence);
    auto const v = static_cast<double>(model.outputs());
    return 96 * static_cast<double>(workload.global_batch) * s * l * h * h * (1 + s / (6 * h) + v / (16 * l * h)) *
           units::flop;
}

}  // namespace sextant
