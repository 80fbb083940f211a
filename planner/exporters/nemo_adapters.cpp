#include "planner/exporters/nemo_adapters.hpp"

namespace sextant {
namespace {

/// The recipe's adapters are on Megatron-Core's fused layers (LoRA) or on their parts (CanonicalLoRA), not on both
/// kinds.
bool has_parts(LowRankAdapters const& a) {
    using Target = AdapterTarget;
    return a.targets.has(Target::q) || a.targets.has(Target::k) || a.targets.has(Target::v) ||
           a.targets.has(Target::gate) || a.targets.has(Target::up);
}

bool has_fused(LowRankAdapters const& a) {
    return a.targets.has(AdapterTarget::qkv) || a.targets.has(AdapterTarget::gate_up);
}

}  // namespace

void translate_adapters_for_nemo(Translation& t, ModelSpec const& model) {
    LowRankAdapters kept = t.plan.adapters;
    for (AdapterTarget const target :
         {AdapterTarget::gate, AdapterTarget::up, AdapterTarget::gate_up, AdapterTarget::down})
        if (model.moe && kept.targets.has(target)) {
            t.cannot("lora_targets", "the recipe's feed-forward targets are on routed experts as well");
            break;
        }
    if (kept.base != BaseWeights::bf16) {
        kept.base = BaseWeights::bf16;
        t.replace(&ParallelPlan::adapters, kept, "base_weights",
                  "the recipe holds the frozen weights in 16 bit; that takes more memory");
    }
    if (!has_fused(kept) || !has_parts(kept)) return;
    AdapterTargets parts;
    for (AdapterTarget const target : {AdapterTarget::q, AdapterTarget::k, AdapterTarget::v, AdapterTarget::output,
                                       AdapterTarget::gate, AdapterTarget::up, AdapterTarget::down}) {
        bool const attention = target == AdapterTarget::q || target == AdapterTarget::k || target == AdapterTarget::v;
        bool const gate = target == AdapterTarget::gate || target == AdapterTarget::up;
        if (kept.targets.has(target) || (attention && kept.targets.has(AdapterTarget::qkv)) ||
            (gate && kept.targets.has(AdapterTarget::gate_up)))
            parts.add(target);
    }
    kept.targets = parts;
    t.replace(&ParallelPlan::adapters, kept, "lora_targets",
              "the recipe adapts fused layers or their parts, not both; the file adapts parts: {}",
              targets_text(parts));
}

std::string nemo_adapters(LowRankAdapters const& a) {
    struct Module {
        AdapterTarget target;
        char const* name;
    };
    bool const parts = has_parts(a);
    std::string names;
    for (Module const& m : {Module{AdapterTarget::qkv, "linear_qkv"},
                            {AdapterTarget::q, "linear_q"},
                            {AdapterTarget::k, "linear_k"},
                            {AdapterTarget::v, "linear_v"},
                            {AdapterTarget::output, "linear_proj"},
                            {AdapterTarget::gate_up, "linear_fc1"},
                            {AdapterTarget::gate, "linear_fc1_gate"},
                            {AdapterTarget::up, "linear_fc1_up"},
                            {AdapterTarget::down, "linear_fc2"}})
        if (a.targets.has(m.target)) names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", m.name);
    return fmt::format("run.Config({}, target_modules=[{}], dim={}, alpha={})", parts ? "CanonicalLoRA" : "LoRA", names,
                       a.rank, 2 * a.rank);
}

std::string nemo_adapters_import(LowRankAdapters const& adapters) {
    return has_parts(adapters) ? "from nemo.collections.llm.peft.canonical_lora import CanonicalLoRA\n"
                               : "from nemo.collections.llm.peft import LoRA\n";
}

}  // namespace sextant
