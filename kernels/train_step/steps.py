"""What the scripts that time training steps share: options, columns, models, timing, and how rows come into the file."""
import dataclasses
import math
import statistics
import sys
import time

from rows import RowFile, add_missing, add_out_options, names_of, sizes

HEADER = (
    "source_id,source_ref,model,arch,layers,hidden,ffn_hidden,heads,kv_heads,head_dim,vocab,gated_mlp,tied_embed,"
    "moe_experts,moe_topk,moe_ffn_hidden,moe_shared,seq_len,gpu,num_gpus,gpus_per_node,intra_node_link,inter_node_link,"
    "inter_node_bw_gbps_per_gpu,framework,precision,dp,tp,pp,cp,ep,vpp,pp_schedule,zero_stage,sequence_parallel,"
    "recompute,micro_batch,global_batch_seqs,flash_attention,iter_time_s,tokens_per_s,tokens_per_s_per_gpu,"
    "model_tflops_per_gpu,hw_tflops_per_gpu,mfu_pct,peak_mem_gb_per_gpu,notes"
).split(",")


@dataclasses.dataclass(frozen=True)
class Shape:
    layers: int
    hidden: int
    ffn: int
    heads: int
    kv_heads: int
    vocab: int

    @property
    def head_dim(self):
        return self.hidden // self.heads


# Sizes that fit one device with fp32 states (16 bytes a parameter) and differ in what bounds them: launches, memory,
# matrix products. "tiny" is for trying the script.
MODELS = {
    "tiny": Shape(layers=2, hidden=64, ffn=176, heads=4, kv_heads=2, vocab=512),
    "0.4b": Shape(layers=24, hidden=1024, ffn=2816, heads=16, kv_heads=8, vocab=32000),
    "1.1b": Shape(layers=22, hidden=2048, ffn=5632, heads=32, kv_heads=4, vocab=32000),
    "3b": Shape(layers=28, hidden=3072, ffn=8192, heads=24, kv_heads=8, vocab=32000),
    "8b": Shape(layers=32, hidden=4096, ffn=14336, heads=32, kv_heads=8, vocab=128256),
}


def base_row(name, shape, seq, micro_batch, script, gpu, framework, recompute="none"):
    """A row without its measurement: one device, flash attention, bf16 products."""
    return dict.fromkeys(HEADER, "") | {
        "source_id": "sextant-train-step",
        "source_ref": f"kernels/train_step/{script}, {time.strftime('%Y-%m-%d', time.gmtime())}",
        "model": f"llama-shaped-{name}",
        "arch": "dense",
        "layers": shape.layers,
        "hidden": shape.hidden,
        "ffn_hidden": shape.ffn,
        "heads": shape.heads,
        "kv_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "vocab": shape.vocab,
        "gated_mlp": 1,
        "tied_embed": 0,
        "seq_len": seq,
        "gpu": gpu,
        "num_gpus": 1,
        "gpus_per_node": 1,
        "framework": f"{framework}, one device",
        "precision": "BF16",
        "dp": 1,
        "tp": 1,
        "pp": 1,
        "cp": 1,
        "ep": 1,
        "zero_stage": 0,
        "sequence_parallel": 0,
        "recompute": recompute,
        "micro_batch": micro_batch,
        "global_batch_seqs": micro_batch,
        "flash_attention": 1,
    }


def fill_times(row, states, seconds, losses, peak_bytes, memory_note):
    """Adds the median of the steps, tokens per second and the peak of memory (bytes; 0: not known).

    A RuntimeError where the loss did not fall: that was no training.
    """
    if not math.isfinite(losses[-1]) or losses[-1] >= losses[0]:
        raise RuntimeError(f"the loss went from {losses[0]:.3f} to {losses[-1]:.3f}: this is not training")
    ordered = sorted(seconds)
    median = statistics.median(ordered)
    row["iter_time_s"] = f"{median:.6g}"
    row["tokens_per_s"] = row["tokens_per_s_per_gpu"] = f"{row['micro_batch'] * row['seq_len'] / median:.6g}"
    if peak_bytes:
        row["peak_mem_gb_per_gpu"] = f"{peak_bytes / 1e9:.4f}"
    row["notes"] = (
        f"{states}; median of {len(ordered)} steps, p10 {ordered[len(ordered) // 10]:.6g} s, "
        f"p90 {ordered[len(ordered) * 9 // 10]:.6g} s; {memory_note}loss {losses[0]:.3f} to {losses[-1]:.3f}"
    )


def asked_for(row):
    """All columns but those of the measurement and the notes."""
    return tuple(str(row[c]) for c in HEADER if c not in ("source_ref", "peak_mem_gb_per_gpu", "notes"))


def key_of(row, states):
    """What tells rows of one file apart; states as in "fp32"."""
    columns = ("model", "seq_len", "micro_batch", "gpu", "num_gpus", "framework", "zero_stage", "recompute")
    return tuple(str(row[column]) for column in columns) + (states,)


def states_of(row):
    return row["notes"].split("states=")[-1][:4]


def add_step_options(parser, seq):
    """What is timed, how often, and where its rows go; `seq` is the default of the lengths."""
    parser.add_argument("--models", type=names_of(MODELS), default="0.4b,1.1b,3b", help=f"of {', '.join(MODELS)}")
    parser.add_argument("--seq", type=sizes, default=seq, help="sequence lengths")
    parser.add_argument("--tokens", type=sizes, default="8192", help="tokens a step; the micro-batch is tokens / sequence")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warm-up", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    add_out_options(parser)


def timed(step, args):
    """Seconds of every step after the warm-up, and all losses. `step` returns its loss once the device is done."""
    seconds, losses = [], []
    for number in range(args.warm_up + args.steps):
        start = time.perf_counter()
        loss = step()
        if number >= args.warm_up:
            seconds.append(time.perf_counter() - start)
        losses.append(loss.item())
    return seconds, losses


def add_missing_rows(args, states, empty_row, row_of):
    """Measures what was asked for and --out does not have yet; both functions take (model, sequence, micro-batch)."""
    file = RowFile(args.out, HEADER)
    have = {key_of(row, states_of(row)) for row in file.rows}
    todo = [(name, seq, max(1, tokens // seq)) for name in args.models for tokens in args.tokens for seq in args.seq]
    key = lambda *step: key_of(empty_row(*step), states)
    label = lambda name, seq, micro_batch: f"{name} seq {seq} micro-batch {micro_batch}"
    add_missing(file, have, todo, key, label, row_of)
