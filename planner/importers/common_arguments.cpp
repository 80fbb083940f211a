#include "core/error.hpp"
#include "core/nearest.hpp"
#include "planner/importers/argument_reader.hpp"

#include <algorithm>
#include <array>

namespace sextant {
namespace {

constexpr std::int64_t most_tokens = std::int64_t{1} << 31;
constexpr std::int64_t most_layers = 1 << 16;

/// --nnodes may be a range, as for elastic runs; then it is no number of accelerators.
std::optional<std::int64_t> accelerators_of(ArgumentReader& in, ForeignPlan& out) {
    auto const nodes = in.text_of({"--nnodes", "--num_nodes", "--num-nodes"});
    auto const each = in.text_of({"--nproc-per-node", "--nproc_per_node", "--num_gpus", "--num-gpus"});
    if (!nodes && !each) return {};
    auto const count = [&](std::optional<std::string> const& text) -> std::int64_t {
        if (!text) return 1;
        std::int64_t value = 0;
        for (char const c : *text) {
            if (c < '0' || c > '9' || value > most_layers) return 0;
            value = 10 * value + (c - '0');
        }
        return value;
    };
    std::int64_t const total = count(nodes) * count(each);
    if (total > 0) return total;
    out.warnings.push_back("--nnodes, --nproc-per-node: no plain numbers, so --gpus has to say how many accelerators");
    return {};
}

void read_recompute(ArgumentReader& in, ForeignPlan& out) {
    ParallelPlan& p = out.plan;
    auto const granularity = in.text("--recompute-granularity");
    if (granularity && *granularity != "full" && *granularity != "selective")
        throw InputError("{}: --recompute-granularity: '{}' (full or selective)", in.where(), *granularity);
    bool const activations = in.flag("--recompute-activations");
    bool const old = in.flag("--checkpoint-activations");
    if (granularity == "selective" || activations) p.recompute = Recompute::selective;
    if (granularity == "full" || old) p.recompute = Recompute::full;
    auto const method = in.text("--recompute-method");
    auto const layers = in.integer("--recompute-num-layers", 1, most_layers);
    static_cast<void>(in.integer("--checkpoint-num-layers", 1, most_layers));
    if (p.recompute == Recompute::full && method == "block" && layers) p.recompute_layers = *layers * p.vpp;
    if (p.recompute == Recompute::full && method == "uniform" && layers.value_or(1) > 1)
        out.warnings.push_back(fmt::format(
            "--recompute-num-layers: counted layer by layer; a unit of {0} keeps one input, not {0}, and has all {0} "
            "layers at once while it runs again, not one: with few microbatches in flight that is more memory",
            *layers));
    std::vector<std::string> const modules = in.words("--recompute-modules");
    if (!modules.empty() && p.recompute == Recompute::selective)
        p.recompute_modules =
            recompute_modules_from(join(modules, ","), fmt::format("{}: --recompute-modules", in.where()));
}

void read_dropout(ArgumentReader& in, ForeignPlan& out) {
    double const usual = 0.1;  // of Megatron-LM, where nothing is said
    bool const attention = in.number("--attention-dropout").value_or(usual) > 0;
    bool const hidden = in.number("--hidden-dropout").value_or(usual) > 0;
    out.plan.dropout = attention || hidden ? Switch::on : Switch::off;
}

/// The words that a file says the model has, nothing where they are padded to what the model's are: Megatron-LM pads
/// the matrix, by default to a multiple of 128 for each tensor-parallel rank, and a NullTokenizer adds a word before.
std::optional<std::int64_t> other_vocabulary(ArgumentReader& in, ModelSpec const& model, std::int64_t tp) {
    constexpr std::int64_t usual_multiple = 128;
    std::int64_t const multiple =
        in.integer("--make-vocab-size-divisible-by", 1, most_tokens).value_or(usual_multiple) * tp;
    auto const rows = [&](std::int64_t words) { return (words + multiple - 1) / multiple; };
    auto const said = in.integer("--vocab-size", 1, most_tokens);
    if (said && (rows(*said) == rows(model.vocab) || rows(*said + 1) == rows(model.vocab))) return {};
    return said;
}

/// The modules of multi-token prediction that a file states; without the argument, or with 0, it trains none.
std::optional<std::int64_t> read_prediction(ArgumentReader& in, ForeignPlan& out, ModelSpec const& model) {
    std::int64_t const modules = in.integer("--mtp-num-layers", 0, most_layers).value_or(0);
    if (modules > 0) return modules;
    if (model.mtp_modules > 0) {
        out.mtp_modules = 0;
        out.warnings.push_back(fmt::format(
            "--mtp-num-layers is not there, or 0: {} is counted without its multi-token prediction", model.name));
    }
    return {};
}

/// Experts are as wide as dense layers unless it is said, so one width is theirs where every layer has them.
void read_model_size(ArgumentReader& in, ForeignPlan& out, ModelSpec const& model) {
    auto const number = [&](char const* name) { return in.integer(name, 1, most_tokens); };
    auto const either = [&](char const* name, char const* older) {
        auto const first = number(name);
        auto const second = number(older);
        return first ? first : second;
    };
    bool const experts_alone =
        model.moe && std::all_of(model.layers.begin(), model.layers.end(), [](LayerKind const& l) { return l.moe; });
    auto const width = number("--ffn-hidden-size");
    auto const expert_width = number("--moe-ffn-hidden-size");
    check_model_size({.layers = in.integer("--num-layers", 1, most_layers),
                      .hidden = number("--hidden-size"),
                      .heads = number("--num-attention-heads"),
                      .experts = number("--num-experts"),
                      .kv_heads = either("--num-query-groups", "--num-key-value-heads"),
                      .head_dim = number("--kv-channels"),
                      .intermediate = experts_alone ? std::optional<std::int64_t>() : width,
                      .top_k = either("--moe-router-topk", "--topk"),
                      .expert_intermediate = experts_alone && !expert_width ? width : expert_width,
                      .shared_intermediate = in.integer("--moe-shared-expert-intermediate-size", 0, most_tokens),
                      .vocab = other_vocabulary(in, model, out.plan.tp),
                      .mtp_modules = read_prediction(in, out, model)},
                     model, in.where());
}

}  // namespace

void read_common_arguments(ArgumentReader& in, ForeignPlan& out, ModelSpec const& model) {
    ParallelPlan& p = out.plan;
    out.accelerators = accelerators_of(in, out);
    p.tp = in.degree("--tensor-model-parallel-size");
    p.pp = in.degree("--pipeline-model-parallel-size");
    auto const micro_batch = in.integer("--micro-batch-size", 1, most_tokens);
    p.micro_batch = micro_batch.value_or(1);
    out.sequence = in.integer("--seq-length", 1, most_tokens);
    out.global_batch = in.integer("--global-batch-size", 1, most_tokens);
    if (!out.global_batch) out.rank_batch = micro_batch;  // no accumulation where nothing is said
    p.sequence_parallel = in.flag("--sequence-parallel") && p.tp > 1 ? Switch::on : Switch::off;
    if (in.flag("--fp16"))
        p.precision = Precision::fp16;
    else
        p.precision = in.flag("--bf16") ? Precision::bf16 : Precision::fp32;
    read_recompute(in, out);
    read_dropout(in, out);
    read_model_size(in, out, model);
}

std::string_view megatron_without_effect() {
    return "--adam- --add-qkv-bias --apply- --async-save --attention-softmax-in-fp32 --bert- --check-for- --ckpt- "
           "--clip-grad --data- --dataloader-type --decoupled- --deepspeed --disable-bias-linear --dist-ckpt "
           "--distributed- --eod-mask-loss --eval- --exit- --expert-interval --finetune --group-query --hysteresis "
           "--init-method --initial-loss-scale --kv- --load --log- --loss- --lr --manual-gc --master- --master_ "
           "--max-position-embeddings --merge-file --min-loss-scale --min-lr --mock-data --moe-aux-loss "
           "--moe-layer-freq --moe-per-layer --moe-router- --moe-z-loss --mtp- --multi-latent --no-load --no-save "
           "--node-rank --node_rank --norm --num-workers --override-opt --position-embedding --q-lora --qk- --rdzv "
           "--rerun- --reset- --rope- --rotary- --save --seed --sgd- --softmax-type --split --squared-relu --swiglu "
           "--tensorboard --test-data --tiktoken --timing- --tokenizer --train- --transformer-impl --use-checkpoint "
           "--use-mcore --use-persistent-ckpt --use-rope --use-rotary --v-head-dim --valid-data --vocab- --wandb "
           "--weight-decay --window-";
}

std::span<ArgumentReader::NotCounted const> megatron_not_counted() {
    static constexpr std::array names = std::to_array<ArgumentReader::NotCounted>({
        {"--tp-comm-overlap", "overlap of tensor parallelism; the profile's own is counted"},
        {"--cuda-graph-impl", "CUDA graphs; launches are counted as the profile has them"},
        {"--enable-cuda-graph", "CUDA graphs; launches are counted as the profile has them"},
        {"--external-cuda-graph", "CUDA graphs; launches are counted as the profile has them"},
        {"--moe-expert-capacity-factor", "dropped tokens; all are counted"},
        {"--moe-pad-expert-input-to-capacity", "padded experts; no padding is counted"},
        {"--overlap-moe-expert-parallel-comm", "overlap of expert parallelism; the profile's own is counted"},
        {"--delay-wgrad-compute", "not counted"},
        {"--moe-shared-expert-overlap", "overlap of the shared expert; the profile's own is counted"},
        {"--defer-embedding-wgrad-compute", "not counted"},
        {"--use-torch-fsdp2", "PyTorch's FSDP2: --zero and --framework fsdp describe it"},
        {"--rampup-batch-size", "the step of the full batch is counted"},
        {"--fp32-residual-connection", "residuals are counted in the working precision"},
        {"--hierarchical-context-parallel-sizes", "counted as one level"},
        {"--use-sharp", "the cluster's description says what its switches add"},
        {"--microbatch-group-size-per-virtual-pipeline-stage", "counted as pp microbatches in a row"},
        {"--use-tp-pp-dp-mapping", "ranks are counted in the order tp, cp, dp, pp"},
        {"--distribute-saved-activations", "not counted: recomputed layers keep their whole input"},
        {"--lora-rank", "adapters; every weight is counted as trained (--lora-rank of this program says otherwise)"},
        {"--lora-target-modules", "adapters; every weight is counted as trained (--lora-targets says otherwise)"},
        {"--peft", "adapters; every weight is counted as trained (--lora-rank says otherwise)"},
        {"--no-overlap-p2p-communication", "overlap of pipeline transfers is counted as the profile has it"},
    });
    return names;
}

}  // namespace sextant
