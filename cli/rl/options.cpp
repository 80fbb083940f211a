#include "cli/rl/options.hpp"

#include "cli/options/seed_option.hpp"
#include "core/error.hpp"
#include "core/nearest.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/engine_catalog.hpp"
#include "core/spec/hourly_price.hpp"
#include "core/spec/model_catalog.hpp"
#include "cost_models/kernel_estimate.hpp"
#include "cost_models/serving/memory_share.hpp"

#include <CLI/App.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace sextant::cli {
namespace {

void add_step_options(CLI::App& app, RlOptions& o) {
    auto const add = [&app](char const* flag, auto& target, char const* text, char const* type) {
        app.add_option(flag, target, text)->option_text(type)->group("Step");
    };
    add("--algorithm", o.algorithm, "ppo (with a critic), grpo or reinforce (default: grpo)", "NAME");
    add("--prompts", o.prompts, "prompts of a step", "N");
    add("--group", o.group, "responses to each prompt (default: 16 for grpo, else 1)", "N");
    add("--prompt-tokens", o.prompt_tokens, "length of a prompt", "N");
    add("--output-tokens", o.output_tokens, "mean length of a response, as it is after the cut", "N");
    add("--max-output", o.longest_output, "responses are cut here (default: four times the mean, within the context)",
        "N");
    add("--lengths", o.lengths, "fixed, uniform or lognormal (default: lognormal)", "NAME");
    add("--variation", o.variation,
        "standard deviation of lengths over their mean (default: 0.6, assumed, or with --max-output as much more as "
        "lets "
        "the longest of a step reach it; of uniform lengths 0.5)",
        "CV");
    app.add_flag("--random-lengths", o.random_lengths, "draw the lengths (default: equally likely slices, no chance)")
        ->group("Step");
    add_seed_option(app, o.seed, "of the draw and of the order (default: 1)")->group("Step");
    add("--epochs", o.epochs, "times that each response is trained on (default: 1)", "N");
}

void add_role_options(CLI::App& app, RlOptions& o) {
    auto const add = [&app](char const* flag, auto& target, char const* text, char const* type) {
        app.add_option(flag, target, text)->option_text(type)->group("Roles");
    };
    add("--critic", o.critic, "model of the critic (default: the policy's shape; ppo only)", "NAME|FILE");
    add("--reward-model", o.reward_model, "model that scores responses (default: rules)", "NAME|FILE");
    add("--reward-time", o.reward_time, "time of rules or a verifier for a step, such as '5 s' (default: 0, assumed)",
        "TIME");
    app.add_flag("--no-reference", o.no_reference, "no reference model (no KL term)")->group("Roles");
    app.add_flag("--engine-scores", o.engine_scores,
                 "log-probabilities of the policy as the engine gives them (default: computed again by the trainer)")
        ->group("Roles");
}

void add_engine_options(CLI::App& app, RlOptions& o) {
    auto const add = [&app](char const* flag, auto& target, char const* text, char const* type) {
        app.add_option(flag, target, text)->option_text(type)->group("Engines");
    };
    add("--engine", o.engine, "engine that generates, or a profile of one (default: vllm)", "NAME|FILE");
    add("--rollout-gpus", o.rollout_accelerators, "accelerators of the engines (default: every division is tried)",
        "N");
    add("--rollout-tp", o.rollout_tp,
        "tensor parallelism of an engine (default: powers of two up to a domain, "
        "and where none of these holds the weights engines over several domains)",
        "N[,N...]");
    add("--rollout-pp", o.rollout.pp, "pipeline stages of an engine (default: 1)", "N");
    add("--rollout-ep", o.rollout.ep, "ranks that an engine's experts are divided over (default: 1)", "N");
    add("--rollout-attention-dp", o.rollout.attention_dp,
        "groups of tp ranks with sequences and cache of their own, which share the experts (default: 1)", "N");
    add("--rollout-expert-imbalance", o.rollout.expert_imbalance,
        "tokens of an engine's busiest expert rank over the mean (default: 1)", "X");
    add("--rollout-weights", o.weights, "format of an engine's weights: bf16, fp8, ... (default: bf16)", "FORMAT");
    add("--kv-cache", o.cache, "bf16, fp8, int8 or int4 (default: bf16)", "FORMAT");
    add("--max-batch", o.max_batch,
        "responses that an engine decodes at a time (default: vLLM's, of each attention group: 1024 on devices of 70 "
        "GiB and more but A100, else 256)",
        "N");
    add("--max-batched-tokens", o.rollout.max_batched_tokens, "tokens of one iteration (default: 8192)", "N");
    add("--memory-utilisation", o.memory_utilisation,
        "share of memory the engine takes, as its own option counts (default: the engine's)", "SHARE");
}

void add_mode_options(CLI::App& app, RlOptions& o) {
    auto const add = [&app](char const* flag, auto& target, char const* text, char const* type) {
        app.add_option(flag, target, text)->option_text(type)->group("Mode");
    };
    add("--mode", o.mode, "all, colocated, split or asynchronous (default: all)", "NAME");
    add("--staleness", o.staleness, "asynchronous: updates that a response may be behind, 1: one step off (default: 1)",
        "K");
    add("--staleness-penalty", o.staleness_penalty,
        "share of a response's worth lost per update behind (default: 0, assumed)", "SHARE");
    add("--state-offload", o.state_offload,
        "colocated: training state to host memory while engines run: auto, always, never", "CHOICE");
}

std::vector<std::int64_t> degrees_from(std::string const& text) {
    std::vector<std::int64_t> out;
    if (text.empty()) return out;
    for (std::size_t begin = 0; begin <= text.size();) {
        std::size_t const end = std::min(text.find(',', begin), text.size());
        std::int64_t n = 0;
        char const* const last = text.data() + end;
        auto const [stop, error] = std::from_chars(text.data() + begin, last, n);
        if (error != std::errc{} || stop != last || n < 1 || n > 4096)
            throw InputError("--rollout-tp: '{}' is no list of degrees (1 to 4096, such as 1,2,4)", text);
        out.push_back(n);
        begin = end + 1;
    }
    return out;
}

/// What has no usual value.
void check_step_is_said(RlOptions const& o) {
    std::vector<std::string> missing;
    if (!o.prompts) missing.emplace_back("--prompts N");
    if (!o.prompt_tokens) missing.emplace_back("--prompt-tokens N");
    if (!o.output_tokens) missing.emplace_back("--output-tokens N");
    if (!missing.empty())
        throw InputError(
            "rl: what a step generates is not said: {} missing (such as --prompts 64 --prompt-tokens 500 "
            "--output-tokens 2000)",
            join(missing));
}

ServingPlan engine_plan(RlOptions const& o, ClusterSpec const& cluster, EngineProfile const& engine) {
    ServingPlan plan = o.rollout;
    plan.weights = o.weights.empty() ? std::string(name_of(two_byte_precision(cluster.accelerator))) : o.weights;
    check_weights_format(plan.weights, "--rollout-weights");
    plan.cache = cache_format_from(o.cache, "--kv-cache");
    plan.max_batch = o.max_batch.value_or(plan.attention_dp * usual_engine_batch(cluster.accelerator));
    plan.memory_utilisation = o.memory_utilisation.value_or(default_memory_share(engine, cluster.accelerator, plan));
    return plan;
}

void set_lengths(RlQuestion& q, RlOptions const& o) {
    q.prompt_tokens = *o.prompt_tokens;
    q.lengths.kind = length_kind_from(o.lengths, "--lengths");
    if (!(*o.output_tokens >= 1))
        throw InputError("--output-tokens: {} (the mean length of a response, at least 1 token)", *o.output_tokens);
    q.lengths.mean = *o.output_tokens;
    bool const fixed = q.lengths.kind == LengthKind::fixed;
    if (fixed && o.variation.value_or(0) != 0)
        throw InputError("--variation: {} of lengths that are fixed (--lengths lognormal or uniform)", *o.variation);
    q.lengths.variation = fixed ? 0 : o.variation.value_or(assumed_variation);
    if (q.lengths.kind == LengthKind::uniform && !o.variation) q.lengths.variation = 0.5;
    double const room = static_cast<double>(q.context) - q.prompt_tokens;
    if (q.context > 0 && q.lengths.mean > room)
        throw InputError("--output-tokens: {:g} after a prompt of {:g} are longer than the context of {} ({} tokens)",
                         q.lengths.mean, q.prompt_tokens, q.policy.name, q.context);
    double const usual = fixed ? q.lengths.mean : std::ceil(4 * q.lengths.mean);
    q.lengths.maximum = o.longest_output.value_or(q.context > 0 ? std::min(usual, room) : usual);
    bool const cut = o.longest_output && !o.variation && q.lengths.kind == LengthKind::lognormal;
    // What cannot be is refused later.
    if (cut && q.lengths.maximum > q.lengths.mean && q.lengths.maximum <= 1e9)
        q.lengths.variation = variation_to_the_cut(q.lengths, std::clamp<std::int64_t>(q.responses(), 1, 1 << 20));
}

std::int64_t one_number_of_gpus(RlOptions const& o, ClusterSpec const& cluster) {
    if (o.plan.accelerators.empty()) throw InputError("--gpus: how many accelerators is not said (--gpus 64)");
    std::vector<std::int64_t> const counts = accelerator_counts(o.plan, cluster);
    if (counts.size() != 1) throw InputError("--gpus: '{}' (one number is needed)", o.plan.accelerators);
    return counts.front();
}

}  // namespace

