# Written by scripts/python-stubs (scripts/update-docs runs it); do not edit.
from typing import Any, Final

from ._report import Report, Rows

class PlanReport(Report):
    format: Final[str]
    version: Final[int]
    model: Final[str]
    cluster: Final[str]
    framework: Final[str]
    seq: Final[int]
    global_batch: Final[int]
    counts: Final[PlanReportCounts]
    interrupted: Final[bool]
    share_done: Final[float]
    candidates: Final[Rows[PlanReportCandidates]]
    pareto: Final[Rows[PlanReportPareto]]
    fastest_rejected_for_memory: Final[PlanReportFastestRejectedForMemory | None]
    smallest_rejected_for_memory: Final[PlanReportFastestRejectedForMemory | None]
    smallest_rejected_for_host_memory: Final[PlanReportSmallestRejectedForHostMemory | None]
    explanation: Final[Rows[str]]
    advice: Final[Rows[str]]

class PlanReportCounts(Report):
    enumerated: Final[int]
    evaluated: Final[int]
    rejected: Final[PlanReportCountsRejected]

class PlanReportCountsRejected(Report):
    range: Final[int]
    heads: Final[int]
    kv_heads: Final[int]
    width: Final[int]
    layers: Final[int]
    schedule: Final[int]
    batch: Final[int]
    sequence: Final[int]
    experts: Final[int]
    sequence_parallel: Final[int]
    zero: Final[int]
    positions: Final[int]
    memory: Final[int]
    host_memory: Final[int]

class PlanReportCandidates(Report):
    plan: Final[PlanReportCandidatesPlan]
    report: Final[PlanReportCandidatesReport]
    why: Final[str]
    not_expressed: Final[Rows[Any]]
    simulation: Final[PlanReportCandidatesSimulation]  # not in every report

class PlanReportCandidatesPlan(Report):
    dp: Final[int]
    tp: Final[int]
    pp: Final[int]
    cp: Final[int]
    ep: Final[int]
    expert_tp: Final[int]
    vpp: Final[int]
    micro_batch: Final[int]
    schedule: Final[str]
    zero: Final[int]
    shard_group: Final[int]
    recompute: Final[str]
    recompute_layers: Final[int]
    sequence_parallel: Final[bool]
    cp_mode: Final[str]
    moe_dispatcher: Final[str]
    offload: Final[str]
    attention: Final[str]
    optimizer: Final[str]
    precision: Final[str]
    dropout: Final[bool]
    fused_cross_entropy: Final[bool]
    loss_chunks: Final[int]  # not in every report
    lora_rank: Final[int]  # not in every report
    lora_targets: Final[str]  # not in every report
    base_weights: Final[str]  # not in every report
    recompute_modules: Final[str]  # not in every report
    gradients: Final[str]  # not in every report

class PlanReportCandidatesReport(Report):
    iteration_time_s: Final[float]
    iteration_time_low_s: Final[float]
    iteration_time_high_s: Final[float]
    tokens_per_s: Final[float]
    tokens_per_s_per_gpu: Final[float]
    model_tflops_per_gpu: Final[float]
    hardware_tflops_per_gpu: Final[float]
    mfu: Final[float]
    hfu: Final[float]
    gpus: Final[int]
    microbatches: Final[int]
    memory: Final[PlanReportCandidatesReportMemory]
    fullest_stage: Final[int]
    fits: Final[bool]
    breakdown: Final[PlanReportCandidatesReportBreakdown]
    slowest_stage: Final[int]
    unsupported: Final[Rows[Any]]
    assumptions: Final[Rows[str]]
    graph_digest: Final[str]
    step_cost_usd: Final[float]
    million_tokens_cost_usd: Final[float]
    trained_parameters: Final[int]  # not in every report

class PlanReportCandidatesReportMemory(Report):
    peak_bytes: Final[float]
    weights_bytes: Final[float]
    gradients_bytes: Final[float]
    optimizer_bytes: Final[float]
    reference_bytes: Final[float]
    activations_bytes: Final[float]
    layer_activations_bytes: Final[float]
    logits_bytes: Final[float]
    buffers_bytes: Final[float]
    overhead_bytes: Final[float]
    workspaces_bytes: Final[float]
    slack_bytes: Final[float]
    capacity_bytes: Final[float]
    usable_bytes: Final[float]
    allocated_bytes: Final[float]
    reserved_low_bytes: Final[float]
    reserved_high_bytes: Final[float]
    host_bytes: Final[float]
    host_usable_bytes: Final[float]

class PlanReportCandidatesReportBreakdown(Report):
    gemm_s: Final[float]
    attention_s: Final[float]
    memory_bound_s: Final[float]
    host_s: Final[float]
    recompute_s: Final[float]
    tp_s: Final[float]
    cp_s: Final[float]
    ep_s: Final[float]
    pp_s: Final[float]
    bubble_s: Final[float]
    dp_s: Final[float]
    optimizer_s: Final[float]
    offload_s: Final[float]
    reference_s: Final[float]
    fixed_s: Final[float]

class PlanReportCandidatesSimulation(Report):
    state: Final[str]
    iteration_time_s: Final[float]
    message: Final[str]

class PlanReportPareto(Report):
    plan: Final[PlanReportCandidatesPlan]
    report: Final[PlanReportCandidatesReport]
    why: Final[str]

class PlanReportFastestRejectedForMemory(Report):
    plan: Final[PlanReportCandidatesPlan]  # not in every report
    iteration_time_s: Final[float]  # not in every report
    peak_bytes: Final[float]  # not in every report

class PlanReportSmallestRejectedForHostMemory(Report):
    plan: Final[PlanReportSmallestRejectedForHostMemoryPlan]  # not in every report
    peak_bytes: Final[float]  # not in every report
    host_bytes: Final[float]  # not in every report

class PlanReportSmallestRejectedForHostMemoryPlan(Report):
    dp: Final[int]
    tp: Final[int]
    pp: Final[int]
    cp: Final[int]
    ep: Final[int]
    expert_tp: Final[int]
    vpp: Final[int]
    micro_batch: Final[int]
    schedule: Final[str]
    zero: Final[int]
    shard_group: Final[int]
    recompute: Final[str]
    recompute_layers: Final[int]
    sequence_parallel: Final[bool]
    cp_mode: Final[str]
    moe_dispatcher: Final[str]
    offload: Final[str]
    attention: Final[str]
    optimizer: Final[str]
    precision: Final[str]
    dropout: Final[bool]
    fused_cross_entropy: Final[bool]

class EstimateReport(Report):
    format: Final[str]
    version: Final[int]
    model: Final[str]
    cluster: Final[str]
    framework: Final[str]
    seq: Final[int]
    global_batch: Final[int]
    plan: Final[PlanReportCandidatesPlan]
    iteration_time_s: Final[float]
    iteration_time_low_s: Final[float]
    iteration_time_high_s: Final[float]
    tokens_per_s: Final[float]
    tokens_per_s_per_gpu: Final[float]
    model_tflops_per_gpu: Final[float]
    hardware_tflops_per_gpu: Final[float]
    mfu: Final[float]
    hfu: Final[float]
    gpus: Final[int]
    microbatches: Final[int]
    memory: Final[PlanReportCandidatesReportMemory]
    fullest_stage: Final[int]
    fits: Final[bool]
    breakdown: Final[PlanReportCandidatesReportBreakdown]
    slowest_stage: Final[int]
    unsupported: Final[Rows[Any]]
    assumptions: Final[Rows[str]]
    graph_digest: Final[str]
    step_cost_usd: Final[float]
    million_tokens_cost_usd: Final[float]
    not_expressed: Final[Rows[Any]]
    explanation: Final[Rows[str]]
    trained_parameters: Final[int]  # not in every report

class SimulateReport(Report):
    format: Final[str]
    version: Final[int]
    model: Final[str]
    cluster: Final[str]
    framework: Final[str]
    seq: Final[int]
    global_batch: Final[int]
    plan: Final[PlanReportSmallestRejectedForHostMemoryPlan]
    plan_label: Final[str]
    gpus: Final[int]
    network: Final[str]
    granularity: Final[str]
    steps: Final[int]
    state: Final[str]
    iteration_time_s: Final[float]
    iteration_time_low_s: Final[float]
    iteration_time_high_s: Final[float]
    tokens_per_s: Final[float]
    mfu: Final[float]
    closed_form_time_s: Final[float]
    uncontended_time_s: Final[float]
    bubble_share: Final[float]
    tasks: Final[int]
    activities: Final[int]
    repetitions: Final[SimulateReportRepetitions | None]
    ranks: Final[Rows[SimulateReportRanks]]
    mean: Final[SimulateReportMean]
    overlap: Final[SimulateReportOverlap]
    links: Final[Rows[SimulateReportLinks]]
    critical_path: Final[SimulateReportCriticalPath]
    memory: Final[Rows[SimulateReportMemory]]
    peak_reserved_bytes: Final[float]
    usable_memory_bytes: Final[float]
    notes: Final[Rows[str]]
    busiest_rank: Final[int]
    least_bubble_share: Final[float]

class SimulateReportRepetitions(Report):
    first_seed: Final[int]  # not in every report
    iteration_time_s: Final[Rows[float]]  # not in every report
    p10_s: Final[float]  # not in every report
    p50_s: Final[float]  # not in every report
    p90_s: Final[float]  # not in every report
    max_s: Final[float]  # not in every report

class SimulateReportRanks(Report):
    rank: Final[int]
    stage: Final[int]
    stands_for: Final[int]
    compute_s: Final[float]
    exposed_s: Final[float]
    idle_s: Final[float]
    idle_before_s: Final[float]
    idle_between_s: Final[float]
    idle_after_s: Final[float]
    bubble_share: Final[float]
    compute: Final[SimulateReportRanksCompute]
    exposed: Final[SimulateReportRanksExposed]

class SimulateReportRanksCompute(Report):
    gemm_s: Final[float]  # not in every report
    attention_s: Final[float]  # not in every report
    memory_bound_s: Final[float]  # not in every report
    host_s: Final[float]  # not in every report
    optimizer_s: Final[float]
    fixed_s: Final[float]
    compute_s: Final[float]  # not in every report

