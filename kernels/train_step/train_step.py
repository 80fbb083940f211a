#!/usr/bin/env python3
"""Times training steps (forward, backward, AdamW) of Llama-shaped models on one GPU: written out here, or Hugging Face's,
eager or compiled, alone or wrapped in FSDP (of one device: its hooks and copies, no exchange).

Writes rows in the header that `sextant validate train FILE.csv` reads, one per model and sequence length, each as soon
as it is known; with --resume, rows that FILE already has are not measured again. A model that does not fit gives a row
without times and STATUS=OOM in its notes; one that torch.compile does not compile whole gives none.

    python3 train_step.py --out steps.csv
    python3 train_step.py --models 1.1b --seq 2048,4096 --tokens 16384 --out steps.csv --resume
    python3 train_step.py --models 1.1b --wrap fsdp --compile --out compiled.csv
    python3 train_step.py --models 0.4b --seq 256 --tokens 256,1024 --out host.csv     # so short that it waits for the host
    python3 train_step.py --models 1.1b --seq 2048 --out one.csv --trace trace.json     # for sextant calibrate import
    sextant validate train steps.csv

Needs rows.py and steps.py beside it, PyTorch 2.6 or later, and Hugging Face's transformers for --code hf. --device cpu --models tiny tries it anywhere.
"""
import argparse
import gc
import os
import sys

import torch
import torch._dynamo
import torch.nn.functional as F
from torch import nn

from rows import require_new_or_resumed
from steps import MODELS, add_missing_rows, add_step_options, base_row, fill_times, timed


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return F.rms_norm(x, (x.shape[-1],), self.weight.to(x.dtype), eps=1e-5)


def rotary_table(length, head_dim, device):
    pairs = torch.arange(head_dim // 2, device=device, dtype=torch.float32)
    angles = torch.outer(torch.arange(length, device=device).float(), 10000.0 ** (-2 * pairs / head_dim))
    return torch.cos(angles), torch.sin(angles)


def rotate(x, table):
    """x [batch, heads, sequence, head_dim]: turns element d with element d + head_dim / 2."""
    cosine, sine = (part.to(x.dtype) for part in table)
    low, high = x.chunk(2, dim=-1)
    return torch.cat((low * cosine - high * sine, high * cosine + low * sine), dim=-1)


class Layer(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.s = s
        self.attention_norm = RmsNorm(s.hidden)
        self.qkv = nn.Linear(s.hidden, (s.heads + 2 * s.kv_heads) * s.head_dim, bias=False)
        self.out = nn.Linear(s.hidden, s.hidden, bias=False)
        self.mlp_norm = RmsNorm(s.hidden)
        self.gate_up = nn.Linear(s.hidden, 2 * s.ffn, bias=False)
        self.down = nn.Linear(s.ffn, s.hidden, bias=False)

    def forward(self, x, table):
        s = self.s
        batch, length, _ = x.shape
        qkv = self.qkv(self.attention_norm(x)).view(batch, length, s.heads + 2 * s.kv_heads, s.head_dim).transpose(1, 2)
        q, k, v = qkv.split((s.heads, s.kv_heads, s.kv_heads), dim=1)
        q, k = rotate(q, table), rotate(k, table)
        shared = s.heads // s.kv_heads
        if shared > 1:
            k, v = (part.repeat_interleave(shared, dim=1) for part in (k, v))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, s.hidden))
        gate, up = self.gate_up(self.mlp_norm(x)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * up)


class Llama(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.s = s
        self.embedding = nn.Embedding(s.vocab, s.hidden)
        self.layers = nn.ModuleList(Layer(s) for _ in range(s.layers))
        self.norm = RmsNorm(s.hidden)
        self.head = nn.Linear(s.hidden, s.vocab, bias=False)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, targets):
        x = self.embedding(tokens)
        table = rotary_table(tokens.shape[1], self.s.head_dim, tokens.device)
        for layer in self.layers:
            x = layer(x, table)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.float().flatten(0, 1), targets.flatten())


class HuggingFace(nn.Module):
    """Hugging Face's Llama with PyTorch's attention."""

    def __init__(self, s):
        super().__init__()
        from transformers import LlamaConfig, LlamaForCausalLM

        config = LlamaConfig(
            vocab_size=s.vocab,
            hidden_size=s.hidden,
            intermediate_size=s.ffn,
            num_hidden_layers=s.layers,
            num_attention_heads=s.heads,
            num_key_value_heads=s.kv_heads,
            head_dim=s.head_dim,
            max_position_embeddings=1 << 17,
            tie_word_embeddings=False,
            use_cache=False,
            attn_implementation="sdpa",
        )
        self.model = LlamaForCausalLM(config)
        self.layers = self.model.model.layers

    def forward(self, tokens, targets):
        logits = self.model(tokens, use_cache=False).logits
        return F.cross_entropy(logits.float().flatten(0, 1), targets.flatten())


RecompileLimitHit = getattr(torch._dynamo.exc, "FailOnRecompileLimitHit", None) or torch._dynamo.exc.FailOnCacheLimitHit