RlOverheads rl_overheads_from(std::string const& name) {
    if (name == "fitted") return fitted_rl_overheads();
    if (name == "none") return {};
    throw InputError("--overheads: unknown '{}'{} (known: fitted, none)", name,
                     did_you_mean(name, std::vector<std::string>{"fitted", "none"}));
}

void add_rl_options(CLI::App& app, RlOptions& o) {
    add_step_options(app, o);
    add_role_options(app, o);
    add_mode_options(app, o);
    add_engine_options(app, o);
    add_plan_options(app, o.plan, Axes::search);
    add_adapter_options(app, o.plan);
    app.remove_option(app.get_option("--document-tokens"));
    app.get_option("--model")->required(false)->description("the policy: preset or Hugging Face config.json");
    app.get_option("--cluster")->required(false);
    app.get_option("--gpus")->description("accelerators, of engines and trainer together")->option_text("N");
    app.get_option("--seq")->description("longest prompt and response together (default: the model's context)");
    app.get_option("--global-batch")->description("responses of one update (default: all of a step)");
    app.add_option("--overheads", o.overheads,
                   "what a step takes beyond the kernels: fitted (to NeMo RL 0.3), or none: a lower bound (default: "
                   "fitted)")
        ->option_text("NAME")
        ->group("Step");
    app.add_option("--threads", o.threads, "worker threads (0: all cores); the answer does not depend on it");
}