class SimulateReportRanksExposed(Report):
    pp_s: Final[float]
    dp_s: Final[float]

class SimulateReportMean(Report):
    compute_s: Final[float]
    exposed_s: Final[float]
    idle_s: Final[float]
    idle_before_s: Final[float]
    idle_between_s: Final[float]
    idle_after_s: Final[float]
    bubble_share: Final[float]
    compute: Final[SimulateReportRanksCompute]
    exposed: Final[SimulateReportRanksExposed]

class SimulateReportOverlap(Report):
    pp: Final[SimulateReportOverlapPp]
    dp: Final[SimulateReportOverlapPp]

class SimulateReportOverlapPp(Report):
    total_s: Final[float]
    hidden_s: Final[float]
    exposed_s: Final[float]
    overlap_share: Final[float]

class SimulateReportLinks(Report):
    name: Final[str]
    bandwidth_bytes_per_s: Final[float]
    carried_bytes: Final[float]
    busy_share: Final[float]

class SimulateReportCriticalPath(Report):
    tasks: Final[int]
    length_s: Final[float]
    waiting_s: Final[float]
    network_delay_s: Final[float]
    compute_delay_s: Final[float]
    parts: Final[SimulateReportCriticalPathParts]
    ops: Final[Rows[SimulateReportCriticalPathOps]]
    ranks: Final[Rows[SimulateReportCriticalPathRanks]]

class SimulateReportCriticalPathParts(Report):
    gemm_s: Final[float]  # not in every report
    attention_s: Final[float]  # not in every report
    memory_bound_s: Final[float]  # not in every report
    host_s: Final[float]  # not in every report
    pp_s: Final[float]
    dp_s: Final[float]
    optimizer_s: Final[float]
    fixed_s: Final[float]
    compute_s: Final[float]  # not in every report

class SimulateReportCriticalPathOps(Report):
    name: Final[str]
    time_s: Final[float]
    count: Final[int]

class SimulateReportCriticalPathRanks(Report):
    rank: Final[int]
    time_s: Final[float]

class SimulateReportMemory(Report):
    rank: Final[int]
    peak_bytes: Final[float]
    peak_time_s: Final[float]
    time_s: Final[Rows[float]]
    bytes: Final[Rows[float]]

class RunPlanReport(Report):
    format: Final[str]
    version: Final[int]
    cluster: Final[str]
    framework: Final[str]
    question: Final[RunPlanReportQuestion]
    model: Final[RunPlanReportModel]
    tokens: Final[float]
    seq: Final[int]
    global_batch: Final[int]
    critical_batch_tokens: Final[float]
    law: Final[RunPlanReportLaw]
    run: Final[RunPlanReportRun]
    reason: Final[str]
    advice: Final[Rows[Any]]
    plain: Final[None]
    deadline: Final[None]
    curve: Final[RunPlanReportCurve]
    rounds: Final[Rows[RunPlanReportRounds]]
    convergence: Final[str]
    choices: Final[Rows[str]]
    unsupported: Final[Rows[Any]]
    assumptions: Final[Rows[str]]
    interrupted: Final[bool]

class RunPlanReportQuestion(Report):
    budget: Final[RunPlanReportQuestionBudget]
    deadline_s: Final[None]
    gpus: Final[None]

class RunPlanReportQuestionBudget(Report):
    kind: Final[str]
    amount: Final[float]

class RunPlanReportModel(Report):
    name: Final[str]
    layers: Final[int]
    hidden: Final[int]
    heads: Final[int]
    kv_heads: Final[int]
    head_dim: Final[int]
    intermediate: Final[int]
    vocab: Final[int]
    tied_embeddings: Final[bool]
    parameters_total: Final[int]
    parameters_active: Final[int]

class RunPlanReportLaw(Report):
    title: Final[str]
    source: Final[str]
    basis: Final[str]
    resamples: Final[int]
    flops: Final[float]
    loss: Final[RunPlanReportLawLoss]
    optimum: Final[RunPlanReportLawOptimum]
    twenty_tokens_per_parameter: Final[RunPlanReportLawTwentyTokensPerParameter]
    warnings: Final[Rows[str]]

class RunPlanReportLawLoss(Report):
    value: Final[float]
    low: Final[float]
    high: Final[float]

class RunPlanReportLawOptimum(Report):
    parameters: Final[RunPlanReportLawLoss]
    tokens: Final[RunPlanReportLawLoss]
    tokens_per_parameter: Final[RunPlanReportLawLoss]
    loss: Final[RunPlanReportLawLoss]

class RunPlanReportLawTwentyTokensPerParameter(Report):
    parameters: Final[float]
    tokens: Final[float]
    loss: Final[float]

class RunPlanReportRun(Report):
    gpus: Final[int]
    plan: Final[PlanReportSmallestRejectedForHostMemoryPlan]
    iteration_time_s: Final[float]
    iteration_time_low_s: Final[float]
    iteration_time_high_s: Final[float]
    mfu: Final[float]
    hfu: Final[float]
    peak_bytes: Final[float]
    usable_bytes: Final[float]
    steps: Final[float]
    productive_s: Final[float]
    effective_training_time_ratio: Final[float]
    wall_s: Final[float]
    wall_low_s: Final[float]
    wall_high_s: Final[float]
    days: Final[float]
    gpu_hours: Final[float]
    gpu_hours_low: Final[float]
    gpu_hours_high: Final[float]
    dollars: Final[float]
    dollars_low: Final[float]
    dollars_high: Final[float]
    tokens_per_s: Final[float]
    tokens_per_s_while_training: Final[float]
    energy: Final[RunPlanReportRunEnergy]
    goodput: Final[RunPlanReportRunGoodput]

class RunPlanReportRunEnergy(Report):
    kwh: Final[float]
    kwh_low: Final[float]
    kwh_high: Final[float]
    device_watts: Final[float]
    site_watts: Final[float]
    busy_share: Final[float]

class RunPlanReportRunGoodput(Report):
    mtbf_s: Final[float]
    checkpoint_bytes: Final[float]
    checkpoint_interval_s: Final[float]
    shares: Final[RunPlanReportRunGoodputShares]

class RunPlanReportRunGoodputShares(Report):
    useful: Final[float]
    checkpoints: Final[float]
    lost_work: Final[float]
    restarts: Final[float]

class RunPlanReportCurve(Report):
    points: Final[Rows[RunPlanReportCurvePoints]]
    pays_above: Final[float]
    stops_paying_at_gpus: Final[int | None]
    interrupted: Final[bool]

class RunPlanReportCurvePoints(Report):
    gpus: Final[int]
    fits: Final[bool]
    reason: Final[str]  # not in every report
    efficiency: Final[float]  # not in every report
    marginal_efficiency: Final[float]  # not in every report
    dollars_per_halving: Final[float | None]  # not in every report
    dollars_per_day_saved: Final[float | None]  # not in every report
    plan: Final[RunPlanReportCurvePointsPlan]  # not in every report
    iteration_time_s: Final[float]  # not in every report
    iteration_time_low_s: Final[float]  # not in every report
    iteration_time_high_s: Final[float]  # not in every report
    mfu: Final[float]  # not in every report
    hfu: Final[float]  # not in every report
    peak_bytes: Final[float]  # not in every report
    usable_bytes: Final[float]  # not in every report
    steps: Final[float]  # not in every report
    productive_s: Final[float]  # not in every report
    effective_training_time_ratio: Final[float]  # not in every report
    wall_s: Final[float]  # not in every report
    wall_low_s: Final[float]  # not in every report
    wall_high_s: Final[float]  # not in every report
    days: Final[float]  # not in every report
    gpu_hours: Final[float]  # not in every report
    gpu_hours_low: Final[float]  # not in every report
    gpu_hours_high: Final[float]  # not in every report
    dollars: Final[float]  # not in every report
    dollars_low: Final[float]  # not in every report
    dollars_high: Final[float]  # not in every report
    tokens_per_s: Final[float]  # not in every report
    tokens_per_s_while_training: Final[float]  # not in every report
    energy: Final[RunPlanReportRunEnergy]  # not in every report
    goodput: Final[RunPlanReportRunGoodput]  # not in every report

class RunPlanReportCurvePointsPlan(Report):
    dp: Final[int]
    tp: Final[int]
    pp: Final[int]
    cp: Final[int]
    ep: Final[int]
    expert_tp: Final[int]
    vpp: Final[int]
    micro_batch: Final[int]
    schedule: Final[str]
    zero: Final[int]
    shard_group: Final[int]
    recompute: Final[str]
    recompute_layers: Final[int]
    sequence_parallel: Final[bool]
    cp_mode: Final[str]
    moe_dispatcher: Final[str]
    offload: Final[str]
    attention: Final[str]
    optimizer: Final[str]
    precision: Final[str]
    dropout: Final[bool]
    fused_cross_entropy: Final[bool]
    recompute_modules: Final[str]  # not in every report

class RunPlanReportRounds(Report):
    flops: Final[float]
    model: Final[str]
    parameters: Final[float]
    tokens: Final[float]
    mfu: Final[float]
    loss: Final[float]
    taken: Final[bool]

class GoodputReport(Report):
    format: Final[str]
    version: Final[int]
    gpus: Final[int]
    gpus_per_node: Final[int]
    work_s: Final[float]
    seed: Final[int]
    checkpoint: Final[GoodputReportCheckpoint]
    accelerator_hours: Final[float]
    lost_accelerator_hours: Final[float]
    detection_s: Final[float]
    restart_s: Final[float]
    spares: Final[None]
    repair_s: Final[float]
    failures: Final[Rows[GoodputReportFailures]]
    tiers: Final[Rows[GoodputReportTiers]]
    closed_form: Final[GoodputReportClosedForm]
    simulation: Final[GoodputReportSimulation]
    assumptions: Final[Rows[str]]
    timeline: Final[GoodputReportTimeline]  # not in every report
    interval_search: Final[GoodputReportIntervalSearch]  # not in every report

class GoodputReportCheckpoint(Report):
    bytes: Final[float]
    bytes_per_parameter: Final[float]
    busiest_rank_bytes: Final[float]
    busiest_node_bytes: Final[float]
    mode: Final[str]
    storage: Final[str]

