#include "core/graph/stage_layout.hpp"
#include "planner/exporters/exporter.hpp"
#include "planner/exporters/quoting.hpp"

#include <algorithm>
#include <array>

// torch.distributed: fully_shard, parallelize_module, checkpoint_wrapper.

namespace sextant {
namespace {

/// Ranks with batches of their own: with no pipeline, the stages of the plan are such ranks too.
std::int64_t data_ranks(ParallelPlan const& p) { return p.dp * p.pp; }

/// Batches of a rank in one step, at least one.
std::int64_t accumulation_steps(LaunchPlan const& launch, ParallelPlan const& p) {
    return std::max<std::int64_t>(1, launch.workload.global_batch / (data_ranks(p) * p.micro_batch));
}

/// Sequences of one step: the global batch, unless the ranks do not divide it.
std::int64_t sequences_of_step(LaunchPlan const& launch, ParallelPlan const& p) {
    return accumulation_steps(launch, p) * data_ranks(p) * p.micro_batch;
}

void translate_pipeline(Translation& t, LaunchPlan const& launch) {
    ParallelPlan const& p = t.plan;
    if (p.pp == 1) return;
    t.cannot("pp",
             "the fragment has no pipeline: {} stages and their schedule are in the torchtitan format; here their "
             "ranks are data-parallel, each with all layers",
             p.pp);
    std::int64_t const batch = sequences_of_step(launch, p);
    if (batch != launch.workload.global_batch)
        t.cannot("global_batch",
                 "{} data-parallel ranks with micro-batches of {} do not divide a global batch of {}: a step of the "
                 "file trains {} sequences",
                 data_ranks(p), p.micro_batch, launch.workload.global_batch, batch);
}

/// Layers that all stages together recompute; a schedule may have several of them hold a layer.
std::int64_t recomputed_layers(ParallelPlan const& p, ModelSpec const& model) {
    if (p.recompute != Recompute::full) return 0;
    if (p.recompute_layers == 0) return model.layer_count();
    StageLayout const layout = lay_out_stages(model, p);
    std::int64_t recomputed = 0;
    for (StageContent const& stage : layout.stages)
        recomputed += std::min(p.recompute_layers, stage.layers);
    return std::max<std::int64_t>(1, recomputed / layout.copies);
}

/// The plan without its pipeline, as the fragment runs it.
ParallelPlan without_pipeline(ParallelPlan plan, ModelSpec const& model) {
    std::int64_t const recomputed = recomputed_layers(plan, model);
    plan.recompute_layers = recomputed < model.layer_count() ? recomputed : 0;
    plan.dp *= plan.pp;
    plan.pp = plan.vpp = 1;
    plan.stage_layers.clear();
    plan.schedule = ParallelPlan{}.schedule;
    return plan;
}

void translate_layout(Translation& t) {
    ParallelPlan& p = t.plan;
    if (p.cp > 1)
        t.runs_otherwise("cp",
                         "the fragment does not split sequences; torch.distributed.tensor.experimental."
                         "context_parallel around the step does ({} ranks)",
                         p.cp);
    if (p.ep > 1 || p.expert_tp > 1)
        t.runs_otherwise("ep", "expert parallelism is up to the model; see the torchtitan format");
    if (p.zero == 1)
        t.cannot(
            "zero",
            "fully_shard shards weights as well, and gathers them for every microbatch; gradients stay whole until "
            "the last one, as with ZeRO 1");
    if (p.tp > 1)
        t.replace(&ParallelPlan::sequence_parallel, Switch::on, "sequence_parallel",
                  "the tensor-parallel plan below splits norms over the sequence");
    if (p.schedule != Schedule::one_f_one_b && p.pp == 1)
        t.replace(&ParallelPlan::schedule, Schedule::one_f_one_b, "schedule",
                  "microbatches run one after the other (gradient accumulation)");
}

/// What the fragment's tensor-parallel plan leaves whole, and what it stops at.
void translate_tensor_parallelism(Translation& t, ModelSpec const& model) {
    AttentionSpec const& a = model.attention;
    if (t.plan.tp == 1) return;
    if (model.moe)
        t.runs_otherwise(
            "tp",
            "tensor parallelism splits the attention and not the experts: each rank has all of them and sends all "
            "tokens through, with more memory and time than predicted; see the torchtitan format");
    if (a.latent || a.sinks || a.gated || model.recurrent)
        t.cannot("model", "split_layer() has no rule for {}: it stops there until you write one",
                 a.latent  ? "latent attention"
                 : a.sinks ? "sinks"
                 : a.gated ? "a gate on the attention's output"
                           : "recurrent layers");
    if (a.kv_heads % t.plan.tp != 0)
        t.cannot("tp", "{} key/value heads are no multiple of tp {}: DTensor does not copy them, and the model stops",
                 a.kv_heads, t.plan.tp);
}

void translate_step(Translation& t) {
    ParallelPlan& p = t.plan;
    t.recompute_attention_core();
    if (p.recompute == Recompute::selective)
        t.cannot("recompute", "only whole layers are wrapped; a fused attention keeps no scores anyway");
    if (p.optimizer == Optimizer::adafactor)
        t.replace(&ParallelPlan::optimizer, Optimizer::adamw, "optimizer",
                  "the file has AdamW: torch.optim.Adafactor means over rows and columns that FSDP shards");
    t.leave_out_other_optimizers("torch.optim");
    if (p.optimizer == Optimizer::adamw_bf16 || p.optimizer == Optimizer::adamw_8bit || p.optimizer == Optimizer::muon)
        t.replace(&ParallelPlan::optimizer, Optimizer::adamw, "optimizer", "torch.optim has no {}: the file has AdamW",
                  name_of(p.optimizer));
    if (is_narrow(p.precision))
        t.replace(&ParallelPlan::precision, Precision::bf16, "precision",
                  "{} needs a conversion of the model's layers (torchao); the file has bf16", name_of(p.precision));
    if (offloads_activations(p))
        t.replace(&ParallelPlan::offload, without_activations(p.offload), "offload", "activations are not offloaded");
    t.offload_as_fsdp("CPUOffloadPolicy");
    if (p.attention != AttentionKernel::flash) t.cannot("attention", "the kernel is the model's choice");
    if (p.dropout == Switch::on) t.cannot("dropout", "it is the model's");
    if (p.fused_cross_entropy == Switch::on) t.cannot("fused_cross_entropy", "it is the training script's");
    if (p.loss_chunks > 1) t.cannot("loss_chunks", "the loss is the training script's");
}

char const* type_of(Precision precision) {
    if (precision == Precision::fp16) return "torch.float16";
    return precision == Precision::bf16 ? "torch.bfloat16" : "torch.float32";
}

/// Imports and the numbers of the plan.
std::string constants(LaunchPlan const& launch, ParallelPlan const& p) {
    std::int64_t const ranks = launch.plan.world_size() / p.tp;
    std::int64_t const group = p.zero == 0 ? 1 : p.shard_group > 0 ? p.shard_group : ranks;
    std::string out =
        "from contextlib import nullcontext\n\n"
        "import torch\n"
        "from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper\n"
        "from torch.distributed.device_mesh import init_device_mesh\n"
        "from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy, fully_shard\n"
        "from torch.distributed.tensor import DTensor, Replicate, Shard\n"
        "from torch.distributed.tensor.parallel import (\n"
        "    ColwiseParallel,\n    PrepareModuleInput,\n    PrepareModuleOutput,\n    RowwiseParallel,\n"
        "    SequenceParallel,\n    loss_parallel,\n    parallelize_module,\n)\n\n";
    out += fmt::format("DATA_PATH = {}\nTOKENIZER_PATH = {}\nCHECKPOINT_FOLDER = {}\nMODEL = {}\n",
                       python_quoted(launch.settings.data), python_quoted(launch.settings.tokenizer),
                       python_quoted(launch.settings.checkpoints), python_quoted(launch.model.name));
    out += fmt::format(
        "SEQUENCE = {}\nGLOBAL_BATCH = {}\nMICRO_BATCH = {}\nACCUMULATION_STEPS = {}\nSTEPS = {}\nLEARNING_RATE = {}\n"
        "CHECKPOINT_INTERVAL = {}  # steps\n",
        launch.workload.sequence, sequences_of_step(launch, p), p.micro_batch, accumulation_steps(launch, p),
        launch.settings.steps, launch.settings.learning_rate,
        launch.checkpoint.steps > 0 ? launch.checkpoint.steps : launch.settings.steps);
    out += fmt::format("REPLICAS, SHARDS, TENSOR = {}, {}, {}\n", ranks / group, group, p.tp);
    out += fmt::format("RESHARD_AFTER_FORWARD = {}  # ZeRO {}\n", p.zero == 3 ? "True" : "False", p.zero);
    out += fmt::format("REDUCE_EVERY_MICROBATCH = {}\n", p.zero >= 2 ? "True" : "False");
    out += fmt::format("TIED_EMBEDDINGS = {}\n", launch.model.tied_embeddings ? "True" : "False");
    out += fmt::format("RECOMPUTED_LAYERS = {}\n", recomputed_layers(p, launch.model));
    out +=
        fmt::format("PARAMETERS, OFFLOAD = {}, {}\n", type_of(p.precision), offloads_optimizer(p) ? "True" : "False");
    char const* const state = p.optimizer == Optimizer::adamw_pure_bf16 ? "torch.bfloat16" : "torch.float32";
    out += fmt::format("STATE = {}  # weights, gradients and moments as they are sharded\n", state);
    bool const narrow = gradient_format(p) == GradientFormat::bf16;
    out += fmt::format("REDUCED = {}  # gradients as they are reduced\n", narrow ? "torch.bfloat16" : "torch.float32");
    // Gradients in fp16 vanish unless the loss is scaled; DTensors have one flag for all ranks (PyTorch 2.5 and later).
    out += fmt::format("SCALER = torch.amp.GradScaler(\"cuda\", enabled={})\n",
                       p.precision == Precision::fp16 ? "True" : "False");
    out += fmt::format("torch.backends.cuda.matmul.allow_tf32 = {}\n\n\n",
                       p.precision == Precision::fp32 ? "False" : "True");
    return out;
}

/// Functions that apply the plan to a decoder whose modules are named as in transformers (5.24).
constexpr char const* functions = R"(def make_mesh():
    return init_device_mesh(
        "cuda", (REPLICAS, SHARDS, TENSOR), mesh_dim_names=("replica", "shard", "tensor")
    )


def split_layer(layer, mesh):
    """Tensor and sequence parallelism of one layer, by the names that layers of Llama, Mistral, Qwen, Gemma, Granite and
    others have in transformers: what it does not know of yours it refuses."""
    names = dict(layer.named_modules())
    gathered = {"input_layouts": (Shard(1),), "desired_input_layouts": (Replicate(),)}
    plan = {
        "self_attn": PrepareModuleInput(
            input_kwarg_layouts={"hidden_states": Shard(1)},
            desired_input_kwarg_layouts={"hidden_states": Replicate()},
        ),
        "self_attn.q_proj": ColwiseParallel(),
        "self_attn.k_proj": ColwiseParallel(),
        "self_attn.v_proj": ColwiseParallel(),
        "self_attn.o_proj": RowwiseParallel(output_layouts=Shard(1)),
    }
    splits_mlp = "mlp.up_proj" in names and "mlp.down_proj" in names
    if splits_mlp:
        plan["mlp"] = PrepareModuleInput(**gathered)
        plan["mlp.up_proj"] = ColwiseParallel()
        plan["mlp.down_proj"] = RowwiseParallel(output_layouts=Shard(1))
        if "mlp.gate_proj" in names:
            plan["mlp.gate_proj"] = ColwiseParallel()
    else:  # experts: every rank has all of them, and sends all tokens through
        plan["mlp"] = PrepareModuleInput(**gathered, use_local_output=True)
        split = PrepareModuleOutput(output_layouts=(Replicate(),), desired_output_layouts=(Shard(1),))
        parallelize_module(layer, mesh["tensor"], {"mlp": split})
    for name in names:
        if name.endswith("norm") and not name.startswith("mlp."):
            of_heads = name.startswith("self_attn.")  # a rank has some of the heads, and whole sequences
            plan[name] = SequenceParallel(sequence_dim=2 if of_heads else 1, use_local_output=True)
    parallelize_module(layer, mesh["tensor"], plan)
    for name, parameter in layer.named_parameters():
        if not isinstance(parameter, DTensor) and (splits_mlp or not name.startswith("mlp.")):
            raise ValueError(f"split_layer() has no rule for {name}: tensor-parallel ranks would train it apart")


def split_ends(model, layers, mesh):
    """Tensor parallelism of what is before and after the layers, which see a part of the sequence each."""
    plan = {
        "model.embed_tokens": RowwiseParallel(input_layouts=Replicate(), output_layouts=Replicate()),
        "model.norm": SequenceParallel(),
        # Each rank keeps the logits of its part of the vocabulary, which loss_parallel() in step() needs no more of.
        "lm_head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1), use_local_output=False),
    }
    parallelize_module(model, mesh["tensor"], plan)
    # Positions and masks are made from what the embedding returns: whole sequences, which are split here.
    first = PrepareModuleInput(
        input_layouts=(Replicate(),), desired_input_layouts=(Shard(1),), use_local_output=True
    )
    parallelize_module(layers[0], mesh["tensor"], first)
    if TIED_EMBEDDINGS:
        model.lm_head.weight = model.model.embed_tokens.weight


def apply_plan(model, layers, mesh):
    """`layers`: the list of decoder layers of `model` (model.model.layers in transformers)."""
    policy = MixedPrecisionPolicy(param_dtype=PARAMETERS, reduce_dtype=REDUCED)
    offload = CPUOffloadPolicy() if OFFLOAD else OffloadPolicy()
    options = {
        "mesh": mesh["replica", "shard"],
        "mp_policy": policy,
        "offload_policy": offload,
        "reshard_after_forward": RESHARD_AFTER_FORWARD,
    }
    model.to(STATE)
    if TENSOR > 1:
        split_ends(model, layers, mesh)
    for index in range(len(layers)):
        if TENSOR > 1:
            split_layer(layers[index], mesh)
        if index < RECOMPUTED_LAYERS:
            layers[index] = checkpoint_wrapper(layers[index])
        fully_shard(layers[index], **options)
    fully_shard(model, **options)
    return model


def step(model, optimizer, batches, loss_of):
    """One optimizer step; `batches` yields ACCUMULATION_STEPS batches of MICRO_BATCH sequences. With tensor parallelism
    the logits that `loss_of` gets are a DTensor, split over the vocabulary: torch's cross_entropy takes them so."""
    for index in range(ACCUMULATION_STEPS):
        # Gradients that wait for the last batch to be reduced stay whole: ZeRO 2 and 3 reduce those of every batch.
        model.set_requires_gradient_sync(REDUCE_EVERY_MICROBATCH or index + 1 == ACCUMULATION_STEPS)
        with loss_parallel() if TENSOR > 1 else nullcontext():
            SCALER.scale(loss_of(model, next(batches)) / ACCUMULATION_STEPS).backward()
    SCALER.step(optimizer)
    SCALER.update()
    optimizer.zero_grad()


)";

Export write(LaunchPlan const& launch);

constexpr std::array<std::string_view, 2> vendors{"NVIDIA", "AMD"};

}  // namespace

