#!/usr/bin/env python3
"""Times the attention that PyTorch runs, forward and backward: FlashAttention (sdpa_flash) and cuDNN's (sdpa_cudnn).

Writes rows in the columns of sextant-bench, with the same flops and bytes as its own attention kernels (bf16; the
backward pass counts five products). Before a shape is timed, rows of its output and of the queries' gradient are
compared with double precision. With --resume, rows that FILE already has are not measured again, but for those that FAILED.

    python3 attention.py --out attention.csv
    python3 attention.py --kernels sdpa_flash --seq 2048,4096 --tokens 8192 --out attention.csv --resume

Needs rows.py beside it, PyTorch 2.5 or later and a GPU. A kernel that does not take a shape gives a row that says unsupported.
"""
import argparse
import math
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from rows import RowFile, add_out_options, names_of, require_new_or_resumed, sizes

HEADER = (
    "bench,backend,device,driver,date,kernel,dtype,m,n,k,groups,batch,seq_q,seq_kv,heads,kv_heads,head_dim,causal,"
    "bytes,ranks,nodes,cache,launch,median_us,p10_us,p90_us,repeats,sm_clock_mhz,mem_clock_mhz,throttle,"
    "max_rel_error,tflops,gbps,note"
).split(",")
KERNELS = {"sdpa_flash": SDPBackend.FLASH_ATTENTION, "sdpa_cudnn": SDPBackend.CUDNN_ATTENTION}
HEADS = ((16, 16, 64), (32, 8, 128), (8, 1, 128), (32, 32, 128))  # heads, key heads, head size
TOLERANCE = {False: 0.04, True: 0.06}  # forward, backward: results and probabilities are rounded to bf16


def pairs(length, causal):
    return length * (length + 1) / 2 if causal else float(length * length)