class GoodputReportFailures(Report):
    name: Final[str]
    scope: Final[str]
    components: Final[int]
    mtbf_s: Final[float]
    weibull_shape: Final[float]
    basis: Final[str]
    source: Final[str]

class GoodputReportTiers(Report):
    name: Final[str]
    interval_s: Final[float]
    young_s: Final[float | None]
    daly_s: Final[float | None]
    exact_s: Final[float | None]
    mtbf_s: Final[float | None]
    stall_s: Final[float]
    write_behind_s: Final[float]
    load_s: Final[float]
    survives: Final[str]

class GoodputReportClosedForm(Report):
    effective_training_time_ratio: Final[float]
    wall_s: Final[float]
    mtbf_s: Final[float | None]
    approximation: Final[str]
    shares: Final[GoodputReportClosedFormShares]
    causes: Final[Rows[GoodputReportClosedFormCauses]]

class GoodputReportClosedFormShares(Report):
    useful: Final[float]
    stall: Final[float]
    rewind: Final[float]
    detection: Final[float]
    restart: Final[float]
    waiting: Final[float]
    shrink: Final[float]
    maintenance: Final[float]

class GoodputReportClosedFormCauses(Report):
    name: Final[str]
    per_day: Final[float]
    each_s: Final[float]
    share: Final[float]

class GoodputReportSimulation(Report):
    trials: Final[int]
    finished: Final[int]
    interrupted: Final[bool]
    effective_training_time_ratio: Final[float]
    ratio_standard_error: Final[float]
    wall_s: Final[GoodputReportSimulationWallS]
    ratio: Final[GoodputReportSimulationWallS]
    failures: Final[GoodputReportSimulationWallS]
    shares: Final[GoodputReportClosedFormShares]
    causes: Final[Rows[GoodputReportClosedFormCauses]]

class GoodputReportSimulationWallS(Report):
    mean: Final[float]
    standard_error: Final[float]
    p5: Final[float]
    p25: Final[float]
    p50: Final[float]
    p75: Final[float]
    p95: Final[float]

class GoodputReportTimeline(Report):
    finished: Final[bool]
    wall_s: Final[float]
    checkpoints: Final[int]
    failures: Final[int]
    use: Final[GoodputReportTimelineUse]
    incidents: Final[Rows[GoodputReportTimelineIncidents]]

class GoodputReportTimelineUse(Report):
    useful_s: Final[float]
    stall_s: Final[float]
    rewind_s: Final[float]
    detection_s: Final[float]
    restart_s: Final[float]
    waiting_s: Final[float]
    shrink_s: Final[float]
    maintenance_s: Final[float]

class GoodputReportTimelineIncidents(Report):
    at_s: Final[float]
    kind: Final[str]
    scope: Final[str]
    back_to: Final[str]
    rewind_s: Final[float]
    detection_s: Final[float]
    waiting_s: Final[float]
    restart_s: Final[float]
    planned_s: Final[float]
    also: Final[int]
    broken_nodes: Final[int]
    missing_replicas: Final[int]

class GoodputReportIntervalSearch(Report):
    best_s: Final[float]
    flat_low_s: Final[float]
    flat_high_s: Final[float]
    interrupted: Final[bool]
    tried: Final[Rows[GoodputReportIntervalSearchTried]]

class GoodputReportIntervalSearchTried(Report):
    interval_s: Final[float]
    ratio: Final[float]
    behind: Final[float]
    behind_standard_error: Final[float]

class TrialsBudgetReport(Report):
    format: Final[str]
    version: Final[int]
    seed: Final[int]
    workers: Final[int]
    gpus_per_trial: Final[int]
    methods: Final[Rows[TrialsBudgetReportMethods]]
    assumptions: Final[Rows[str]]
    trial_flops: Final[float]  # not in every report
    trial_gpu_s: Final[float]  # not in every report
    usd_per_gpu_hour: Final[float]  # not in every report

class TrialsBudgetReportMethods(Report):
    method: Final[str]
    eta: Final[int]
    least_units: Final[float]
    full_units: Final[float]
    resume: Final[bool]
    started: Final[int]
    finished: Final[int]
    units: Final[float]
    worst_units: Final[float]
    critical_units: Final[float]
    brackets: Final[Rows[TrialsBudgetReportMethodsBrackets]]
    simulation: Final[TrialsBudgetReportMethodsSimulation]
    flops: Final[float]  # not in every report
    gpu_s: Final[float]  # not in every report
    mean_gpu_s: Final[float]  # not in every report
    worst_gpu_s: Final[float]  # not in every report
    usd: Final[float]  # not in every report
    mean_usd: Final[float]  # not in every report
    worst_usd: Final[float]  # not in every report

class TrialsBudgetReportMethodsBrackets(Report):
    halvings: Final[int]
    units: Final[float]
    units_resumed: Final[float]
    rungs: Final[Rows[TrialsBudgetReportMethodsBracketsRungs]]

class TrialsBudgetReportMethodsBracketsRungs(Report):
    trials: Final[int]
    units: Final[float]
    new_units: Final[float]

class TrialsBudgetReportMethodsSimulation(Report):
    searches: Final[int]
    interrupted: Final[bool]
    wall_units: Final[float]  # not in every report
    wall_p5_units: Final[float]  # not in every report
    wall_p50_units: Final[float]  # not in every report
    wall_p95_units: Final[float]  # not in every report
    first_whole_units: Final[float]  # not in every report
    units: Final[float]
    idle_share: Final[float]
    winner_rank: Final[float]
    trials_by_rung: Final[Rows[float]]
    wall_s: Final[float]  # not in every report
    wall_p5_s: Final[float]  # not in every report
    wall_p50_s: Final[float]  # not in every report
    wall_p95_s: Final[float]  # not in every report
    first_whole_s: Final[float]  # not in every report

class TrialsScheduleReport(Report):
    format: Final[str]
    version: Final[int]
    shape: Final[str]
    peak_learning_rate: Final[float]
    final_share: Final[float]
    warmup_tokens: Final[float]
    decay_tokens: Final[float]
    steps: Final[int]
    tokens: Final[float]
    learning_rate_sum: Final[float]
    decay: Final[str]
    decay_share: Final[float]
    rows: Final[Rows[TrialsScheduleReportRows]]

class TrialsScheduleReportRows(Report):
    step: Final[int]
    tokens: Final[float]
    batch_tokens: Final[float]
    learning_rate: Final[float]
    event: Final[str]

class TrialsTransferReport(Report):
    format: Final[str]
    version: Final[int]
    ladder: Final[Rows[TrialsTransferReportLadder]]
    rules: Final[Rows[TrialsTransferReportRules]]

class TrialsTransferReportLadder(Report):
    parameters: Final[float]
    tokens: Final[float]
    flops: Final[float]
    share_of_target: Final[float]

class TrialsTransferReportRules(Report):
    hyperparameter: Final[str]
    tune_at: Final[str]
    carry_over: Final[str]
    basis: Final[str]
    source: Final[str]

class ScalingFitReport(Report):
    format: Final[str]
    version: Final[int]
    law: Final[str]
    title: Final[str]
    basis: Final[str]
    source: Final[str]
    parameters: Final[ScalingFitReportParameters]
    ranges: Final[ScalingFitReportRanges]
    warnings: Final[Rows[str]]
    formula: Final[str]
    data: Final[str]
    columns: Final[ScalingFitReportColumns]
    rows_used: Final[int]
    rows_left_out: Final[int]
    missing: Final[Rows[Any]]
    intervals: Final[ScalingFitReportIntervals]
    quantities: Final[ScalingFitReportQuantities]
    objective: Final[float]
    objective_function: Final[str]
    converged: Final[bool]
    starts: Final[ScalingFitReportStarts]
    at_flops: Final[float]
    sensitivity: Final[Rows[ScalingFitReportSensitivity]]
    influence: Final[Rows[ScalingFitReportInfluence]]
    backtest: Final[Rows[ScalingFitReportBacktest]]
    bootstrap: Final[ScalingFitReportBootstrap]
    assumptions: Final[Rows[str]]
    resamples: Final[ScalingFitReportResamples]

class ScalingFitReportParameters(Report):
    A: Final[float]
    B: Final[float]
    E: Final[float]
    alpha: Final[float]
    beta: Final[float]

class ScalingFitReportRanges(Report):
    flops: Final[Rows[float]]
    parameters: Final[Rows[float]]
    tokens: Final[Rows[float]]

class ScalingFitReportColumns(Report):
    loss: Final[str]
    parameters: Final[str]
    tokens: Final[str]

class ScalingFitReportIntervals(Report):
    A: Final[ScalingFitReportIntervalsA]
    B: Final[ScalingFitReportIntervalsA]
    E: Final[ScalingFitReportIntervalsA]
    alpha: Final[ScalingFitReportIntervalsA]
    beta: Final[ScalingFitReportIntervalsA]

class ScalingFitReportIntervalsA(Report):
    profile_low_95: Final[float]
    profile_high_95: Final[float]
    fitted: Final[bool]

class ScalingFitReportQuantities(Report):
    tokens_per_parameter: Final[ScalingFitReportQuantitiesTokensPerParameter]
    optimal_parameters: Final[ScalingFitReportQuantitiesTokensPerParameter]
    optimal_tokens: Final[ScalingFitReportQuantitiesTokensPerParameter]
    optimal_loss: Final[ScalingFitReportQuantitiesTokensPerParameter]
    N_exponent: Final[ScalingFitReportQuantitiesTokensPerParameter]

class ScalingFitReportQuantitiesTokensPerParameter(Report):
    fitted: Final[bool]
    value: Final[float]

class ScalingFitReportStarts(Report):
    solved: Final[int]
    agreeing: Final[int]

class ScalingFitReportSensitivity(Report):
    objective_function: Final[str]
    objective: Final[float]
    converged: Final[bool]
    parameters: Final[ScalingFitReportParameters]
    quantity: Final[float]

class ScalingFitReportInfluence(Report):
    line: Final[int]
    residual: Final[float]
    quantity: Final[float]

class ScalingFitReportBacktest(Report):
    cut_flops: Final[float]
    rows_fitted: Final[int]
    rows_judged: Final[int]
    median_error_pct: Final[float]
    bias_pct: Final[float]
    quantity: Final[float]

