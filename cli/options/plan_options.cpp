#include "cli/options/plan_options.hpp"

#include "cli/options/number_text.hpp"
#include "core/error.hpp"
#include "core/graph/plan_check.hpp"
#include "core/graph/usual_stages.hpp"
#include "core/is_one_of.hpp"
#include "core/spec/device_name.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/schedule_traits.hpp"
#include "core/text.hpp"
#include "planner/price_words.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace sextant::cli {
namespace {

constexpr std::int64_t most_accelerators = 1 << 20;
constexpr std::int64_t most_tokens = std::int64_t{1} << 31;

std::int64_t number(std::string const& text, std::string_view flag, std::int64_t fallback, std::int64_t least = 1) {
    if (text.empty()) return fallback;
    std::int64_t value = 0;
    auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    bool const digits = stop == text.data() + text.size();
    if (digits && error == std::errc::result_out_of_range)
        throw InputError("{}: {} is out of range ({} to {})", flag, text, least, most_tokens);
    if (error != std::errc{} || !digits)
        throw InputError("{}: '{}' is not {}", flag, text, whole_number_words(text, flag));
    if (value < least) throw InputError("{}: {} is too small (at least {})", flag, value, least);
    if (value > most_tokens) throw InputError("{}: {} is too large (at most {})", flag, value, most_tokens);
    return value;
}

std::optional<AxisFilter> filter(std::string const& text, std::string_view flag, std::int64_t least = 1) {
    if (text.empty()) return {};
    return AxisFilter::parse(text, flag, least);
}

std::vector<std::string> split_list(std::string const& text) {
    std::vector<std::string> parts;
    if (text.empty()) return parts;
    std::size_t begin = 0;
    while (begin <= text.size()) {
        std::size_t const comma = std::min(text.find(',', begin), text.size());
        parts.emplace_back(trimmed(text.substr(begin, comma - begin)));
        begin = comma + 1;
    }
    return parts;
}

template <class T>
std::vector<T> names(std::string const& text, std::string_view flag, T (*read)(std::string_view, std::string_view)) {
    std::vector<T> values;
    for (std::string const& part : split_list(text))
        values.push_back(read(part, flag));
    return values;
}

Precision precision_of(PlanOptions const& o, ClusterSpec const* cluster) {
    if (!o.precision.empty()) return precision_from(o.precision, "--precision");
    if (cluster != nullptr)
        for (Precision const p : {Precision::bf16, Precision::fp16, Precision::fp32})
            if (cluster->accelerator.peak.contains(p)) return p;
    return Precision::bf16;
}

LowRankAdapters adapters_of(PlanOptions const& o) {
    if (!o.lora_rank) {
        for (auto const& [flag, text] :
             {std::pair{"--lora-targets", &o.lora_targets}, {"--base-weights", &o.base_weights}})
            if (!text->empty())
                throw InputError("{}: '{}', but no adapters are trained (it needs --lora-rank)", flag, *text);
        return {};
    }
    constexpr std::int64_t most = 1 << 16;
    if (*o.lora_rank < 1 || *o.lora_rank > most)
        throw InputError("--lora-rank: {} is out of range (1 to {})", *o.lora_rank, most);
    LowRankAdapters adapters{.rank = *o.lora_rank, .targets = attention_targets()};
    if (!o.lora_targets.empty()) adapters.targets = adapter_targets_from(o.lora_targets, "--lora-targets");
    if (!o.base_weights.empty()) adapters.base = base_weights_from(o.base_weights, "--base-weights");
    return adapters;
}

AttentionKernel attention_of(PlanOptions const& o) {
    bool const flash = o.flash_attention.value_or(true);
    if (o.attention.empty()) return flash ? AttentionKernel::flash : AttentionKernel::unfused;
    AttentionKernel const kernel = attention_kernel_from(o.attention, "--attention");
    if (o.flash_attention && flash != (kernel == AttentionKernel::flash))
        throw InputError("--attention: '{}', but --{}flash-attention is given as well (leave one of them out)",
                         o.attention, flash ? "" : "no-");
    return kernel;
}

/// Everything of a plan that is no axis of the search.
ParallelPlan base_plan(PlanOptions const& o, ClusterSpec const* cluster) {
    ParallelPlan plan;
    plan.precision = precision_of(o, cluster);
    plan.optimizer = optimizer_for(o.optimizer, plan.precision);
    plan.attention = attention_of(o);
    plan.dropout = o.dropout ? Switch::on : Switch::off;
    plan.fused_cross_entropy = o.fused_cross_entropy ? Switch::on : Switch::off;
    plan.fp8_activation_input = o.fp8_activation_input ? Switch::on : Switch::off;
    plan.narrow_copies = o.narrow_copies ? Switch::on : Switch::off;
    plan.loss_chunks = o.loss_chunks;
    if (!o.moe_dispatcher.empty()) plan.dispatcher = dispatcher_from(o.moe_dispatcher, "--moe-dispatcher");
    if (!o.gradients.empty()) plan.gradients = gradient_format_from(o.gradients, "--gradients");
    plan.expert_tp = o.expert_tp.value_or(1);
    plan.expert_imbalance = o.expert_imbalance;
    plan.shard_group = o.shard_group;
    plan.recompute_layers = o.recompute_layers.value_or(0);
    if (!o.recompute_modules.empty())
        plan.recompute_modules = recompute_modules_from(o.recompute_modules, "--recompute-modules");
    if (!o.keep_activations.empty())
        plan.kept_activations = activation_groups_from(o.keep_activations, "--keep-activations", keepable_activations);
    if (!o.offload_activations.empty())
        plan.offloaded_activations = activation_groups_from(o.offload_activations, "--offload-activations");
    plan.offload_layers = o.offload_layers;
    plan.stage_layers = o.stage_layers;
    plan.adapters = adapters_of(o);
    auto const in_range = [](char const* flag, std::int64_t value, std::int64_t least) {
        if (value < least || value > most_accelerators)
            throw InputError("{}: {} is out of range ({} to {})", flag, value, least, most_accelerators);
    };
    in_range("--recompute-layers", plan.recompute_layers, 0);
    in_range("--offload-layers", o.offload_layers, 0);
    in_range("--expert-tp", plan.expert_tp, 1);
    in_range("--shard-group", o.shard_group, 0);
    return plan;
}

std::int64_t default_sequence(ModelSpec const& model) {
    constexpr std::int64_t usual = 8192;
    return model.max_positions > 0 ? std::min(usual, model.max_positions) : usual;
}

/// About four million tokens, a power of two of sequences, at least one per accelerator of a small run.
std::int64_t default_global_batch(std::int64_t sequence) {
    constexpr double usual_tokens = 4.0 * 1024 * 1024;
    double const sequences = usual_tokens / static_cast<double>(sequence);
    return std::max<std::int64_t>(1,
                                  std::int64_t{1} << std::max(0, static_cast<int>(std::lround(std::log2(sequences)))));
}

/// All of a plan but dp, which depends on how many accelerators there are.
ParallelPlan replica_plan(PlanOptions const& o, ClusterSpec const* cluster) {
    ParallelPlan plan = base_plan(o, cluster);
    plan.tp = number(o.tp, "--tp", 1);
    plan.pp = number(o.pp, "--pp", 1);
    plan.cp = number(o.cp, "--cp", 1);
    plan.ep = number(o.ep, "--ep", 1);
    plan.micro_batch = number(o.micro_batch, "--micro-batch", 1);
    plan.zero = static_cast<int>(number(o.zero, "--zero", 1, 0));
    if (!o.schedule.empty()) plan.schedule = schedule_from(o.schedule, "--schedule");
    plan.vpp = number(o.vpp, "--vpp", traits_of(plan.schedule).usual_chunks());
    if (o.schedule.empty() && plan.vpp > 1) plan.schedule = Schedule::interleaved;
    if (!o.recompute.empty())
        plan.recompute = recompute_from(o.recompute, "--recompute");
    else if (!o.recompute_modules.empty())
        plan.recompute = Recompute::selective;
    else if (!o.keep_activations.empty())
        plan.recompute = Recompute::full;
    if (!o.offload.empty())
        plan.offload = offload_from(o.offload, "--offload");
    else if (!o.offload_activations.empty() || o.offload_layers > 0)
        plan.offload = Offload::activations;
    plan.cp_mode = o.cp_mode.empty() ? ContextParallel::ring : context_parallel_from(o.cp_mode, "--cp-mode");
    if (plan.recompute_layers > 0 && plan.recompute != Recompute::full)
        throw InputError("--recompute-layers: {} layers, but recompute is {} (it needs --recompute full)",
                         plan.recompute_layers, name_of(plan.recompute));
    if (!o.recompute_modules.empty() && plan.recompute != Recompute::selective)
        throw InputError("--recompute-modules: '{}', but recompute is {} (it needs --recompute selective)",
                         o.recompute_modules, name_of(plan.recompute));
    if (!o.keep_activations.empty() && plan.recompute != Recompute::full)
        throw InputError("--keep-activations: '{}', but recompute is {} (it needs --recompute full)",
                         o.keep_activations, name_of(plan.recompute));
    if (!o.offload_activations.empty() && !offloads_activations(plan))
        throw InputError("--offload-activations: '{}', but --offload is {} (it needs activations)",
                         o.offload_activations, name_of(plan.offload));
    if (o.offload_layers > 0 && !offloads_activations(plan))
        throw InputError("--offload-layers: {}, but --offload is {} (it needs activations)", o.offload_layers,
                         name_of(plan.offload));
    ActivationGroups of_layer = plan.kept_activations;
    of_layer.add(ActivationGroup::layer_input);
    bool const all_again = plan.recompute == Recompute::full && plan.recompute_layers == 0;
    if (offloads_some_activations(plan) && all_again && (plan.offloaded_activations & of_layer).empty())
        throw InputError("--offload-activations: '{}', but full recompute keeps {} (--keep-activations keeps more)",
                         o.offload_activations, activations_text(of_layer, ", "));
    if (plan.shard_group > 0 && plan.zero == 0)
        throw InputError("--shard-group: {} ranks, but ZeRO 0 shards nothing (it needs --zero 1, 2 or 3)",
                         plan.shard_group);
    bool const sp = o.sequence_parallel.value_or(plan.tp > 1);
    plan.sequence_parallel = sp ? Switch::on : Switch::off;
    return plan;
}

/// Bounds of the accelerators of a plan that is for no cluster in particular.
ClusterSpec const& any_cluster() {
    static ClusterSpec const anything = [] {
        ClusterSpec any;
        any.name = "the plan";
        any.scale_out.emplace();
        return any;
    }();
    return anything;
}

/// --gpus, or what the name of the machine counts ("8xH100", "v5p-128") where neither that nor --dp says how many.
std::string asked_accelerators(PlanOptions const& o) {
    if (!o.accelerators.empty() || !o.dp.empty() || o.cluster.ends_with(".json")) return o.accelerators;
    std::int64_t const counted = devices_counted(o.cluster);
    return counted > 0 && known_cluster(o.cluster) == nullptr ? std::to_string(counted) : o.accelerators;
}

}  // namespace

