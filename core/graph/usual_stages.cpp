#include "core/graph/usual_stages.hpp"

#include "core/graph/plan_check.hpp"
#include "core/graph/stage_layout.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {

std::vector<std::int64_t> cost_balanced_layers(ModelSpec const& model, std::int64_t pp, Tie tie) {
    auto const h = static_cast<double>(model.hidden);
    AttentionSpec const& a = model.attention;
    double const attention = h * static_cast<double>(2 * a.heads * a.head_dim + 2 * a.kv_heads * a.head_dim);
    double const layer = attention + (model.mlp.gated ? 3.0 : 2.0) * h * static_cast<double>(model.mlp.intermediate);
    double const head = h * static_cast<double>(model.outputs());
    double const total = layer * static_cast<double>(model.layer_count()) + head;
    std::vector<std::int64_t> stages(static_cast<std::size_t>(pp), 0);
    std::size_t stage = 0;
    double sum = 0;
    for (std::int64_t i = 0; i < model.layer_count(); ++i) {
        ++stages[stage];
        sum += layer;
        double const share = total * static_cast<double>(stage + 1) / static_cast<double>(pp);
        bool const tied = std::abs(sum - share) < 1e-3 * layer;
        bool const full = tied ? tie == Tie::next_stage : sum > share;
        if (full && stage + 1 < stages.size()) ++stage;
    }
    return stages;
}

std::vector<std::int64_t> short_ended(std::int64_t layers, std::int64_t chunks) {
    std::int64_t const full = (layers + chunks - 1) / chunks;
    std::vector<std::int64_t> stages(static_cast<std::size_t>(chunks), full);
    stages.back() = std::max<std::int64_t>(0, layers - full * (chunks - 1));
    stages.front() = layers - full * (chunks - 2) - stages.back();
    if (stages.front() < 0) return {};
    return stages;
}

std::vector<std::int64_t> uneven_chunks(ModelSpec const& model, std::int64_t pp, std::int64_t vpp) {
    if (model.mtp_modules > 0 || pp < 2 || vpp < 2) return {};
    constexpr std::int64_t most_chunks = 16;  // that a search tries
    for (std::int64_t v = 2; v <= most_chunks; ++v)
        if (can_split(model, pp, v)) return {};
    std::int64_t const layers = model.layer_count(), chunks = pp * vpp;
    std::int64_t const empty = (layers + chunks - 1) / chunks * chunks - layers;
    return 8 * empty <= layers ? short_ended(layers, chunks) : std::vector<std::int64_t>{};
}

std::vector<std::int64_t> usual_stage_layers(FrameworkProfile const& framework, ModelSpec const& model,
                                             ParallelPlan const& plan) {
    bool const interleaves = plan.schedule == Schedule::interleaved || plan.schedule == Schedule::overlapped;
    if (interleaves && plan.stage_layers.empty() && framework.usual.pipelines == Pipelines::uneven)
        return uneven_chunks(model, plan.pp, plan.vpp);
    bool const dense = !model.moe && !model.recurrent && model.mlp.intermediate > 0;
    bool const spreads_by_cost = framework.usual.layers == LayerSpread::by_cost && dense && plan.vpp == 1;
    if (!spreads_by_cost || !plan.stage_layers.empty() || plan.pp == 1) return plan.stage_layers;
    if (!can_split(model, plan.pp, plan.vpp)) return {};
    return cost_balanced_layers(model, plan.pp, Tie::next_stage);
}

int usual_zero_stage(FrameworkProfile const& framework, ParallelPlan plan) {
    plan.zero = framework.usual.zero;
    return zero_suits_pipeline(plan) ? plan.zero : 1;
}

bool slides(ModelSpec const& model) {
    return std::any_of(model.layers.begin(), model.layers.end(), [](LayerKind const& l) { return l.sliding; });
}

ContextParallel usual_cp_mode(ContextParallel of_framework, ModelSpec const& model) {
    bool const gathers = of_framework == ContextParallel::ring && slides(model);
    return gathers ? ContextParallel::all_gather : of_framework;
}

std::optional<ContextParallel> only_cp_mode(ModelSpec const& model) {
    AttentionSpec const& a = model.attention;
    if (a.sinks) return ContextParallel::ulysses;
    if (a.latent && a.value_head_dim != a.head_dim) return ContextParallel::ring;
    return {};
}

ContextParallel usual_cp_mode(FrameworkProfile const& framework, ModelSpec const& model) {
    ContextParallel const usual = usual_cp_mode(framework.usual.cp_mode, model);
    return is_framework(framework, "megatron") ? only_cp_mode(model).value_or(usual) : usual;
}

}  // namespace sextant