extern constinit ExporterEntry const fsdp2_exporter;
constinit ExporterEntry const fsdp2_exporter{
    .name = "fsdp2",
    .title = "PyTorch FSDP2 script fragment",
    .written = "PyTorch 2.6",
    .vendors = vendors,
    .write = write,
};

namespace {

Export write(LaunchPlan const& launch) {
    Translation t(launch);
    t.leave_out_adapters();
    t.leave_out_named_activations();
    t.leave_out_offload_layers();
    t.leave_out_activation_input();
    t.leave_out_narrow_copies();
    translate_pipeline(t, launch);
    translate_layout(t);
    translate_tensor_parallelism(t, launch.model);
    translate_step(t);
    t.settle(fsdp2_exporter, launch);
    std::string python = "#!/usr/bin/env python3\n" + file_header(fsdp2_exporter, launch, t.notes) + "\n";
    python += constants(launch, t.plan) + functions;
    python += t.plan.optimizer == Optimizer::sgd
                  ? "def make_optimizer(model):\n    return torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, "
                    "momentum=0.9)\n"
                  : "def make_optimizer(model):\n    return torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)\n";
    TorchrunScript const script{.header = file_header(fsdp2_exporter, launch, {}),
                                .environment = {},
                                .arguments = {},
                                .program = "train.py  # your script, which imports fsdp2.py"};
    return {.files = {{"fsdp2.py", python}, {"fsdp2.sh", torchrun_script(launch, script)}},
            .not_expressed = t.notes,
            .expressed = without_pipeline(t.plan, launch.model),
            .command = {"bash", "fsdp2.sh"},
            .predictable = t.predictable};
}

}  // namespace
}  // namespace sextant