class ScalingFitReportBootstrap(Report):
    resamples: Final[int]
    failed: Final[int]

class ScalingFitReportResamples(Report):
    names: Final[Rows[str]]
    rows: Final[Rows[Rows[float]]]

class ScalingOptimumReport(Report):
    format: Final[str]
    version: Final[int]
    law: Final[str]
    flops: Final[float]
    parameters: Final[float]
    tokens: Final[float]
    tokens_per_parameter: Final[float]
    loss: Final[float]
    given: Final[str]
    budgets: Final[Rows[ScalingOptimumReportBudgets]]
    left_out: Final[Rows[Any]]
    assumptions: Final[Rows[str]]
    machine: Final[str]  # not in every report

class ScalingOptimumReportBudgets(Report):
    amount: Final[float]
    flops: Final[float]
    laws: Final[Rows[ScalingOptimumReportBudgetsLaws]]
    flat_region: Final[ScalingOptimumReportBudgetsFlatRegion]
    rule: Final[ScalingOptimumReportBudgetsRule]
    smaller_models: Final[Rows[ScalingOptimumReportBudgetsSmallerModels]]
    rates: Final[ScalingOptimumReportBudgetsRates]
    run: Final[ScalingOptimumReportBudgetsRun]  # not in every report

class ScalingOptimumReportBudgetsLaws(Report):
    law: Final[str]
    form: Final[str]
    title: Final[str]
    basis: Final[str]
    source: Final[str]
    counting: Final[str]
    parameters: Final[float]
    tokens: Final[float]
    tokens_per_parameter: Final[float]
    loss: Final[float | None]
    intervals: Final[ScalingOptimumReportBudgetsLawsIntervals]
    outside_fitted_range: Final[Rows[ScalingOptimumReportBudgetsLawsOutsideFittedRange]]
    warnings: Final[Rows[str]]
    flops: Final[float]

class ScalingOptimumReportBudgetsLawsIntervals(Report):
    parameters: Final[ScalingOptimumReportBudgetsLawsIntervalsParameters | None]
    tokens: Final[ScalingOptimumReportBudgetsLawsIntervalsParameters | None]
    tokens_per_parameter: Final[ScalingOptimumReportBudgetsLawsIntervalsParameters | None]
    loss: Final[ScalingOptimumReportBudgetsLawsIntervalsParameters | None]

class ScalingOptimumReportBudgetsLawsIntervalsParameters(Report):
    low_95: Final[float]  # not in every report
    low_80: Final[float]  # not in every report
    median: Final[float]  # not in every report
    high_80: Final[float]  # not in every report
    high_95: Final[float]  # not in every report

class ScalingOptimumReportBudgetsLawsOutsideFittedRange(Report):
    input: Final[str]
    value: Final[float]
    factor: Final[float]
    above: Final[bool]

class ScalingOptimumReportBudgetsFlatRegion(Report):
    parameters: Final[Rows[float]]
    tokens: Final[Rows[float]]
    loss_share: Final[float]

class ScalingOptimumReportBudgetsRule(Report):
    tokens_per_parameter: Final[float]
    parameters: Final[float]
    tokens: Final[float]
    loss: Final[float]
    loss_penalty: Final[float]
    compute_needed_share: Final[float]

class ScalingOptimumReportBudgetsSmallerModels(Report):
    size_factor: Final[float]
    token_factor: Final[float]
    overhead_share: Final[float]

class ScalingOptimumReportBudgetsRates(Report):
    learning_rate: Final[Rows[float]]
    batch_tokens: Final[Rows[float]]
    laws: Final[Rows[ScalingOptimumReportBudgetsRatesLaws]]
    adamw_timescale: Final[float]

class ScalingOptimumReportBudgetsRatesLaws(Report):
    law: Final[str]
    basis: Final[str]
    source: Final[str]
    learning_rate: Final[float | None]
    batch_tokens: Final[float | None]
    critical_batch_tokens: Final[float | None]
    noise_scale_tokens: Final[float | None]

class ScalingOptimumReportBudgetsRun(Report):
    accelerator_hours: Final[float]
    time_s: Final[None]
    cost_usd: Final[float]

class ScalingPredictReport(Report):
    format: Final[str]
    version: Final[int]
    law: Final[str]
    parameters: Final[float]
    total_parameters: Final[float]
    tokens: Final[float]
    flops: Final[float]
    tokens_per_parameter: Final[float]
    loss: Final[float]
    loss_interval: Final[ScalingPredictReportLossInterval]
    laws: Final[Rows[ScalingPredictReportLaws]]
    same_loss_optimum: Final[RunPlanReportLawTwentyTokensPerParameter]
    overhead_share: Final[float]
    rates: Final[ScalingOptimumReportBudgetsRates]
    assumptions: Final[Rows[Any]]

class ScalingPredictReportLossInterval(Report):
    low_95: Final[float]
    low_80: Final[float]
    median: Final[float]
    high_80: Final[float]
    high_95: Final[float]

class ScalingPredictReportLaws(Report):
    law: Final[str]
    form: Final[str]
    title: Final[str]
    basis: Final[str]
    source: Final[str]
    counting: Final[str]
    parameters: Final[float]
    tokens: Final[float]
    tokens_per_parameter: Final[float]
    loss: Final[float]
    intervals: Final[ScalingPredictReportLawsIntervals]
    outside_fitted_range: Final[Rows[ScalingOptimumReportBudgetsLawsOutsideFittedRange]]
    warnings: Final[Rows[str]]
    optimum: Final[RunPlanReportLawTwentyTokensPerParameter]
    loss_penalty: Final[float]
    compute_needed_share: Final[float]

class ScalingPredictReportLawsIntervals(Report):
    parameters: Final[None]
    tokens: Final[None]
    tokens_per_parameter: Final[None]
    loss: Final[ScalingOptimumReportBudgetsLawsIntervalsParameters | None]

class ScalingLawsReport(Report):
    format: Final[str]
    version: Final[int]
    default: Final[str]  # not in every report
    laws: Final[Rows[ScalingLawsReportLaws]]  # not in every report
    rate_laws: Final[Rows[ScalingLawsReportRateLaws]]  # not in every report
    law: Final[str]  # not in every report
    title: Final[str]  # not in every report
    basis: Final[str]  # not in every report
    source: Final[str]  # not in every report
    counting: Final[str]  # not in every report
    parameters: Final[ScalingFitReportParameters]  # not in every report
    ranges: Final[ScalingFitReportRanges]  # not in every report

class ScalingLawsReportLaws(Report):
    name: Final[str]
    law: Final[str]
    title: Final[str]
    basis: Final[str]
    source: Final[str]
    counting: Final[str]
    parameters: Final[ScalingLawsReportLawsParameters]
    ranges: Final[ScalingLawsReportLawsRanges]
    resamples: Final[int]
    warnings: Final[Rows[str]]

class ScalingLawsReportLawsParameters(Report):
    A: Final[float]  # not in every report
    B: Final[float]  # not in every report
    E: Final[float]  # not in every report
    alpha: Final[float]  # not in every report
    beta: Final[float]  # not in every report
    R_D: Final[float]  # not in every report
    R_N: Final[float]  # not in every report
    a: Final[float]  # not in every report
    b: Final[float]  # not in every report
    eta: Final[float]  # not in every report
    N_coef: Final[float]  # not in every report
    N_exponent: Final[float]  # not in every report
    flops_unit: Final[float]  # not in every report
    D_c: Final[float]  # not in every report
    N_c: Final[float]  # not in every report
    alpha_D: Final[float]  # not in every report
    alpha_N: Final[float]  # not in every report
    E_max: Final[float]  # not in every report
    E_start: Final[float]  # not in every report
    c: Final[float]  # not in every report
    d: Final[float]  # not in every report
    g: Final[float]  # not in every report
    gamma: Final[float]  # not in every report
    delta: Final[float]  # not in every report
    omega: Final[float]  # not in every report
    zeta: Final[float]  # not in every report
    C_T: Final[float]  # not in every report
    gamma_D: Final[float]  # not in every report
    gamma_N: Final[float]  # not in every report
    gamma_a: Final[float]  # not in every report
    gamma_kv: Final[float]  # not in every report
    gamma_post: Final[float]  # not in every report
    gamma_w: Final[float]  # not in every report

class ScalingLawsReportLawsRanges(Report):
    flops: Final[Rows[float]]  # not in every report
    parameters: Final[Rows[float]]  # not in every report
    tokens: Final[Rows[float]]  # not in every report
    unique_tokens: Final[Rows[float]]  # not in every report

class ScalingLawsReportRateLaws(Report):
    name: Final[str]
    formula: Final[str]
    basis: Final[str]
    source: Final[str]

class ServeEstimateReport(Report):
    format: Final[str]
    version: Final[int]
    model: Final[str]
    cluster: Final[str]
    engine: Final[str]
    plan: Final[ServeEstimateReportPlan]
    fits: Final[bool]
    context: Final[int]
    request: Final[ServeEstimateReportRequest]
    memory: Final[ServeEstimateReportMemory]
    largest_batch: Final[float]
    capacity_requests_per_s: Final[float]
    time_interval: Final[ServeEstimateReportTimeInterval]
    rows: Final[Rows[ServeEstimateReportRows]]
    assumptions: Final[Rows[str]]
    quality: Final[ServeEstimateReportQuality]
    usd_per_gpu_hour: Final[float]

class ServeEstimateReportPlan(Report):
    tp: Final[int]
    pp: Final[int]
    ep: Final[int]
    attention_dp: Final[int]
    gpus: Final[int]
    moe_dispatcher: Final[None]
    redundant_experts: Final[int]
    weights: Final[str]
    weights_stored: Final[str]
    weights_origin: Final[str]
    kv_cache: Final[str]
    kv_cache_origin: Final[str]
    max_batch: Final[int]
    max_batched_tokens: Final[int]
    block_tokens: Final[int]
    memory_utilisation: Final[float]

class ServeEstimateReportRequest(Report):
    prompt: Final[float]
    output: Final[float]
    cached: Final[float]
    shared: Final[float]

