#!/usr/bin/env python3
"""Times training steps (forward, backward, AdamW) of Llama-shaped models on one GPU, compiled by XLA from JAX.

Built as JAX frameworks build them: fp32 weights and moments, bf16 products, one layer scanned over, cuDNN's attention,
old states given to the step that replaces them. Writes rows as train_step.py does (`sextant validate train FILE.csv`).

    python3 train_step_jax.py --out steps.csv
    python3 train_step_jax.py --models 3b --seq 2048 --tokens 16384 --recompute full --out steps.csv --resume

Needs rows.py and steps.py beside it, JAX 0.5 or later and optax. JAX_PLATFORMS=cpu and --models tiny try it anywhere.
"""
import argparse
import os
import sys

# As JAX frameworks set them on GPUs: more than 0.75 of the memory, cuBLAS for all products.
os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.92")
os.environ.setdefault("XLA_FLAGS", "--xla_gpu_enable_triton_gemm=false")

import jax
import jax.numpy as jnp
import optax

from rows import require_new_or_resumed
from steps import MODELS, add_missing_rows, add_step_options, base_row, fill_times, timed


def initial_weights(s, key):
    """fp32; what every layer has is stacked along a first axis of layers."""
    wide, narrow = s.heads * s.head_dim, s.kv_heads * s.head_dim
    matrices = {
        "query": (s.hidden, wide),
        "key": (s.hidden, narrow),
        "value": (s.hidden, narrow),
        "out": (wide, s.hidden),
        "gate": (s.hidden, s.ffn),
        "up": (s.hidden, s.ffn),
        "down": (s.ffn, s.hidden),
    }
    keys = iter(jax.random.split(key, len(matrices) + 2))
    drawn = lambda shape: 0.02 * jax.random.normal(next(keys), shape, jnp.float32)
    layers = {name: drawn((s.layers, *shape)) for name, shape in matrices.items()}
    for norm in ("attention_norm", "mlp_norm"):
        layers[norm] = jnp.ones((s.layers, s.hidden), jnp.float32)
    return {
        "embedding": drawn((s.vocab, s.hidden)),
        "layers": layers,
        "norm": jnp.ones((s.hidden,), jnp.float32),
        "head": drawn((s.hidden, s.vocab)),
    }


def rms_norm(x, weight):
    wide = x.astype(jnp.float32)
    normed = wide * jax.lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + 1e-5)
    return (normed * weight).astype(x.dtype)


def rotate(x):
    """x [batch, sequence, heads, head_dim]: turns element d with element d + head_dim / 2."""
    length, head_dim = x.shape[1], x.shape[-1]
    rates = 10000.0 ** (-2 * jnp.arange(head_dim // 2) / head_dim)
    angles = jnp.outer(jnp.arange(length), rates)[None, :, None, :]
    cosine, sine = jnp.cos(angles).astype(x.dtype), jnp.sin(angles).astype(x.dtype)
    low, high = jnp.split(x, 2, axis=-1)
    return jnp.concatenate((low * cosine - high * sine, high * cosine + low * sine), axis=-1)


def layer(s, x, weights):
    times = lambda value, name: value @ weights[name].astype(jnp.bfloat16)
    heads = lambda value: value.reshape(*value.shape[:2], -1, s.head_dim)
    normed = rms_norm(x, weights["attention_norm"])
    query, key, value = (heads(times(normed, name)) for name in ("query", "key", "value"))
    library = "cudnn" if jax.default_backend() == "gpu" else None
    attended = jax.nn.dot_product_attention(rotate(query), rotate(key), value, is_causal=True, implementation=library)
    x = x + times(attended.reshape(x.shape), "out")
    normed = rms_norm(x, weights["mlp_norm"])
    return x + times(jax.nn.silu(times(normed, "gate")) * times(normed, "up"), "down")


def loss_of(s, recompute, weights, tokens, targets):
    step = lambda x, one: (layer(s, x, one), None)
    if recompute == "full":
        step = jax.checkpoint(step)
    x = weights["embedding"][tokens].astype(jnp.bfloat16)
    x, _ = jax.lax.scan(step, x, weights["layers"])
    logits = (rms_norm(x, weights["norm"]) @ weights["head"].astype(jnp.bfloat16)).astype(jnp.float32)
    return optax.softmax_cross_entropy_with_integer_labels(logits, targets).mean()


def measure(s, seq, micro_batch, args):
    """Step times in seconds, the losses, and the peak of memory by XLA's own plan, bytes."""
    optimizer = optax.adamw(1e-4, b1=0.9, b2=0.95, weight_decay=0.1)

    def train(weights, moments, tokens):
        loss, gradients = jax.value_and_grad(lambda w: loss_of(s, args.recompute, w, tokens[:, :-1], tokens[:, 1:]))(weights)
        updates, moments = optimizer.update(gradients, moments, weights)
        return optax.apply_updates(weights, updates), moments, loss

    weights_key, token_key = jax.random.split(jax.random.key(args.seed))
    weights = jax.jit(lambda key: initial_weights(s, key))(weights_key)
    moments = jax.jit(optimizer.init)(weights)
    tokens = jax.random.randint(token_key, (micro_batch, seq + 1), 0, s.vocab)
    compiled = jax.jit(train, donate_argnums=(0, 1)).lower(weights, moments, tokens).compile()
    plan = compiled.memory_analysis()
    peak = plan.argument_size_in_bytes + plan.output_size_in_bytes - plan.alias_size_in_bytes + plan.temp_size_in_bytes

    def step():
        nonlocal weights, moments
        weights, moments, loss = compiled(weights, moments, tokens)
        jax.block_until_ready((weights, loss))
        return loss

    return *timed(step, args), peak


def empty_row(name, seq, micro_batch, args):
    device = jax.devices()[0]
    gpu = device.device_kind if device.platform == "gpu" else device.platform
    return base_row(name, MODELS[name], seq, micro_batch, "train_step_jax.py", gpu, f"JAX {jax.__version__} (XLA)", args.recompute)


def row_of(name, seq, micro_batch, args):
    row = empty_row(name, seq, micro_batch, args)
    states = "states=fp32 with bf16 products"
    try:
        seconds, losses, peak = measure(MODELS[name], seq, micro_batch, args)
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        row["notes"] = f"STATUS=OOM; {states}"
        return row
    fill_times(row, states, seconds, losses, peak, "peak is the plan of XLA (arguments, results, temporaries); ")
    return row


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_step_options(parser, seq="2048")
    parser.add_argument("--recompute", choices=("none", "full"), default="none", help="of each layer in its backward pass")
    args = parser.parse_args()
    require_new_or_resumed(parser, args)
    return args


def main():
    args = parse_arguments()
    add_missing_rows(args, "fp32", lambda *step: empty_row(*step, args), lambda *step: row_of(*step, args))
    return 0


if __name__ == "__main__":
    sys.exit(main())
