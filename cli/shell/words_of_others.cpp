#include "cli/shell/words_of_others.hpp"

#include "core/is_one_of.hpp"
#include "core/nearest.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace sextant::cli {
namespace {

/// A value of an option as other programs write it, in lower case and with "-" for "_".
struct OtherValue {
    std::string_view option;
    std::string_view theirs;
    std::string_view ours;
};

// Source of the words: the arguments of transformers' Trainer and PEFT, Megatron-Core, torchtitan, DeepSpeed, vLLM.
constexpr OtherValue other_values[] = {
    {"precision", "bfloat16", "bf16"},
    {"precision", "bf16-mixed", "bf16"},
    {"precision", "float16", "fp16"},
    {"precision", "half", "fp16"},
    {"precision", "16-mixed", "fp16"},
    {"precision", "float32", "fp32"},
    {"precision", "float", "fp32"},
    {"precision", "fp8-e4m3", "fp8"},
    {"precision", "e4m3", "fp8"},
    {"precision", "nvfp4", "fp4"},
    {"optimizer", "adamw-torch", "adamw"},
    {"optimizer", "adamw-torch-fused", "adamw"},
    {"optimizer", "adamw8bit", "adamw-8bit"},
    {"optimizer", "adamw-bnb-8bit", "adamw-8bit"},
    {"optimizer", "paged-adamw-8bit", "adamw-8bit"},
    {"schedule", "interleaved-1f1b", "interleaved"},
    {"schedule", "interleaved1f1b", "interleaved"},
    {"schedule", "zero-bubble", "zb-h1"},
    {"schedule", "zbh1", "zb-h1"},
    {"schedule", "zbh2", "zb-h2"},
    {"schedule", "zbv", "zb-v"},
    {"schedule", "dualpipev", "dualpipe-v"},
    {"format", "md", "markdown"},
    {"recompute", "true", "full"},
    {"recompute", "all", "full"},
    {"recompute", "false", "none"},
    {"attention", "sdpa", "flash"},
    {"attention", "flash-attn", "flash"},
    {"attention", "flash-attention", "flash"},
    {"attention", "flash-attention-2", "flash"},
    {"attention", "flash-attention-3", "flash"},
    {"lora-targets", "all-linear", "all"},
    {"lora-targets", "q-proj", "q"},
    {"lora-targets", "k-proj", "k"},
    {"lora-targets", "v-proj", "v"},
    {"lora-targets", "qkv-proj", "qkv"},
    {"lora-targets", "o-proj", "o"},
    {"lora-targets", "gate-proj", "gate"},
    {"lora-targets", "up-proj", "up"},
    {"lora-targets", "gate-up", "gate_up"},
    {"lora-targets", "gate-up-proj", "gate_up"},
    {"lora-targets", "down-proj", "down"},
    {"lora-targets", "linear-qkv", "qkv"},
    {"lora-targets", "linear-proj", "o"},
    {"lora-targets", "linear-fc1", "gate_up"},
    {"lora-targets", "linear-fc2", "down"},
    {"base-weights", "4bit", "nf4"},
    {"base-weights", "8bit", "int8"},
    {"base-weights", "bfloat16", "bf16"},
    {"moe-dispatcher", "all-to-all", "alltoall"},
    {"moe-dispatcher", "deepep", "deduplicated"},
    {"moe-dispatcher", "flex", "deduplicated"},
    {"cp-mode", "p2p", "ring"},
    {"cp-mode", "a2a", "ulysses"},
    {"cp-mode", "allgather", "all-gather"},
    {"offload", "cpu", "optimizer"},
    {"offload", "optimiser", "optimizer"},
    {"offload", "param", "parameters"},
    {"offload", "weights", "parameters"},
    {"weights", "bfloat16", "bf16"},
    {"weights", "float16", "fp16"},
    {"weights", "half", "fp16"},
    {"weights", "fp8-e4m3", "fp8"},
    {"weights", "nvfp4", "fp4"},
    {"weights", "int4", "int4-weights"},
    {"weights", "awq", "int4-weights"},
    {"weights", "gptq", "int4-weights"},
    {"weights", "w4a16", "int4-weights"},
    {"weights", "w8a16", "int8-weights"},
    {"weights", "w8a8", "int8"},
    {"kv-cache", "bfloat16", "bf16"},
    {"kv-cache", "fp8-e4m3", "fp8"},
    {"kv-cache", "fp8-e5m2", "fp8"},
};

/// "--rollout-weights" are weights.
std::string_view plain_name(std::string_view option) {
    constexpr std::string_view rollout = "rollout-";
    return option.starts_with(rollout) ? option.substr(rollout.size()) : option;
}

/// One of a list's values; words of our own have neither capital letters nor "_" where the table does not say so.
std::string own_single_word(std::string_view option, std::string_view value) {
    std::string word = lower_case(value);
    std::replace(word.begin(), word.end(), '_', '-');
    auto const* const found =
        std::find_if(std::begin(other_values), std::end(other_values),
                     [&](OtherValue const& entry) { return entry.option == option && entry.theirs == word; });
    return found == std::end(other_values) ? word : std::string(found->ours);
}

/// An option of another program and what is nearest to it here: the first entry whose option the command has.
struct OtherOption {
    std::string_view theirs;
    std::string_view ours;
    std::string_view value = {};   ///< behind `ours`
    std::string_view remark = {};  ///< instead of the question
};

constexpr std::string_view times_nodes = "; --gpus counts accelerators: the nodes times those of each";
constexpr std::string_view of_a_step =
    "; --global-batch says how many sequences a step has, of all microbatches and ranks";

constexpr OtherOption other_options[] = {
    {"--nodes", "--gpus", {}, times_nodes},
    {"--num-nodes", "--gpus", {}, times_nodes},
    {"--nnodes", "--gpus", {}, times_nodes},
    {"--nproc-per-node", "--gpus", {}, times_nodes},
    {"--gpus-per-node", "--gpus", {}, times_nodes},
    {"--num-gpus", "--gpus"},
    {"--world-size", "--gpus"},
    {"--tensor-parallel", "--tp"},
    {"--tensor-parallel-size", "--tp"},
    {"--tensor-model-parallel-size", "--tp"},
    {"--tp-size", "--tp"},
    {"--pipeline-parallel", "--pp"},
    {"--pipeline-parallel-size", "--pp"},
    {"--pipeline-model-parallel-size", "--pp"},
    {"--pp-size", "--pp"},
    {"--data-parallel", "--dp"},
    {"--data-parallel", "--replicas"},
    {"--data-parallel-size", "--dp"},
    {"--data-parallel-size", "--replicas"},
    {"--dp-size", "--dp"},
    {"--context-parallel", "--cp"},
    {"--context-parallel-size", "--cp"},
    {"--cp-size", "--cp"},
    {"--expert-parallel", "--ep"},
    {"--expert-parallel-size", "--ep"},
    {"--expert-model-parallel-size", "--ep"},
    {"--enable-expert-parallel", "--ep"},
    {"--ep-size", "--ep"},
    {"--fsdp", "--zero", "3"},
    {"--zero-stage", "--zero"},
    {"--gradient-checkpointing", "--recompute", "full"},
    {"--activation-checkpointing", "--recompute", "full"},
    {"--recompute-activations", "--recompute", "selective"},
    {"--recompute-granularity", "--recompute"},
    {"--mbs", "--micro-batch"},
    {"--micro-batch-size", "--micro-batch"},
    {"--per-device-train-batch-size", "--micro-batch"},
    {"--gbs", "--global-batch"},
    {"--global-batch-size", "--global-batch"},
    {"--train-batch-size", "--global-batch"},
    {"--batch-size", "--global-batch"},
    {"--batch-size", "--batch"},
    {"--batch-size", "--max-batch"},
    {"--gradient-accumulation-steps", "--global-batch", {}, of_a_step},
    {"--json", "--format", "json"},
    {"--csv", "--format", "csv"},
    {"--html", "--format", "html"},
    {"--markdown", "--format", "markdown"},
    {"--qps", "--rate"},
    {"--rps", "--rate"},
    {"--request-rate", "--rate"},
    {"--seq-len", "--seq"},
    {"--seq-length", "--seq"},
    {"--sequence-length", "--seq"},
    {"--max-length", "--seq"},
    {"--max-length", "--context"},
    {"--max-seq-len", "--seq"},
    {"--max-seq-length", "--seq"},
    {"--max-model-len", "--context"},
    {"--context-length", "--context"},
    {"--context-length", "--seq"},
    {"--ttft", "--slo-ttft"},
    {"--tpot", "--slo-tpot"},
    {"--slo-ttft", "--ttft"},
    {"--slo-tpot", "--tpot"},
    {"--dtype", "--precision"},
    {"--dtype", "--weights"},
    {"--quantization", "--weights"},
    {"--quantisation", "--weights"},
    {"--precision", "--weights"},
    {"--kv-cache-dtype", "--kv-cache"},
    {"--max-num-seqs", "--max-batch"},
    {"--max-num-batched-tokens", "--max-batched-tokens"},
    {"--gpu-memory-utilization", "--memory-utilisation"},
    {"--block-size", "--block-tokens"},
    {"--input-len", "--prompt"},
    {"--isl", "--prompt"},
    {"--output-len", "--output-tokens"},
    {"--osl", "--output-tokens"},
    {"--lora-r", "--lora-rank"},
    {"--device", "--cluster"},
    {"--hardware", "--cluster"},
    {"--machine", "--cluster"},
};

}  // namespace