class ServeEstimateReportMemory(Report):
    capacity_bytes: Final[float]
    usable_bytes: Final[float]
    weights_bytes: Final[float]
    activations_bytes: Final[float]
    overhead_bytes: Final[float]
    cache_bytes: Final[float]
    cache_bytes_per_token: Final[float]
    model_cache_bytes_per_token: Final[float]
    cache_tokens: Final[float]
    state_bytes_per_sequence: Final[float]
    request_cache_tokens: Final[float]

class ServeEstimateReportTimeInterval(Report):
    tpot: Final[ServeEstimateReportTimeIntervalTpot]
    ttft: Final[ServeEstimateReportTimeIntervalTpot]
    unsupported: Final[Rows[Any]]

class ServeEstimateReportTimeIntervalTpot(Report):
    low: Final[float]
    high: Final[float]
    rows: Final[int]

class ServeEstimateReportRows(Report):
    rate: Final[float]
    ttft_s: Final[float]
    ttft_parts: Final[ServeEstimateReportRowsTtftParts]
    tpot_s: Final[float]
    latency_s: Final[float]
    output_tokens_per_s: Final[float]
    output_tokens_per_s_per_gpu: Final[float]
    requests_per_s: Final[float]
    batch: Final[float]
    running: Final[float]
    cache_share: Final[float]
    saturated: Final[bool]
    near_capacity: Final[bool]
    bound: Final[str]
    watts_per_gpu: Final[float]
    decode_iteration: Final[ServeEstimateReportRowsDecodeIteration]
    chunk_iteration: Final[ServeEstimateReportRowsDecodeIteration]
    usd_per_million_output_tokens: Final[float]

class ServeEstimateReportRowsTtftParts(Report):
    boundary_s: Final[float]
    tokenise_s: Final[float]
    queue_s: Final[float]
    host_s: Final[float]
    prefill_s: Final[float]

class ServeEstimateReportRowsDecodeIteration(Report):
    total_s: Final[float]
    gemm_s: Final[float]
    prefill_attention_s: Final[float]
    decode_attention_s: Final[float]
    streaming_s: Final[float]
    communication_s: Final[float]
    head_s: Final[float]
    host_s: Final[float]

class ServeEstimateReportQuality(Report):
    products_output_error: Final[float]
    attention_output_error: Final[float]
    high_error: Final[float]

class ServeSimulateReport(Report):
    format: Final[str]
    version: Final[int]
    model: Final[str]
    cluster: Final[str]
    fits: Final[bool]
    setup: Final[ServeSimulateReportSetup]
    load: Final[str]
    prompt: Final[str]
    output: Final[str]
    seed: Final[int]
    events: Final[str]
    state: Final[str]
    interrupted: Final[bool]
    requests: Final[ServeSimulateReportRequests]
    simulated_s: Final[float]
    window_s: Final[float]
    window_to_end: Final[bool]
    requests_per_s: Final[float]
    output_tokens_per_s: Final[float]
    output_tokens_per_s_per_gpu: Final[float]
    prompt_tokens_per_s: Final[float]
    usd_per_million_output_tokens: Final[float]
    ttft: Final[ServeSimulateReportTtft]
    tpot: Final[ServeSimulateReportTtft]
    itl: Final[ServeSimulateReportTtft]
    e2e: Final[ServeSimulateReportTtft]
    queue: Final[ServeSimulateReportTtft]
    running_mean: Final[float]
    waiting_mean: Final[float]
    waiting_most: Final[int]
    cache_use_mean: Final[float]
    cache_use_most: Final[float]
    prefix_hit_rate: Final[float]
    host_prefix_tokens: Final[int]
    tokens_per_step: Final[float]
    preemptions: Final[int]
    recomputed_tokens: Final[int]
    utilisation: Final[float]
    iterations: Final[int]
    output_tokens: Final[int]
    series: Final[Rows[ServeSimulateReportSeries]]
    time_interval: Final[ServeEstimateReportTimeInterval]
    assumptions: Final[Rows[str]]
    objective: Final[ServeSimulateReportObjective]  # not in every report
    tenants: Final[Rows[ServeSimulateReportTenants]]  # not in every report
    adapters: Final[ServeSimulateReportAdapters]  # not in every report

class ServeSimulateReportSetup(Report):
    replicas: Final[int]
    prefill_replicas: Final[int]
    gpus: Final[int]
    tp: Final[int]
    pp: Final[int]
    ep: Final[int]
    attention_dp: Final[int]
    weights: Final[str]
    weights_origin: Final[str]
    kv_cache: Final[str]
    kv_cache_origin: Final[str]
    engine: Final[str]
    scheduler: Final[str]
    router: Final[str]
    max_batch: Final[int]
    max_batched_tokens: Final[int]
    block_tokens: Final[int]
    layer_groups: Final[int]
    state_blocks: Final[int]
    blocks: Final[int]
    watermark_blocks: Final[int]
    speculate: Final[int]
    acceptance: Final[float]
    draft_cost: Final[float]
    prefix_caching: Final[bool]
    preemption: Final[str]
    host_cache_bytes: Final[float]
    host_prefixes_bytes: Final[float]
    adapters: Final[int]
    adapter_rank: Final[int]
    adapter_slots: Final[int]

class ServeSimulateReportRequests(Report):
    asked: Final[int]
    arrived: Final[int]
    finished: Final[int]
    measured: Final[int]

class ServeSimulateReportTtft(Report):
    count: Final[int]
    mean_s: Final[float]
    p50_s: Final[float]
    p90_s: Final[float]
    p95_s: Final[float]
    p99_s: Final[float]
    largest_s: Final[float]

class ServeSimulateReportSeries(Report):
    at_s: Final[float]
    waiting: Final[int]
    running: Final[int]
    cache_use: Final[float]
    tokens_out: Final[int]
    replicas_up: Final[int]
    replicas_held: Final[int]
    busy_s: Final[float]

class ServeSimulateReportObjective(Report):
    limits: Final[ServeSimulateReportObjectiveLimits]
    good_share: Final[float]
    good_requests_per_s: Final[float]

class ServeSimulateReportObjectiveLimits(Report):
    ttft_s: Final[float]
    tpot_s: Final[float]

class ServeSimulateReportTenants(Report):
    name: Final[str]
    measured: Final[int]
    prompt_tokens: Final[int]
    output_tokens: Final[int]
    token_share: Final[float]
    ttft: Final[ServeSimulateReportTtft]
    tpot: Final[ServeSimulateReportTtft]
    e2e: Final[ServeSimulateReportTtft]
    good_share: Final[float]

class ServeSimulateReportAdapters(Report):
    bytes_each: Final[float]
    wanted: Final[int]
    loaded: Final[int]
    hit_rate: Final[float]

class ServePlanReport(Report):
    format: Final[str]
    version: Final[int]
    model: Final[str]
    requests_per_s: Final[float]
    engine: Final[str]
    scheduler: Final[str]
    arrivals: Final[str]
    prompt: Final[str]
    output: Final[str]
    context: Final[None]
    objectives: Final[ServePlanReportObjectives]
    found: Final[bool]
    interrupted: Final[bool]
    best_ttft_s: Final[float]
    best_tpot_s: Final[float]
    shortage: Final[None]
    counts: Final[ServePlanReportCounts]
    candidates: Final[Rows[ServePlanReportCandidates]]
    frontier: Final[Rows[ServePlanReportFrontier]]
    assumptions: Final[Rows[str]]

class ServePlanReportObjectives(Report):
    ttft_s: Final[float]
    tpot_s: Final[float]
    share: Final[float]

class ServePlanReportCounts(Report):
    enumerated: Final[int]
    simulated: Final[int]
    untried: Final[int]
    rejected: Final[Report]

class ServePlanReportCandidates(Report):
    cluster: Final[str]
    plan: Final[ServePlanReportCandidatesPlan]
    simulated: Final[bool]
    replicas: Final[int]
    gpus: Final[int]
    least_replicas: Final[int]
    rate_bound_requests_per_s: Final[float]
    error: Final[float]
    time_interval: Final[ServePlanReportCandidatesTimeInterval]
    usd_per_hour: Final[float]
    simulation: Final[ServePlanReportCandidatesSimulation]  # not in every report
    confirmation: Final[ServePlanReportCandidatesConfirmation]  # not in every report

class ServePlanReportCandidatesPlan(Report):
    tp: Final[int]
    pp: Final[int]
    ep: Final[int]
    attention_dp: Final[int]
    moe_dispatcher: Final[None]
    redundant_experts: Final[int]
    weights: Final[str]
    weights_stored: Final[str]
    weights_origin: Final[str]
    kv_cache: Final[str]
    kv_cache_origin: Final[str]
    max_batch: Final[int]
    max_batched_tokens: Final[int]
    memory_utilisation: Final[float]

class ServePlanReportCandidatesTimeInterval(Report):
    tpot: Final[ServeEstimateReportTimeIntervalTpot]
    ttft: Final[ServeEstimateReportTimeIntervalTpot]
    unsupported: Final[Rows[str]]

class ServePlanReportCandidatesSimulation(Report):
    kept_share: Final[float]
    ttft_p50_s: Final[float]
    ttft_p99_s: Final[float]
    tpot_p50_s: Final[float]
    tpot_p99_s: Final[float]
    ttft_kept_s: Final[float]
    tpot_kept_s: Final[float]
    output_tokens_per_s: Final[float]

class ServePlanReportCandidatesConfirmation(Report):
    simulations: Final[int]
    longest_requests: Final[int]
    least_kept_share: Final[float]
    ttft_kept_s: Final[Rows[float]]
    tpot_kept_s: Final[Rows[float]]
    unsteady: Final[bool]
    added_gpus: Final[int]

class ServePlanReportFrontier(Report):
    cluster: Final[str]
    plan: Final[ServePlanReportCandidatesPlan]
    concurrency: Final[float]
    tokens_per_s_per_user: Final[float]
    output_tokens_per_s_per_gpu: Final[float]

class ServeQualityReport(Report):
    format: Final[str]
    version: Final[int]
    model: Final[str]
    cluster: Final[str]
    tp: Final[int]
    gpus: Final[int]
    prompt_tokens: Final[float]
    output_tokens: Final[float]
    concurrency: Final[float]
    baseline: Final[ServeQualityReportBaseline]
    high_error: Final[float]
    errors_from: Final[str]
    choices: Final[Rows[ServeQualityReportChoices]]
    assumptions: Final[Rows[str]]