std::vector<std::int64_t> accelerator_counts(PlanOptions const& options, ClusterSpec const& cluster) {
    std::vector<std::int64_t> counts;
    for (std::string const& part : split_list(asked_accelerators(options))) {
        if (part.empty())
            throw InputError("--gpus: '{}' has an empty entry (such as 64 or 64,128,256)", options.accelerators);
        std::int64_t const n = number(part, "--gpus", 1);
        std::int64_t const most = cluster.max_accelerators > 0 ? cluster.max_accelerators : most_accelerators;
        if (n > most) throw InputError("--gpus: {} is more than {} has ({})", n, cluster.name, most);
        if (n > cluster.domain_size && !cluster.scale_out)
            throw InputError(
                "--gpus: {} is more than one domain of {} holds ({}; the cluster has no scale-out network)", n,
                cluster.name, cluster.domain_size);
        if (std::find(counts.begin(), counts.end(), n) == counts.end()) counts.push_back(n);
    }
    return counts;
}

namespace {

/// DPO, SimPO and ORPO compare log-probabilities of tokens, each given those before it. A model with another head is
/// trained on pairs as a reward model, without a reference.
void require_pair_loss(Preference preference, ModelSpec const& model) {
    bool const has_tokens = model.head == OutputHead::vocabulary;
    if (has_tokens && !model.causal)
        throw InputError(
            "--preference: {} compares log-probabilities of tokens from left to right, and {} looks both ways (a "
            "model with causal attention has them)",
            name_of(preference), model.name);
    if (!has_tokens && preference == Preference::dpo)
        throw InputError(
            "--preference: dpo compares log-probabilities of tokens, and {} has no output matrix of its vocabulary "
            "(reference-free is for reward models on pairs)",
            model.name);
}

}  // namespace

