# Written by scripts/python-stubs (scripts/update-docs runs it); do not edit.
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from os import PathLike
from typing import Any, Literal, Protocol

from . import reports as reports
from ._commands import Command as Command, ask as ask
from ._errors import AnswerIsNo as AnswerIsNo, Error as Error, InputError as InputError, InternalError as InternalError
from ._errors import Notice as Notice, UnavailableError as UnavailableError
from ._report import Report as Report, Rows as Rows
from .reports import (
    CalibrateReportReport,
    CollectiveReport,
    EstimateReport,
    ExportReport,
    ExportServeReport,
    FlopsReport,
    GoodputReport,
    HardwareReport,
    HardwareShowReport,
    MemoryReport,
    ModelsReport,
    ModelsShowReport,
    PlanReport,
    RlReport,
    RunPlanReport,
    ScalingFitReport,
    ScalingLawsReport,
    ScalingOptimumReport,
    ScalingPredictReport,
    ServeEstimateReport,
    ServePlanReport,
    ServeQualityReport,
    ServeSimulateReport,
    SimulateReport,
    SweepReport,
    TrialsBudgetReport,
    TrialsScheduleReport,
    TrialsTransferReport,
    ValidateCollectivesReport,
    ValidateKernelsReport,
    ValidateServingReport,
    ValidateTrainReport,
)

class Configuration(Protocol):
    """Such as a configuration of Hugging Face's transformers."""
    def to_dict(self) -> dict[str, Any]: ...

class Table(Protocol):
    """Such as a pandas table."""
    def to_csv(self, *, index: bool) -> Any: ...

Value = str | int | float | timedelta | Sequence[str] | Sequence[int] | Sequence[float] | range
File = str | PathLike[str] | Mapping[str, Any] | Configuration | Table | Sequence[str | PathLike[str] | Mapping[str, Any] | Configuration | Table]

__version__: str