class ServeQualityReportBaseline(Report):
    weights: Final[str]
    kv_cache: Final[str]

class ServeQualityReportChoices(Report):
    weights: Final[str]
    products_in: Final[str]
    as_released: Final[bool]
    note: Final[str | None]
    activations: Final[str]
    kv_cache: Final[str]
    weight_bytes_per_gpu: Final[float]
    kv_bytes_per_token: Final[float]
    largest_batch: Final[float]
    refused: Final[None]
    saturated: Final[bool]
    ttft_s: Final[float]
    tpot_s: Final[float]
    output_tokens_per_s_per_gpu: Final[float]
    speed_up: Final[float]
    usd_per_million_output_tokens: Final[float]
    weight_bytes_saved_share: Final[float]
    error: Final[float]
    error_is_high: Final[bool]
    products: Final[ServeQualityReportChoicesProducts]
    attention: Final[ServeQualityReportChoicesAttention]

class ServeQualityReportChoicesProducts(Report):
    formats: Final[str]
    output_error: Final[float]
    scalings: Final[Rows[ServeQualityReportChoicesProductsScalings]]

class ServeQualityReportChoicesProductsScalings(Report):
    scaling: Final[str]
    weights_error: Final[float]
    activations_error: Final[float]
    output_error_normal: Final[float]
    output_error_worst: Final[float]
    worst_inputs: Final[str]
    zeroed_share: Final[float]
    saturated_share: Final[float]

class ServeQualityReportChoicesAttention(Report):
    formats: Final[str]
    output_error: Final[float]
    scalings: Final[Rows[ServeQualityReportChoicesAttentionScalings]]

class ServeQualityReportChoicesAttentionScalings(Report):
    scaling: Final[str]
    keys_error: Final[float]
    values_error: Final[float]
    output_error_normal: Final[float]
    output_error_worst: Final[float]
    worst_inputs: Final[str]
    zeroed_share: Final[float]
    saturated_share: Final[float]

class RlReport(Report):
    format: Final[str]
    version: Final[int]
    question: Final[RlReportQuestion]
    modes: Final[Rows[RlReportModes]]
    best_mode: Final[str]
    speed_up_of_asynchrony: Final[RlReportSpeedUpOfAsynchrony]
    assumptions: Final[Rows[str]]
    interrupted: Final[bool]

class RlReportQuestion(Report):
    algorithm: Final[str]
    model: Final[str]
    cluster: Final[str]
    framework: Final[str]
    engine: Final[str]
    gpus: Final[int]
    prompts: Final[int]
    group: Final[int]
    prompt_tokens: Final[float]
    output: Final[RlReportQuestionOutput]
    update_batch: Final[int]
    updates: Final[int]
    usd_per_gpu_hour: Final[float]
    overheads: Final[str]
    staleness: Final[int]
    staleness_penalty: Final[float]
    seed: Final[int]

class RlReportQuestionOutput(Report):
    distribution: Final[str]
    mean_tokens: Final[float]
    variation: Final[float]
    maximum_tokens: Final[float]
    longest_tokens: Final[float]
    longest_of_group_tokens: Final[float]

class RlReportModes(Report):
    mode: Final[str]
    best: Final[RlReportModesBest]
    splits: Final[Rows[RlReportModesSplits]]

class RlReportModesBest(Report):
    mode: Final[str]
    rollout_gpus: Final[int]
    train_gpus: Final[int]
    engine: Final[RlReportModesBestEngine]
    possible: Final[bool]
    step_time_s: Final[float]
    step_time_80_low_s: Final[float]
    step_time_80_high_s: Final[float]
    usd_per_step: Final[float]
    usd_per_thousand_samples: Final[float]
    phases: Final[RlReportModesBestPhases]
    generation: Final[RlReportModesBestGeneration]
    weight_sync: Final[RlReportModesBestWeightSync]
    state_offloaded: Final[bool]
    train_plan: Final[RunPlanReportCurvePointsPlan]
    update_time_s: Final[float]
    fastest_update_time_s: Final[float]
    train_plans_compared: Final[int]
    mfu: Final[float]
    memory: Final[Rows[RlReportModesBestMemory]]
    rollout_busy: Final[float]
    train_busy: Final[float]
    samples_per_s: Final[float]
    tokens_per_s_per_gpu: Final[float]
    age_shares: Final[Rows[float]]
    mean_age: Final[float]
    worth: Final[float]
    effective_samples_per_s: Final[float]
    followed_replicas: Final[int]  # not in every report
    group_wait_s: Final[float]  # not in every report

class RlReportModesBestEngine(Report):
    tp: Final[int]
    pp: Final[int]
    ep: Final[int]
    attention_dp: Final[int]
    max_batch: Final[int]
    replicas: Final[int]

class RlReportModesBestPhases(Report):
    generation_s: Final[float]
    reward_s: Final[float]
    policy_scores_s: Final[float]
    reference_scores_s: Final[float]
    critic_values_s: Final[float]
    policy_training_s: Final[float]
    critic_training_s: Final[float]
    swaps_s: Final[float]
    weight_sync_s: Final[float]
    controller_s: Final[float]
    offload_s: Final[float]

class RlReportModesBestGeneration(Report):
    time_s: Final[float]
    mean_busy_s: Final[float]
    equal_lengths_s: Final[float]
    long_tail_s: Final[float]
    prompts_s: Final[float]
    responses: Final[float]
    tokens: Final[float]
    mean_batch: Final[float]
    longest_tokens: Final[int]

class RlReportModesBestWeightSync(Report):
    rank_bytes: Final[float]
    gathered_from: Final[int]
    gather_s: Final[float]
    broadcast_s: Final[float]
    copy_s: Final[float]
    over_host_s: Final[float]
    software_s: Final[float]

class RlReportModesBestMemory(Report):
    role: Final[str]
    needed_bytes: Final[float]
    usable_bytes: Final[float]
    remark: Final[str]

class RlReportModesSplits(Report):
    mode: Final[str]
    rollout_gpus: Final[int]
    train_gpus: Final[int]
    engine: Final[RlReportModesBestEngine]
    possible: Final[bool]
    step_time_s: Final[float]  # not in every report
    step_time_80_low_s: Final[float]  # not in every report
    step_time_80_high_s: Final[float]  # not in every report
    usd_per_step: Final[float]  # not in every report
    usd_per_thousand_samples: Final[float]  # not in every report
    phases: Final[RlReportModesBestPhases]  # not in every report
    generation: Final[RlReportModesBestGeneration]  # not in every report
    weight_sync: Final[RlReportModesBestWeightSync]  # not in every report
    state_offloaded: Final[bool]  # not in every report
    train_plan: Final[RlReportModesSplitsTrainPlan]  # not in every report
    update_time_s: Final[float]  # not in every report
    fastest_update_time_s: Final[float]  # not in every report
    train_plans_compared: Final[int]  # not in every report
    mfu: Final[float]  # not in every report
    memory: Final[Rows[RlReportModesBestMemory]]  # not in every report
    rollout_busy: Final[float]  # not in every report
    train_busy: Final[float]  # not in every report
    samples_per_s: Final[float]  # not in every report
    tokens_per_s_per_gpu: Final[float]  # not in every report
    age_shares: Final[Rows[float]]  # not in every report
    mean_age: Final[float]  # not in every report
    worth: Final[float]  # not in every report
    effective_samples_per_s: Final[float]  # not in every report
    reason: Final[str]  # not in every report
    followed_replicas: Final[int]  # not in every report
    group_wait_s: Final[float]  # not in every report

class RlReportModesSplitsTrainPlan(Report):
    dp: Final[int]
    tp: Final[int]
    pp: Final[int]
    cp: Final[int]
    ep: Final[int]
    expert_tp: Final[int]
    vpp: Final[int]
    micro_batch: Final[int]
    schedule: Final[str]
    zero: Final[int]
    shard_group: Final[int]
    recompute: Final[str]
    recompute_layers: Final[int]
    sequence_parallel: Final[bool]
    cp_mode: Final[str]
    moe_dispatcher: Final[str]
    offload: Final[str]
    attention: Final[str]
    optimizer: Final[str]
    precision: Final[str]
    dropout: Final[bool]
    fused_cross_entropy: Final[bool]
    recompute_modules: Final[str]  # not in every report
    stage_layers: Final[Rows[int]]  # not in every report

class RlReportSpeedUpOfAsynchrony(Report):
    over_colocated: Final[RlReportSpeedUpOfAsynchronyOverColocated]
    over_split: Final[RlReportSpeedUpOfAsynchronyOverColocated]

class RlReportSpeedUpOfAsynchronyOverColocated(Report):
    raw: Final[float]
    with_staleness: Final[float]
    break_even_penalty: Final[float]

class CollectiveReport(Report):
    format: Final[str]
    version: Final[int]
    kind: Final[str]
    cluster: Final[str]
    gpus: Final[int]
    domains: Final[int]
    gpus_per_domain: Final[int]
    network: Final[str]
    other_traffic: Final[float]
    degraded_links: Final[Rows[Any]]
    closed_form: Final[Rows[CollectiveReportClosedForm]]
    algorithms: Final[Rows[CollectiveReportAlgorithms]]

class CollectiveReportClosedForm(Report):
    bytes: Final[float]
    time_s: Final[float]
    algbw_bytes_per_s: Final[float]
    busbw_bytes_per_s: Final[float]
    jump: Final[float]
    interval: Final[CollectiveReportClosedFormInterval]

class CollectiveReportClosedFormInterval(Report):
    low_s: Final[float]
    high_s: Final[float]
    basis: Final[str]

class CollectiveReportAlgorithms(Report):
    name: Final[str]
    summary: Final[str]
    source: Final[str]
    possible: Final[bool]
    takes_long: Final[bool]
    rounds: Final[int]  # not in every report
    flows: Final[int]  # not in every report
    phases: Final[Rows[str]]  # not in every report
    sizes: Final[Rows[CollectiveReportAlgorithmsSizes]]  # not in every report
    reason: Final[str]  # not in every report