bool has_own_words(std::string_view name) {
    return std::any_of(std::begin(other_values), std::end(other_values),
                       [&](OtherValue const& entry) { return entry.option == plain_name(name); });
}

std::string own_word(std::string_view name, std::string_view value) {
    bool const is_file = value.find_first_of("./") != std::string_view::npos;
    if (is_file || !has_own_words(name)) return std::string(value);
    std::string out;
    for (std::size_t begin = 0; begin <= value.size();) {
        std::size_t const end = std::min(value.find_first_of(",+", begin), value.size());
        std::string_view const word = trimmed(value.substr(begin, end - begin));
        out += word.empty() ? std::string(word) : own_single_word(plain_name(name), word);
        if (end < value.size()) out += value[end];
        begin = end + 1;
    }
    return out;
}

std::string did_you_mean_option(std::string_view name, std::span<std::string const> known) {
    std::string wanted = lower_case(name);
    std::replace(wanted.begin(), wanted.end(), '_', '-');
    for (OtherOption const& entry : other_options) {
        if (entry.theirs != wanted || !is_one_of(known, std::string(entry.ours))) continue;
        if (!entry.remark.empty()) return std::string(entry.remark);
        return fmt::format("; did you mean '{}{}{}'?", entry.ours, entry.value.empty() ? "" : " ", entry.value);
    }
    return did_you_mean(name, known);
}

}  // namespace sextant::cli
