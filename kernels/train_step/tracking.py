"""What the scripts that track memory without a device share: kernels that allocate and compute nothing, and the tracker."""
import contextlib
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed._tools.mem_tracker import MemTracker
from torch.distributed._tools.mod_tracker import ModTracker
from torch.testing._internal.distributed.fake_pg import FakeStore


class FusedNorm(torch.autograd.Function):
    """Allocates what the fused kernel of GPUs does; on the CPU the norm runs op by op and keeps more."""

    @staticmethod
    def forward(context, x, weight):
        context.save_for_backward(x, weight, x.new_empty(x.shape[:-1], dtype=torch.float32))
        return torch.empty_like(x)

    @staticmethod
    def backward(context, gradient):
        x, weight, _ = context.saved_tensors
        return torch.empty_like(x), torch.empty_like(weight)


def fuse_norms():
    """Of eager code; a compiler takes norms apart itself."""
    by_operator = F.rms_norm

    def norm(x, width, weight=None, eps=None):
        return by_operator(x, width, weight, eps) if torch.compiler.is_compiling() else FusedNorm.apply(x, weight)

    F.rms_norm = norm


def compile_for_fake_tensors():
    """Has torch.compile (Inductor) allocate, reuse and free as ever, and run nothing.

    Inductor's code for the CPU calls its kernels by name and its allocator past the dispatcher: kernels become empty, and
    buffers come from torch.empty_strided, so that they are fake tensors that a tracker sees. What is fused, kept for the
    backward pass and reused is decided as on a GPU, by the same scheduler.
    """
    import torch._inductor.async_compile as async_compile
    import torch._inductor.config as config

    def empty(size, stride, dtype):
        return torch.empty_strided(size, stride, dtype=dtype)

    def reinterpret(tensor, size, stride, offset=0):
        return torch.as_strided(tensor, size, stride, tensor.storage_offset() + offset)

    guards = torch._C._dynamo.guards
    guards._empty_strided_cpu = empty
    guards._reinterpret_tensor = reinterpret
    no_kernel = lambda self, *_, **__: lambda *arguments: None
    async_compile.AsyncCompile.cpp_pybinding = no_kernel
    async_compile.AsyncCompile.cpp = no_kernel
    config.force_disable_caches = True
    config.compile_threads = 1


class StepModules(ModTracker):
    """Has all modules inside a step: a module that is called several times (the head, of a loss in chunks) MemTracker follows only
    inside another."""

    @property
    def parents(self):
        return self._parents

    @parents.setter
    def parents(self, names):
        self._parents = names | {"step"}


class Tracker(MemTracker):
    """MemTracker that compiled code runs under: Dynamo takes other dispatch modes for a reason not to compile."""

    def __init__(self):
        super().__init__()
        self._mod_tracker = StepModules()

    @classmethod
    def is_infra_mode(cls):
        return True


@contextlib.contextmanager
def fake_devices(count):
    """A process group of rank 0 and of others that are not there."""
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=count)
    try:
        yield
    finally:
        dist.destroy_process_group()


def in_training(model, vocabulary, batch, seq):
    """AdamW of a model that was on the meta device and has memory now, and a batch of it: tokens and labels."""
    model.to_empty(device="cpu")
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    return optimizer, *(torch.randint(vocabulary, (batch, seq)) for _ in range(2))


def peak_of(one_pass, times, model, optimizer, frees_gradients=True):
    """Bytes allocated at the peak of a step of `times` forward and backward passes once moments are there, by what they are of
    and in all ("Total"). The fused AdamW allocates nothing in an update: passes alone are tracked."""
    one_pass()
    optimizer.step()
    optimizer.zero_grad(set_to_none=frees_gradients)
    tracker = Tracker()
    tracker.track_external(model, optimizer)
    with tracker:
        for number in range(times):
            if number:
                tracker.reset_mod_stats()
            one_pass()
    (peak,) = tracker.get_tracker_snapshot("peak").values()
    return {getattr(kind, "value", kind): size for kind, size in peak.items()}


def fill_peak(row, peak, settings, verbose):
    """Adds the peak and what it is; `settings` come first in the notes."""
    row["peak_mem_gb_per_gpu"] = f"{peak['Total'] / 1e9:.4f}"
    row["notes"] = (
        f"{settings}; peak is max allocated, tracked on fake tensors and not measured on a device (no workspaces); no time"
    )
    if verbose:
        print({kind: round(size / 1e9, 4) for kind, size in peak.items()}, file=sys.stderr)