class CollectiveReportAlgorithmsSizes(Report):
    bytes: Final[float]
    state: Final[str]
    time_s: Final[float]
    algbw_bytes_per_s: Final[float]
    busbw_bytes_per_s: Final[float]
    busiest_links: Final[Rows[SimulateReportLinks]]
    activities: Final[int]

class MemoryReport(Report):
    format: Final[str]
    version: Final[int]
    model: Final[str]
    cluster: Final[str]
    framework: Final[str]
    seq: Final[int]
    global_batch: Final[int]
    left_out: Final[str]
    plan: Final[PlanReportCandidatesPlan]
    not_expressed: Final[Rows[Any]]
    microbatches: Final[int]
    fits: Final[bool]
    fullest_stage: Final[int]
    graph_digest: Final[str]
    stages: Final[Rows[MemoryReportStages]]
    tensors_of_fullest_stage: Final[Rows[MemoryReportTensorsOfFullestStage]]
    variants: Final[Rows[MemoryReportVariants]]

class MemoryReportStages(Report):
    layers: Final[int]
    microbatches_in_flight: Final[float]
    peak_bytes: Final[float]
    weights_bytes: Final[float]
    gradients_bytes: Final[float]
    optimizer_bytes: Final[float]
    reference_bytes: Final[float]
    activations_bytes: Final[float]
    layer_activations_bytes: Final[float]
    logits_bytes: Final[float]
    buffers_bytes: Final[float]
    overhead_bytes: Final[float]
    workspaces_bytes: Final[float]
    slack_bytes: Final[float]
    capacity_bytes: Final[float]
    usable_bytes: Final[float]
    allocated_bytes: Final[float]
    reserved_low_bytes: Final[float]
    reserved_high_bytes: Final[float]
    host_bytes: Final[float]
    host_usable_bytes: Final[float]

class MemoryReportTensorsOfFullestStage(Report):
    block: Final[str]
    tensor: Final[str]
    formula: Final[str]
    bytes_per_layer: Final[float]
    layers: Final[int]
    dropped_by: Final[str]

class MemoryReportVariants(Report):
    name: Final[str]
    allocated_bytes: Final[float]
    peak_bytes: Final[float]
    fits: Final[bool]

class FlopsReport(Report):
    format: Final[str]
    version: Final[int]
    model: Final[str]
    left_out: Final[str]
    seq: Final[int]
    global_batch: Final[int]
    forward_flops_per_token: Final[float]
    causal_forward_flops_per_token: Final[float]
    step_model_flops: Final[float]
    step_executed_flops: Final[float]
    step_recompute_flops: Final[float]
    six_n_d_flops: Final[float]
    gpt_72_flops: Final[None]
    megatron_96_flops: Final[None]
    stages: Final[Rows[FlopsReportStages]]
    ops: Final[Rows[FlopsReportOps]]
    graph_digest: Final[str]

class FlopsReportStages(Report):
    layers: Final[int]
    forward: Final[FlopsReportStagesForward]
    backward: Final[FlopsReportStagesForward]
    recompute: Final[FlopsReportStagesForward]
    parameters: Final[float]
    trained_parameters: Final[float]  # not in every report

class FlopsReportStagesForward(Report):
    flops: Final[float]
    model_flops: Final[float]
    bytes: Final[float]
    sent_bytes: Final[float]

class FlopsReportOps(Report):
    block: Final[str]
    op: Final[str]
    shape: Final[str]
    forward: Final[FlopsReportStagesForward]
    backward: Final[FlopsReportStagesForward]

class ValidateTrainReport(Report):
    format: Final[str]
    version: Final[int]
    interrupted: Final[bool]
    interval: Final[ValidateTrainReportInterval]
    overall: Final[ValidateTrainReportOverall]
    sources: Final[Rows[ValidateTrainReportSources]]
    worst: Final[Rows[ValidateTrainReportWorst]]

class ValidateTrainReportInterval(Report):
    coverage: Final[float]
    basis: Final[str]
    without_fit: Final[ValidateTrainReportIntervalWithoutFit]

class ValidateTrainReportIntervalWithoutFit(Report):
    low_factor: Final[float]
    high_factor: Final[float]

class ValidateTrainReportOverall(Report):
    source: Final[str]
    n: Final[int]
    skipped: Final[int]
    time: Final[ValidateTrainReportOverallTime]
    inside_interval_pct: Final[float]
    memory: Final[ValidateTrainReportOverallTime]
    oom: Final[ValidateTrainReportOverallOom]
    skip_reasons: Final[Rows[ValidateTrainReportOverallSkipReasons]]
    time_not_scored: Final[Rows[ValidateTrainReportOverallSkipReasons]]
    memory_not_scored: Final[Rows[ValidateTrainReportOverallSkipReasons]]
    assumptions: Final[Rows[ValidateTrainReportOverallSkipReasons]]

class ValidateTrainReportOverallTime(Report):
    n: Final[int]
    mape_pct: Final[float]
    median_ape_pct: Final[float]
    p90_ape_pct: Final[float]
    bias_pct: Final[float]

class ValidateTrainReportOverallOom(Report):
    n: Final[int]
    accuracy_pct: Final[float]
    missed: Final[int]
    false_alarms: Final[int]

class ValidateTrainReportOverallSkipReasons(Report):
    reason: Final[str]
    rows: Final[int]

class ValidateTrainReportSources(Report):
    source: Final[str]
    n: Final[int]
    skipped: Final[int]
    time: Final[ValidateTrainReportSourcesTime]
    inside_interval_pct: Final[float | None]
    memory: Final[ValidateTrainReportSourcesTime]
    oom: Final[ValidateTrainReportSourcesOom]
    skip_reasons: Final[Rows[ValidateTrainReportOverallSkipReasons]]
    time_not_scored: Final[Rows[ValidateTrainReportOverallSkipReasons]]
    memory_not_scored: Final[Rows[ValidateTrainReportOverallSkipReasons]]
    assumptions: Final[Rows[ValidateTrainReportOverallSkipReasons]]

class ValidateTrainReportSourcesTime(Report):
    n: Final[int]
    mape_pct: Final[float | None]
    median_ape_pct: Final[float | None]
    p90_ape_pct: Final[float | None]
    bias_pct: Final[float | None]

class ValidateTrainReportSourcesOom(Report):
    n: Final[int]
    accuracy_pct: Final[float | None]
    missed: Final[int]
    false_alarms: Final[int]

class ValidateTrainReportWorst(Report):
    row: Final[str]
    source: Final[str]
    what: Final[str]
    measured_s: Final[float]
    predicted_s: Final[float]
    error_pct: Final[float]
    split: Final[str]
    reason: Final[str]

class ValidateKernelsReport(Report):
    format: Final[str]
    version: Final[int]
    interrupted: Final[bool]
    interval: Final[ValidateTrainReportInterval]
    overall: Final[ValidateKernelsReportOverall]
    sources: Final[Rows[ValidateKernelsReportOverall]]
    worst: Final[Rows[ValidateTrainReportWorst]]
    groups: Final[Rows[ValidateKernelsReportGroups]]

class ValidateKernelsReportOverall(Report):
    source: Final[str]
    n: Final[int]
    skipped: Final[int]
    time: Final[ValidateTrainReportOverallTime]
    inside_interval_pct: Final[float]
    skip_reasons: Final[Rows[Any]]
    time_not_scored: Final[Rows[Any]]
    assumptions: Final[Rows[Any]]

class ValidateKernelsReportGroups(Report):
    by: Final[str]
    group: Final[str]
    n: Final[int]
    time: Final[ValidateTrainReportOverallTime]
    inside_interval_pct: Final[float]

class ValidateCollectivesReport(Report):
    format: Final[str]
    version: Final[int]
    interrupted: Final[bool]
    interval: Final[ValidateTrainReportInterval]
    overall: Final[ValidateCollectivesReportOverall]
    sources: Final[Rows[ValidateCollectivesReportSources]]
    worst: Final[Rows[ValidateTrainReportWorst]]
    groups: Final[Rows[ValidateKernelsReportGroups]]

class ValidateCollectivesReportOverall(Report):
    source: Final[str]
    n: Final[int]
    skipped: Final[int]
    time: Final[ValidateTrainReportOverallTime]
    inside_interval_pct: Final[float]
    skip_reasons: Final[Rows[ValidateTrainReportOverallSkipReasons]]
    time_not_scored: Final[Rows[Any]]
    assumptions: Final[Rows[ValidateTrainReportOverallSkipReasons]]

class ValidateCollectivesReportSources(Report):
    source: Final[str]
    n: Final[int]
    skipped: Final[int]
    time: Final[ValidateTrainReportSourcesTime]
    inside_interval_pct: Final[float | None]
    skip_reasons: Final[Rows[ValidateTrainReportOverallSkipReasons]]
    time_not_scored: Final[Rows[Any]]
    assumptions: Final[Rows[ValidateTrainReportOverallSkipReasons]]

class ValidateServingReport(Report):
    format: Final[str]
    version: Final[int]
    interrupted: Final[bool]
    interval: Final[ValidateTrainReportInterval]
    overall: Final[ValidateServingReportOverall]
    sources: Final[Rows[ValidateServingReportSources]]
    worst: Final[Rows[ValidateServingReportWorst]]
    groups: Final[Rows[ValidateServingReportGroups]]

class ValidateServingReportOverall(Report):
    source: Final[str]
    n: Final[int]
    skipped: Final[int]
    time: Final[ValidateTrainReportOverallTime]
    inside_interval_pct: Final[float]
    ttft: Final[ValidateTrainReportOverallTime]
    tpot: Final[ValidateTrainReportOverallTime]
    throughput: Final[ValidateTrainReportOverallTime]
    skip_reasons: Final[Rows[ValidateTrainReportOverallSkipReasons]]
    time_not_scored: Final[Rows[Any]]
    assumptions: Final[Rows[ValidateTrainReportOverallSkipReasons]]

class ValidateServingReportSources(Report):
    source: Final[str]
    n: Final[int]
    skipped: Final[int]
    time: Final[ValidateTrainReportSourcesTime]
    inside_interval_pct: Final[float | None]
    ttft: Final[ValidateTrainReportSourcesTime]
    tpot: Final[ValidateTrainReportSourcesTime]
    throughput: Final[ValidateTrainReportSourcesTime]
    skip_reasons: Final[Rows[ValidateTrainReportOverallSkipReasons]]
    time_not_scored: Final[Rows[Any]]
    assumptions: Final[Rows[ValidateTrainReportOverallSkipReasons]]