Workload find_workload(PlanOptions const& options, ModelSpec const& model) {
    auto const check = [](std::int64_t value, char const* flag) {
        if (value < 1 || value > most_tokens)
            throw InputError("{}: {} is out of range (1 to {})", flag, value, most_tokens);
        return value;
    };
    std::int64_t const sequence = check(options.sequence.value_or(default_sequence(model)), "--seq");
    Preference const preference = preference_from(options.preference, "--preference");
    bool const pairs = preference != Preference::none;
    if (pairs) require_pair_loss(preference, model);
    if (pairs && options.document)
        throw InputError("--document-tokens: the two sequences of a pair ({}) are of --seq tokens each, not packed",
                         name_of(preference));
    std::int64_t const batch =
        check(options.global_batch.value_or(default_global_batch((pairs ? 2 : 1) * sequence)), "--global-batch");
    if (pairs) return Workload::pairs(preference, sequence, batch);
    return {.sequence = sequence, .global_batch = batch, .document = document_tokens(options.document, sequence)};
}

MachineSubject find_machine(PlanOptions const& options) {
    MachineSubject machine{.cluster = find_cluster(options.cluster, "--cluster"), .framework = {}, .limit = {}};
    machine.framework =
        on_generation(find_framework(options.framework, "--framework"), machine.cluster.accelerator.generation);
    if (options.price) machine.cluster.usd_per_accelerator_hour = given_price(*options.price);
    machine.limit = options.max_memory.empty()
                        ? default_memory_limit(machine.cluster, machine.framework)
                        : parse_memory_limit(options.max_memory, machine.cluster, machine.framework, "--max-memory");
    return machine;
}

