#include "planner/validation/row_framework.hpp"

#include "core/text.hpp"

#include <array>
#include <string>

namespace sextant {
namespace {

using FamilyWord = FrameworkFamily;

/// The first word that is found decides; a cell without any may be a profile's name or alias, as for `--framework`. A
/// stack on top of one of these, or like it, has its constants: Primus runs Megatron unless it says torchtitan,
/// MindSpeed puts it on Ascend, MegaScale is a fork of it, GPT-NeoX is a Megatron-DeepSpeed, LitGPT trains by FSDP,
/// Axolotl, LLaMA-Factory, TRL, Unsloth, ms-swift, xtuner and open-instruct by Hugging Face's Trainer, or a loop like
/// it on the same models, unless they name another, and what is written in JAX is compiled as MaxText is. torchtitan
/// compiles its blocks: FSDP2 that runs op by op waits for the host as FSDP does (an H200 behind a virtual machine: 5.4
/// ms a layer, where torchtitan's constants say 0.3). PaxML is none of them: its eight published steps are 30 % slower
/// than MaxText's constants say, and `generic` is fitted to them.
constexpr std::array family_words{
    FamilyWord{"nanotron", "nanotron"},
    FamilyWord{"torchtitaneager", "fsdp"},
    FamilyWord{"fsdp2eager", "fsdp"},
    FamilyWord{"torchtitan", "torchtitan"},
    FamilyWord{"fmsfsdp", "torchtitan"},
    FamilyWord{"fsdp2", "torchtitan"},
    FamilyWord{"fullyshardeddata", "fsdp"},
    FamilyWord{"torchxla", "maxtext", Kinship::kin},
    FamilyWord{"pytorchxla", "maxtext", Kinship::kin},
    FamilyWord{"fullyshard", "torchtitan"},
    FamilyWord{"torchcompile", "torchtitan"},
    FamilyWord{"llmfoundry", "fsdp"},
    FamilyWord{"composer", "fsdp"},
    FamilyWord{"mosaicml", "fsdp"},
    FamilyWord{"deepspeed", "deepspeed"},
    FamilyWord{"sailor", "deepspeed"},
    FamilyWord{"gptneox", "deepspeed", Kinship::kin},
    FamilyWord{"openrlhf", "deepspeed", Kinship::kin},
    FamilyWord{"maxtext", "maxtext"},
    FamilyWord{"paxml", "generic"},
    FamilyWord{"megatron", "megatron"},
    FamilyWord{"mcore", "megatron"},
    FamilyWord{"primus", "megatron", Kinship::kin},
    FamilyWord{"mindspeed", "megatron", Kinship::kin},
    FamilyWord{"galvatron", "megatron", Kinship::kin},
    FamilyWord{"megascale", "megatron", Kinship::kin},
    FamilyWord{"nemo", "megatron"},
    FamilyWord{"fsdp", "fsdp"},
    FamilyWord{"hsdp", "fsdp"},
    FamilyWord{"fairscale", "fsdp", Kinship::kin},
    FamilyWord{"torchtune", "fsdp"},
    FamilyWord{"litgpt", "fsdp", Kinship::kin},
    FamilyWord{"litllama", "fsdp", Kinship::kin},
    FamilyWord{"olmocore", "torchtitan", Kinship::kin},
    FamilyWord{"olmo", "fsdp", Kinship::kin},
    FamilyWord{"metaseq", "fsdp", Kinship::kin},
    FamilyWord{"levanter", "maxtext", Kinship::kin},
    FamilyWord{"easylm", "maxtext", Kinship::kin},
    FamilyWord{"easydel", "maxtext", Kinship::kin},
    FamilyWord{"axlearn", "maxtext", Kinship::kin},
    FamilyWord{"t5x", "maxtext", Kinship::kin},
    FamilyWord{"flax", "maxtext", Kinship::kin},
    FamilyWord{"jax", "maxtext", Kinship::kin},
    FamilyWord{"transformers", "transformers"},
    FamilyWord{"huggingface", "transformers"},
    FamilyWord{"hftrainer", "transformers"},
    FamilyWord{"accelerate", "transformers", Kinship::kin},
    FamilyWord{"axolotl", "transformers", Kinship::kin},
    FamilyWord{"llamafactory", "transformers", Kinship::kin},
    FamilyWord{"sfttrainer", "transformers", Kinship::kin},
    FamilyWord{"trl", "transformers", Kinship::kin},
    FamilyWord{"peft", "transformers", Kinship::kin},
    FamilyWord{"unsloth", "transformers", Kinship::kin},
    FamilyWord{"msswift", "transformers", Kinship::kin},
    FamilyWord{"xtuner", "transformers", Kinship::kin},
    FamilyWord{"openinstruct", "transformers", Kinship::kin},
    FamilyWord{"lightning", "pytorch", Kinship::kin},
    FamilyWord{"ddp", "pytorch"},
    FamilyWord{"eager", "pytorch"},
};

/// torchtune with torch.compile: rows that say so, and those of its cumulative table from the step "+compile" on.
bool is_compiled_torchtune(TrainingRow const& row) {
    bool const step = row.notes_have("cumulative optimisation table step: +") && !row.notes_have("+packed dataset");
    return row.framework_has("torchtune") && (row.notes_have("torch.compile") || step);
}

}  // namespace

FrameworkFamily family_of(TrainingRow const& row) {
    if (is_compiled_torchtune(row)) return {"torchtune", "torchtitan"};
    std::string const framework = letters_and_digits(row.framework);
    for (FamilyWord const& known : family_words)
        if (framework.find(known.word) != std::string::npos) return known;
    return {"", fallback_family};
}

}  // namespace sextant