class ValidateServingReportWorst(Report):
    row: Final[str]
    source: Final[str]
    what: Final[str]
    measured_tokens_per_s: Final[float]
    predicted_tokens_per_s: Final[float]
    error_pct: Final[float]
    split: Final[str]
    reason: Final[str]

class ValidateServingReportGroups(Report):
    by: Final[str]
    group: Final[str]
    n: Final[int]
    time: Final[ValidateTrainReportOverallTime]
    inside_interval_pct: Final[float]
    ttft: Final[ValidateTrainReportSourcesTime]
    tpot: Final[ValidateTrainReportSourcesTime]
    throughput: Final[ValidateTrainReportOverallTime]

class CalibrateReportReport(Report):
    format: Final[str]
    version: Final[int]
    name: Final[str]
    title: Final[str]
    calibration_format: Final[str]
    held_out: Final[Rows[CalibrateReportReportHeldOut]]
    unidentified: Final[Rows[str]]
    constants: Final[Rows[CalibrateReportReportConstants]]
    not_scored: Final[Rows[Any]]
    groups: Final[Rows[Any]]
    histogram: Final[CalibrateReportReportHistogram]
    worst: Final[Rows[Any]]

class CalibrateReportReportHeldOut(Report):
    fit: Final[str]
    rows_fitted: Final[int]
    rows: Final[int]
    median_pct: Final[float]
    p95_pct: Final[float]
    bias_pct: Final[float]
    interval: Final[CalibrateReportReportHeldOutInterval]
    beyond: Final[CalibrateReportReportHeldOutInterval]

class CalibrateReportReportHeldOutInterval(Report):
    low: Final[float]
    high: Final[float]

class CalibrateReportReportConstants(Report):
    fit: Final[str]
    constant: Final[str]
    value: Final[float]
    spread: Final[float | None]

class CalibrateReportReportHistogram(Report):
    of: Final[str]
    bins: Final[Rows[Any]]

class ExportReport(Report):
    format: Final[str]
    version: Final[int]
    plan: Final[str]
    nodes: Final[int]
    gpus_per_node: Final[int]
    checkpoint_interval_s: Final[float]
    checkpoint_interval_steps: Final[int]
    files: Final[Rows[ExportReportFiles]]
    not_expressed: Final[Rows[Any]]

class ExportReportFiles(Report):
    format: Final[str]
    name: Final[str]
    text: Final[str]

class ExportServeReport(Report):
    format: Final[str]
    version: Final[int]
    plan: Final[str]
    nodes: Final[int]
    gpus_per_node: Final[int]
    checkpoint_interval_s: Final[None]
    checkpoint_interval_steps: Final[None]
    files: Final[Rows[ExportReportFiles]]
    not_expressed: Final[Rows[Any]]

class ModelsReport(Report):
    format: Final[str]
    version: Final[int]
    models: Final[Rows[ModelsReportModels]]

class ModelsReportModels(Report):
    name: Final[str]
    architecture: Final[str]
    left_out: Final[str]
    parameters_total: Final[int]
    parameters_active: Final[int]
    parameters_embedding: Final[int]
    parameters_head: Final[int]
    parameters_mtp: Final[int]
    parameters_without_embedding: Final[int]
    layers: Final[int]
    hidden: Final[int]
    intermediate: Final[int]
    heads: Final[int]
    kv_heads: Final[int]
    head_dim: Final[int]
    value_head_dim: Final[int]
    vocab: Final[int]
    max_positions: Final[int]
    output_head: Final[str]
    tied_embeddings: Final[bool]
    causal: Final[bool]
    sliding_window: Final[int]
    mtp_modules: Final[int]
    kv_cache_bytes_per_value: Final[int]
    kv_cache_bytes_per_token: Final[float]
    moe: Final[ModelsReportModelsMoe]  # not in every report
    key_index: Final[ModelsReportModelsKeyIndex]  # not in every report
    sliding_layers: Final[ModelsReportModelsSlidingLayers]  # not in every report
    recurrent: Final[ModelsReportModelsRecurrent]  # not in every report

class ModelsReportModelsMoe(Report):
    experts: Final[int]
    top_k: Final[int]
    intermediate: Final[int]
    shared_intermediate: Final[int]

class ModelsReportModelsKeyIndex(Report):
    heads: Final[int]
    head_dim: Final[int]
    chosen: Final[int]

class ModelsReportModelsSlidingLayers(Report):
    heads: Final[int]
    kv_heads: Final[int]
    head_dim: Final[int]
    value_head_dim: Final[int]

class ModelsReportModelsRecurrent(Report):
    rule: Final[str]
    layers: Final[int]
    heads: Final[int]
    key_heads: Final[int]
    key_head_dim: Final[int]
    value_head_dim: Final[int]
    convolution: Final[int]
    state_bytes_per_sequence: Final[float]

class ModelsShowReport(Report):
    format: Final[str]
    version: Final[int]
    name: Final[str]
    architecture: Final[str]
    left_out: Final[str]
    parameters_total: Final[int]
    parameters_active: Final[int]
    parameters_embedding: Final[int]
    parameters_head: Final[int]
    parameters_mtp: Final[int]
    parameters_without_embedding: Final[int]
    layers: Final[int]
    hidden: Final[int]
    intermediate: Final[int]
    heads: Final[int]
    kv_heads: Final[int]
    head_dim: Final[int]
    value_head_dim: Final[int]
    vocab: Final[int]
    max_positions: Final[int]
    output_head: Final[str]
    tied_embeddings: Final[bool]
    causal: Final[bool]
    sliding_window: Final[int]
    mtp_modules: Final[int]
    kv_cache_bytes_per_value: Final[int]
    kv_cache_bytes_per_token: Final[float]
    sequence: Final[int]
    forward_flops_per_token: Final[float]
    forward_flops_per_token_causal: Final[float]
    layer_kinds: Final[Rows[ModelsShowReportLayerKinds]]
    weights: Final[Rows[ModelsShowReportWeights]]
    moe: Final[ModelsReportModelsMoe]  # not in every report

class ModelsShowReportLayerKinds(Report):
    kind: Final[str]
    layers: Final[int]
    parameters_per_layer: Final[int]

class ModelsShowReportWeights(Report):
    part: Final[str]
    copies: Final[int]
    weight: Final[str]
    shape: Final[str]
    parameters: Final[int]
    split_over: Final[str]

class HardwareReport(Report):
    format: Final[str]
    version: Final[int]
    accelerators: Final[Rows[HardwareReportAccelerators]]
    clusters: Final[Rows[HardwareReportClusters]]
    frameworks: Final[Rows[HardwareReportFrameworks]]

class HardwareReportAccelerators(Report):
    name: Final[str]
    title: Final[str]
    aliases: Final[Rows[str]]
    vendor: Final[str]
    generation: Final[str]
    year: Final[int]
    # ["values"]: Rows[HardwareReportAcceleratorsValues]

class HardwareReportAcceleratorsValues(Report):
    key: Final[str]
    value: Final[float]
    unit: Final[str]
    basis: Final[str]
    source: Final[str]

class HardwareReportClusters(Report):
    name: Final[str]
    title: Final[str]
    aliases: Final[Rows[str]]
    accelerator: Final[str]
    domain_size: Final[int]
    max_accelerators: Final[int]
    scale_up_kind: Final[str]
    scale_out_kind: Final[str]
    scale_out_topology: Final[str]
    # ["values"]: Rows[HardwareReportAcceleratorsValues]
    torus: Final[Rows[int]]  # not in every report

class HardwareReportFrameworks(Report):
    name: Final[str]
    title: Final[str]
    aliases: Final[Rows[str]]
    usual: Final[HardwareReportFrameworksUsual]
    timing: Final[Rows[HardwareReportFrameworksTiming]]
    memory: Final[Rows[HardwareReportAcceleratorsValues]]
    releases: Final[HardwareReportFrameworksReleases]  # not in every report
    memory_on: Final[Rows[HardwareReportFrameworksMemoryOn]]  # not in every report

class HardwareReportFrameworksUsual(Report):
    layers: Final[str]
    zero: Final[int]
    cp_mode: Final[str]
    pipelines: Final[str]
    sends: Final[str]

class HardwareReportFrameworksTiming(Report):
    generation: Final[str]
    precision: Final[str]
    steps: Final[int | None]
    # ["values"]: Rows[HardwareReportAcceleratorsValues]

class HardwareReportFrameworksReleases(Report):
    first: Final[str]
    last: Final[str]
    # ["at"]: str

class HardwareReportFrameworksMemoryOn(Report):
    generation: Final[str]
    # ["values"]: Rows[HardwareReportAcceleratorsValues]

class HardwareShowReport(Report):
    format: Final[str]
    version: Final[int]
    cluster: Final[HardwareShowReportCluster]  # not in every report
    accelerator: Final[HardwareReportAccelerators]  # not in every report
    framework: Final[HardwareReportFrameworks]  # not in every report

class HardwareShowReportCluster(Report):
    name: Final[str]
    title: Final[str]
    aliases: Final[Rows[str]]
    accelerator: Final[str]
    domain_size: Final[int]
    max_accelerators: Final[int]
    scale_up_kind: Final[str]
    scale_out_kind: Final[str]
    scale_out_topology: Final[str]
    # ["values"]: Rows[HardwareReportAcceleratorsValues]

class SweepReport(Report):
    format: Final[str]
    version: Final[int]
    command: Final[str]
    points: Final[int]
    interrupted: Final[bool]
    axes: Final[Rows[SweepReportAxes]]
    columns: Final[Rows[str]]
    rows: Final[Rows[SweepReportRows]]
    assumptions: Final[Rows[str]]

class SweepReportAxes(Report):
    name: Final[str]
    # ["values"]: Rows[str]

class SweepReportRows(Report):
    point: Final[int]
    settings: Final[SweepReportRowsSettings]
    status: Final[str]
    # ["values"]: Report
    reason: Final[str]

class SweepReportRowsSettings(Report):
    dp: Final[int]