Subject find_subject(PlanOptions const& options) {
    ModelSpec model = find_model(options.model);
    if (options.mtp_modules) model.mtp_modules = *options.mtp_modules;
    MachineSubject machine = find_machine(options);
    Workload const workload = find_workload(options, model);
    return {.model = std::move(model),
            .cluster = std::move(machine.cluster),
            .framework = std::move(machine.framework),
            .workload = workload,
            .limit = machine.limit};
}

Optimizer optimizer_for(std::string const& text, Precision precision) {
    Optimizer const optimizer = optimizer_from(text, "--optimizer");
    if (!goes_with(optimizer, precision)) throw InputError("--optimizer: {}", optimizer_refusal(optimizer, precision));
    return optimizer;
}

ParallelPlan single_plan(PlanOptions const& o, ClusterSpec const* cluster) {
    ParallelPlan plan = replica_plan(o, cluster);
    constexpr double most = 1e9;
    double const inner_ranks =
        static_cast<double>(plan.tp) * static_cast<double>(plan.pp) * static_cast<double>(plan.cp);
    if (inner_ranks > most)
        throw InputError("plan: tp * pp * cp = {:g} accelerators (at most {:g})", inner_ranks, most);
    std::int64_t const inner = plan.tp * plan.pp * plan.cp;
    ClusterSpec const& where = cluster != nullptr ? *cluster : any_cluster();
    auto const counts = accelerator_counts(o, where);
    if (counts.size() > 1)
        throw InputError("--gpus: '{}' is a list (one number here; 'sextant plan' searches lists)", o.accelerators);
    if (counts.empty()) {
        plan.dp = number(o.dp, "--dp", 1);
        PlanOptions all = o;
        all.accelerators = std::to_string(plan.dp * inner);
        static_cast<void>(accelerator_counts(all, where));
        return plan;
    }
    if (counts[0] % inner != 0)
        throw InputError("--gpus: {} is not a multiple of tp * pp * cp = {} * {} * {} = {} (the nearest: {})",
                         counts[0], plan.tp, plan.pp, plan.cp, inner,
                         std::max<std::int64_t>(1, (counts[0] + inner / 2) / inner) * inner);
    plan.dp = number(o.dp, "--dp", counts[0] / inner);
    if (plan.dp * inner != counts[0])
        throw InputError("--dp: dp * tp * pp * cp = {} but --gpus is {} (dp would have to be {})", plan.dp * inner,
                         counts[0], counts[0] / inner);
    return plan;
}