def compile_afresh():
    """Forgets what torch.compile has compiled for other rows: it would take sizes that have changed since for ones that
    vary, and after eight changes run the code as it is. A step in which that happens all the same is a RecompileLimitHit."""
    torch.compiler.reset()
    torch._dynamo.config.fail_on_cache_limit_hit = True


def wrapped(model, args, device):
    """The model as the run trains it, and whether autocast is to be used."""
    if args.compile:  # block by block, as torchtitan does; the whole of it where nothing wraps the blocks
        compile_afresh()
        if args.wrap == "fsdp":
            for layer in model.layers:
                layer.compile()
        else:
            model.compile()
    if args.wrap != "fsdp":
        return args.states == "fp32"
    import torch.distributed as dist
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    if not dist.is_initialized():
        store = dist.HashStore()
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo", store=store, rank=0, world_size=1)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.layers:
        fully_shard(layer, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    return False


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def write_trace(path, step, device):
    """Profiles one step with shapes and writes its trace (Chrome's format) whole or not at all."""
    kinds = [torch.profiler.ProfilerActivity.CPU]
    if device.type == "cuda":
        kinds.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=kinds, record_shapes=True) as profile:
        step()
        synchronize(device)
    profile.export_chrome_trace(path + ".tmp.json")
    os.replace(path + ".tmp.json", path)


def measure(shape, seq, micro_batch, args, device):
    """Step times in seconds, peak bytes allocated and reserved, and the first and last loss."""
    torch.manual_seed(args.seed)
    dtype = torch.bfloat16 if args.states == "bf16" else torch.float32
    with torch.device(device):
        model = (HuggingFace if args.code == "hf" else Llama)(shape).to(dtype)
    autocast = wrapped(model, args, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), fused=device.type == "cuda")
    tokens = torch.randint(shape.vocab, (micro_batch, seq + 1), device=device)

    def train():
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=autocast):
            loss = model(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        synchronize(device)
        return loss

    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    synchronize(device)
    seconds, losses = timed(train, args)
    allocated = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else 0
    reserved = torch.cuda.max_memory_reserved(device) if device.type == "cuda" else 0
    if args.trace:
        write_trace(args.trace, train, device)
    return seconds, allocated, reserved, losses


def framework_of(args):
    code = {"own": "", "hf": "transformers "}[args.code]
    return code + ("FSDP2 " if args.wrap == "fsdp" else "") + ("compiled" if args.compile else "eager")


def empty_row(name, seq, micro_batch, args, device):
    gpu = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    framework = f"PyTorch {torch.__version__} {framework_of(args)}"
    row = base_row(name, MODELS[name], seq, micro_batch, "train_step.py", gpu, framework)
    return row | ({"zero_stage": 3} if args.wrap == "fsdp" else {})


def row_of(name, seq, micro_batch, args, device):
    row = empty_row(name, seq, micro_batch, args, device)
    copies = "bf16 copies by FSDP" if args.wrap == "fsdp" else "bf16 autocast"
    states = f"states={args.states}" + ("" if args.states == "bf16" else f" with {copies}")
    try:
        seconds, allocated, reserved, losses = measure(MODELS[name], seq, micro_batch, args, device)
    except torch.cuda.OutOfMemoryError:
        row["notes"] = f"STATUS=OOM; {states}"
        return row
    except RecompileLimitHit as fault:
        print(f"train_step.py: left out, since part of it would run eagerly: {fault}", file=sys.stderr)
        return None
    note = f"peak is max allocated, max reserved {reserved / 1e9:.4f} GB; "
    fill_times(row, states, seconds, losses, allocated, note)
    return row


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_step_options(parser, seq="1024,2048,4096,8192")
    parser.add_argument("--code", choices=("own", "hf"), default="own", help="the model of this file or of transformers")
    parser.add_argument("--wrap", choices=("none", "fsdp"), default="none", help="FSDP2, a group a layer (bf16 copies)")
    parser.add_argument("--states", choices=("fp32", "bf16"), default="fp32", help="of weights, gradients and AdamW")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--compile", action="store_true", help="the model through torch.compile")
    parser.add_argument("--trace", metavar="FILE", help="also profile one step (one model, one sequence length)")
    args = parser.parse_args()
    if args.trace and len(args.models) * len(args.seq) * len(args.tokens) != 1:
        parser.error("--trace: is of one step (one of --models, --seq and --tokens)")
    if args.wrap == "fsdp" and args.states == "bf16":
        parser.error("--wrap fsdp: has fp32 states and bf16 copies (--states fp32)")
    require_new_or_resumed(parser, args)
    return args


def main():
    args = parse_arguments()
    device = torch.device(args.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        print("train_step.py: no GPU that PyTorch can use", file=sys.stderr)
        return 3
    if device.index is not None and device.type == "cuda":
        torch.cuda.set_device(device)  # FSDP and Triton take the current one, whatever the tensors lie on

    def row(name, seq, micro_batch):
        filled = row_of(name, seq, micro_batch, args, device)
        gc.collect()  # a model under FSDP is part of cycles, and would count in the next row's peak
        if device.type == "cuda":
            torch.cuda.empty_cache()
        return filled

    add_missing_rows(args, args.states, lambda *step: empty_row(*step, args, device), row)
    return 0


if __name__ == "__main__":
    sys.exit(main())