RlQuestion rl_question(RlOptions const& o) {
    if (o.plan.model.empty()) throw InputError("--model: no policy is named (see 'sextant models')");
    if (o.plan.cluster.empty()) throw InputError("--cluster: no cluster is named (see 'sextant hardware')");
    check_step_is_said(o);
    RlQuestion q;
    q.algorithm = rl_algorithm_from(o.algorithm, "--algorithm");
    q.policy = find_model(o.plan.model);
    MachineSubject machine = find_machine(o.plan);
    q.machine.constraints = search_constraints(o.plan, machine.cluster, machine.framework);
    q.accelerators = one_number_of_gpus(o, machine.cluster);
    q.engine = find_engine(o.engine, "--engine");
    check_engine_vendor(q.engine, machine.cluster.accelerator.vendor, "--engine");
    q.rollout = engine_plan(o, machine.cluster, q.engine);
    q.rollout_tp = degrees_from(o.rollout_tp);
    q.machine.cluster = std::move(machine.cluster);
    q.machine.framework = std::move(machine.framework);
    q.machine.limit = machine.limit;
    if (o.threads < 0 || o.threads > 1024) throw InputError("--threads: {} (0 for all, up to 1024)", o.threads);
    q.machine.threads = static_cast<unsigned>(o.threads);
    q.prompts = *o.prompts;
    q.group = o.group.value_or(q.algorithm == RlAlgorithm::grpo ? 16 : 1);
    q.context = o.plan.sequence.value_or(q.policy.max_positions);
    if (o.plan.sequence && *o.plan.sequence < 1) throw InputError("--seq: {} tokens (at least 1)", *o.plan.sequence);
    set_lengths(q, o);
    q.drawing = o.random_lengths ? Drawing::random : Drawing::strata;
    q.seed = o.seed;
    q.epochs = o.epochs;
    if (o.plan.global_batch && *o.plan.global_batch < 1)
        throw InputError("--global-batch: {} responses (at least 1)", *o.plan.global_batch);
    q.update_batch = o.plan.global_batch.value_or(0);
    if (!o.critic.empty() && q.algorithm != RlAlgorithm::ppo)
        throw InputError("--critic: {} has none (only ppo)", o.algorithm);
    if (!o.critic.empty()) q.critic = find_model(o.critic);
    if (!o.reward_model.empty() && !o.reward_time.empty())
        throw InputError("--reward-time: there is a reward model (one of the two)");
    if (!o.reward_model.empty()) q.reward = find_model(o.reward_model);
    if (!o.reward_time.empty()) q.reward_time = parse_quantity<Seconds>(o.reward_time, "--reward-time");
    q.reference = o.no_reference ? ReferenceModel::none : ReferenceModel::kept;
    q.old_scores = o.engine_scores ? OldScores::from_engine : OldScores::recomputed;
    q.offload = state_offload_from(o.state_offload, "--state-offload");
    q.overheads = rl_overheads_from(o.overheads);
    if (auto const price = hourly_price(q.machine.cluster)) q.usd_per_hour = price->value;
    q.staleness = o.staleness;
    q.staleness_penalty = o.staleness_penalty;
    check_rl_question(q);
    return q;
}

RlSearch rl_search(RlOptions const& o, RlQuestion const& q) {
    RlSearch search;
    std::vector<std::string> known{"all"};
    for (RlMode const mode : {RlMode::colocated, RlMode::split, RlMode::asynchronous}) {
        known.emplace_back(name_of(mode));
        if (o.mode == "all" || o.mode == name_of(mode)) search.modes.push_back(mode);
    }
    if (search.modes.empty())
        throw InputError("--mode: unknown mode '{}' (known: {}{})", o.mode, join(known), did_you_mean(o.mode, known));
    if (o.rollout_accelerators && o.mode == name_of(RlMode::colocated))
        throw InputError("--rollout-gpus: colocated engines have all accelerators (--mode split or asynchronous)");
    search.rollout_accelerators = o.rollout_accelerators;
    if (o.rollout_accelerators && (*o.rollout_accelerators < 1 || *o.rollout_accelerators >= q.accelerators))
        throw InputError("--rollout-gpus: {} of {} (at least 1, and some have to be left to train)",
                         *o.rollout_accelerators, q.accelerators);
    return search;
}

}  // namespace sextant::cli