ParallelPlan single_plan(PlanOptions const& options, Subject const& subject) {
    ParallelPlan plan = single_plan(options, &subject.cluster);
    if (options.schedule.empty() && plan.pp > 1)
        plan.schedule = usual_schedule(launcher_of(subject.framework), plan.vpp);
    if (options.zero.empty()) plan.zero = usual_zero_stage(subject.framework, plan);
    if (options.cp_mode.empty() && plan.cp > 1) plan.cp_mode = usual_cp_mode(subject.framework, subject.model);
    plan.stage_layers = usual_stage_layers(subject.framework, subject.model, plan);
    return plan;
}

SearchConstraints search_constraints(PlanOptions const& o, ClusterSpec const& cluster,
                                     FrameworkProfile const& framework) {
    SearchConstraints c = constraints_of(framework);
    c.base = base_plan(o, &cluster);
    c.dp = filter(o.dp, "--dp");
    c.tp = filter(o.tp, "--tp");
    c.pp = filter(o.pp, "--pp");
    c.cp = filter(o.cp, "--cp");
    c.ep = filter(o.ep, "--ep");
    c.vpp = filter(o.vpp, "--vpp");
    c.micro_batch = filter(o.micro_batch, "--micro-batch");
    c.zero = filter(o.zero, "--zero", 0);
    c.schedules = names<Schedule>(o.schedule, "--schedule", schedule_from);
    if (!o.moe_dispatcher.empty()) c.dispatcher = c.base.dispatcher;
    if (!o.recompute_modules.empty()) c.recompute_modules = c.base.recompute_modules;
    c.recompute = names<Recompute>(o.recompute, "--recompute", recompute_from);
    c.expert_tp = o.expert_tp;
    c.recompute_layers = o.recompute_layers;
    c.base.recompute_layers = 0;
    if (o.recompute_layers.value_or(0) > 0 && !c.recompute.empty() && !is_one_of(c.recompute, Recompute::full))
        throw InputError("--recompute-layers: {} layers, but --recompute is '{}' (it needs full)", *o.recompute_layers,
                         o.recompute);
    if (!o.recompute_modules.empty() && !c.recompute.empty() && !is_one_of(c.recompute, Recompute::selective))
        throw InputError("--recompute-modules: '{}', but --recompute is '{}' (it needs selective)", o.recompute_modules,
                         o.recompute);
    if (!o.keep_activations.empty() && !c.recompute.empty() && !is_one_of(c.recompute, Recompute::full))
        throw InputError("--keep-activations: '{}', but --recompute is '{}' (it needs full)", o.keep_activations,
                         o.recompute);
    c.offload = names<Offload>(o.offload, "--offload", offload_from);
    bool const offloads =
        std::any_of(c.offload.begin(), c.offload.end(), [](Offload offload) { return offloads_activations(offload); });
    if (!o.offload_activations.empty() && !offloads)
        throw InputError("--offload-activations: '{}', but --offload is '{}' (it needs activations)",
                         o.offload_activations, o.offload.empty() ? "none" : o.offload);
    if (o.offload_layers > 0 && !offloads)
        throw InputError("--offload-layers: {}, but --offload is '{}' (it needs activations)", o.offload_layers,
                         o.offload.empty() ? "none" : o.offload);
    c.cp_modes = names<ContextParallel>(o.cp_mode, "--cp-mode", context_parallel_from);
    if (o.sequence_parallel) c.sequence_parallel = *o.sequence_parallel ? Switch::on : Switch::off;
    return c;
}

}  // namespace sextant::cli
