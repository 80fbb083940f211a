"""torchtitan 0.3, as track_torchtitan.py runs it: jobs, shapes, and a step on fake tensors."""
import functools
from contextlib import ExitStack
from importlib import import_module

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from tracking import fake_devices, in_training, peak_of

FAMILIES = ("llama3", "qwen3")  # whose attention keeps what PyTorch's own does
CHUNKS = 8  # of a loss, as ChunkedLossWrapper has it


def flavors_of(family):
    return getattr(import_module(f"torchtitan.models.{family}"), f"{family}_configs")


def refusal_of(name, args):
    """Why a model cannot be tracked, or nothing."""
    if spec_of(name).model.enable_weight_tying:
        return "tied embeddings are not tracked"
    if args.ep > 1:
        return "--ep: torchtitan 0.3 reads how many tokens go where, which fake tensors do not hold"
    if any(mode.isdigit() for mode in args.recompute):
        return "--recompute: torchtitan 0.3 has none, op and full"
    return ""


def spec_of(name):
    family, flavor = name.split(":")
    return import_module(f"torchtitan.models.{family}").model_registry(flavor)


def job_of(name, seq, batch, recompute, args):
    """torchtitan's configuration of a run, with attention that processors have."""
    from torchtitan.components.loss import ChunkedLossWrapper, CrossEntropyLoss
    from torchtitan.config import CompileConfig, ParallelismConfig, TrainingConfig
    from torchtitan.distributed.activation_checkpoint import FullAC, SelectiveAC
    from torchtitan.models.common.attention import ScaledDotProductAttention
    from torchtitan.trainer import Trainer

    spec = spec_of(name)
    if args.layers:
        spec.model.layers = spec.model.layers[: args.layers]
    for layer in spec.model.layers:
        layer.attention.inner_attention = ScaledDotProductAttention.Config()
    loss = CrossEntropyLoss.Config(global_vocab_size=spec.model.vocab_size)
    return Trainer.Config(
        model_spec=spec,
        loss=loss if args.chunks == 1 else ChunkedLossWrapper.Config(num_chunks=args.chunks, loss_fn=loss),
        training=TrainingConfig(local_batch_size=batch, seq_len=seq, disable_cuda_graphs=not args.cuda_graphs),
        parallelism=ParallelismConfig(
            tensor_parallel_degree=args.tp,
            data_parallel_replicate_degree=args.replicate,
            fsdp_reshard_after_forward="never" if args.keep_gathered else "default",
        ),
        compile=CompileConfig(enable=not args.eager, components=["model"] if args.eager_loss else ["model", "loss"]),
        activation_checkpoint={"none": None, "op": SelectiveAC.Config(), "full": FullAC.Config()}[recompute],
    )


def sizes_of(name, args):
    """Columns of a row that say a model's shape."""
    shape = spec_of(name).model
    attention = shape.layers[0].attention
    feed_forward, experts = shape.layers[0].feed_forward, getattr(shape.layers[0], "moe", None)
    heads = attention.n_heads
    sizes = {
        "arch": "moe" if experts else "dense",
        "layers": args.layers or len(shape.layers),
        "hidden": shape.dim,
        "heads": heads,
        "kv_heads": attention.n_kv_heads or heads,
        "head_dim": getattr(attention, "head_dim", None) or shape.dim // heads,
        "vocab": shape.vocab_size,
        "gated_mlp": 1,
        "tied_embed": int(shape.enable_weight_tying),
    }
    if not experts:
        return sizes | {"ffn_hidden": feed_forward.w1.out_features}
    shared = experts.shared_experts
    hidden = experts.routed_experts.inner_experts.hidden_dim
    return sizes | {
        "moe_experts": experts.num_experts,
        "moe_topk": experts.router.top_k,
        "moe_ffn_hidden": hidden,
        "moe_shared": shared.w1.out_features // hidden if shared else 0,
    }


def allow_processors_attention():
    """The attention that PyTorch has for CPUs: its result is among those that torchtitan's policy keeps."""
    import torchtitan.distributed.activation_checkpoint as activation_checkpoint

    kept = activation_checkpoint._get_default_save_ops
    forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
    activation_checkpoint._get_default_save_ops = lambda: kept() | {forward}


def compile_around_layers():
    """Compiles the same as torchtitan's apply_compile, around layers and not in place: what hooks of a layer that is compiled in place
    call is compiled as well, those of a tracker too."""

    def apply_compile(model, **_):
        torch._dynamo.config.capture_scalar_outputs = True
        torch._dynamo.config.skip_fwd_side_effects_in_bwd_under_checkpoint = True
        for name, layer in model.layers.named_children():
            model.layers.register_module(name, torch.compile(layer, fullgraph=True))

    for family in FAMILIES:
        import_module(f"torchtitan.models.{family}.parallelize").apply_compile = apply_compile


def prepare():
    """Once, before any step."""
    allow_processors_attention()
    compile_around_layers()


devices = ExitStack()


@functools.cache
def degrees_of(gpus, tp, replicate):
    """One mesh for all steps: what DTensor remembers of placements holds it."""
    import torchtitan.distributed.parallel_dims as parallel_dims

    parallel_dims.device_type = "cpu"
    devices.enter_context(fake_devices(gpus))
    degrees = parallel_dims.ParallelDims(dp_replicate=replicate, dp_shard=-1, cp=1, tp=tp, pp=1, ep=1, world_size=gpus)
    degrees.build_mesh()
    return degrees


def tracked_peak(name, seq, batch, recompute, args):
    """Bytes allocated at the peak of a step once moments are there, and what they are of."""
    from torchtitan.components.loss import ChunkedLossWrapper
    from torchtitan.distributed.utils import get_spmd_context, set_spmd_backend

    torch._dynamo.reset()
    degrees = degrees_of(args.gpus, args.tp, args.replicate)
    job = job_of(name, seq, batch, recompute, args)
    shape = job.model_spec.model
    set_spmd_backend(job.parallelism.spmd_backend)
    shape.update_from_config(config=job)
    with torch.device("meta"):
        model = shape.build()
    model = job.model_spec.parallelize_fn(
        model,
        parallel_dims=degrees,
        training=job.training,
        parallelism=job.parallelism,
        compile_config=job.compile,
        ac_config=job.activation_checkpoint,
        dump_folder="",
    )
    loss_of = job.loss.build(compile_config=job.compile)
    if isinstance(loss_of, ChunkedLossWrapper):
        loss_of.set_lm_head(model.lm_head)
        model._skip_lm_head = True
    in_step = get_spmd_context(parallel_dims=degrees)
    with FakeTensorMode(allow_non_fake_inputs=True):
        optimizer, tokens, labels = in_training(model, shape.vocab_size, batch, seq)
        positions = torch.arange(seq).repeat(batch, 1)
        valid_tokens = torch.tensor(1.0)

        def one_pass():
            with in_step():
                hidden = model(tokens, positions=positions)
                loss, _ = loss_of(hidden, labels, valid_tokens)
                del hidden  # as torchtitan does, before the backward pass
                loss.backward()

        return peak_of(one_pass, args.accumulate, model, optimizer, frees_gradients=not args.cuda_graphs)
