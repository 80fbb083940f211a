#include "planner/framework_rules.hpp"

#include "core/is_one_of.hpp"
#include "cost_models/weight_copies.hpp"
#include "planner/exporters/launch_plan.hpp"
#include "planner/exporters/megatron_attention.hpp"
#include "planner/exporters/megatron_translation.hpp"

#include <algorithm>
#include <array>

namespace sextant {
namespace {

bool megatron_lays_out(ParallelPlan const& p, ModelSpec const& model, std::int64_t microbatches,
                       NamedAxes const& named) {
    if (!named.vpp && !has_microbatches_to_interleave(p, microbatches)) return false;
    if (!named.cp && !exchanges_heads(p, model)) return false;
    return named.sequence_parallel || !model.moe || p.tp == 1 || p.sequence_parallel == Switch::on;
}

bool deepspeed_lays_out(ParallelPlan const& p, ModelSpec const& model, NamedAxes const& named) {
    if (!named.cp && p.cp > 1 && !deepspeed_splits_sequences(p)) return false;
    return named.pp || p.pp == 1 || !model.moe;
}

bool torchtitan_lays_out(ParallelPlan const& p, ModelSpec const& model, std::int64_t microbatches,
                         NamedAxes const& named) {
    if (!named.sequence_parallel && p.tp > 1 && p.sequence_parallel == Switch::off) return false;
    if (!named.ep && model.moe && p.ep > 1 && !torchtitan_divides_experts(p)) return false;
    if (p.pp == 1 || named.pp) return true;
    if (p.vpp > 1) return microbatches % std::max<std::int64_t>(1, microbatches / p.pp) == 0;
    return microbatches >= p.pp;
}

bool fsdp2_lays_out(ParallelPlan const& p, ModelSpec const& model, NamedAxes const& named) {
    if ((!named.cp && p.cp > 1) || (!named.ep && p.ep > 1)) return false;
    if (p.tp == 1) return true;
    if (!named.sequence_parallel && p.sequence_parallel == Switch::off) return false;
    return named.tp || fsdp2_splits_layers(model, p.tp);
}

bool maxtext_lays_out(ParallelPlan const& p, ModelSpec const& model, std::int64_t microbatches,
                      NamedAxes const& named) {
    if (!named.ep && model.moe && p.dp % p.ep != 0) return false;
    if (p.pp == 1 || named.pp) return true;
    return microbatches % p.pp == 0 && maxtext_pipelined_layers(model) % (p.pp * p.vpp) == 0;
}

/// FSDP2 without a pipeline shards gradients with the optimizer, and plain replicas (DDP) go with nothing else; with a
/// pipeline it reduces once a step.
bool torchtitan_shards_state(ParallelPlan const& p) {
    if (p.pp > 1) return p.zero == 1;
    if (p.zero == 0) return p.tp == 1 && p.cp == 1 && p.ep == 1;
    return p.zero >= 2;
}

/// The context and expert axes always shard the weights: they leave no state whole, and groups hold all their ranks.
bool maxtext_shards_state(ParallelPlan const& p) {
    std::int64_t const inner = p.cp * p.ep;
    if (inner == 1) return p.zero != 2;
    return p.zero == 3 && p.shard_group % inner == 0;
}

bool megatron_shards_state(ParallelPlan const& p) {
    if (p.optimizer == Optimizer::sgd) return p.zero == 0;
    return p.optimizer != Optimizer::muon || p.zero <= 1;
}

/// ZeRO flattens weights into vectors, which have no rows and columns to factor a moment into.
bool deepspeed_shards_state(ParallelPlan const& p, ModelSpec const& model) {
    if (p.optimizer == Optimizer::adafactor) return p.zero == 0;
    return p.zero < 3 || !model.moe;
}

}  // namespace

Launcher launcher_of(FrameworkProfile const& framework) {
    std::string_view const name = family_name(framework);
    if (name == "megatron") return Launcher::megatron;
    if (name == "deepspeed") return Launcher::deepspeed;
    if (name == "torchtitan") return Launcher::torchtitan;
    if (name == "maxtext") return Launcher::maxtext;
    if (name == "nanotron") return Launcher::nanotron;
    if (name == "fsdp" || name == "pytorch" || name == "transformers") return Launcher::fsdp2;
    return Launcher::any;
}

std::string_view export_format(Launcher launcher) {
    switch (launcher) {
        case Launcher::megatron: return "megatron";
        case Launcher::deepspeed: return "deepspeed";
        case Launcher::torchtitan: return "torchtitan";
        case Launcher::fsdp2: return "fsdp2";
        case Launcher::maxtext: return "maxtext";
        case Launcher::nanotron:
        case Launcher::any: break;
    }
    return "";
}

Schedule usual_schedule(Launcher launcher, std::int64_t vpp) {
    if (launcher == Launcher::maxtext) return vpp > 1 ? Schedule::breadth_first : Schedule::gpipe;
    return vpp > 1 ? Schedule::interleaved : Schedule::one_f_one_b;
}

bool has_microbatches_to_interleave(ParallelPlan const& p, std::int64_t microbatches) {
    return p.vpp == 1 || microbatches >= p.pp;
}

bool megatron_offloads_activations(ParallelPlan const& p) { return p.pp == 1 && p.recompute == Recompute::none; }

bool deepspeed_splits_sequences(ParallelPlan const& p) { return p.tp == 1 && p.pp == 1; }

bool recomputes_every_kth_layer(ParallelPlan const& p, ModelSpec const& model) {
    if (p.recompute_layers == 0) return true;
    std::vector<std::int64_t> const chunks = chunk_layers(p, model);
    bool const even =
        std::all_of(chunks.begin(), chunks.end(), [&](std::int64_t layers) { return layers == chunks.front(); });
    return even && chunks.front() * p.vpp % p.recompute_layers == 0;
}

bool torchtitan_divides_experts(ParallelPlan const& p) { return p.ep % (p.cp * (p.expert_tp == p.tp ? 1 : p.tp)) == 0; }

std::int64_t maxtext_pipelined_layers(ModelSpec const& model) {
    if (!model.architecture.starts_with("deepseek") && model.architecture != "kimi_k2") return model.layer_count();
    auto const first = std::find_if(model.layers.begin(), model.layers.end(), [](LayerKind const& l) { return l.moe; });
    return first == model.layers.end() ? model.layer_count() : model.layers.end() - first;
}

bool fsdp2_splits_layers(ModelSpec const& model, std::int64_t tp) {
    AttentionSpec const& a = model.attention;
    return !model.moe && !a.latent && !a.sinks && !a.gated && !model.recurrent && a.kv_heads % tp == 0;
}

bool cuts_loss(Launcher launcher) {
    return launcher == Launcher::any || launcher == Launcher::fsdp2 || launcher == Launcher::maxtext;
}

bool fuses_loss(Launcher launcher) {
    return launcher == Launcher::any || launcher == Launcher::fsdp2 || launcher == Launcher::megatron;
}

std::int64_t FrameworkRules::expert_tp(ParallelPlan const& p) const {
    if (named_.expert_tp) return p.expert_tp;
    bool const cuts = launcher_ == Launcher::maxtext || (launcher_ == Launcher::torchtitan && p.ep == 1);
    return cuts ? p.tp : p.expert_tp;
}

bool FrameworkRules::lays_out(ParallelPlan const& p, ModelSpec const& model, std::int64_t microbatches) const {
    switch (launcher_) {
        case Launcher::megatron: return megatron_lays_out(p, model, microbatches, named_);
        case Launcher::deepspeed: return deepspeed_lays_out(p, model, named_);
        case Launcher::torchtitan: return torchtitan_lays_out(p, model, microbatches, named_);
        case Launcher::fsdp2: return fsdp2_lays_out(p, model, named_);
        case Launcher::maxtext: return maxtext_lays_out(p, model, microbatches, named_);
        case Launcher::nanotron:
        case Launcher::any: break;
    }
    return true;
}

bool FrameworkRules::recomputes(ParallelPlan const& p, ModelSpec const& model) const {
    if (named_.recompute_layers || p.recompute_layers == 0) return true;
    if (launcher_ == Launcher::deepspeed) return p.pp == 1;
    if (launcher_ == Launcher::maxtext) return false;
    return launcher_ != Launcher::torchtitan || recomputes_every_kth_layer(p, model);
}

bool FrameworkRules::shards(ParallelPlan const& p, ModelSpec const& model) const {
    if (named_.zero || most_copies(p, model) == 1) return true;
    switch (launcher_) {
        case Launcher::megatron: return megatron_shards_state(p);
        case Launcher::deepspeed: return deepspeed_shards_state(p, model);
        case Launcher::torchtitan: return torchtitan_shards_state(p);
        case Launcher::fsdp2: return p.zero != 1;
        case Launcher::maxtext: return maxtext_shards_state(p);
        case Launcher::nanotron: return p.zero <= 1;
        case Launcher::any: break;
    }
    return true;
}

bool FrameworkRules::offloads(ParallelPlan const& p, ModelSpec const& model) const {
    if (named_.offload || p.offload == Offload::none) return true;
    constexpr std::array adams{Optimizer::adamw, Optimizer::adamw_bf16, Optimizer::adamw_8bit,
                               Optimizer::adamw_pure_bf16};
    bool const is_adam = is_one_of(adams, p.optimizer);
    bool const shares = p.zero >= 1 || most_copies(p, model) == 1;
    switch (launcher_) {
        case Launcher::megatron:
            if (offloads_parameters(p)) return false;
            if (offloads_optimizer(p) && !(is_adam && shares)) return false;
            if (p.narrow_copies == Switch::off && !offloads_beside_narrow_weights(p)) return false;
            return !offloads_activations(p) || megatron_offloads_activations(p);
        case Launcher::deepspeed:
            // Source: DeepSpeedCPULion.
            if (offloads_optimizer(p) && !((is_adam || p.optimizer == Optimizer::lion) && shares)) return false;
            return !offloads_activations(p) || p.recompute == Recompute::full;
        case Launcher::torchtitan:
        case Launcher::fsdp2:
            // The optimizer's state goes with the parameters. torchtitan shards nothing on one rank.
            if (offloads_parameters(p) ? launcher_ == Launcher::torchtitan && most_copies(p, model) == 1
                                       : offloads_optimizer(p) && p.zero == 3)
                return false;
            return !offloads_activations(p);
        case Launcher::maxtext:
        case Launcher::nanotron: return !offloads_parameters(p);
        case Launcher::any: break;
    }
    return true;
}

}  // namespace sextant