class _Plan(Command):
    def __call__(  # type: ignore[override]
        self,
        *,
        model: File | None = None,
        cluster: File | None = None,
        gpus: Value | None = None,
        seq: Value | None = None,
        global_batch: Value | None = None,
        document_tokens: Value | None = None,
        preference: Literal["dpo", "reference-free"] | str | Sequence[str] | None = None,
        framework: Literal["megatron", "fsdp", "torchtitan", "nanotron", "deepspeed", "maxtext", "pytorch", "transformers", "generic"] | File | None = None,
        max_memory: Value | None = None,
        price: Value | None = None,
        tp: Value | None = None,
        pp: Value | None = None,
        dp: Value | None = None,
        cp: Value | None = None,
        ep: Value | None = None,
        vpp: Value | None = None,
        micro_batch: Value | None = None,
        zero: Value | None = None,
        schedule: Literal["gpipe", "1f1b", "interleaved", "1f1b-overlap", "breadth-first", "zb-h1", "zb-h2", "zb-v", "dualpipe", "dualpipe-v"] | str | Sequence[str] | None = None,
        recompute: Literal["none", "selective", "full"] | str | Sequence[str] | None = None,
        recompute_modules: Value | None = None,
        recompute_layers: Value | None = None,
        keep_activations: Value | None = None,
        offload: Literal["none", "optimizer", "activations", "parameters", "optimizer+activations", "parameters+activations"] | str | Sequence[str] | None = None,
        offload_activations: Value | None = None,
        offload_layers: Value | None = None,
        cp_mode: Literal["ring", "all-gather", "ulysses"] | str | Sequence[str] | None = None,
        moe_dispatcher: Literal["alltoall", "deduplicated"] | str | Sequence[str] | None = None,
        expert_tp: Value | None = None,
        expert_imbalance: Value | None = None,
        shard_group: Value | None = None,
        precision: Literal["fp32", "tf32", "fp16", "bf16", "fp8", "fp8-block", "mxfp8", "fp4"] | str | Sequence[str] | None = None,
        gradients: Literal["usual", "bf16"] | str | Sequence[str] | None = None,
        optimizer: Literal["adamw", "adamw-bf16", "adamw-8bit", "adamw-pure-bf16", "sgd", "muon", "lion", "lion-8bit", "adafactor"] | str | Sequence[str] | None = None,
        sequence_parallel: bool | None = None,
        no_sequence_parallel: bool | None = None,
        attention: Value | None = None,
        flash_attention: bool | None = None,
        no_flash_attention: bool | None = None,
        dropout: bool | None = None,
        no_dropout: bool | None = None,
        fused_cross_entropy: bool | None = None,
        no_fused_cross_entropy: bool | None = None,
        fp8_activation_input: bool | None = None,
        no_fp8_activation_input: bool | None = None,
        narrow_copies: bool | None = None,
        no_narrow_copies: bool | None = None,
        loss_chunks: Value | None = None,
        lora_rank: Value | None = None,
        lora_targets: Value | None = None,
        base_weights: Literal["bf16", "fp8", "int8", "nf4"] | str | Sequence[str] | None = None,
        from_megatron: File | None = None,
        from_deepspeed: File | None = None,
        from_torchtitan: File | None = None,
        from_accelerate: File | None = None,
        objective: Literal["time", "cost", "memory", "tokens-per-dollar"] | str | Sequence[str] | None = None,
        space: Literal["standard", "full"] | str | Sequence[str] | None = None,
        top: Value | None = None,
        verify: Value | None = None,
        only_validated: bool | None = None,
        every_plan: bool | None = None,
        explain: bool | None = None,
        threads: Value | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> PlanReport:
        """The best ways to split a model over a cluster, ranked, with the reasons.

            model: preset (see 'sextant models') or a Hugging Face config.json
            cluster: cluster (see 'sextant hardware') or a cluster file
            gpus: accelerators; a list searches each
            seq: tokens per sequence, such as 8192 or 8Ki (default: the model's, up to 8192)
            global_batch: sequences per step (default: about 4 M tokens)
            document_tokens: tokens per document where documents are packed into sequences, each attending to itself alone (default: a sequence is one document)
            preference: train on pairs of a chosen and a rejected sequence of --seq tokens each: dpo (with a frozen reference) or reference-free (SimPO, ORPO, or DPO with stored log-probabilities of the reference); --global-batch and --micro-batch then count pairs (default: none)
            framework: whose constants to use: megatron, fsdp, torchtitan, nanotron, deepspeed, maxtext, pytorch, transformers, generic, or a file (default: megatron; an older release: megatron:release=24.07)
            max_memory: of each accelerator: '90%' or '70 GB' (default: the framework's usable fraction)
            price: US dollars per accelerator and hour (default: the profile's, indicative)
            tp: tensor parallelism (default: search)
            pp: pipeline parallelism (default: search)
            dp: data parallelism (default: search)
            cp: context parallelism (default: search)
            ep: expert parallelism (default: search)
            vpp: model chunks per stage (interleaved, breadth-first; 2 in a V) (default: search)
            micro_batch: sequences per microbatch (default: search)
            zero: ZeRO stage 0, 1, 2 or 3 (3: FSDP) (default: search)
            schedule: gpipe, 1f1b, interleaved, 1f1b-overlap (exchanges of experts hide), breadth-first, zb-h1, zb-h2, zb-v, dualpipe or dualpipe-v, comma-separated (default: 1f1b and interleaved, with experts under Megatron 1f1b-overlap; MaxText: gpipe and breadth-first)
            recompute: none, selective (attention core) or full, comma-separated (default: search)
            recompute_modules: with selective: what runs again of a layer, as in Megatron-Core: core_attn (default), layernorm, mla_up_proj, mlp, moe, moe_act, shared_experts; also mlp_act, or op (torchtitan's)
            recompute_layers: with full: layers per stage that are recomputed (0: all)
            keep_activations: with full: what is kept of a layer all the same, and not run again, as in MaxText's custom policies: norm_out, qkv, context (attention's output), attention_out, expert_in, mlp_up, mlp_act
            offload: none, optimizer, activations, parameters (weights, gradients and optimizer, with ZeRO 3), optimizer+activations or parameters+activations, comma-separated (default: none)
            offload_activations: with activations: which of those that are kept go to host memory: layer_input, those of --keep-activations, other (default: all)
            offload_layers: with activations: those of so many layers of the model, spread evenly, go to host memory (0: all)
            cp_mode: ring, all-gather or ulysses, comma-separated (default: all-gather with sliding windows, torchtitan and MaxText, ulysses with DeepSpeed, else ring)
            moe_dispatcher: alltoall or deduplicated (once per domain, as DeepEP) (default: the faster, where the framework and the network have both and experts span domains)
            expert_tp: tensor parallelism inside an expert (default: 1, or tp where torchtitan and MaxText cut experts)
            expert_imbalance: tokens of the busiest expert rank over the mean, at most what its experts can get (default: 1)
            shard_group: ranks that ZeRO shards over (HSDP; 0: all)
            precision: fp32, tf32, fp16, bf16, fp8, fp8-block (scales by tiles of 128, as DeepSeek), mxfp8 (by 32 values) or fp4 (default: bf16, or what the accelerator has)
            gradients: usual (default: the framework's own, often fp32) or bf16 (added up and reduced in bf16)
            optimizer: adamw, adamw-bf16 (moments), adamw-8bit (moments), adamw-pure-bf16 (all in bf16, no fp32 copy of the weights), sgd, muon, lion, lion-8bit or adafactor (default: adamw)
            sequence_parallel: split norms and residuals over tp (default with tp > 1)
            attention: flash (default), unfused (scores in memory, fused softmax) or eager (softmax in fp32, op by op)
            flash_attention: the same as --attention flash, --attention unfused
            dropout: dropout in the model (default: none)
            fused_cross_entropy: loss in one kernel (default: not)
            fp8_activation_input: keep what the activation of a gated feed-forward reads in fp8 (Megatron-Core's activation_func_fp8_input_store; default: not)
            narrow_copies: keep fp8 or fp4 copies of weights, and their transposes, beside 16-bit weights (Megatron-LM without --fp8-param-gather; default: weights in the format alone)
            loss_chunks: parts of a microbatch whose logits, loss and gradients are made one by one (chunked cross entropy: torchtitan 0.3 has 8; default: 1)
            lora_rank: train adapters of this rank only (default: train every weight)
            lora_targets: attention (q,k,v,o), all (and gate,up,down), or a list of q, k, v, qkv, o, gate, up, gate_up, down (default: attention)
            base_weights: format of the frozen matrices: bf16, fp8, int8 or nf4 (default: bf16)
            from_megatron: Megatron-LM's arguments, or a script that has them
            from_deepspeed: DeepSpeed's JSON, or a launch script that names it
            from_torchtitan: torchtitan's TOML; options given here count before those of a file
            from_accelerate: Accelerate's YAML: FSDP, DeepSpeed or plain data parallelism
            objective: time, cost, memory or tokens-per-dollar (default: time)
            space: standard (default), or full: every degree and divisor, partial recompute, offload
            top: how many plans to show (default: 10)
            verify: simulate the best N plans (discrete events) and rank them by the objective over that
            only_validated: only plans whose every term a measurement supports (others are marked ~)
            every_plan: rank every plan, not the best of each (dp, tp, pp, cp, ep)
            explain: say what binds the best plan, what would move it, and every assumed value
            threads: worker threads (default: 0, all cores); the answer does not depend on it
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _Estimate(Command):
    def __call__(  # type: ignore[override]
        self,
        *,
        model: File | None = None,
        cluster: File | None = None,
        gpus: Value | None = None,
        seq: Value | None = None,
        global_batch: Value | None = None,
        document_tokens: Value | None = None,
        preference: Literal["dpo", "reference-free"] | str | Sequence[str] | None = None,
        framework: Literal["megatron", "fsdp", "torchtitan", "nanotron", "deepspeed", "maxtext", "pytorch", "transformers", "generic"] | File | None = None,
        max_memory: Value | None = None,
        price: Value | None = None,
        tp: Value | None = None,
        pp: Value | None = None,
        dp: Value | None = None,
        cp: Value | None = None,
        ep: Value | None = None,
        vpp: Value | None = None,
        micro_batch: Value | None = None,
        zero: Value | None = None,
        schedule: Literal["gpipe", "1f1b", "interleaved", "1f1b-overlap", "breadth-first", "zb-h1", "zb-h2", "zb-v", "dualpipe", "dualpipe-v"] | str | Sequence[str] | None = None,
        recompute: Literal["none", "selective", "full"] | str | Sequence[str] | None = None,
        recompute_modules: Value | None = None,
        recompute_layers: Value | None = None,
        keep_activations: Value | None = None,
        offload: Literal["none", "optimizer", "activations", "parameters", "optimizer+activations", "parameters+activations"] | str | Sequence[str] | None = None,
        offload_activations: Value | None = None,
        offload_layers: Value | None = None,
        cp_mode: Literal["ring", "all-gather", "ulysses"] | str | Sequence[str] | None = None,
        moe_dispatcher: Literal["alltoall", "deduplicated"] | str | Sequence[str] | None = None,
        expert_tp: Value | None = None,
        expert_imbalance: Value | None = None,
        shard_group: Value | None = None,
        precision: Literal["fp32", "tf32", "fp16", "bf16", "fp8", "fp8-block", "mxfp8", "fp4"] | str | Sequence[str] | None = None,
        gradients: Literal["usual", "bf16"] | str | Sequence[str] | None = None,
        optimizer: Literal["adamw", "adamw-bf16", "adamw-8bit", "adamw-pure-bf16", "sgd", "muon", "lion", "lion-8bit", "adafactor"] | str | Sequence[str] | None = None,
        sequence_parallel: bool | None = None,
        no_sequence_parallel: bool | None = None,
        attention: Value | None = None,
        flash_attention: bool | None = None,
        no_flash_attention: bool | None = None,
        dropout: bool | None = None,
        no_dropout: bool | None = None,
        fused_cross_entropy: bool | None = None,
        no_fused_cross_entropy: bool | None = None,
        fp8_activation_input: bool | None = None,
        no_fp8_activation_input: bool | None = None,
        narrow_copies: bool | None = None,
        no_narrow_copies: bool | None = None,
        loss_chunks: Value | None = None,
        stage_layers: Value | None = None,
        lora_rank: Value | None = None,
        lora_targets: Value | None = None,
        base_weights: Literal["bf16", "fp8", "int8", "nf4"] | str | Sequence[str] | None = None,
        from_megatron: File | None = None,
        from_deepspeed: File | None = None,
        from_torchtitan: File | None = None,
        from_accelerate: File | None = None,
        explain: bool | None = None,
        measured_time: Value | None = None,
        measured_mfu: Value | None = None,
        measured_tokens: Value | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> EstimateReport:
        """How fast one plan runs, how much memory it takes, and why.

            model: preset (see 'sextant models') or a Hugging Face config.json
            cluster: cluster (see 'sextant hardware') or a cluster file
            gpus: accelerators (default: what the degrees need)
            seq: tokens per sequence, such as 8192 or 8Ki (default: the model's, up to 8192)
            global_batch: sequences per step (default: about 4 M tokens)
            document_tokens: tokens per document where documents are packed into sequences, each attending to itself alone (default: a sequence is one document)
            preference: train on pairs of a chosen and a rejected sequence of --seq tokens each: dpo (with a frozen reference) or reference-free (SimPO, ORPO, or DPO with stored log-probabilities of the reference); --global-batch and --micro-batch then count pairs (default: none)
            framework: whose constants to use: megatron, fsdp, torchtitan, nanotron, deepspeed, maxtext, pytorch, transformers, generic, or a file (default: megatron; an older release: megatron:release=24.07)
            max_memory: of each accelerator: '90%' or '70 GB' (default: the framework's usable fraction)
            price: US dollars per accelerator and hour (default: the profile's, indicative)
            tp: tensor parallelism (default: 1)
            pp: pipeline parallelism (default: 1)
            dp: data parallelism (default: what is left)
            cp: context parallelism (default: 1)
            ep: expert parallelism (default: 1)
            vpp: model chunks per stage (interleaved, breadth-first; 2 in a V) (default: 1)
            micro_batch: sequences per microbatch (default: 1)
            zero: ZeRO stage 0, 1, 2 or 3 (3: FSDP) (default: the framework's: 3 for fsdp, torchtitan and maxtext without pp, 0 for pytorch and transformers, else 1)
            schedule: gpipe, 1f1b, interleaved, 1f1b-overlap (exchanges of experts hide), breadth-first, zb-h1, zb-h2, zb-v, dualpipe or dualpipe-v (default: 1f1b, or interleaved with --vpp; MaxText: gpipe, or breadth-first with --vpp)
            recompute: none, selective (attention core) or full (default: none)
            recompute_modules: with selective: what runs again of a layer, as in Megatron-Core: core_attn (default), layernorm, mla_up_proj, mlp, moe, moe_act, shared_experts; also mlp_act, or op (torchtitan's)
            recompute_layers: with full: layers per stage that are recomputed (0: all)
            keep_activations: with full: what is kept of a layer all the same, and not run again, as in MaxText's custom policies: norm_out, qkv, context (attention's output), attention_out, expert_in, mlp_up, mlp_act
            offload: none, optimizer, activations, parameters (weights, gradients and optimizer, with ZeRO 3), optimizer+activations or parameters+activations (default: none)
            offload_activations: with activations: which of those that are kept go to host memory: layer_input, those of --keep-activations, other (default: all)
            offload_layers: with activations: those of so many layers of the model, spread evenly, go to host memory (0: all)
            cp_mode: ring, all-gather or ulysses (default: all-gather with sliding windows, torchtitan and MaxText, ulysses with DeepSpeed, else ring)
            moe_dispatcher: alltoall (default) or deduplicated (once per domain, as DeepEP)
            expert_tp: tensor parallelism inside an expert (default: 1)
            expert_imbalance: tokens of the busiest expert rank over the mean, at most what its experts can get (default: 1)
            shard_group: ranks that ZeRO shards over (HSDP; 0: all)
            precision: fp32, tf32, fp16, bf16, fp8, fp8-block (scales by tiles of 128, as DeepSeek), mxfp8 (by 32 values) or fp4 (default: bf16, or what the accelerator has)
            gradients: usual (default: the framework's own, often fp32) or bf16 (added up and reduced in bf16)
            optimizer: adamw, adamw-bf16 (moments), adamw-8bit (moments), adamw-pure-bf16 (all in bf16, no fp32 copy of the weights), sgd, muon, lion, lion-8bit or adafactor (default: adamw)
            sequence_parallel: split norms and residuals over tp (default with tp > 1)
            attention: flash (default), unfused (scores in memory, fused softmax) or eager (softmax in fp32, op by op)
            flash_attention: the same as --attention flash, --attention unfused
            dropout: dropout in the model (default: none)
            fused_cross_entropy: loss in one kernel (default: not)
            fp8_activation_input: keep what the activation of a gated feed-forward reads in fp8 (Megatron-Core's activation_func_fp8_input_store; default: not)
            narrow_copies: keep fp8 or fp4 copies of weights, and their transposes, beside 16-bit weights (Megatron-LM without --fp8-param-gather; default: weights in the format alone)
            loss_chunks: parts of a microbatch whose logits, loss and gradients are made one by one (chunked cross entropy: torchtitan 0.3 has 8; default: 1)
            stage_layers: layers of each pipeline chunk in model order, comma-separated (default: even, fewer at the ends where they do not divide evenly, on the last where it holds prediction modules; nanotron: by cost)
            lora_rank: train adapters of this rank only (default: train every weight)
            lora_targets: attention (q,k,v,o), all (and gate,up,down), or a list of q, k, v, qkv, o, gate, up, gate_up, down (default: attention)
            base_weights: format of the frozen matrices: bf16, fp8, int8 or nf4 (default: bf16)
            from_megatron: Megatron-LM's arguments, or a script that has them
            from_deepspeed: DeepSpeed's JSON, or a launch script that names it
            from_torchtitan: torchtitan's TOML; options given here count before those of a file
            from_accelerate: Accelerate's YAML: FSDP, DeepSpeed or plain data parallelism
            explain: say what binds the plan, what would move it, and every assumed value
            measured_time: how long a step of this plan took: how far the prediction is off, and what would explain it
            measured_mfu: the same by the MFU that it reached, as MFU is counted here
            measured_tokens: the same by the tokens per second of one accelerator, as logs of FSDP, torchtitan and MaxText have them
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _Simulate(Command):
    def __call__(  # type: ignore[override]
        self,
        *,
        model: File | None = None,
        cluster: File | None = None,
        gpus: Value | None = None,
        seq: Value | None = None,
        global_batch: Value | None = None,
        document_tokens: Value | None = None,
        preference: Literal["dpo", "reference-free"] | str | Sequence[str] | None = None,
        framework: Literal["megatron", "fsdp", "torchtitan", "nanotron", "deepspeed", "maxtext", "pytorch", "transformers", "generic"] | File | None = None,
        max_memory: Value | None = None,
        price: Value | None = None,
        tp: Value | None = None,
        pp: Value | None = None,
        dp: Value | None = None,
        cp: Value | None = None,
        ep: Value | None = None,
        vpp: Value | None = None,
        micro_batch: Value | None = None,
        zero: Value | None = None,
        schedule: Literal["gpipe", "1f1b", "interleaved", "1f1b-overlap", "breadth-first", "zb-h1", "zb-h2", "zb-v", "dualpipe", "dualpipe-v"] | str | Sequence[str] | None = None,
        recompute: Literal["none", "selective", "full"] | str | Sequence[str] | None = None,
        recompute_modules: Value | None = None,
        recompute_layers: Value | None = None,
        keep_activations: Value | None = None,
        offload: Literal["none", "optimizer", "activations", "parameters", "optimizer+activations", "parameters+activations"] | str | Sequence[str] | None = None,
        offload_activations: Value | None = None,
        offload_layers: Value | None = None,
        cp_mode: Literal["ring", "all-gather", "ulysses"] | str | Sequence[str] | None = None,
        moe_dispatcher: Literal["alltoall", "deduplicated"] | str | Sequence[str] | None = None,
        expert_tp: Value | None = None,
        expert_imbalance: Value | None = None,
        shard_group: Value | None = None,
        precision: Literal["fp32", "tf32", "fp16", "bf16", "fp8", "fp8-block", "mxfp8", "fp4"] | str | Sequence[str] | None = None,
        gradients: Literal["usual", "bf16"] | str | Sequence[str] | None = None,
        optimizer: Literal["adamw", "adamw-bf16", "adamw-8bit", "adamw-pure-bf16", "sgd", "muon", "lion", "lion-8bit", "adafactor"] | str | Sequence[str] | None = None,
        sequence_parallel: bool | None = None,
        no_sequence_parallel: bool | None = None,
        attention: Value | None = None,
        flash_attention: bool | None = None,
        no_flash_attention: bool | None = None,
        dropout: bool | None = None,
        no_dropout: bool | None = None,
        fused_cross_entropy: bool | None = None,
        no_fused_cross_entropy: bool | None = None,
        fp8_activation_input: bool | None = None,
        no_fp8_activation_input: bool | None = None,
        narrow_copies: bool | None = None,
        no_narrow_copies: bool | None = None,
        loss_chunks: Value | None = None,
        stage_layers: Value | None = None,
        lora_rank: Value | None = None,
        lora_targets: Value | None = None,
        base_weights: Literal["bf16", "fp8", "int8", "nf4"] | str | Sequence[str] | None = None,
        from_megatron: File | None = None,
        from_deepspeed: File | None = None,
        from_torchtitan: File | None = None,
        from_accelerate: File | None = None,
        schedule_file: File | None = None,
        network: Literal["fair", "ideal"] | str | Sequence[str] | None = None,
        granularity: Literal["op", "layer", "stage"] | str | Sequence[str] | None = None,
        steps: Value | None = None,
        prefetch: Value | None = None,
        fold: bool | None = None,
        unfold: bool | None = None,
        comm_sms: Value | None = None,
        time_limit: Value | None = None,
        jitter: Value | None = None,
        straggler: Value | None = None,
        slow_node: Value | None = None,
        degrade_link: Value | None = None,
        fail_link: Value | None = None,
        other_traffic: Value | None = None,
        seed: Value | None = None,
        repeat: Value | None = None,
        threads: Value | None = None,
        write_schedule: File | None = None,
        with_transfers: bool | None = None,
        trace: File | None = None,
        svg: File | None = None,
        timeline: bool | None = None,
        no_timeline: bool | None = None,
        width: Value | None = None,
        tune_micro_batch: bool | None = None,
        list_links: bool | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> SimulateReport:
        """What happens in one step: bubbles, overlap, contention, stragglers, failures (discrete events).

            model: preset (see 'sextant models') or a Hugging Face config.json
            cluster: cluster (see 'sextant hardware') or a cluster file
            gpus: accelerators (default: what the degrees need)
            seq: tokens per sequence, such as 8192 or 8Ki (default: the model's, up to 8192)
            global_batch: sequences per step (default: about 4 M tokens)
            document_tokens: tokens per document where documents are packed into sequences, each attending to itself alone (default: a sequence is one document)
            preference: train on pairs of a chosen and a rejected sequence of --seq tokens each: dpo (with a frozen reference) or reference-free (SimPO, ORPO, or DPO with stored log-probabilities of the reference); --global-batch and --micro-batch then count pairs (default: none)
            framework: whose constants to use: megatron, fsdp, torchtitan, nanotron, deepspeed, maxtext, pytorch, transformers, generic, or a file (default: megatron; an older release: megatron:release=24.07)
            max_memory: of each accelerator: '90%' or '70 GB' (default: the framework's usable fraction)
            price: US dollars per accelerator and hour (default: the profile's, indicative)
            tp: tensor parallelism (default: 1)
            pp: pipeline parallelism (default: 1)
            dp: data parallelism (default: what is left)
            cp: context parallelism (default: 1)
            ep: expert parallelism (default: 1)
            vpp: model chunks per stage (interleaved, breadth-first; 2 in a V) (default: 1)
            micro_batch: sequences per microbatch (default: 1)
            zero: ZeRO stage 0, 1, 2 or 3 (3: FSDP) (default: the framework's: 3 for fsdp, torchtitan and maxtext without pp, 0 for pytorch and transformers, else 1)
            schedule: gpipe, 1f1b, interleaved, 1f1b-overlap (exchanges of experts hide), breadth-first, zb-h1, zb-h2, zb-v, dualpipe or dualpipe-v (default: 1f1b, or interleaved with --vpp; MaxText: gpipe, or breadth-first with --vpp)
            recompute: none, selective (attention core) or full (default: none)
            recompute_modules: with selective: what runs again of a layer, as in Megatron-Core: core_attn (default), layernorm, mla_up_proj, mlp, moe, moe_act, shared_experts; also mlp_act, or op (torchtitan's)
            recompute_layers: with full: layers per stage that are recomputed (0: all)
            keep_activations: with full: what is kept of a layer all the same, and not run again, as in MaxText's custom policies: norm_out, qkv, context (attention's output), attention_out, expert_in, mlp_up, mlp_act
            offload: none, optimizer, activations, parameters (weights, gradients and optimizer, with ZeRO 3), optimizer+activations or parameters+activations (default: none)
            offload_activations: with activations: which of those that are kept go to host memory: layer_input, those of --keep-activations, other (default: all)
            offload_layers: with activations: those of so many layers of the model, spread evenly, go to host memory (0: all)
            cp_mode: ring, all-gather or ulysses (default: all-gather with sliding windows, torchtitan and MaxText, ulysses with DeepSpeed, else ring)
            moe_dispatcher: alltoall (default) or deduplicated (once per domain, as DeepEP)
            expert_tp: tensor parallelism inside an expert (default: 1)
            expert_imbalance: tokens of the busiest expert rank over the mean, at most what its experts can get (default: 1)
            shard_group: ranks that ZeRO shards over (HSDP; 0: all)
            precision: fp32, tf32, fp16, bf16, fp8, fp8-block (scales by tiles of 128, as DeepSeek), mxfp8 (by 32 values) or fp4 (default: bf16, or what the accelerator has)
            gradients: usual (default: the framework's own, often fp32) or bf16 (added up and reduced in bf16)
            optimizer: adamw, adamw-bf16 (moments), adamw-8bit (moments), adamw-pure-bf16 (all in bf16, no fp32 copy of the weights), sgd, muon, lion, lion-8bit or adafactor (default: adamw)
            sequence_parallel: split norms and residuals over tp (default with tp > 1)
            attention: flash (default), unfused (scores in memory, fused softmax) or eager (softmax in fp32, op by op)
            flash_attention: the same as --attention flash, --attention unfused
            dropout: dropout in the model (default: none)
            fused_cross_entropy: loss in one kernel (default: not)
            fp8_activation_input: keep what the activation of a gated feed-forward reads in fp8 (Megatron-Core's activation_func_fp8_input_store; default: not)
            narrow_copies: keep fp8 or fp4 copies of weights, and their transposes, beside 16-bit weights (Megatron-LM without --fp8-param-gather; default: weights in the format alone)
            loss_chunks: parts of a microbatch whose logits, loss and gradients are made one by one (chunked cross entropy: torchtitan 0.3 has 8; default: 1)
            stage_layers: layers of each pipeline chunk in model order, comma-separated (default: even, fewer at the ends where they do not divide evenly, on the last where it holds prediction modules; nanotron: by cost)
            lora_rank: train adapters of this rank only (default: train every weight)
            lora_targets: attention (q,k,v,o), all (and gate,up,down), or a list of q, k, v, qkv, o, gate, up, gate_up, down (default: attention)
            base_weights: format of the frozen matrices: bf16, fp8, int8 or nf4 (default: bf16)
            from_megatron: Megatron-LM's arguments, or a script that has them
            from_deepspeed: DeepSpeed's JSON, or a launch script that names it
            from_torchtitan: torchtitan's TOML; options given here count before those of a file
            from_accelerate: Accelerate's YAML: FSDP, DeepSpeed or plain data parallelism
            schedule_file: pipeline schedule in the CSV of torch.distributed.pipelining; gives pp and vpp, too
            network: fair: transfers share links, max-min; ideal: nothing is contended
            granularity: op, layer or stage (default: op; layer when every rank is simulated)
            steps: training steps, one after another (default: 1)
            prefetch: layers whose weights ZeRO 3 gathers ahead (default: 1)
            fold: one rank per pipeline stage stands for all of it (default where ranks are alike)
            unfold: simulate every rank
            comm_sms: share of a rank's compute that a running collective takes (default: 0)
            time_limit: for one run, of wall-clock time (default: 600 s)
            jitter: spread of every compute task's time (standard deviation of its logarithm)
            straggler: a rank that computes slower; may be repeated
            slow_node: all ranks of a node (scale-up domain); may be repeated
            degrade_link: a link with less bandwidth, * for any text; may be repeated
            fail_link: a link that fails at that time; may be repeated
            other_traffic: share of the scale-out network that others use
            seed: of the jitter (default: 1)
            repeat: runs with seeds one after another; the report has quantiles (default: 1)
            threads: runs at the same time (default: 0, all cores)
            write_schedule: the pipeline schedule as such a CSV
            with_transfers: write sends and receives into it, too
            trace: Chrome trace, for ui.perfetto.dev
            svg: the timeline as a picture
            timeline: timeline under the text report (default)
            width: columns of the timeline
            tune_micro_batch: table of micro-batch sizes: bubble against memory
            list_links: names and bandwidths of the links, for --degrade-link; nothing is simulated
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _RunPlan(Command):
    def __call__(  # type: ignore[override]
        self,
        *,
        model: File | None = None,
        cluster: File | None = None,
        gpus: Value | None = None,
        seq: Value | None = None,
        global_batch: Value | None = None,
        document_tokens: Value | None = None,
        preference: Literal["dpo", "reference-free"] | str | Sequence[str] | None = None,
        framework: Literal["megatron", "fsdp", "torchtitan", "nanotron", "deepspeed", "maxtext", "pytorch", "transformers", "generic"] | File | None = None,
        max_memory: Value | None = None,
        price: Value | None = None,
        tp: Value | None = None,
        pp: Value | None = None,
        dp: Value | None = None,
        cp: Value | None = None,
        ep: Value | None = None,
        vpp: Value | None = None,
        micro_batch: Value | None = None,
        zero: Value | None = None,
        schedule: Literal["gpipe", "1f1b", "interleaved", "1f1b-overlap", "breadth-first", "zb-h1", "zb-h2", "zb-v", "dualpipe", "dualpipe-v"] | str | Sequence[str] | None = None,
        recompute: Literal["none", "selective", "full"] | str | Sequence[str] | None = None,
        recompute_modules: Value | None = None,
        recompute_layers: Value | None = None,
        keep_activations: Value | None = None,
        offload: Literal["none", "optimizer", "activations", "parameters", "optimizer+activations", "parameters+activations"] | str | Sequence[str] | None = None,
        offload_activations: Value | None = None,
        offload_layers: Value | None = None,
        cp_mode: Literal["ring", "all-gather", "ulysses"] | str | Sequence[str] | None = None,
        moe_dispatcher: Literal["alltoall", "deduplicated"] | str | Sequence[str] | None = None,
        expert_tp: Value | None = None,
        expert_imbalance: Value | None = None,
        shard_group: Value | None = None,
        precision: Literal["fp32", "tf32", "fp16", "bf16", "fp8", "fp8-block", "mxfp8", "fp4"] | str | Sequence[str] | None = None,
        gradients: Literal["usual", "bf16"] | str | Sequence[str] | None = None,
        optimizer: Literal["adamw", "adamw-bf16", "adamw-8bit", "adamw-pure-bf16", "sgd", "muon", "lion", "lion-8bit", "adafactor"] | str | Sequence[str] | None = None,
        sequence_parallel: bool | None = None,
        no_sequence_parallel: bool | None = None,
        attention: Value | None = None,
        flash_attention: bool | None = None,
        no_flash_attention: bool | None = None,
        dropout: bool | None = None,
        no_dropout: bool | None = None,
        fused_cross_entropy: bool | None = None,
        no_fused_cross_entropy: bool | None = None,
        fp8_activation_input: bool | None = None,
        no_fp8_activation_input: bool | None = None,
        narrow_copies: bool | None = None,
        no_narrow_copies: bool | None = None,
        loss_chunks: Value | None = None,
        lora_rank: Value | None = None,
        lora_targets: Value | None = None,
        base_weights: Literal["bf16", "fp8", "int8", "nf4"] | str | Sequence[str] | None = None,
        flops: Value | None = None,
        dollars: Value | None = None,
        gpu_hours: Value | None = None,
        days: Value | None = None,
        tokens: Value | None = None,
        params: Value | None = None,
        deadline: Value | None = None,
        law: File | None = None,
        vocab: Value | None = None,
        mfu: Value | None = None,
        curve: Value | None = None,
        no_curve: bool | None = None,
        pays_above: Value | None = None,
        failures: Value | None = None,
        idle_share: Value | None = None,
        host_share: Value | None = None,
        pue: Value | None = None,
        threads: Value | None = None,
        plot: File | None = None,
        write_model: File | None = None,
        explain: bool | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> RunPlanReport:
        """From a budget to a run: model, tokens, plan, days, money, energy; or the fewest GPUs for a deadline.

            model: preset or Hugging Face config.json (default: size by the law, shape by size)
            cluster: cluster (see 'sextant hardware') or a cluster file
            gpus: accelerators (default: as few as the deadline allows; of money and GPU-hours the best use)
            seq: tokens per sequence, such as 8192 or 8Ki (default: the model's, up to 8192)
            global_batch: sequences per step (default: a power of two within the critical batch)
            document_tokens: tokens per document where documents are packed into sequences, each attending to itself alone (default: a sequence is one document)
            preference: train on pairs of a chosen and a rejected sequence of --seq tokens each: dpo (with a frozen reference) or reference-free (SimPO, ORPO, or DPO with stored log-probabilities of the reference); --global-batch and --micro-batch then count pairs (default: none)
            framework: whose constants to use: megatron, fsdp, torchtitan, nanotron, deepspeed, maxtext, pytorch, transformers, generic, or a file (default: megatron; an older release: megatron:release=24.07)
            max_memory: of each accelerator: '90%' or '70 GB' (default: the framework's usable fraction)
            price: US dollars per accelerator and hour (default: the profile's, indicative)
            tp: tensor parallelism (default: search)
            pp: pipeline parallelism (default: search)
            dp: data parallelism (default: search)
            cp: context parallelism (default: search)
            ep: expert parallelism (default: search)
            vpp: model chunks per stage (interleaved, breadth-first; 2 in a V) (default: search)
            micro_batch: sequences per microbatch (default: search)
            zero: ZeRO stage 0, 1, 2 or 3 (3: FSDP) (default: search)
            schedule: gpipe, 1f1b, interleaved, 1f1b-overlap (exchanges of experts hide), breadth-first, zb-h1, zb-h2, zb-v, dualpipe or dualpipe-v, comma-separated (default: 1f1b and interleaved, with experts under Megatron 1f1b-overlap; MaxText: gpipe and breadth-first)
            recompute: none, selective (attention core) or full, comma-separated (default: search)
            recompute_modules: with selective: what runs again of a layer, as in Megatron-Core: core_attn (default), layernorm, mla_up_proj, mlp, moe, moe_act, shared_experts; also mlp_act, or op (torchtitan's)
            recompute_layers: with full: layers per stage that are recomputed (0: all)
            keep_activations: with full: what is kept of a layer all the same, and not run again, as in MaxText's custom policies: norm_out, qkv, context (attention's output), attention_out, expert_in, mlp_up, mlp_act
            offload: none, optimizer, activations, parameters (weights, gradients and optimizer, with ZeRO 3), optimizer+activations or parameters+activations, comma-separated (default: none)
            offload_activations: with activations: which of those that are kept go to host memory: layer_input, those of --keep-activations, other (default: all)
            offload_layers: with activations: those of so many layers of the model, spread evenly, go to host memory (0: all)
            cp_mode: ring, all-gather or ulysses, comma-separated (default: all-gather with sliding windows, torchtitan and MaxText, ulysses with DeepSpeed, else ring)
            moe_dispatcher: alltoall or deduplicated (once per domain, as DeepEP) (default: the faster, where the framework and the network have both and experts span domains)
            expert_tp: tensor parallelism inside an expert (default: 1, or tp where torchtitan and MaxText cut experts)
            expert_imbalance: tokens of the busiest expert rank over the mean, at most what its experts can get (default: 1)
            shard_group: ranks that ZeRO shards over (HSDP; 0: all)
            precision: fp32, tf32, fp16, bf16, fp8, fp8-block (scales by tiles of 128, as DeepSeek), mxfp8 (by 32 values) or fp4 (default: bf16, or what the accelerator has)
            gradients: usual (default: the framework's own, often fp32) or bf16 (added up and reduced in bf16)
            optimizer: adamw, adamw-bf16 (moments), adamw-8bit (moments), adamw-pure-bf16 (all in bf16, no fp32 copy of the weights), sgd, muon, lion, lion-8bit or adafactor (default: adamw)
            sequence_parallel: split norms and residuals over tp (default with tp > 1)
            attention: flash (default), unfused (scores in memory, fused softmax) or eager (softmax in fp32, op by op)
            flash_attention: the same as --attention flash, --attention unfused
            dropout: dropout in the model (default: none)
            fused_cross_entropy: loss in one kernel (default: not)
            fp8_activation_input: keep what the activation of a gated feed-forward reads in fp8 (Megatron-Core's activation_func_fp8_input_store; default: not)
            narrow_copies: keep fp8 or fp4 copies of weights, and their transposes, beside 16-bit weights (Megatron-LM without --fp8-param-gather; default: weights in the format alone)
            loss_chunks: parts of a microbatch whose logits, loss and gradients are made one by one (chunked cross entropy: torchtitan 0.3 has 8; default: 1)
            lora_rank: train adapters of this rank only (default: train every weight)
            lora_targets: attention (q,k,v,o), all (and gate,up,down), or a list of q, k, v, qkv, o, gate, up, gate_up, down (default: attention)
            base_weights: format of the frozen matrices: bf16, fp8, int8 or nf4 (default: bf16)
            flops: budget: 6 N D, such as 1e24
            dollars: budget: US dollars of accelerator time, such as 2e6
            gpu_hours: budget: accelerators times hours
            days: budget: wall clock, on --gpus accelerators
            tokens: tokens to train on, such as 2e12 or 2T (default: what the law or the budget gives)
            params: a size without a shape, such as 70B: the shape is chosen
            deadline: 30d, '6 weeks' or '700 h' (a bare number is days): the fewest accelerators that end in time, and with --gpus whether so many do (default without --gpus: 30d)
            law: scaling law by name ('sextant scaling laws') or a file of 'scaling fit' (default: chinchilla-huber)
            vocab: vocabulary of a shape that is chosen (default: 128256; 32000 below 1 B)
            mfu: also 6 N D at this utilisation (0.5 or 50%), and the difference term by term
            curve: scaling curve over these numbers of accelerators (default with --deadline: 1 to 16384; --format csv is then the curve)
            no_curve: no scaling curve
            pays_above: share of the first GPUs' work below which added ones do not pay (default: 50%)
            failures: none, or a record of failure rates ('sextant goodput' lists them)
            idle_share: power of a waiting accelerator, of its rated power (default: 0.12)
            host_share: power of hosts and network per accelerator, of its rated power (default: 0.4)
            pue: power usage effectiveness of the site (default: 1.1)
            threads: worker threads (default: 0, all cores); the answer does not depend on it
            plot: the scaling curve as an SVG picture
            write_model: the chosen shape as a config.json, for --model of other commands
            explain: every assumed value
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _Goodput(Command):
    def __call__(  # type: ignore[override]
        self,
        *,
        gpus: Value | None = None,
        model: File | None = None,
        parameters: Value | None = None,
        checkpoint_size: Value | None = None,
        cluster: File | None = None,
        price: Value | None = None,
        gpus_per_node: Value | None = None,
        framework: Value | None = None,
        optimizer: Literal["adamw", "adamw-bf16", "adamw-8bit", "adamw-pure-bf16", "sgd", "muon", "lion", "lion-8bit", "adafactor"] | str | Sequence[str] | None = None,
        precision: Literal["bf16", "fp16", "fp8", "fp32"] | str | Sequence[str] | None = None,
        tp: Value | None = None,
        pp: Value | None = None,
        cp: Value | None = None,
        ep: Value | None = None,
        dp: Value | None = None,
        days: Value | None = None,
        steps: Value | None = None,
        step_time: Value | None = None,
        tokens: Value | None = None,
        tokens_per_second: Value | None = None,
        failures: Literal["llama3", "meta-rsc1", "meta-rsc2", "opt-175b", "bloom-176b", "none"] | str | Sequence[str] | None = None,
        gpu_mtbf: Value | None = None,
        node_mtbf: Value | None = None,
        fabric_mtbf: Value | None = None,
        software_mtbf: Value | None = None,
        weibull_shape: Value | None = None,
        fleet: Value | None = None,
        detection: Value | None = None,
        restart: Value | None = None,
        spares: Value | None = None,
        repair_time: Value | None = None,
        elastic: bool | None = None,
        spikes: Value | None = None,
        spike_rewind: Value | None = None,
        spike_rewind_steps: Value | None = None,
        maintenance_every: Value | None = None,
        maintenance_duration: Value | None = None,
        inject: Value | None = None,
        only_injected: bool | None = None,
        checkpoint: Literal["sync", "async", "in-memory"] | str | Sequence[str] | None = None,
        storage: Literal["parallel-fs", "local-nvme", "object-store"] | str | Sequence[str] | None = None,
        write_bandwidth: Value | None = None,
        aggregate_bandwidth: Value | None = None,
        stall: Value | None = None,
        write_time: Value | None = None,
        load_time: Value | None = None,
        interval: Value | None = None,
        storage_interval: Value | None = None,
        trials: Value | None = None,
        seed: Value | None = None,
        threads: Value | None = None,
        search_interval: bool | None = None,
        timeline: bool | None = None,
        timeline_svg: File | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> GoodputReport:
        """Failures, checkpoints and restarts of a long run: effective training time, best interval, what is lost.

            gpus: accelerators that train
            model: preset or Hugging Face config.json: its checkpoint is counted exactly
            parameters: or a number of parameters
            checkpoint_size: or the bytes of a checkpoint
            cluster: cluster: node size, host bandwidth, price
            price: US dollars per accelerator and hour (default: the profile's, indicative)
            gpus_per_node: accelerators of a node (default: 8)
            framework: whose state layout (default: megatron)
            optimizer: adamw, adamw-bf16 (moments), adamw-8bit (moments), adamw-pure-bf16 (no fp32 copy of the weights), sgd, muon, lion, lion-8bit or adafactor
            precision: bf16 (default), fp16, fp8, fp32, ...
            tp: of the plan: what each rank writes
            pp: of the plan: what each rank writes
            cp: of the plan: what each rank writes
            ep: of the plan: what each rank writes
            dp: data-parallel replicas, for --elastic (default: what is left)
            days: of work without failures and checkpoints (default: 30)
            steps: or steps, with --step-time
            step_time: of one step
            tokens: or tokens, with --tokens-per-second
            tokens_per_second: of the whole run
            failures: published rates: llama3 (default), meta-rsc1, meta-rsc2, opt-175b, bloom-176b, or none
            gpu_mtbf: mean time between failures of one accelerator, instead
            node_mtbf: of one node (without its accelerators)
            fabric_mtbf: of the network, per node
            software_mtbf: of the software of the whole job
            weibull_shape: of accelerators and nodes; 1: exponential, below: early failures
            fleet: running: parts of all ages; fresh: all new (matters with --weibull-shape)
            detection: until a failure is noticed (default: 10 min)
            restart: to schedule and start again, without loading (default: 5 min)
            spares: nodes held ready (default: never short)
            repair_time: until a broken node is a spare again (default: 1 day)
            elastic: drop a data-parallel replica when spares run out, instead of waiting
            spikes: loss spikes over the run that are rolled back
            spike_rewind: how far before the spike, at least (default: 30 min)
            spike_rewind_steps: the same in steps, with --step-time
            maintenance_every: wall-clock time between planned stops
            maintenance_duration: of one
            inject: a fault to happen in every trial: process, gpu, node, fabric or spike; comma-separated
            only_injected: nothing happens by chance: one trial
            checkpoint: sync, async (default) or in-memory (a neighbour's host memory, over a storage)
            storage: parallel-fs (default), local-nvme (drained into it) or object-store
            write_bandwidth: of each node to the storage, reading alike
            aggregate_bandwidth: of all nodes together
            stall: training stands still for one checkpoint of any tier, instead of the computed time
            write_time: of one write to --storage, likewise (sync: training stands still for it)
            load_time: of reading one back from --storage, likewise
            interval: work between two checkpoints (default: auto, the optimum)
            storage_interval: of the second tier (in-memory, local-nvme)
            trials: simulated runs (default: 200; 0: closed form alone)
            seed: of chance (default: 1)
            threads: 0: all cores (default); the result does not depend on it
            search_interval: find the best interval by simulation too
            timeline: every interruption of one trial (as with --inject)
            timeline_svg: picture of that trial
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _TrialsBudget(Command):
    def __call__(  # type: ignore[override]
        self,
        *,
        method: Value | None = None,
        trials: Value | None = None,
        grid: Value | None = None,
        least: Value | None = None,
        full: Value | None = None,
        eta: Value | None = None,
        from_start: bool | None = None,
        parameters: Value | None = None,
        tokens: Value | None = None,
        flops: Value | None = None,
        cluster: File | None = None,
        gpus: Value | None = None,
        gpus_per_trial: Value | None = None,
        mfu: Value | None = None,
        price: Value | None = None,
        workers: Value | None = None,
        trial_time: Value | None = None,
        start_time: Value | None = None,
        jitter: Value | None = None,
        straggler_chance: Value | None = None,
        straggler_factor: Value | None = None,
        rank_noise: Value | None = None,
        runs: Value | None = None,
        seed: Value | None = None,
        threads: Value | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> TrialsBudgetReport:
        """What a search costs, rung by rung, and how long it takes.

            method: random, grid, sha, hyperband, asha, pbt, a list, or all (default)
            trials: started trials (default: 81; members of pbt: 20)
            grid: values per axis of a grid
            least: units of the first rung (default: 1)
            full: units of a whole trial (default: 81)
            eta: one in so many goes on (default: 3)
            from_start: a trial that goes on is trained again from the start
            parameters: of the model of a trial
            tokens: of a whole trial
            flops: of a whole trial, instead
            cluster: accelerators: peak and price
            gpus: accelerators in all
            gpus_per_trial: accelerators of one trial (default: 1)
            mfu: share of the bf16 peak that a trial reaches (default: 0.4)
            price: US dollars per accelerator and hour
            workers: trials at the same time, instead of --gpus (default: 8)
            trial_time: of a whole trial alone, instead of --cluster
            start_time: before each piece of a trial: scheduling, loading (default: 0)
            jitter: standard deviation of the logarithm of a piece's time (default: 0.05)
            straggler_chance: of a piece (default: 0.02)
            straggler_factor: how many times slower it is (default: 2)
            rank_noise: how far the order at a rung is from the last (default: 0.2)
            runs: simulated searches of each method (default: 200; 0: tables alone)
            seed: of chance (default: 1)
            threads: 0: all cores (default)
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _TrialsSchedule(Command):
    def __call__(  # type: ignore[override]
        self,
        *,
        tokens: Value | None = None,
        lr: Value | None = None,
        shape: Literal["cosine", "wsd", "linear", "constant"] | str | Sequence[str] | None = None,
        decay: Literal["linear", "cosine", "sqrt"] | str | Sequence[str] | None = None,
        decay_share: Value | None = None,
        final_share: Value | None = None,
        decay_tokens: Value | None = None,
        decay_steps: Value | None = None,
        warmup_steps: Value | None = None,
        warmup_tokens: Value | None = None,
        batch: Value | None = None,
        batch_ramp: Value | None = None,
        samples: Value | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> TrialsScheduleReport:
        """Learning rate and batch, step by step and token by token.

            tokens: of the run
            lr: highest learning rate
            shape: cosine (default), wsd, linear or constant
            decay: of wsd: linear (default), cosine or sqrt
            decay_share: of the tokens, of wsd (default: 0.1)
            final_share: of the highest rate, at the end (default: 0.1)
            decay_tokens: where the decay ends, from the start of the run: earlier (then the final rate) or later (default: at the end)
            decay_steps: the same in steps
            warmup_steps: linear warm-up (default: none)
            warmup_tokens: the same in tokens
            batch: tokens per step, and from when it is larger (default: 4M)
            batch_ramp: from, to, evenly over so many tokens, instead
            samples: rows beside the events (default: 20)
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _TrialsTransfer(Command):
    def __call__(  # type: ignore[override]
        self,
        *,
        parameters: Value | None = None,
        tokens: Value | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> TrialsTransferReport:
        """What to tune at which scale, and how it is carried to the target.

            parameters: of the target, for a ladder of smaller models
            tokens: of the target
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _Trials(Command):
    budget: _TrialsBudget
    schedule: _TrialsSchedule
    transfer: _TrialsTransfer

class _ScalingFit(Command):
    def __call__(  # type: ignore[override]
        self,
        *,
        law: Literal["chinchilla", "compute", "isoflop", "envelope", "allocation", "overtraining", "data-constrained", "moe-routed", "moe-bilinear", "moe-granularity", "precision", "critical-batch", "lr-batch"] | str | Sequence[str] | None = None,
        data: File | None = None,
        n: Value | None = None,
        d: Value | None = None,
        c: Value | None = None,
        loss: Value | None = None,
        unique: Value | None = None,
        experts: Value | None = None,
        granularity: Value | None = None,
        weight_bits: Value | None = None,
        activation_bits: Value | None = None,
        cache_bits: Value | None = None,
        batch: Value | None = None,
        steps: Value | None = None,
        lr: Value | None = None,
        weight: Value | None = None,
        sd: Value | None = None,
        where: Value | None = None,
        objective: Value | None = None,
        fix: Value | None = None,
        tie: Value | None = None,
        base: File | None = None,
        starts: Value | None = None,
        bootstrap: Value | None = None,
        bootstrap_by: Value | None = None,
        seed: Value | None = None,
        threads: Value | None = None,
        at: Value | None = None,
        cutoff: Value | None = None,
        quick: bool | None = None,
        plot: File | None = None,
        budgets: Value | None = None,
        budget_tolerance: Value | None = None,
        window: Value | None = None,
        parabola_of: Literal["loss", "log-loss"] | str | Sequence[str] | None = None,
        levels: Value | None = None,
        size_tolerance: Value | None = None,
        overhead: Value | None = None,
        linear_from: Value | None = None,
        flat: Value | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> ScalingFitReport:
        """Fit a law to losses (or steps, or learning rates) that were measured.

            law: the law:
        chinchilla - L = E + A N^-alpha + B D^-beta (approach 3)
        compute - L = Linf + a C^-alpha
        isoflop - parabolas at each compute, N* and D* over C (approach 2)
        envelope - lowest training curve at each compute (approach 1)
        allocation - N* and D* over C, through optima found before (--sd, --weight)
        overtraining - L = E + (a M^eta + b M^-eta) C^-eta, M = D/N
        data-constrained - repeated tokens: R_D and R_N over --base
        moe-routed - Clark's law over N and experts, saturating
        moe-bilinear - the same without saturation
        moe-granularity - L = c + (g G^-gamma + a) N^-alpha + b D^-beta
        precision - N shrunk by the bits of weights, activations, KV cache
        critical-batch - S = S_min + E_min / B by size, and batch over N
        lr-batch - learning rate and batch over N, D (Step law) and C (DeepSeek)
            data: a table with a header; empty cells and NaN leave a row out
            n: column of the model sizes
            d: column of the training tokens
            c: column of the training compute
            loss: column of the loss
            unique: column of the unique tokens (data-constrained)
            experts: column of the number of experts (moe-routed, moe-bilinear)
            granularity: column of the granularity (moe-granularity)
            weight_bits: column of the bits of weights (precision)
            activation_bits: column of the bits of activations (precision)
            cache_bits: column of the bits of the KV cache (precision)
            batch: column of the batch (critical-batch, lr-batch)
            steps: column of the steps to a loss (critical-batch)
            lr: column of the learning rate (lr-batch)
            weight: column of the weight of each row (of the squares)
            sd: column of the standard deviation of ln N* (allocation)
            where: only rows that meet it: COLUMN=VALUE, =A|B (one of them), != < <= > >=; may be repeated
            objective: what is made small: huber[:DELTA], lad, lsq-log, lsq-raw, asymmetric[:PENALTY[:DELTA]] (default: huber:0.001)
            fix: hold a parameter at a value; may be repeated
            tie: one exponent equal to another; may be repeated
            base: data-constrained: the law whose A, B, E, alpha, beta are held (default: muennighoff-c4)
            starts: starts that are solved, the best of the screened ones (default: 10)
            bootstrap: resamples for the intervals, 0 for none (default: 1000)
            bootstrap_by: draw whole groups of rows with the same value here, not single rows
            seed: of the resamples (default: 1)
            threads: 0: all cores (default: 0)
            at: compute at which tokens per parameter and losses are given (default: ten times the largest run)
            cutoff: back-test: fit below these computes, judge above (default: powers of ten)
            quick: without profiles, other objectives, influence and back-test
            plot: write the losses and the curve as a picture
            budgets: compute levels of isoflop (default: where rows gather)
            budget_tolerance: decades within which a row belongs to a level (default: 0.05)
            window: decades of size around the lowest loss that count, or all (default: all)
            parabola_of: loss or log-loss (default: loss)
            levels: compute levels of the envelope (default: 200)
            size_tolerance: share by which rows of one training curve differ in size (default: 0.001)
            overhead: critical-batch: share of steps beyond linear scaling (default: 0.2)
            linear_from: critical-batch: batch that linear scaling begins at (default: 256)
            flat: lr-batch: share above the lowest loss that counts as equal (default: 0.0025)
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _ScalingOptimum(Command):
    def __call__(  # type: ignore[override]
        self,
        *,
        flops: Value | None = None,
        dollars: Value | None = None,
        days: Value | None = None,
        loss: Value | None = None,
        law: File | None = None,
        cluster: File | None = None,
        gpus: Value | None = None,
        mfu: Value | None = None,
        price: Value | None = None,
        precision: Value | None = None,
        tokens_per_parameter: Value | None = None,
        inference_tokens: Value | None = None,
        prefill_tokens: Value | None = None,
        inference_price: Value | None = None,
        prefill_mfu: Value | None = None,
        decode_mfu: Value | None = None,
        unique_tokens: Value | None = None,
        experts: Value | None = None,
        bits: Value | None = None,
        context: Value | None = None,
        model: File | None = None,
        batch: Value | None = None,
        counting: Value | None = None,
        plot: File | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> ScalingOptimumReport:
        """N, D and loss for a budget of compute, money, time or loss.

            flops: compute 6 N D; a list, or 1e21..1e25
            dollars: money for accelerators (with --cluster)
            days: time (with --cluster and --gpus)
            loss: the loss to reach, nats per token
            law: whose constants; several are compared, the first answers (see 'scaling laws')
            cluster: whose peak and price FLOPs have (see 'sextant hardware')
            gpus: accelerators, for days
            mfu: useful FLOPs over peak in training (default: 0.4)
            price: US dollars per accelerator and hour (default: the profile's, indicative)
            precision: of the matrix products, for the peak (default: bf16)
            tokens_per_parameter: the rule of thumb to compare with (default: 20)
            inference_tokens: tokens the model will generate: the optimum over its life
            prefill_tokens: tokens it will read
            inference_price: US dollars per accelerator and hour of serving
            prefill_mfu: useful FLOPs over peak while reading
            decode_mfu: useful FLOPs over peak while generating
            unique_tokens: tokens there are: how often to repeat them
            experts: experts per layer
            bits: of weights, activations and cache in training (shape only)
            context: tokens per sequence: what attention takes of the budget
            model: whose proportions, for --context
            batch: tokens per step: what it costs in steps and data
            counting: what C counts: total, or Kaplan's non-embedding (default: total)
            plot: draw lines of equal loss, budgets and optima there
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _ScalingPredict(Command):
    def __call__(  # type: ignore[override]
        self,
        *,
        params: Value | None = None,
        model: File | None = None,
        tokens: Value | None = None,
        loss: Value | None = None,
        law: File | None = None,
        unique_tokens: Value | None = None,
        experts: Value | None = None,
        granularity: Value | None = None,
        total_params: Value | None = None,
        bits: Value | None = None,
        post_training_bits: Value | None = None,
        cluster: File | None = None,
        gpus: Value | None = None,
        mfu: Value | None = None,
        price: Value | None = None,
        precision: Value | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> ScalingPredictReport:
        """The loss of N parameters and D tokens, and what is lost by it.

            params: parameters (those a token passes, with experts)
            model: a model whose active parameters are N
            tokens: tokens trained on (default: those that reach --loss)
            loss: a loss to reach: the tokens that it needs
            law: whose constants; several are compared, the first answers (see 'scaling laws')
            unique_tokens: tokens that differ, the rest being repetitions
            experts: experts per layer (default: the model's): adds the laws of experts
            granularity: width of a dense layer over that of an expert (default: the model's, or 1)
            total_params: all parameters, experts included
            bits: of weights, activations and cache in training (shape only)
            post_training_bits: weights rounded afterwards (shape only)
            cluster: whose peak and price FLOPs have (see 'sextant hardware')
            gpus: accelerators, for days
            mfu: useful FLOPs over peak in training (default: 0.4)
            price: US dollars per accelerator and hour (default: the profile's, indicative)
            precision: of the matrix products, for the peak (default: bf16)
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _ScalingLawsList(Command):
    def __call__(  # type: ignore[override]
        self,
        *,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> Report:
        """All of them, and the rules for learning rate and batch (default).

            config: take options from this TOML file (gpus = 64); those given here win
        """

class _ScalingLawsShow(Command):
    def __call__(  # type: ignore[override]
        self,
        name: File,
        /,
        *,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> Report:
        """Parameters, source and limits of one; --format json is a law file.

            config: take options from this TOML file (gpus = 64); those given here win
        """

class _ScalingLaws(Command):
    list: _ScalingLawsList
    show: _ScalingLawsShow
    def __call__(  # type: ignore[override]
        self,
        *,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> ScalingLawsReport:
        """The laws that --law knows by name.

            config: take options from this TOML file (gpus = 64); those given here win
        """

class _Scaling(Command):
    fit: _ScalingFit
    optimum: _ScalingOptimum
    predict: _ScalingPredict
    laws: _ScalingLaws

class _ServeEstimate(Command):
    def __call__(  # type: ignore[override]
        self,
        *,
        model: File | None = None,
        cluster: File | None = None,
        engine: File | None = None,
        tp: Value | None = None,
        pp: Value | None = None,
        ep: Value | None = None,
        moe_dispatcher: Value | None = None,
        redundant_experts: Value | None = None,
        attention_dp: Value | None = None,
        weights: Literal["bf16", "fp16", "fp8", "fp8-block", "fp4", "int8", "int8-weights", "int4-weights"] | str | Sequence[str] | None = None,
        kv_cache: Literal["bf16", "fp8", "int8", "int4"] | str | Sequence[str] | None = None,
        max_batch: Value | None = None,
        max_batched_tokens: Value | None = None,
        block_tokens: Value | None = None,
        context: Value | None = None,
        memory_utilisation: Value | None = None,
        expert_imbalance: Value | None = None,
        price: Value | None = None,
        prompt: Value | None = None,
        output_tokens: Value | None = None,
        cached: Value | None = None,
        shared: Value | None = None,
        concurrency: Value | None = None,
        rate: Value | None = None,
        batch: Value | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> ServeEstimateReport:
        """One replica in the steady state, by closed form.

            model: model (see 'sextant models'), or a Hugging Face config.json
            cluster: cluster (see 'sextant hardware') or a cluster file
            engine: serving engine, or a profile of one (default: vllm)
            tp: tensor parallelism of a replica (default: 1)
            pp: pipeline stages of a replica (default: 1)
            ep: ranks that the experts are divided over: tp x attention-dp, or 1 to cut each over as many (default: 1)
            moe_dispatcher: tokens to experts with --ep: alltoall, once per expert, or deduplicated, once per domain (DeepEP; default: deduplicated where the experts span domains and the engine has it)
            redundant_experts: copies of experts beside these, so that --ep divides all together (default: 0)
            attention_dp: groups of tp ranks with sequences of their own (default: 1)
            weights: bf16, fp16, fp8, fp8-block, fp4, int8, int8-weights, int4-weights (default: as the checkpoint is, by its name, "...-AWQ", or quantization_config of its config.json, else bf16)
            kv_cache: format of the key-value cache: bf16, fp8, int8, int4 (default: the checkpoint's, else bf16)
            max_batch: sequences that decode at a time in a replica (default: 256)
            max_batched_tokens: tokens of one iteration (of an attention group), prompt chunks included (default: 8192)
            block_tokens: tokens of a block of the paged cache (default: 16)
            context: longest request, prompt and answer, as the engine's maximum length (default: the model's)
            memory_utilisation: share of memory the engine takes, as its own option counts (default: the engine's)
            expert_imbalance: tokens of the busiest expert rank over the mean (default: 1)
            price: US dollars per accelerator and hour (default: the profile's, indicative)
            prompt: tokens of a prompt (default: 1024)
            output_tokens: tokens of an answer (default: 256)
            cached: tokens of the prompt that the prefix cache has (default: 0)
            shared: of these, a prefix that all requests have: in the cache once (default: 0, each has its own)
            concurrency: requests in flight at all times (default: 1, 4, 16, ... to the largest batch)
            rate: requests a second that arrive at random at a replica, instead
            batch: one batch that begins together and runs to its end, instead
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _ServeSimulate(Command):
    def __call__(  # type: ignore[override]
        self,
        *,
        model: File | None = None,
        cluster: File | None = None,
        engine: File | None = None,
        tp: Value | None = None,
        pp: Value | None = None,
        ep: Value | None = None,
        moe_dispatcher: Value | None = None,
        redundant_experts: Value | None = None,
        attention_dp: Value | None = None,
        weights: Literal["bf16", "fp16", "fp8", "fp8-block", "fp4", "int8", "int8-weights", "int4-weights"] | str | Sequence[str] | None = None,
        kv_cache: Literal["bf16", "fp8", "int8", "int4"] | str | Sequence[str] | None = None,
        max_batch: Value | None = None,
        max_batched_tokens: Value | None = None,
        block_tokens: Value | None = None,
        context: Value | None = None,
        memory_utilisation: Value | None = None,
        expert_imbalance: Value | None = None,
        price: Value | None = None,
        replicas: Value | None = None,
        prefill_replicas: Value | None = None,
        decode_replicas: Value | None = None,
        prefill_tp: Value | None = None,
        prefill_pp: Value | None = None,
        prefill_ep: Value | None = None,
        prefill_attention_dp: Value | None = None,
        prefill_weights: Value | None = None,
        prefill_max_batch: Value | None = None,
        prefill_max_batched_tokens: Value | None = None,
        prefill_memory_utilisation: Value | None = None,
        network: Literal["fair", "ideal"] | str | Sequence[str] | None = None,
        events: Literal["loop", "simgrid"] | str | Sequence[str] | None = None,
        router: Literal["least-loaded", "round-robin", "prefix-aware"] | str | Sequence[str] | None = None,
        scheduler: Literal["chunked", "fcfs", "prefill-first", "priority", "fair"] | str | Sequence[str] | None = None,
        watermark: Value | None = None,
        no_prefix_caching: bool | None = None,
        preemption: Literal["recompute", "swap"] | str | Sequence[str] | None = None,
        host_cache: Value | None = None,
        host_prefixes: Value | None = None,
        adapters: Value | None = None,
        adapter_rank: Value | None = None,
        adapter_slots: Value | None = None,
        speculate: Value | None = None,
        acceptance: Value | None = None,
        draft_cost: Value | None = None,
        slo_ttft: Value | None = None,
        slo_tpot: Value | None = None,
        rate: Value | None = None,
        arrivals: Literal["poisson", "gamma", "deterministic"] | str | Sequence[str] | None = None,
        cv: Value | None = None,
        concurrency: Value | None = None,
        trace: File | None = None,
        prompt: Value | None = None,
        output_tokens: Value | None = None,
        prefixes: Value | None = None,
        prefix_tokens: Value | None = None,
        tenants: Value | None = None,
        count: Value | None = None,
        warmup: Value | None = None,
        seed: Value | None = None,
        autoscale: Value | None = None,
        scale_target: Value | None = None,
        scale_every: Value | None = None,
        scale_down_after: Value | None = None,
        cold_start: Value | None = None,
        weights_from: Literal["local-nvme", "parallel-fs", "object-store", "host-memory"] | str | Sequence[str] | None = None,
        replica_mtbf: Value | None = None,
        replica_repair: Value | None = None,
        drain_at: Value | None = None,
        drain_for: Value | None = None,
        requests: File | None = None,
        timeline: File | None = None,
        plots: File | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> ServeSimulateReport:
        """Requests through replicas, event by event: latencies, throughput, overload.

            model: model (see 'sextant models'), or a Hugging Face config.json
            cluster: cluster (see 'sextant hardware') or a cluster file
            engine: serving engine, or a profile of one (default: vllm)
            tp: tensor parallelism of a replica (default: 1)
            pp: pipeline stages of a replica (default: 1)
            ep: ranks that the experts are divided over: tp x attention-dp, or 1 to cut each over as many (default: 1)
            moe_dispatcher: tokens to experts with --ep: alltoall, once per expert, or deduplicated, once per domain (DeepEP; default: deduplicated where the experts span domains and the engine has it)
            redundant_experts: copies of experts beside these, so that --ep divides all together (default: 0)
            attention_dp: groups of tp ranks with sequences of their own (default: 1)
            weights: bf16, fp16, fp8, fp8-block, fp4, int8, int8-weights, int4-weights (default: as the checkpoint is, by its name, "...-AWQ", or quantization_config of its config.json, else bf16)
            kv_cache: format of the key-value cache: bf16, fp8, int8, int4 (default: the checkpoint's, else bf16)
            max_batch: sequences that decode at a time in a replica (default: 256)
            max_batched_tokens: tokens of one iteration (of an attention group), prompt chunks included (default: 8192)
            block_tokens: tokens of a block of the paged cache (default: 16)
            context: longest request, prompt and answer, as the engine's maximum length (default: the model's)
            memory_utilisation: share of memory the engine takes, as its own option counts (default: the engine's)
            expert_imbalance: tokens of the busiest expert rank over the mean (default: 1)
            price: US dollars per accelerator and hour (default: the profile's, indicative)
            replicas: copies of the model (default: 1)
            prefill_replicas: replicas that process prompts only, instead of --replicas
            decode_replicas: replicas that get their caches and decode
            prefill_tp: tensor parallelism of the replicas for prompts (default, as of all these: that of those which decode)
            prefill_pp: their pipeline stages
            prefill_ep: ranks that their experts are divided over (default: all of a stage where those which decode divide them, else 1)
            prefill_attention_dp: their attention groups
            prefill_weights: format of their weights
            prefill_max_batch: prompts in progress at a time in one of them
            prefill_max_batched_tokens: tokens of one of their iterations
            prefill_memory_utilisation: share of memory that they take
            network: of these caches: fair (default; transfers share links, max-min) or ideal (each as if alone)
            events: who orders the events: loop (default), or simgrid (router and replicas as actors, caches as flows: the same answer from another clock, some times slower)
            router: least-loaded (default), round-robin, or prefix-aware (where the prefix of a request was before)
            scheduler: chunked, fcfs (whole prompts), prefill-first, priority, fair (tenants); default: chunked, or prefill-first where the engine's profile says that prompts go first (sglang)
            watermark: share of the cache kept free when a request is admitted (default: 0.01)
            no_prefix_caching: compute shared prefixes again each time
            preemption: what makes room in a full cache: recompute (default) or swap, to host memory and back
            host_cache: host memory of each accelerator for that (default: 4 GiB)
            host_prefixes: host memory of each accelerator for prefixes that give way in the cache, as SGLang's HiCache, vLLM's --kv-offloading-size and LMCache have it (default: none)
            adapters: different low-rank adapters (LoRA), one for each request (default: none)
            adapter_rank: of each (default: 16)
            adapter_slots: adapters resident on every rank, their memory taken from its cache (default: 8, at most all)
            speculate: tokens guessed per step and sequence, checked together (default: 0)
            acceptance: probability that a guess is right, when those before it are
            draft_cost: time of one guess over that of a plain decode iteration (default: 0)
            slo_ttft: longest time to the first token that counts as good
            slo_tpot: longest mean time per later token that counts as good
            rate: requests a second, of all replicas together
            arrivals: poisson (default), gamma (bursts) or deterministic
            cv: standard deviation of the intervals over their mean, of gamma (default: 2)
            concurrency: requests in flight at all times, instead of a rate
            trace: recorded requests: columns arrival_s, prompt, output[, prefix_id, prefix_tokens][, tenant][, priority][, adapter]
            prompt: tokens: 1024 (default), uniform:A-B, lognormal:MEAN,CV, exponential:MEAN
            output_tokens: the same of an answer (default: 256)
            prefixes: different shared prefixes, one before each prompt (default: none)
            prefix_tokens: of each, besides the prompt
            tenants: so many alike, or NAME:SHARE,NAME:SHARE,... of the requests
            count: requests (default: 10000, twice --concurrency if that is more)
            warmup: share of the requests not measured, the first ones (default: 0.1; of a --trace with --autoscale 0)
            seed: of chance (default: 1)
            autoscale: replicas that follow the load, instead of --replicas
            scale_target: of a replica: waiting:N or requests:N (default: half of --max-batch), or busy:SHARE of the time
            scale_every: time between two looks (default: 15 s)
            scale_down_after: how long fewer replicas have to be enough before some go (default: 300 s)
            cold_start: until a new replica serves (default: by its weights and the storage)
            weights_from: storage that weights are read from: local-nvme (default), parallel-fs, object-store, host-memory
            replica_mtbf: mean time in service of a replica until it fails (default: never)
            replica_repair: until it serves again (default: a cold start)
            drain_at: takes a replica out (default: the first, the second, ...); may be repeated
            drain_for: until drained replicas serve again (default: never)
            requests: a row per request, written there (how many: --count)
            timeline: queue, batch, cache and tokens over time, for Perfetto
            plots: pictures of latencies, load and cost, and over_time.csv, into this folder
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _ServePlan(Command):
    def __call__(  # type: ignore[override]
        self,
        *,
        model: File | None = None,
        cluster: Value | None = None,
        engine: File | None = None,
        scheduler: Literal["chunked", "fcfs", "prefill-first"] | str | Sequence[str] | None = None,
        rate: Value | None = None,
        trace: File | None = None,
        users: Value | None = None,
        requests_per_user: Value | None = None,
        prompt: Value | None = None,
        output_tokens: Value | None = None,
        arrivals: Literal["poisson", "gamma", "deterministic"] | str | Sequence[str] | None = None,
        variation: Value | None = None,
        ttft: Value | None = None,
        tpot: Value | None = None,
        share: Value | None = None,
        tp: Value | None = None,
        pp: Value | None = None,
        attention_dp: Value | None = None,
        disaggregated: bool | None = None,
        prefill_tp: Value | None = None,
        prefill_pp: Value | None = None,
        prefill_attention_dp: Value | None = None,
        max_batch: Value | None = None,
        max_batched_tokens: Value | None = None,
        moe_dispatcher: Value | None = None,
        redundant_experts: Value | None = None,
        weights: Value | None = None,
        kv_cache: Value | None = None,
        max_error: Value | None = None,
        price: Value | None = None,
        memory_utilisation: Value | None = None,
        context: Value | None = None,
        max_gpus: Value | None = None,
        requests: Value | None = None,
        top: Value | None = None,
        seed: Value | None = None,
        threads: Value | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> ServePlanReport:
        """The cheapest deployment that keeps latency objectives.

            model: model (see 'sextant models'), or a Hugging Face config.json
            cluster: machines that may be rented, one or several
            engine: serving engine (default: vllm)
            scheduler: chunked, fcfs or prefill-first (default: as the engine's profile says)
            rate: requests a second, all together
            trace: instead: recorded requests, replayed whole; columns arrival_s, prompt, output
            users: instead: users, each with --requests-per-user
            requests_per_user: of a user, a second (default: one a minute)
            prompt: tokens of a prompt: N, uniform:A-B, lognormal:MEAN,CV, exponential:MEAN (default: 1024)
            output_tokens: tokens of an answer, in the same way (default: 256)
            arrivals: poisson, gamma (bursts) or deterministic (default: poisson)
            variation: of the intervals of gamma arrivals, deviation over mean (default: 1)
            ttft: time to the first token that has to be kept
            tpot: mean time per further token that has to be kept
            share: of the requests that keep both (default: 0.99)
            tp: tensor parallelism that may be chosen (default: powers of two within a domain)
            pp: pipeline stages that may be chosen (default: 1 to 16, four domains a replica at most)
            attention_dp: attention groups that may be chosen (default: 1; of experts powers of two, likewise)
            disaggregated: also deployments whose prompts have replicas of their own, cut in another way than those that decode
            prefill_tp: tp that these may have (default: as --tp)
            prefill_pp: stages that these may have (default: as --pp)
            prefill_attention_dp: attention groups that these may have (default: as --attention-dp)
            max_batch: sequences that decode at a time in a replica, that may be chosen (default: 32, 128, 512 and 1024 of each attention group)
            max_batched_tokens: tokens of one iteration (of an attention group), that may be chosen (default: 2048, 8192; never fewer than a group's sequences)
            moe_dispatcher: tokens to experts with --ep: alltoall, once per expert, or deduplicated, once per domain (DeepEP; default: deduplicated where the experts span domains and the engine has it)
            redundant_experts: copies of experts beside these, so that --ep divides all together (default: 0)
            weights: formats that may be chosen (default: as the checkpoint is, else bf16)
            kv_cache: formats of the cache that may be chosen (default: the checkpoint's, else bf16)
            max_error: largest rms output error a format may have, as a share (see serve quality; default: any)
            price: US dollars per accelerator and hour, one of all or one of each cluster (default: the profiles')
            memory_utilisation: share of memory the engine takes, as its own option counts (default: the engine's)
            context: longest request, prompt and answer, as the engine's maximum length (default: the model's)
            max_gpus: accelerators at most (default: 4096)
            requests: of one simulation, at least (default: 4000)
            top: deployments shown (default: 10)
            seed: of the arrivals and lengths (default: 1)
            threads: 0: all cores (default: 0)
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _ServeQuality(Command):
    def __call__(  # type: ignore[override]
        self,
        *,
        model: File | None = None,
        cluster: File | None = None,
        engine: File | None = None,
        tp: Value | None = None,
        pp: Value | None = None,
        ep: Value | None = None,
        moe_dispatcher: Value | None = None,
        redundant_experts: Value | None = None,
        attention_dp: Value | None = None,
        max_batch: Value | None = None,
        max_batched_tokens: Value | None = None,
        block_tokens: Value | None = None,
        context: Value | None = None,
        memory_utilisation: Value | None = None,
        expert_imbalance: Value | None = None,
        price: Value | None = None,
        weights: Value | None = None,
        kv_cache: Value | None = None,
        prompt: Value | None = None,
        output_tokens: Value | None = None,
        concurrency: Value | None = None,
        rate: Value | None = None,
        errors: File | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> ServeQualityReport:
        """Number formats: what each saves, beside the error it makes.

            model: model (see 'sextant models'), or a Hugging Face config.json
            cluster: cluster (see 'sextant hardware') or a cluster file
            engine: serving engine, or a profile of one (default: vllm)
            tp: tensor parallelism of a replica (default: 1)
            pp: pipeline stages of a replica (default: 1)
            ep: ranks that the experts are divided over: tp x attention-dp, or 1 to cut each over as many (default: 1)
            moe_dispatcher: tokens to experts with --ep: alltoall, once per expert, or deduplicated, once per domain (DeepEP; default: deduplicated where the experts span domains and the engine has it)
            redundant_experts: copies of experts beside these, so that --ep divides all together (default: 0)
            attention_dp: groups of tp ranks with sequences of their own (default: 1)
            max_batch: sequences that decode at a time in a replica (default: 256)
            max_batched_tokens: tokens of one iteration (of an attention group), prompt chunks included (default: 8192)
            block_tokens: tokens of a block of the paged cache (default: 16)
            context: longest request, prompt and answer, as the engine's maximum length (default: the model's)
            memory_utilisation: share of memory the engine takes, as its own option counts (default: the engine's)
            expert_imbalance: tokens of the busiest expert rank over the mean (default: 1)
            price: US dollars per accelerator and hour (default: the profile's, indicative)
            weights: formats of the weights to compare (default: all of two bytes or less)
            kv_cache: formats of the key-value cache to compare (default: bf16,fp8,int4)
            prompt: tokens of a prompt (default: 1024)
            output_tokens: tokens of an answer (default: 256)
            concurrency: requests in flight at all times (default: 64)
            rate: requests a second that arrive at random, instead
            errors: rows of 'sextant-bench --bench accuracy' (default: those the program carries)
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _Serve(Command):
    estimate: _ServeEstimate
    simulate: _ServeSimulate
    plan: _ServePlan
    quality: _ServeQuality

class _Rl(Command):
    def __call__(  # type: ignore[override]
        self,
        *,
        algorithm: Literal["ppo", "grpo", "reinforce"] | str | Sequence[str] | None = None,
        prompts: Value | None = None,
        group: Value | None = None,
        prompt_tokens: Value | None = None,
        output_tokens: Value | None = None,
        max_output: Value | None = None,
        lengths: Literal["fixed", "uniform", "lognormal"] | str | Sequence[str] | None = None,
        variation: Value | None = None,
        random_lengths: bool | None = None,
        seed: Value | None = None,
        epochs: Value | None = None,
        critic: File | None = None,
        reward_model: File | None = None,
        reward_time: Value | None = None,
        no_reference: bool | None = None,
        engine_scores: bool | None = None,
        mode: Literal["all", "colocated", "split", "asynchronous"] | str | Sequence[str] | None = None,
        staleness: Value | None = None,
        staleness_penalty: Value | None = None,
        state_offload: Literal["auto", "always", "never"] | str | Sequence[str] | None = None,
        engine: File | None = None,
        rollout_gpus: Value | None = None,
        rollout_tp: Value | None = None,
        rollout_pp: Value | None = None,
        rollout_ep: Value | None = None,
        rollout_attention_dp: Value | None = None,
        rollout_expert_imbalance: Value | None = None,
        rollout_weights: Literal["bf16", "fp8"] | str | Sequence[str] | None = None,
        kv_cache: Literal["bf16", "fp8", "int8", "int4"] | str | Sequence[str] | None = None,
        max_batch: Value | None = None,
        max_batched_tokens: Value | None = None,
        memory_utilisation: Value | None = None,
        model: File | None = None,
        cluster: File | None = None,
        gpus: Value | None = None,
        seq: Value | None = None,
        global_batch: Value | None = None,
        preference: Literal["dpo", "reference-free"] | str | Sequence[str] | None = None,
        framework: Literal["megatron", "fsdp", "torchtitan", "nanotron", "deepspeed", "maxtext", "pytorch", "transformers", "generic"] | File | None = None,
        max_memory: Value | None = None,
        price: Value | None = None,
        tp: Value | None = None,
        pp: Value | None = None,
        dp: Value | None = None,
        cp: Value | None = None,
        ep: Value | None = None,
        vpp: Value | None = None,
        micro_batch: Value | None = None,
        zero: Value | None = None,
        schedule: Literal["gpipe", "1f1b", "interleaved", "1f1b-overlap", "breadth-first", "zb-h1", "zb-h2", "zb-v", "dualpipe", "dualpipe-v"] | str | Sequence[str] | None = None,
        recompute: Literal["none", "selective", "full"] | str | Sequence[str] | None = None,
        recompute_modules: Value | None = None,
        recompute_layers: Value | None = None,
        keep_activations: Value | None = None,
        offload: Literal["none", "optimizer", "activations", "parameters", "optimizer+activations", "parameters+activations"] | str | Sequence[str] | None = None,
        offload_activations: Value | None = None,
        offload_layers: Value | None = None,
        cp_mode: Literal["ring", "all-gather", "ulysses"] | str | Sequence[str] | None = None,
        moe_dispatcher: Literal["alltoall", "deduplicated"] | str | Sequence[str] | None = None,
        expert_tp: Value | None = None,
        expert_imbalance: Value | None = None,
        shard_group: Value | None = None,
        precision: Literal["fp32", "tf32", "fp16", "bf16", "fp8", "fp8-block", "mxfp8", "fp4"] | str | Sequence[str] | None = None,
        gradients: Literal["usual", "bf16"] | str | Sequence[str] | None = None,
        optimizer: Literal["adamw", "adamw-bf16", "adamw-8bit", "adamw-pure-bf16", "sgd", "muon", "lion", "lion-8bit", "adafactor"] | str | Sequence[str] | None = None,
        sequence_parallel: bool | None = None,
        no_sequence_parallel: bool | None = None,
        attention: Value | None = None,
        flash_attention: bool | None = None,
        no_flash_attention: bool | None = None,
        dropout: bool | None = None,
        no_dropout: bool | None = None,
        fused_cross_entropy: bool | None = None,
        no_fused_cross_entropy: bool | None = None,
        fp8_activation_input: bool | None = None,
        no_fp8_activation_input: bool | None = None,
        narrow_copies: bool | None = None,
        no_narrow_copies: bool | None = None,
        loss_chunks: Value | None = None,
        lora_rank: Value | None = None,
        lora_targets: Value | None = None,
        base_weights: Literal["bf16", "fp8", "int8", "nf4"] | str | Sequence[str] | None = None,
        overheads: Literal["fitted", "none"] | str | Sequence[str] | None = None,
        threads: Value | None = None,
        measured: File | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> RlReport:
        """Reinforcement learning: generation, scoring, training, weight sync; division of GPUs; asynchrony.

            algorithm: ppo (with a critic), grpo or reinforce (default: grpo)
            prompts: prompts of a step
            group: responses to each prompt (default: 16 for grpo, else 1)
            prompt_tokens: length of a prompt
            output_tokens: mean length of a response, as it is after the cut
            max_output: responses are cut here (default: four times the mean, within the context)
            lengths: fixed, uniform or lognormal (default: lognormal)
            variation: standard deviation of lengths over their mean (default: 0.6, assumed, or with --max-output as much more as lets the longest of a step reach it; of uniform lengths 0.5)
            random_lengths: draw the lengths (default: equally likely slices, no chance)
            seed: of the draw and of the order (default: 1)
            epochs: times that each response is trained on (default: 1)
            critic: model of the critic (default: the policy's shape; ppo only)
            reward_model: model that scores responses (default: rules)
            reward_time: time of rules or a verifier for a step, such as '5 s' (default: 0, assumed)
            no_reference: no reference model (no KL term)
            engine_scores: log-probabilities of the policy as the engine gives them (default: computed again by the trainer)
            mode: all, colocated, split or asynchronous (default: all)
            staleness: asynchronous: updates that a response may be behind, 1: one step off (default: 1)
            staleness_penalty: share of a response's worth lost per update behind (default: 0, assumed)
            state_offload: colocated: training state to host memory while engines run: auto, always, never
            engine: engine that generates, or a profile of one (default: vllm)
            rollout_gpus: accelerators of the engines (default: every division is tried)
            rollout_tp: tensor parallelism of an engine (default: powers of two up to a domain, and where none of these holds the weights engines over several domains)
            rollout_pp: pipeline stages of an engine (default: 1)
            rollout_ep: ranks that an engine's experts are divided over (default: 1)
            rollout_attention_dp: groups of tp ranks with sequences and cache of their own, which share the experts (default: 1)
            rollout_expert_imbalance: tokens of an engine's busiest expert rank over the mean (default: 1)
            rollout_weights: format of an engine's weights: bf16, fp8, ... (default: bf16)
            kv_cache: bf16, fp8, int8 or int4 (default: bf16)
            max_batch: responses that an engine decodes at a time (default: vLLM's, of each attention group: 1024 on devices of 70 GiB and more but A100, else 256)
            max_batched_tokens: tokens of one iteration (default: 8192)
            memory_utilisation: share of memory the engine takes, as its own option counts (default: the engine's)
            model: the policy: preset or Hugging Face config.json
            cluster: cluster (see 'sextant hardware') or a cluster file
            gpus: accelerators, of engines and trainer together
            seq: longest prompt and response together (default: the model's context)
            global_batch: responses of one update (default: all of a step)
            preference: train on pairs of a chosen and a rejected sequence of --seq tokens each: dpo (with a frozen reference) or reference-free (SimPO, ORPO, or DPO with stored log-probabilities of the reference); --global-batch and --micro-batch then count pairs (default: none)
            framework: whose constants to use: megatron, fsdp, torchtitan, nanotron, deepspeed, maxtext, pytorch, transformers, generic, or a file (default: megatron; an older release: megatron:release=24.07)
            max_memory: of each accelerator: '90%' or '70 GB' (default: the framework's usable fraction)
            price: US dollars per accelerator and hour (default: the profile's, indicative)
            tp: tensor parallelism (default: search)
            pp: pipeline parallelism (default: search)
            dp: data parallelism (default: search)
            cp: context parallelism (default: search)
            ep: expert parallelism (default: search)
            vpp: model chunks per stage (interleaved, breadth-first; 2 in a V) (default: search)
            micro_batch: sequences per microbatch (default: search)
            zero: ZeRO stage 0, 1, 2 or 3 (3: FSDP) (default: search)
            schedule: gpipe, 1f1b, interleaved, 1f1b-overlap (exchanges of experts hide), breadth-first, zb-h1, zb-h2, zb-v, dualpipe or dualpipe-v, comma-separated (default: 1f1b and interleaved, with experts under Megatron 1f1b-overlap; MaxText: gpipe and breadth-first)
            recompute: none, selective (attention core) or full, comma-separated (default: search)
            recompute_modules: with selective: what runs again of a layer, as in Megatron-Core: core_attn (default), layernorm, mla_up_proj, mlp, moe, moe_act, shared_experts; also mlp_act, or op (torchtitan's)
            recompute_layers: with full: layers per stage that are recomputed (0: all)
            keep_activations: with full: what is kept of a layer all the same, and not run again, as in MaxText's custom policies: norm_out, qkv, context (attention's output), attention_out, expert_in, mlp_up, mlp_act
            offload: none, optimizer, activations, parameters (weights, gradients and optimizer, with ZeRO 3), optimizer+activations or parameters+activations, comma-separated (default: none)
            offload_activations: with activations: which of those that are kept go to host memory: layer_input, those of --keep-activations, other (default: all)
            offload_layers: with activations: those of so many layers of the model, spread evenly, go to host memory (0: all)
            cp_mode: ring, all-gather or ulysses, comma-separated (default: all-gather with sliding windows, torchtitan and MaxText, ulysses with DeepSpeed, else ring)
            moe_dispatcher: alltoall or deduplicated (once per domain, as DeepEP) (default: the faster, where the framework and the network have both and experts span domains)
            expert_tp: tensor parallelism inside an expert (default: 1, or tp where torchtitan and MaxText cut experts)
            expert_imbalance: tokens of the busiest expert rank over the mean, at most what its experts can get (default: 1)
            shard_group: ranks that ZeRO shards over (HSDP; 0: all)
            precision: fp32, tf32, fp16, bf16, fp8, fp8-block (scales by tiles of 128, as DeepSeek), mxfp8 (by 32 values) or fp4 (default: bf16, or what the accelerator has)
            gradients: usual (default: the framework's own, often fp32) or bf16 (added up and reduced in bf16)
            optimizer: adamw, adamw-bf16 (moments), adamw-8bit (moments), adamw-pure-bf16 (all in bf16, no fp32 copy of the weights), sgd, muon, lion, lion-8bit or adafactor (default: adamw)
            sequence_parallel: split norms and residuals over tp (default with tp > 1)
            attention: flash (default), unfused (scores in memory, fused softmax) or eager (softmax in fp32, op by op)
            flash_attention: the same as --attention flash, --attention unfused
            dropout: dropout in the model (default: none)
            fused_cross_entropy: loss in one kernel (default: not)
            fp8_activation_input: keep what the activation of a gated feed-forward reads in fp8 (Megatron-Core's activation_func_fp8_input_store; default: not)
            narrow_copies: keep fp8 or fp4 copies of weights, and their transposes, beside 16-bit weights (Megatron-LM without --fp8-param-gather; default: weights in the format alone)
            loss_chunks: parts of a microbatch whose logits, loss and gradients are made one by one (chunked cross entropy: torchtitan 0.3 has 8; default: 1)
            lora_rank: train adapters of this rank only (default: train every weight)
            lora_targets: attention (q,k,v,o), all (and gate,up,down), or a list of q, k, v, qkv, o, gate, up, gate_up, down (default: attention)
            base_weights: format of the frozen matrices: bf16, fp8, int8 or nf4 (default: bf16)
            overheads: what a step takes beyond the kernels: fitted (to NeMo RL 0.3), or none: a lower bound (default: fitted)
            threads: worker threads (0: all cores); the answer does not depend on it
            measured: predict the published steps of a table (docs/rl.md) and compare; of the others only --variation and --overheads count
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _ExportServe(Command):
    def __call__(  # type: ignore[override]
        self,
        *,
        model: File | None = None,
        cluster: File | None = None,
        engine: File | None = None,
        tp: Value | None = None,
        pp: Value | None = None,
        ep: Value | None = None,
        moe_dispatcher: Value | None = None,
        redundant_experts: Value | None = None,
        attention_dp: Value | None = None,
        weights: Literal["bf16", "fp16", "fp8", "fp8-block", "fp4", "int8", "int8-weights", "int4-weights"] | str | Sequence[str] | None = None,
        kv_cache: Literal["bf16", "fp8", "int8", "int4"] | str | Sequence[str] | None = None,
        max_batch: Value | None = None,
        max_batched_tokens: Value | None = None,
        block_tokens: Value | None = None,
        context: Value | None = None,
        memory_utilisation: Value | None = None,
        expert_imbalance: Value | None = None,
        price: Value | None = None,
        plan: File | None = None,
        rank: Value | None = None,
        model_path: Value | None = None,
        replicas: Value | None = None,
        prefill_replicas: Value | None = None,
        prefill_tp: Value | None = None,
        prefill_pp: Value | None = None,
        prefill_ep: Value | None = None,
        prefill_attention_dp: Value | None = None,
        prefill_weights: Value | None = None,
        prefill_max_batch: Value | None = None,
        prefill_max_batched_tokens: Value | None = None,
        prefill_memory_utilisation: Value | None = None,
        gpus_per_node: Value | None = None,
        output: Value | None = None,
        force: bool | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> ExportServeReport:
        """The command that starts vLLM, SGLang or TensorRT-LLM.

            model: model (see 'sextant models'), or a Hugging Face config.json
            cluster: cluster (see 'sextant hardware') or a cluster file
            engine: serving engine, or a profile of one (default: vllm)
            tp: tensor parallelism of a replica (default: 1)
            pp: pipeline stages of a replica (default: 1)
            ep: ranks that the experts are divided over: tp x attention-dp, or 1 to cut each over as many (default: 1)
            moe_dispatcher: tokens to experts with --ep: alltoall, once per expert, or deduplicated, once per domain (DeepEP; default: deduplicated where the experts span domains and the engine has it)
            redundant_experts: copies of experts beside these, so that --ep divides all together (default: 0)
            attention_dp: groups of tp ranks with sequences of their own (default: 1)
            weights: bf16, fp16, fp8, fp8-block, fp4, int8, int8-weights, int4-weights (default: as the checkpoint is, by its name, "...-AWQ", or quantization_config of its config.json, else bf16)
            kv_cache: format of the key-value cache: bf16, fp8, int8, int4 (default: the checkpoint's, else bf16)
            max_batch: sequences that decode at a time in a replica (default: 256)
            max_batched_tokens: tokens of one iteration (of an attention group), prompt chunks included (default: 8192)
            block_tokens: tokens of a block of the paged cache (default: 16)
            context: longest request, prompt and answer, as the engine's maximum length (default: the model's)
            memory_utilisation: share of memory the engine takes, as its own option counts (default: the engine's)
            expert_imbalance: tokens of the busiest expert rank over the mean (default: 1)
            price: US dollars per accelerator and hour (default: the profile's, indicative)
            plan: what 'sextant serve plan --format json' wrote
            rank: which of its deployments (default: 1, the best)
            model_path: what the engine loads: a folder or a name at Hugging Face
            replicas: how many are started (default: the file's, or 1)
            prefill_replicas: replicas for prompts, with a script of their own; the others decode (default: the file's)
            prefill_tp: tensor parallelism of the replicas for prompts (default, as of all these: that of those which decode)
            prefill_pp: their pipeline stages
            prefill_ep: ranks that their experts are divided over (default: all of a stage where those which decode divide them, else 1)
            prefill_attention_dp: their attention groups
            prefill_weights: format of their weights
            prefill_max_batch: prompts in progress at a time in one of them
            prefill_max_batched_tokens: tokens of one of their iterations
            prefill_memory_utilisation: share of memory that they take
            gpus_per_node: accelerators of a node (default: a domain of up to 8, else 4)
            output: write all files into this folder (default: the main file to standard output)
            force: replace files that are there already
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _Export(Command):
    serve: _ExportServe
    def __call__(  # type: ignore[override]
        self,
        *,
        model: File | None = None,
        cluster: File | None = None,
        gpus: Value | None = None,
        seq: Value | None = None,
        global_batch: Value | None = None,
        document_tokens: Value | None = None,
        preference: Literal["dpo", "reference-free"] | str | Sequence[str] | None = None,
        framework: Literal["megatron", "fsdp", "torchtitan", "nanotron", "deepspeed", "maxtext", "pytorch", "transformers", "generic"] | File | None = None,
        max_memory: Value | None = None,
        price: Value | None = None,
        tp: Value | None = None,
        pp: Value | None = None,
        dp: Value | None = None,
        cp: Value | None = None,
        ep: Value | None = None,
        vpp: Value | None = None,
        micro_batch: Value | None = None,
        zero: Value | None = None,
        schedule: Literal["gpipe", "1f1b", "interleaved", "1f1b-overlap", "breadth-first", "zb-h1", "zb-h2", "zb-v", "dualpipe", "dualpipe-v"] | str | Sequence[str] | None = None,
        recompute: Literal["none", "selective", "full"] | str | Sequence[str] | None = None,
        recompute_modules: Value | None = None,
        recompute_layers: Value | None = None,
        keep_activations: Value | None = None,
        offload: Literal["none", "optimizer", "activations", "parameters", "optimizer+activations", "parameters+activations"] | str | Sequence[str] | None = None,
        offload_activations: Value | None = None,
        offload_layers: Value | None = None,
        cp_mode: Literal["ring", "all-gather", "ulysses"] | str | Sequence[str] | None = None,
        moe_dispatcher: Literal["alltoall", "deduplicated"] | str | Sequence[str] | None = None,
        expert_tp: Value | None = None,
        expert_imbalance: Value | None = None,
        shard_group: Value | None = None,
        precision: Literal["fp32", "tf32", "fp16", "bf16", "fp8", "fp8-block", "mxfp8", "fp4"] | str | Sequence[str] | None = None,
        gradients: Literal["usual", "bf16"] | str | Sequence[str] | None = None,
        optimizer: Literal["adamw", "adamw-bf16", "adamw-8bit", "adamw-pure-bf16", "sgd", "muon", "lion", "lion-8bit", "adafactor"] | str | Sequence[str] | None = None,
        sequence_parallel: bool | None = None,
        no_sequence_parallel: bool | None = None,
        attention: Value | None = None,
        flash_attention: bool | None = None,
        no_flash_attention: bool | None = None,
        dropout: bool | None = None,
        no_dropout: bool | None = None,
        fused_cross_entropy: bool | None = None,
        no_fused_cross_entropy: bool | None = None,
        fp8_activation_input: bool | None = None,
        no_fp8_activation_input: bool | None = None,
        narrow_copies: bool | None = None,
        no_narrow_copies: bool | None = None,
        loss_chunks: Value | None = None,
        stage_layers: Value | None = None,
        lora_rank: Value | None = None,
        lora_targets: Value | None = None,
        base_weights: Literal["bf16", "fp8", "int8", "nf4"] | str | Sequence[str] | None = None,
        from_megatron: File | None = None,
        from_deepspeed: File | None = None,
        from_torchtitan: File | None = None,
        from_accelerate: File | None = None,
        plan: File | None = None,
        rank: Value | None = None,
        format: Value | None = None,
        data: Value | None = None,
        tokenizer: Value | None = None,
        checkpoints: Value | None = None,
        image: Value | None = None,
        steps: Value | None = None,
        learning_rate: Value | None = None,
        gpus_per_node: Value | None = None,
        output: Value | None = None,
        force: bool | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> ExportReport:
        """Launch files of a plan: Megatron-LM, DeepSpeed, torchtitan, FSDP2, NeMo, MaxText, Slurm, Kubernetes, serving.

            model: preset (see 'sextant models') or a Hugging Face config.json
            cluster: cluster (see 'sextant hardware') or a cluster file
            gpus: accelerators (default: what the degrees need)
            seq: tokens per sequence, such as 8192 or 8Ki (default: the model's, up to 8192)
            global_batch: sequences per step (default: about 4 M tokens)
            document_tokens: tokens per document where documents are packed into sequences, each attending to itself alone (default: a sequence is one document)
            preference: train on pairs of a chosen and a rejected sequence of --seq tokens each: dpo (with a frozen reference) or reference-free (SimPO, ORPO, or DPO with stored log-probabilities of the reference); --global-batch and --micro-batch then count pairs (default: none)
            framework: whose constants to use: megatron, fsdp, torchtitan, nanotron, deepspeed, maxtext, pytorch, transformers, generic, or a file (default: megatron; an older release: megatron:release=24.07)
            max_memory: of each accelerator: '90%' or '70 GB' (default: the framework's usable fraction)
            price: US dollars per accelerator and hour (default: the profile's, indicative)
            tp: tensor parallelism (default: 1)
            pp: pipeline parallelism (default: 1)
            dp: data parallelism (default: what is left)
            cp: context parallelism (default: 1)
            ep: expert parallelism (default: 1)
            vpp: model chunks per stage (interleaved, breadth-first; 2 in a V) (default: 1)
            micro_batch: sequences per microbatch (default: 1)
            zero: ZeRO stage 0, 1, 2 or 3 (3: FSDP) (default: the framework's: 3 for fsdp, torchtitan and maxtext without pp, 0 for pytorch and transformers, else 1)
            schedule: gpipe, 1f1b, interleaved, 1f1b-overlap (exchanges of experts hide), breadth-first, zb-h1, zb-h2, zb-v, dualpipe or dualpipe-v (default: 1f1b, or interleaved with --vpp; MaxText: gpipe, or breadth-first with --vpp)
            recompute: none, selective (attention core) or full (default: none)
            recompute_modules: with selective: what runs again of a layer, as in Megatron-Core: core_attn (default), layernorm, mla_up_proj, mlp, moe, moe_act, shared_experts; also mlp_act, or op (torchtitan's)
            recompute_layers: with full: layers per stage that are recomputed (0: all)
            keep_activations: with full: what is kept of a layer all the same, and not run again, as in MaxText's custom policies: norm_out, qkv, context (attention's output), attention_out, expert_in, mlp_up, mlp_act
            offload: none, optimizer, activations, parameters (weights, gradients and optimizer, with ZeRO 3), optimizer+activations or parameters+activations (default: none)
            offload_activations: with activations: which of those that are kept go to host memory: layer_input, those of --keep-activations, other (default: all)
            offload_layers: with activations: those of so many layers of the model, spread evenly, go to host memory (0: all)
            cp_mode: ring, all-gather or ulysses (default: all-gather with sliding windows, torchtitan and MaxText, ulysses with DeepSpeed, else ring)
            moe_dispatcher: alltoall (default) or deduplicated (once per domain, as DeepEP)
            expert_tp: tensor parallelism inside an expert (default: 1)
            expert_imbalance: tokens of the busiest expert rank over the mean, at most what its experts can get (default: 1)
            shard_group: ranks that ZeRO shards over (HSDP; 0: all)
            precision: fp32, tf32, fp16, bf16, fp8, fp8-block (scales by tiles of 128, as DeepSeek), mxfp8 (by 32 values) or fp4 (default: bf16, or what the accelerator has)
            gradients: usual (default: the framework's own, often fp32) or bf16 (added up and reduced in bf16)
            optimizer: adamw, adamw-bf16 (moments), adamw-8bit (moments), adamw-pure-bf16 (all in bf16, no fp32 copy of the weights), sgd, muon, lion, lion-8bit or adafactor (default: adamw)
            sequence_parallel: split norms and residuals over tp (default with tp > 1)
            attention: flash (default), unfused (scores in memory, fused softmax) or eager (softmax in fp32, op by op)
            flash_attention: the same as --attention flash, --attention unfused
            dropout: dropout in the model (default: none)
            fused_cross_entropy: loss in one kernel (default: not)
            fp8_activation_input: keep what the activation of a gated feed-forward reads in fp8 (Megatron-Core's activation_func_fp8_input_store; default: not)
            narrow_copies: keep fp8 or fp4 copies of weights, and their transposes, beside 16-bit weights (Megatron-LM without --fp8-param-gather; default: weights in the format alone)
            loss_chunks: parts of a microbatch whose logits, loss and gradients are made one by one (chunked cross entropy: torchtitan 0.3 has 8; default: 1)
            stage_layers: layers of each pipeline chunk in model order, comma-separated (default: even, fewer at the ends where they do not divide evenly, on the last where it holds prediction modules; nanotron: by cost)
            lora_rank: train adapters of this rank only (default: train every weight)
            lora_targets: attention (q,k,v,o), all (and gate,up,down), or a list of q, k, v, qkv, o, gate, up, gate_up, down (default: attention)
            base_weights: format of the frozen matrices: bf16, fp8, int8 or nf4 (default: bf16)
            from_megatron: Megatron-LM's arguments, or a script that has them
            from_deepspeed: DeepSpeed's JSON, or a launch script that names it
            from_torchtitan: torchtitan's TOML; options given here count before those of a file
            from_accelerate: Accelerate's YAML: FSDP, DeepSpeed or plain data parallelism
            plan: what 'sextant plan', 'estimate' or 'run-plan' wrote with --format json
            rank: which of its plans (default: 1, the best)
            format: megatron, deepspeed, torchtitan, torchtitan-0.3, fsdp2, nemo, maxtext, slurm, kubernetes, or all (default: the framework's)
            data: training data (default: a marked placeholder)
            tokenizer: tokenizer (default: a marked placeholder)
            checkpoints: folder of checkpoints (default: a marked placeholder)
            image: container image of the Kubernetes job (default: a marked placeholder)
            steps: optimizer steps (default: those of a run-plan file, else 1000, a placeholder)
            learning_rate: peak learning rate (default: 3e-4, a placeholder)
            gpus_per_node: accelerators of a node (default: a domain of up to 8, else 4)
            output: write all files into this folder (default: the main file to standard output)
            force: replace files that are there already
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _Collective(Command):
    def __call__(  # type: ignore[override]
        self,
        *,
        cluster: File | None = None,
        gpus: Value | None = None,
        stride: Value | None = None,
        kind: Literal["all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "send-receive", "reduce"] | str | Sequence[str] | None = None,
        bytes: Value | None = None,
        algorithm: Value | None = None,
        network: Literal["fair", "ideal"] | str | Sequence[str] | None = None,
        degrade_link: Value | None = None,
        other_traffic: Value | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> CollectiveReport:
        """One collective over a cluster: by closed form, and by each algorithm as flows on the simulated network.

            cluster: cluster (see 'sextant hardware') or a cluster file
            gpus: accelerators that take part, the first ones of the cluster
            stride: every K-th accelerator, in K such groups at work at once on N x K: data parallelism beside tensor parallelism of K (default: 1)
            kind: all-reduce, all-gather, reduce-scatter, all-to-all, broadcast, send-receive, or reduce, which is priced as a broadcast (default: all-reduce)
            bytes: buffer as nccl-tests counts it, without a unit in bytes; a list asks for each (default: 1 GiB)
            algorithm: one algorithm (default: all that do this kind)
            network: fair: flows that meet on a link share it; ideal: each has its links for itself (default: fair)
            degrade_link: a link with less bandwidth, * for any text in its name; may be repeated
            other_traffic: share of the scale-out network that others use
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _Memory(Command):
    def __call__(  # type: ignore[override]
        self,
        *,
        model: File | None = None,
        cluster: File | None = None,
        gpus: Value | None = None,
        seq: Value | None = None,
        global_batch: Value | None = None,
        document_tokens: Value | None = None,
        preference: Literal["dpo", "reference-free"] | str | Sequence[str] | None = None,
        framework: Literal["megatron", "fsdp", "torchtitan", "nanotron", "deepspeed", "maxtext", "pytorch", "transformers", "generic"] | File | None = None,
        max_memory: Value | None = None,
        price: Value | None = None,
        tp: Value | None = None,
        pp: Value | None = None,
        dp: Value | None = None,
        cp: Value | None = None,
        ep: Value | None = None,
        vpp: Value | None = None,
        micro_batch: Value | None = None,
        zero: Value | None = None,
        schedule: Literal["gpipe", "1f1b", "interleaved", "1f1b-overlap", "breadth-first", "zb-h1", "zb-h2", "zb-v", "dualpipe", "dualpipe-v"] | str | Sequence[str] | None = None,
        recompute: Literal["none", "selective", "full"] | str | Sequence[str] | None = None,
        recompute_modules: Value | None = None,
        recompute_layers: Value | None = None,
        keep_activations: Value | None = None,
        offload: Literal["none", "optimizer", "activations", "parameters", "optimizer+activations", "parameters+activations"] | str | Sequence[str] | None = None,
        offload_activations: Value | None = None,
        offload_layers: Value | None = None,
        cp_mode: Literal["ring", "all-gather", "ulysses"] | str | Sequence[str] | None = None,
        moe_dispatcher: Literal["alltoall", "deduplicated"] | str | Sequence[str] | None = None,
        expert_tp: Value | None = None,
        expert_imbalance: Value | None = None,
        shard_group: Value | None = None,
        precision: Literal["fp32", "tf32", "fp16", "bf16", "fp8", "fp8-block", "mxfp8", "fp4"] | str | Sequence[str] | None = None,
        gradients: Literal["usual", "bf16"] | str | Sequence[str] | None = None,
        optimizer: Literal["adamw", "adamw-bf16", "adamw-8bit", "adamw-pure-bf16", "sgd", "muon", "lion", "lion-8bit", "adafactor"] | str | Sequence[str] | None = None,
        sequence_parallel: bool | None = None,
        no_sequence_parallel: bool | None = None,
        attention: Value | None = None,
        flash_attention: bool | None = None,
        no_flash_attention: bool | None = None,
        dropout: bool | None = None,
        no_dropout: bool | None = None,
        fused_cross_entropy: bool | None = None,
        no_fused_cross_entropy: bool | None = None,
        fp8_activation_input: bool | None = None,
        no_fp8_activation_input: bool | None = None,
        narrow_copies: bool | None = None,
        no_narrow_copies: bool | None = None,
        loss_chunks: Value | None = None,
        stage_layers: Value | None = None,
        lora_rank: Value | None = None,
        lora_targets: Value | None = None,
        base_weights: Literal["bf16", "fp8", "int8", "nf4"] | str | Sequence[str] | None = None,
        from_megatron: File | None = None,
        from_deepspeed: File | None = None,
        from_torchtitan: File | None = None,
        from_accelerate: File | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> MemoryReport:
        """The memory budget of every pipeline stage, tensor by tensor, in exact bytes.

            model: preset (see 'sextant models') or a Hugging Face config.json
            cluster: cluster (see 'sextant hardware') or a cluster file
            gpus: accelerators (default: what the degrees need)
            seq: tokens per sequence, such as 8192 or 8Ki (default: the model's, up to 8192)
            global_batch: sequences per step (default: about 4 M tokens)
            document_tokens: tokens per document where documents are packed into sequences, each attending to itself alone (default: a sequence is one document)
            preference: train on pairs of a chosen and a rejected sequence of --seq tokens each: dpo (with a frozen reference) or reference-free (SimPO, ORPO, or DPO with stored log-probabilities of the reference); --global-batch and --micro-batch then count pairs (default: none)
            framework: whose constants to use: megatron, fsdp, torchtitan, nanotron, deepspeed, maxtext, pytorch, transformers, generic, or a file (default: megatron; an older release: megatron:release=24.07)
            max_memory: of each accelerator: '90%' or '70 GB' (default: the framework's usable fraction)
            price: US dollars per accelerator and hour (default: the profile's, indicative)
            tp: tensor parallelism (default: 1)
            pp: pipeline parallelism (default: 1)
            dp: data parallelism (default: what is left)
            cp: context parallelism (default: 1)
            ep: expert parallelism (default: 1)
            vpp: model chunks per stage (interleaved, breadth-first; 2 in a V) (default: 1)
            micro_batch: sequences per microbatch (default: 1)
            zero: ZeRO stage 0, 1, 2 or 3 (3: FSDP) (default: the framework's: 3 for fsdp, torchtitan and maxtext without pp, 0 for pytorch and transformers, else 1)
            schedule: gpipe, 1f1b, interleaved, 1f1b-overlap (exchanges of experts hide), breadth-first, zb-h1, zb-h2, zb-v, dualpipe or dualpipe-v (default: 1f1b, or interleaved with --vpp; MaxText: gpipe, or breadth-first with --vpp)
            recompute: none, selective (attention core) or full (default: none)
            recompute_modules: with selective: what runs again of a layer, as in Megatron-Core: core_attn (default), layernorm, mla_up_proj, mlp, moe, moe_act, shared_experts; also mlp_act, or op (torchtitan's)
            recompute_layers: with full: layers per stage that are recomputed (0: all)
            keep_activations: with full: what is kept of a layer all the same, and not run again, as in MaxText's custom policies: norm_out, qkv, context (attention's output), attention_out, expert_in, mlp_up, mlp_act
            offload: none, optimizer, activations, parameters (weights, gradients and optimizer, with ZeRO 3), optimizer+activations or parameters+activations (default: none)
            offload_activations: with activations: which of those that are kept go to host memory: layer_input, those of --keep-activations, other (default: all)
            offload_layers: with activations: those of so many layers of the model, spread evenly, go to host memory (0: all)
            cp_mode: ring, all-gather or ulysses (default: all-gather with sliding windows, torchtitan and MaxText, ulysses with DeepSpeed, else ring)
            moe_dispatcher: alltoall (default) or deduplicated (once per domain, as DeepEP)
            expert_tp: tensor parallelism inside an expert (default: 1)
            expert_imbalance: tokens of the busiest expert rank over the mean, at most what its experts can get (default: 1)
            shard_group: ranks that ZeRO shards over (HSDP; 0: all)
            precision: fp32, tf32, fp16, bf16, fp8, fp8-block (scales by tiles of 128, as DeepSeek), mxfp8 (by 32 values) or fp4 (default: bf16, or what the accelerator has)
            gradients: usual (default: the framework's own, often fp32) or bf16 (added up and reduced in bf16)
            optimizer: adamw, adamw-bf16 (moments), adamw-8bit (moments), adamw-pure-bf16 (all in bf16, no fp32 copy of the weights), sgd, muon, lion, lion-8bit or adafactor (default: adamw)
            sequence_parallel: split norms and residuals over tp (default with tp > 1)
            attention: flash (default), unfused (scores in memory, fused softmax) or eager (softmax in fp32, op by op)
            flash_attention: the same as --attention flash, --attention unfused
            dropout: dropout in the model (default: none)
            fused_cross_entropy: loss in one kernel (default: not)
            fp8_activation_input: keep what the activation of a gated feed-forward reads in fp8 (Megatron-Core's activation_func_fp8_input_store; default: not)
            narrow_copies: keep fp8 or fp4 copies of weights, and their transposes, beside 16-bit weights (Megatron-LM without --fp8-param-gather; default: weights in the format alone)
            loss_chunks: parts of a microbatch whose logits, loss and gradients are made one by one (chunked cross entropy: torchtitan 0.3 has 8; default: 1)
            stage_layers: layers of each pipeline chunk in model order, comma-separated (default: even, fewer at the ends where they do not divide evenly, on the last where it holds prediction modules; nanotron: by cost)
            lora_rank: train adapters of this rank only (default: train every weight)
            lora_targets: attention (q,k,v,o), all (and gate,up,down), or a list of q, k, v, qkv, o, gate, up, gate_up, down (default: attention)
            base_weights: format of the frozen matrices: bf16, fp8, int8 or nf4 (default: bf16)
            from_megatron: Megatron-LM's arguments, or a script that has them
            from_deepspeed: DeepSpeed's JSON, or a launch script that names it
            from_torchtitan: torchtitan's TOML; options given here count before those of a file
            from_accelerate: Accelerate's YAML: FSDP, DeepSpeed or plain data parallelism
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _Flops(Command):
    def __call__(  # type: ignore[override]
        self,
        *,
        model: File | None = None,
        gpus: Value | None = None,
        seq: Value | None = None,
        global_batch: Value | None = None,
        document_tokens: Value | None = None,
        preference: Literal["dpo", "reference-free"] | str | Sequence[str] | None = None,
        tp: Value | None = None,
        pp: Value | None = None,
        dp: Value | None = None,
        cp: Value | None = None,
        ep: Value | None = None,
        vpp: Value | None = None,
        micro_batch: Value | None = None,
        zero: Value | None = None,
        schedule: Literal["gpipe", "1f1b", "interleaved", "1f1b-overlap", "breadth-first", "zb-h1", "zb-h2", "zb-v", "dualpipe", "dualpipe-v"] | str | Sequence[str] | None = None,
        recompute: Literal["none", "selective", "full"] | str | Sequence[str] | None = None,
        recompute_modules: Value | None = None,
        recompute_layers: Value | None = None,
        keep_activations: Value | None = None,
        offload: Literal["none", "optimizer", "activations", "parameters", "optimizer+activations", "parameters+activations"] | str | Sequence[str] | None = None,
        offload_activations: Value | None = None,
        offload_layers: Value | None = None,
        cp_mode: Literal["ring", "all-gather", "ulysses"] | str | Sequence[str] | None = None,
        moe_dispatcher: Literal["alltoall", "deduplicated"] | str | Sequence[str] | None = None,
        expert_tp: Value | None = None,
        expert_imbalance: Value | None = None,
        shard_group: Value | None = None,
        precision: Literal["fp32", "tf32", "fp16", "bf16", "fp8", "fp8-block", "mxfp8", "fp4"] | str | Sequence[str] | None = None,
        gradients: Literal["usual", "bf16"] | str | Sequence[str] | None = None,
        optimizer: Literal["adamw", "adamw-bf16", "adamw-8bit", "adamw-pure-bf16", "sgd", "muon", "lion", "lion-8bit", "adafactor"] | str | Sequence[str] | None = None,
        sequence_parallel: bool | None = None,
        no_sequence_parallel: bool | None = None,
        attention: Value | None = None,
        flash_attention: bool | None = None,
        no_flash_attention: bool | None = None,
        dropout: bool | None = None,
        no_dropout: bool | None = None,
        fused_cross_entropy: bool | None = None,
        no_fused_cross_entropy: bool | None = None,
        fp8_activation_input: bool | None = None,
        no_fp8_activation_input: bool | None = None,
        narrow_copies: bool | None = None,
        no_narrow_copies: bool | None = None,
        loss_chunks: Value | None = None,
        stage_layers: Value | None = None,
        lora_rank: Value | None = None,
        lora_targets: Value | None = None,
        base_weights: Literal["bf16", "fp8", "int8", "nf4"] | str | Sequence[str] | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> FlopsReport:
        """FLOPs and bytes of every op, layer, stage and step, against the usual formulas.

            model: preset (see 'sextant models') or a Hugging Face config.json
            gpus: accelerators (default: what the degrees need)
            seq: tokens per sequence, such as 8192 or 8Ki (default: the model's, up to 8192)
            global_batch: sequences per step (default: about 4 M tokens)
            document_tokens: tokens per document where documents are packed into sequences, each attending to itself alone (default: a sequence is one document)
            preference: train on pairs of a chosen and a rejected sequence of --seq tokens each: dpo (with a frozen reference) or reference-free (SimPO, ORPO, or DPO with stored log-probabilities of the reference); --global-batch and --micro-batch then count pairs (default: none)
            tp: tensor parallelism (default: 1)
            pp: pipeline parallelism (default: 1)
            dp: data parallelism (default: what is left)
            cp: context parallelism (default: 1)
            ep: expert parallelism (default: 1)
            vpp: model chunks per stage (interleaved, breadth-first; 2 in a V) (default: 1)
            micro_batch: sequences per microbatch (default: 1)
            zero: ZeRO stage 0, 1, 2 or 3 (3: FSDP) (default: the framework's: 3 for fsdp, torchtitan and maxtext without pp, 0 for pytorch and transformers, else 1)
            schedule: gpipe, 1f1b, interleaved, 1f1b-overlap (exchanges of experts hide), breadth-first, zb-h1, zb-h2, zb-v, dualpipe or dualpipe-v (default: 1f1b, or interleaved with --vpp; MaxText: gpipe, or breadth-first with --vpp)
            recompute: none, selective (attention core) or full (default: none)
            recompute_modules: with selective: what runs again of a layer, as in Megatron-Core: core_attn (default), layernorm, mla_up_proj, mlp, moe, moe_act, shared_experts; also mlp_act, or op (torchtitan's)
            recompute_layers: with full: layers per stage that are recomputed (0: all)
            keep_activations: with full: what is kept of a layer all the same, and not run again, as in MaxText's custom policies: norm_out, qkv, context (attention's output), attention_out, expert_in, mlp_up, mlp_act
            offload: none, optimizer, activations, parameters (weights, gradients and optimizer, with ZeRO 3), optimizer+activations or parameters+activations (default: none)
            offload_activations: with activations: which of those that are kept go to host memory: layer_input, those of --keep-activations, other (default: all)
            offload_layers: with activations: those of so many layers of the model, spread evenly, go to host memory (0: all)
            cp_mode: ring, all-gather or ulysses (default: all-gather with sliding windows, torchtitan and MaxText, ulysses with DeepSpeed, else ring)
            moe_dispatcher: alltoall (default) or deduplicated (once per domain, as DeepEP)
            expert_tp: tensor parallelism inside an expert (default: 1)
            expert_imbalance: tokens of the busiest expert rank over the mean, at most what its experts can get (default: 1)
            shard_group: ranks that ZeRO shards over (HSDP; 0: all)
            precision: fp32, tf32, fp16, bf16, fp8, fp8-block (scales by tiles of 128, as DeepSeek), mxfp8 (by 32 values) or fp4 (default: bf16, or what the accelerator has)
            gradients: usual (default: the framework's own, often fp32) or bf16 (added up and reduced in bf16)
            optimizer: adamw, adamw-bf16 (moments), adamw-8bit (moments), adamw-pure-bf16 (all in bf16, no fp32 copy of the weights), sgd, muon, lion, lion-8bit or adafactor (default: adamw)
            sequence_parallel: split norms and residuals over tp (default with tp > 1)
            attention: flash (default), unfused (scores in memory, fused softmax) or eager (softmax in fp32, op by op)
            flash_attention: the same as --attention flash, --attention unfused
            dropout: dropout in the model (default: none)
            fused_cross_entropy: loss in one kernel (default: not)
            fp8_activation_input: keep what the activation of a gated feed-forward reads in fp8 (Megatron-Core's activation_func_fp8_input_store; default: not)
            narrow_copies: keep fp8 or fp4 copies of weights, and their transposes, beside 16-bit weights (Megatron-LM without --fp8-param-gather; default: weights in the format alone)
            loss_chunks: parts of a microbatch whose logits, loss and gradients are made one by one (chunked cross entropy: torchtitan 0.3 has 8; default: 1)
            stage_layers: layers of each pipeline chunk in model order, comma-separated (default: even, fewer at the ends where they do not divide evenly, on the last where it holds prediction modules; nanotron: by cost)
            lora_rank: train adapters of this rank only (default: train every weight)
            lora_targets: attention (q,k,v,o), all (and gate,up,down), or a list of q, k, v, qkv, o, gate, up, gate_up, down (default: attention)
            base_weights: format of the frozen matrices: bf16, fp8, int8 or nf4 (default: bf16)
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _ValidateTrain(Command):
    def __call__(  # type: ignore[override]
        self,
        *files: File | Sequence[File],
        rows: Value | None = None,
        plots: File | None = None,
        profile: File | None = None,
        cluster: File | None = None,
        max_median: Value | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> ValidateTrainReport:
        """Predict published training steps and score time, memory and fits against them.

            rows: write every input row with its prediction or the reason why there is none to this file
            plots: write predicted against measured times into this folder, an SVG per source
            profile: framework constants for all rows: a name, or a file (default: by each row's framework)
            cluster: the machine of rows that name its accelerator (default: the usual one of each row's device)
            max_median: exit with 1 if the overall median error of time is larger (per cent)
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _ValidateKernels(Command):
    def __call__(  # type: ignore[override]
        self,
        *files: File | Sequence[File],
        rows: Value | None = None,
        plots: File | None = None,
        profile: File | None = None,
        calibration: File | None = None,
        max_median: Value | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> ValidateKernelsReport:
        """Predict measured kernels (matrix products, attention) and score their times.

            rows: write every input row with its prediction or the reason why there is none to this file
            plots: write predicted against measured times into this folder, an SVG per source
            profile: accelerator for all rows: a name, or a file (default: by each row's device)
            calibration: fitted constants from 'sextant calibrate fit', for the devices or clusters that it names
            max_median: exit with 1 if the overall median error of time is larger (per cent)
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _ValidateCollectives(Command):
    def __call__(  # type: ignore[override]
        self,
        *files: File | Sequence[File],
        rows: Value | None = None,
        plots: File | None = None,
        profile: File | None = None,
        calibration: File | None = None,
        max_median: Value | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> ValidateCollectivesReport:
        """Predict runs of nccl-tests and rccl-tests and score their times.

            rows: write every input row with its prediction or the reason why there is none to this file
            plots: write predicted against measured times into this folder, an SVG per source
            profile: cluster for all rows: a name, or a file (default: by each row's device and links)
            calibration: fitted constants from 'sextant calibrate fit', for the devices or clusters that it names
            max_median: exit with 1 if the overall median error of time is larger (per cent)
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _ValidateServing(Command):
    def __call__(  # type: ignore[override]
        self,
        *files: File | Sequence[File],
        rows: Value | None = None,
        plots: File | None = None,
        profile: File | None = None,
        cluster: File | None = None,
        max_median: Value | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> ValidateServingReport:
        """Predict measured serving runs and score time to first token, time per token and throughput.

            rows: write every input row with its prediction or the reason why there is none to this file
            plots: write predicted against measured times into this folder, an SVG per source
            profile: engine for all rows: a name, or a file (default: by each row's engine)
            cluster: the machine of rows that name its accelerator (default: the usual one of each row's device)
            max_median: exit with 1 if the overall median error of time is larger (per cent)
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _Validate(Command):
    train: _ValidateTrain
    kernels: _ValidateKernels
    collectives: _ValidateCollectives
    serving: _ValidateServing

class _CalibrateRun(Command):
    def __call__(  # type: ignore[override]
        self,
        *,
        out: File | None = None,
        bench: Value | None = None,
        backend: Literal["auto", "cuda", "host"] | str | Sequence[str] | None = None,
        bench_names: Value | None = None,
        quick: bool | None = None,
        full: bool | None = None,
        resume: bool | None = None,
        max_seconds: Value | None = None,
        row_seconds: Value | None = None,
        stall_seconds: Value | None = None,
        time_limit: Value | None = None,
        gpu: Value | None = None,
        describe_host: File | None = None,
        describe_cluster: File | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> str:
        """Measure this machine with sextant-bench.

            out: the rows are written there (CSV, docs/kernels.md)
            bench: the benchmark program (default: beside this one, else on PATH)
            backend: auto (cuda where there is a GPU, else host), cuda, host
            bench_names: only these benchmarks (see 'sextant-bench --list')
            quick: few shapes, 2 % of noise (default)
            full: many shapes, half a percent
            resume: go on with an existing --out: what it has is not measured again
            max_seconds: begin nothing new after so many seconds
            row_seconds: sample a row for at most so many seconds (default: 0.2 with --quick, 1 with --full)
            stall_seconds: end where collectives of GPUs have not ended after so many seconds (default 300; 0: never)
            time_limit: end the benchmarks after so long, whatever they are at (default: never)
            gpu: which CUDA device (default 0)
            describe_host: write an accelerator profile of this machine's processor from the rows
            describe_cluster: the same as a cluster of processes, for the rows of collectives
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _CalibrateImport(Command):
    def __call__(  # type: ignore[override]
        self,
        *files: File | Sequence[File],
        out: File | None = None,
        from_: Value | None = None,
        device: Value | None = None,
        source: Value | None = None,
        set: Value | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> str:
        """Measurements of other programs as tables of ours.

            out: one file, or a folder where there are several kinds of rows
            from_: the format, where it is not to be told from the file
            device: the accelerator, where the rows do not say it or say it wrong
            source: what stands in source_ref (default: the format and what the file says)
            set: a cell of the rows of training steps or served loads that the log does not say, or says wrong, such as gpus_per_node=8, or collective, intra_link, inter_link and run_id of collectives; may be repeated
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _CalibrateFit(Command):
    def __call__(  # type: ignore[override]
        self,
        *,
        collectives: File | None = None,
        nccl_log: File | None = None,
        kernels: File | None = None,
        device: File | None = None,
        train: File | None = None,
        framework: Value | None = None,
        rows: File | None = None,
        serving: File | None = None,
        engine: Value | None = None,
        cluster: File | None = None,
        out: File | None = None,
        held_out: Value | None = None,
        catalogue: File | None = None,
        only: Value | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> str:
        """Constants of the cost models from measurements.

            collectives: table of nccl-tests runs, columns as in docs/validation.md; may be repeated
            nccl_log: what nccl-tests printed; may be repeated
            kernels: table of kernel times (docs/formats.md), rows of sextant-bench or any format of import; may be repeated
            device: the accelerator that --kernels were measured on, or its file (default: as the rows say)
            train: table of training steps, columns as in docs/validation.md; may be repeated
            framework: of --train, the rows of this framework alone
            rows: of --train, a CSV of the rows fitted: measured, predicted, and predicted without their source
            serving: table of serving measurements, columns as in docs/validation.md; may be repeated
            engine: of --serving, the rows of this engine alone
            cluster: the cluster it was measured on, or a cluster file; of --train and --serving, that of the rows which name its accelerator (default: the usual one of each row's device)
            out: the fitted constants: a calibration, or the profile of a framework or an engine
            held_out: of --collectives and --nccl-log: share of the runs, chosen by their names, that judge and are never fitted (default: 0, each is fitted and judged by a fit without it)
            catalogue: fits every calibration that the program ships anew, from these rows alone, into this folder
            only: of --collectives with --catalogue, these
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _CalibrateReport(Command):
    def __call__(  # type: ignore[override]
        self,
        file: File,
        /,
        *,
        rows: File | None = None,
        device: File | None = None,
        plots: File | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> CalibrateReportReport:
        """How well fitted constants hold.

            rows: measurements to score it on, as of fit and validate; may be repeated
            device: the accelerator, or of networks the cluster, that the rows are of (default: as they say)
            plots: write predicted against measured times of --rows into this folder, as SVG
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _CalibrateDiff(Command):
    def __call__(  # type: ignore[override]
        self,
        first: File,
        second: File,
        /,
        *,
        on: File | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> Report:
        """What two files of fitted constants differ in.

            on: the accelerator or cluster that times are compared on (default: whose it is)
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _Calibrate(Command):
    run: _CalibrateRun
    import_: _CalibrateImport
    fit: _CalibrateFit
    report: _CalibrateReport
    diff: _CalibrateDiff

class _ModelsShow(Command):
    def __call__(  # type: ignore[override]
        self,
        name: File,
        /,
        *,
        seq: Value | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> ModelsShowReport:
        """Sizes, exact parameter counts, work and cache per token of one model.

            seq: tokens per sequence that work is counted at (default: 4096, or the longest)
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _Models(Command):
    show: _ModelsShow
    def __call__(  # type: ignore[override]
        self,
        *,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> ModelsReport:
        """List the model presets, and show the exact sizes of one model or config.json.

            config: take options from this TOML file (gpus = 64); those given here win
        """

class _HardwareShow(Command):
    def __call__(  # type: ignore[override]
        self,
        name: File,
        /,
        *,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> HardwareShowReport:
        """Every value of one cluster, accelerator or framework, with basis and source.

            config: take options from this TOML file (gpus = 64); those given here win
        """

class _Hardware(Command):
    show: _HardwareShow
    def __call__(  # type: ignore[override]
        self,
        *,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> HardwareReport:
        """List accelerators, clusters and frameworks, and show every value with its source.

            config: take options from this TOML file (gpus = 64); those given here win
        """

class _Sweep(Command):
    def __call__(
        self,
        *command: str,
        axis: Mapping[str, Any] | Value | None = None,
        zip: Value | None = None,
        columns: Value | None = None,
        list_columns: bool | None = None,
        dry_run: bool | None = None,
        sensitivity: Value | None = None,
        threads: Value | None = None,
        point_limit: Value | None = None,
        shard: Value | None = None,
        mpi: bool | None = None,
        resume: bool | None = None,
        overwrite: bool | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
        **options: Any,
    ) -> SweepReport:
        """Any command over any axes, on all cores and many machines, as rows; and which axis matters most.

            axis: what varies: an option of the command, or a value of the cluster, framework, engine or model; repeated
            zip: axes that advance together instead of all with all; repeated
            columns: values of the report to keep, as dotted paths (default: a few)
            list_columns: show every value of the first point's report, and end
            dry_run: show the command line of every point, and end
            sensitivity: say which axis moves this value most
            threads: points at the same time (0: all cores)
            point_limit: for one point, of wall-clock time; beyond it the point has failed
            shard: only every N-th point, from the K-th on ('sextant merge' joins the files)
            mpi: share the points with the other processes of mpirun, where it is not noticed
            resume: go on with the file of an interrupted sweep
            overwrite: begin the file anew
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _Merge(Command):
    def __call__(  # type: ignore[override]
        self,
        OUT: File,
        *IN: File | Sequence[File],
        format: Literal["csv", "jsonl", "json", "markdown", "html", "text"] | str | Sequence[str] | None = None,
        sensitivity: Value | None = None,
        overwrite: bool | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> str:
        """The shards of a sweep as one file, checked to be all of it.

            format: csv, jsonl, json, markdown, html or text (default: by the ending of OUT, or csv)
            sensitivity: say which axis moves this column most
            overwrite: replace OUT if it is there
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _Doctor(Command):
    def __call__(  # type: ignore[override]
        self,
        *,
        require: Value | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> Report:
        """What this build and this machine have, what is missing, and how to get it.

            require: exit with 3 if one of these is missing, such as mpi,plotly
            config: take options from this TOML file (gpus = 64); those given here win
        """

class _Tables(Command):
    def __call__(  # type: ignore[override]
        self,
        *name: File | Sequence[File],
        output: File | None = None,
        format: Literal["text", "csv", "markdown"] | str | Sequence[str] | None = None,
        threads: Value | None = None,
        config: File | None = None,
        progress: Callable[[str], Any] | None = None,
    ) -> str:
        """Reference tables: training runs by model and machine, ways to parallelise, schedules, serving.

            output: write each as Markdown and CSV into this folder instead
            format: format of the report: text, csv, markdown (default: text)
            threads: threads of the search, 0 for all; the tables do not depend on it
            config: take options from this TOML file (gpus = 64); those given here win
        """

plan: _Plan
estimate: _Estimate
simulate: _Simulate
run_plan: _RunPlan
goodput: _Goodput
trials: _Trials
scaling: _Scaling
serve: _Serve
rl: _Rl
export: _Export
collective: _Collective
memory: _Memory
flops: _Flops
validate: _Validate
calibrate: _Calibrate
models: _Models
hardware: _Hardware
sweep: _Sweep
merge: _Merge
doctor: _Doctor
tables: _Tables
