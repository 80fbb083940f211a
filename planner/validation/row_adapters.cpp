#include "planner/validation/row_adapters.hpp"

#include "core/text.hpp"
#include "planner/report.hpp"
#include "simulator/closed_form.hpp"

#include <fmt/format.h>

namespace sextant {
namespace {

using Target = AdapterTarget;

/// Rank and targets where a row does not state them.
struct Usual {
    std::int64_t rank;
    AdapterTargets targets;
    char const* source;
};

/// NeMo: the performance mode of its finetune recipes (nemo/collections/llm/recipes/llama3_8b.py). torchtune:
/// recipes/configs/llama3_1/70B_lora.yaml and 405B_qlora.yaml.
Usual usual_of(TrainingRow const& row) {
    if (row.framework_has("torchtune"))
        return {16, AdapterTargets{Target::q, Target::v, Target::output, Target::gate, Target::up, Target::down},
                "torchtune's configurations"};
    if (row.framework_has("nemo") || row.framework_has("megatron"))
        return {16, AdapterTargets{Target::qkv}, "NeMo's finetune recipes"};
    return {16, attention_targets(), "usual for LoRA"};
}

bool fits(TrainingCase const& c) {
    ClosedForm form(c.model, c.workload, *c.cluster, *c.framework, c.plan.precision);
    return form.evaluate(c.plan).peak() <= default_memory_limit(*c.cluster, *c.framework).usable;
}

}  // namespace

bool trains_adapters(TrainingRow const& row) { return lower_case(row.model).find("lora") != std::string::npos; }

bool is_mlperf_adapters(TrainingRow const& row) {
    return trains_adapters(row) && row.source_id.starts_with("mlperf-lora");
}

void narrow_until_it_fits(TrainingRow const& row, TrainingCase& out) {
    // FP8_ACT or FP8_ACTIVATION of configurations that are written for one device: Dell's for two nodes of B200
    // (training_results_v5.1), those for one of H200 (tp 1, cp 2). Others leave the 0 of the common one.
    AcceleratorProfile const& device = out.cluster->accelerator;
    if (!is_mlperf_adapters(row) || device.vendor != "NVIDIA" || !device.peak.contains(out.plan.precision)) return;
    if (fits(out)) return;
    TrainingCase narrow = out;
    narrow.plan.fp8_activation_input = Switch::on;
    if (!fits(narrow)) return;
    out.plan = narrow.plan;
    out.assumptions.emplace_back("inputs of activations in fp8, without which it does not fit");
}

void apply_adapters(TrainingRow const& row, TrainingCase& out) {
    if (!trains_adapters(row)) return;
    LowRankAdapters& adapters = out.plan.adapters;
    Usual const usual = usual_of(row);
    bool const quantised = lower_case(row.model).find("qlora") != std::string::npos;
    auto const rank = row.note_number("rank-");
    adapters.rank = rank.value_or(usual.rank);
    if (row.notes_have("attention adapters")) {
        // The fused layers of Megatron-Core have one adapter for queries, keys and values.
        bool const fused = out.framework->name == "megatron";
        adapters.targets = fused ? AdapterTargets{Target::qkv, Target::output} : attention_targets();
    } else {
        adapters.targets = usual.targets;
        out.assumptions.push_back(fmt::format("adapters of rank {} on {} as in {}", adapters.rank,
                                              targets_text(adapters.targets), usual.source));
    }
    if (quantised)
        adapters.base = BaseWeights::nf4;
    else if (is_mlperf_adapters(row) && out.plan.precision == Precision::fp8)
        adapters.base = BaseWeights::fp8;  // fp8_params of the reference's configuration
}

}  // namespace sextant