def row_error(q, k, v, d_out, out, dq, causal):
    """Largest error of three rows of the last head, forward and (with dq) backward, against double precision."""
    worst = 0.0
    sharing = q.shape[1] // k.shape[1]
    keys, values = (x[-1, (q.shape[1] - 1) // sharing].double() for x in (k, v))
    for i in {0, q.shape[2] // 2, q.shape[2] - 1}:
        seen = i + 1 if causal else keys.shape[0]
        scale = 1 / math.sqrt(q.shape[3])
        p = torch.softmax(keys[:seen] @ q[-1, -1, i].double() * scale, 0)
        wanted = p @ values[:seen]
        checks = [(out[-1, -1, i], wanted)]
        if dq is not None and seen >= 64:  # of fewer keys it is a difference of numbers that nearly cancel
            d = d_out[-1, -1, i].double()
            ds = p * (values[:seen] @ d - wanted @ d)
            checks.append((dq[-1, -1, i], ds @ keys[:seen] * scale))
        for got, want in checks:
            worst = max(worst, ((got.double() - want).abs().max() / want.pow(2).mean().sqrt()).item())
    return worst


class Inputs:
    """Normal values on the device, drawn once: after a capture that failed, PyTorch draws no more."""

    def __init__(self, seed, count):
        torch.manual_seed(seed)
        self.values = torch.randn(count, device="cuda", dtype=torch.bfloat16)

    def take(self, which, batch, length, heads, head_dim):
        """As a model has them: [batch, sequence, heads, head size] in memory, with heads before the sequence."""
        count = batch * length * heads * head_dim
        first = which * 7919 % (self.values.numel() - count + 1)
        return self.values[first : first + count].clone().view(batch, length, heads, head_dim).transpose(1, 2)


def block_of(work, launches):
    """A function that runs `work` so many times, as one CUDA graph where it can be captured; and which of both."""
    try:
        graph = torch.cuda.CUDAGraph()
        # On the stream of the forward pass, since a backward pass runs on that of its forward pass.
        with torch.cuda.graph(graph, stream=torch.cuda.current_stream()):
            for _ in range(launches):
                work()
        graph.replay()
        torch.cuda.synchronize()
        return graph.replay, "graph"
    except RuntimeError:
        torch.cuda.synchronize()
        return lambda: [work() for _ in range(launches)], "stream"


def timed(enqueue):
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    enqueue()  # the device is busy with it until the host has enqueued the other
    start.record()
    enqueue()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) * 1e3


def sample(work, seconds):
    """Microseconds a launch, at least 10 samples and as many as `seconds` hold; and how it was launched."""
    work()
    once = timed(work)
    launches = max(1, min(50, math.ceil(300 / max(once, 1e-3))))
    enqueue, launch = block_of(work, launches)
    timed(enqueue)
    samples, end = [], time.perf_counter() + seconds
    while len(samples) < 10 or (time.perf_counter() < end and len(samples) < 500):
        samples.append(timed(enqueue) / launches)
    return sorted(samples), launch


def blank_row(kernel, backward, shape):
    batch, length, heads, kv_heads, head_dim, causal = shape
    return dict.fromkeys(HEADER, "") | {
        "bench": "attention",
        "backend": "cuda",
        "device": torch.cuda.get_device_name(),
        "driver": f"PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}",
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "kernel": f"{kernel}_{'backward' if backward else 'forward'}",
        "dtype": "bf16",
        "batch": batch,
        "seq_q": length,
        "seq_kv": length,
        "heads": heads,
        "kv_heads": kv_heads,
        "head_dim": head_dim,
        "causal": int(causal),
        "cache": "hot",
        "launch": "graph",
    }


def row_of(kernel, backward, shape, inputs, args):
    batch, length, heads, kv_heads, head_dim, causal = shape
    row = blank_row(kernel, backward, shape)
    q, k, v, d_out = (
        inputs.take(which, batch, length, h, head_dim) for which, h in enumerate((heads, kv_heads, kv_heads, heads))
    )
    for x in (q, k, v):
        x.requires_grad_(backward)

    def forward():
        with sdpa_kernel([KERNELS[kernel]]):
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=heads != kv_heads)

    try:
        out = forward()
        gradients = torch.autograd.grad(out, (q, k, v), d_out, retain_graph=True) if backward else (None,)
    except torch.cuda.OutOfMemoryError:  # which is a RuntimeError
        raise
    except RuntimeError as fault:
        reason = " ".join(str(fault).split())[:120]
        row["note"] = ("FAILED: " if "CUDA error" in reason else "unsupported: ") + reason
        return row
    with torch.no_grad():
        error = row_error(q, k, v, d_out, out, gradients[0], causal)
    row["max_rel_error"] = f"{error:.6g}"
    if not error <= TOLERANCE[backward]:
        row["note"] = f"FAILED: wrong result, error {error:.6g} (allowed {TOLERANCE[backward]})"
        return row
    work = (lambda: torch.autograd.grad(out, (q, k, v), d_out, retain_graph=True)) if backward else forward
    samples, row["launch"] = sample(work, args.row_seconds)
    median = statistics.median(samples)
    width = batch * head_dim
    flops = (10 if backward else 4) * width * heads * pairs(length, causal)
    moved = (8 if backward else 4) * width * length * (heads + kv_heads)
    return row | {
        "median_us": f"{median:.6g}",
        "p10_us": f"{samples[len(samples) // 10]:.6g}",
        "p90_us": f"{samples[len(samples) * 9 // 10]:.6g}",
        "repeats": len(samples),
        "throttle": "unknown",
        "tflops": f"{flops / median * 1e-6:.6g}",
        "gbps": f"{moved / median * 1e-3:.6g}",
    }


def row_that_fits(kernel, backward, shape, inputs, args):
    """The row, or one that says that memory ran out: there may be more another time."""
    try:
        return row_of(kernel, backward, shape, inputs, args)
    except torch.cuda.OutOfMemoryError as fault:
        row = blank_row(kernel, backward, shape)
        row["note"] = "FAILED: " + " ".join(str(fault).split())[:120]
    torch.cuda.empty_cache()
    return row


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=names_of(KERNELS), default=list(KERNELS), help=f"of {', '.join(KERNELS)}")
    parser.add_argument("--seq", type=sizes, default="512,1024,2048,4096,8192,16384", help="sequence lengths")
    parser.add_argument("--tokens", type=int, default=16384, help="tokens of a batch")
    parser.add_argument("--row-seconds", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    add_out_options(parser)
    args = parser.parse_args()
    require_new_or_resumed(parser, args)
    return args


def key_of(row):
    return tuple(str(row[c]) for c in ("device", "kernel", "batch", "seq_q", "heads", "kv_heads", "head_dim", "causal"))


def measured(rows):
    """Keys of rows that are not measured again: times, and what is not supported."""
    return {key_of(row) for row in rows if not row["note"].startswith("FAILED")}


def main():
    args = parse_arguments()
    if not torch.cuda.is_available():
        print("attention.py: no GPU that PyTorch can use", file=sys.stderr)
        return 3
    file = RowFile(args.out, HEADER)
    have = measured(file.rows)
    todo = [
        (kernel, backward, (max(1, args.tokens // length), length, *heads, causal))
        for length in args.seq
        for heads in HEADS
        for causal in (True, False)
        for kernel in args.kernels
        for backward in (False, True)
    ]
    failed = 0
    most = max(max(1, args.tokens // length) * length for length in args.seq)
    inputs = Inputs(args.seed, 2 * most * max(heads * head_dim for heads, _, head_dim in HEADS))
    with torch.cuda.stream(torch.cuda.Stream()):
        for number, (kernel, backward, shape) in enumerate(todo, 1):
            if key_of(blank_row(kernel, backward, shape)) in have:
                continue
            row = row_that_fits(kernel, backward, shape, inputs, args)
            failed += row["note"].startswith("FAILED")
            file.add(row)
            print(f"[{number}/{len(todo)}] {row['kernel']} {shape}: {row['tflops'] or row['note']}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
