#include "cli/serve/options.hpp"

#include "core/error.hpp"
#include "core/spec/doubtful_values.hpp"
#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/hourly_price.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/serving_split.hpp"
#include "cost_models/serving/expert_exchange.hpp"
#include "cost_models/serving/memory_share.hpp"
#include "planner/left_out.hpp"
#include "planner/price_words.hpp"
#include "planner/serving/serving_support.hpp"
#include "planner/serving/usual_formats.hpp"

#include <fmt/format.h>
#include <CLI/App.hpp>

namespace sextant::cli {

void add_expert_options(CLI::App& app, std::string& dispatcher, std::int64_t& redundant) {
    app.add_option("--moe-dispatcher", dispatcher,
                   "tokens to experts with --ep: alltoall, once per expert, or deduplicated, once per domain (DeepEP; "
                   "default: deduplicated where the experts span domains and the engine has it)")
        ->option_text("NAME");
    app.add_option("--redundant-experts", redundant,
                   "copies of experts beside these, so that --ep divides all together (default: 0)")
        ->option_text("N");
}

std::optional<Dispatcher> dispatcher_option(std::string const& name) {
    return name.empty() ? std::nullopt : std::optional(dispatcher_from(name, "--moe-dispatcher"));
}

void add_context_option(CLI::App& app, std::optional<std::int64_t>& context) {
    app.add_option("--context", context,
                   "longest request, prompt and answer, as the engine's maximum length (default: the model's)")
        ->option_text("TOKENS");
}

void add_serve_options(CLI::App& app, ServeOptions& o) {
    app.add_option("-m,--model", o.model, "model (see 'sextant models'), or a Hugging Face config.json")
        ->required()
        ->option_text("NAME|FILE");
    app.add_option("-c,--cluster", o.cluster, "cluster (see 'sextant hardware') or a cluster file")
        ->required()
        ->option_text("NAME|FILE");
    app.add_option("--engine", o.engine, "serving engine, or a profile of one (default: vllm)")
        ->option_text("NAME|FILE");
    app.add_option("--tp", o.tp, "tensor parallelism of a replica (default: 1)")->option_text("N");
    app.add_option("--pp", o.pp, "pipeline stages of a replica (default: 1)")->option_text("N");
    app.add_option(
           "--ep", o.ep,
           "ranks that the experts are divided over: tp x attention-dp, or 1 to cut each over as many (default: 1)")
        ->option_text("N");
    add_expert_options(app, o.dispatcher, o.redundant_experts);
    app.add_option("--attention-dp", o.attention_dp, "groups of tp ranks with sequences of their own (default: 1)")
        ->option_text("N");
    app.add_option(
           "--weights", o.weights,
           "bf16, fp16, fp8, fp8-block, fp4, int8, int8-weights, int4-weights (default: as the checkpoint is, by its "
           "name, \"...-AWQ\", or quantization_config of its config.json, else bf16)")
        ->option_text("FORMAT");
    app.add_option("--kv-cache", o.cache,
                   "format of the key-value cache: bf16, fp8, int8, int4 (default: the checkpoint's, "
                   "else bf16)")
        ->option_text("FORMAT");
    app.add_option("--max-batch", o.max_batch, "sequences that decode at a time in a replica (default: 256)")
        ->option_text("N");
    app.add_option("--max-batched-tokens", o.max_batched_tokens,
                   "tokens of one iteration (of an attention group), prompt chunks included (default: 8192)")
        ->option_text("N");
    app.add_option("--block-tokens", o.block_tokens, "tokens of a block of the paged cache (default: 16)")
        ->option_text("N");
    add_context_option(app, o.context);
    app.add_option("--memory-utilisation", o.memory_utilisation,
                   "share of memory the engine takes, as its own option counts (default: the engine's)")
        ->option_text("SHARE");
    app.add_option("--expert-imbalance", o.expert_imbalance,
                   "tokens of the busiest expert rank over the mean (default: 1)")
        ->option_text("RATIO");
    app.add_option("--price", o.price, "US dollars per accelerator and hour (default: the profile's, indicative)")
        ->option_text("USD");
}

namespace {

void choose_formats(ServeOptions const& o, CheckpointFormat const& checkpoint, ServingCase& what) {
    ServingPlan& plan = what.plan;
    AcceleratorProfile const& device = what.cluster.accelerator;
    UsualWeights weights = o.weights.empty() ? usual_weights(checkpoint, device, what.engine)
                                             : chosen_weights(o.weights, checkpoint, device, what.engine);
    if (!o.weights.empty()) weights.from = o.weights_origin;
    weights.put_into(plan);
    if (!weights.note.empty()) what.format_notes.push_back(std::move(weights.note));
    if (!o.cache.empty()) {
        plan.cache = cache_format_from(o.cache, "--kv-cache");
    } else {
        plan.cache = checkpoint.cache.value_or(CacheFormat::bf16);
        plan.cache_origin = checkpoint.cache ? FormatOrigin::checkpoint : FormatOrigin::usual;
    }
}

}  // namespace

ServingCase serving_case_from(ServeOptions const& o) {
    StoredModel stored = find_stored_model(o.model);
    ServingCase what{.model = std::move(stored.model),
                     .cluster = find_cluster(o.cluster, "--cluster"),
                     .plan = {},
                     .engine = find_engine(o.engine, "--engine")};
    check_engine_vendor(what.engine, what.cluster.accelerator.vendor, "--engine");
    set_context(what.model, o.context, what.format_notes);
    ServingPlan& plan = what.plan;
    plan.tp = o.tp;
    plan.pp = o.pp;
    plan.ep = o.ep.value_or(1);
    plan.attention_dp = o.attention_dp;
    choose_formats(o, stored.checkpoint, what);
    plan.max_batch = o.max_batch;
    plan.max_batched_tokens = o.max_batched_tokens;
    plan.block_tokens = o.block_tokens;
    plan.memory_utilisation =
        o.memory_utilisation.value_or(default_memory_share(what.engine, what.cluster.accelerator, plan));
    plan.expert_imbalance = o.expert_imbalance;
    plan.redundant_experts = o.redundant_experts;
    plan.dispatcher = dispatcher_option(o.dispatcher);
    check_serving_plan(what.model, plan);
    if (o.price) static_cast<void>(given_price(*o.price));
    return what;
}

namespace {

std::optional<Sourced<double>> sourced_price(ServeOptions const& o, ServingCase const& what) {
    return o.price ? given_price(*o.price) : hourly_price(what.cluster);
}

}  // namespace

std::optional<double> serving_price(ServeOptions const& o, ServingCase const& what) {
    auto const price = sourced_price(o, what);
    return price ? std::optional(price->value) : std::nullopt;
}

void put_price_first(std::vector<std::string>& assumptions, ServeOptions const& o, ServingCase const& what) {
    if (auto const price = sourced_price(o, what)) assumptions.insert(assumptions.begin(), price_assumption(*price));
}

std::string serving_plan_text(ServingCase const& what) {
    ServingPlan const& plan = what.plan;
    auto const origin = [](FormatOrigin from) {
        return from == FormatOrigin::checkpoint ? " as the checkpoint is" : "";
    };
    return fmt::format("{}, weights {}{}, cache {}{}, engine {}", split_words(plan), plan.weights,
                       origin(plan.weights_origin), name_of(plan.cache), origin(plan.cache_origin), what.engine.name);
}

namespace {

/// How tokens get to experts that are divided over ranks; nothing where they are not.
std::string exchange_assumption(ServingCase const& what) {
    if (what.plan.ep <= 1) return {};
    if (!sends_to_experts(what.plan))
        return "every rank has all tokens: what its experts make is summed over tp, as engines do without attention "
               "data parallelism (--moe-dispatcher sends tokens instead)";
    if (dispatcher_of(what) == Dispatcher::all_to_all)
        return "tokens go to each of their experts, and back, by an all-to-all in two bytes a value (--moe-dispatcher)";
    return fmt::format(
        "tokens go to their experts once per domain, as with DeepEP, at the rates of its large batches (training's), "
        "in {:g} bytes a value, and back in 2 (--moe-dispatcher)",
        dispatched_bytes_per_value(what));
}

}  // namespace

std::string missing_cache(EngineProfile const& engine, CacheFormat cache) {
    bool const integers = cache == CacheFormat::int8 || cache == CacheFormat::int4;
    bool const none = is_vllm_or_sglang(engine.program);
    bool const one = engine.program == EngineProgram::tensorrt_llm && cache == CacheFormat::int4;
    if (!integers || !(none || one)) return {};
    return fmt::format(
        "{} has no {} key-value cache: these are the figures of one that had (--kv-cache {}, or --engine "
        "lmdeploy, which has int8 and int4)",
        engine.name, name_of(cache), one ? "int8" : "fp8");
}

std::vector<std::string> serving_assumptions(ServingCase const& what) {
    std::vector<std::string> out = what.format_notes;
    for (std::string& note : notes_on_profile(what.cluster))
        out.push_back(std::move(note));
    if (std::string remark = left_out_remark(what.model); !remark.empty()) out.push_back(std::move(remark));
    EngineProfile const& e = what.engine;
    std::string names;
    auto const note = [&](char const* name, Basis basis) {
        if (basis == Basis::assumed) names += (names.empty() ? "" : ", ") + std::string(name);
    };
    note("product scale", e.gemm_scale.basis);
    note("prefill scale", e.prefill_scale.basis);
    note("decode scale", e.decode_scale.basis);
    note("communication scale", e.communication_scale.basis);
    note("kernel gap", e.kernel_gap.basis);
    note("host per iteration", e.host_per_iteration.basis);
    note("host per sequence", e.host_per_sequence.basis);
    note("request overhead", e.request_overhead.basis);
    note("tokenising", e.tokenise_per_token.basis);
    note("memory overhead", e.memory_overhead.basis);
    if (!names.empty())
        out.push_back(fmt::format("engine '{}': {} assumed, or taken from other engines", e.name, names));
    if (what.model.moe && what.plan.expert_imbalance <= 1)
        out.emplace_back("experts get equal shares of the tokens (--expert-imbalance)");
    if (std::string words = exchange_assumption(what); !words.empty()) out.push_back(std::move(words));
    if (std::string words = missing_cache(what.engine, what.plan.cache); !words.empty())
        out.push_back(std::move(words));
    if (auto words = cut_blocks(what.engine, what.model, what.plan)) out.push_back(std::move(*words));
    if (what.plan.cache == CacheFormat::int4)
        out.emplace_back("decodes over an int4 cache run at the rate of the fp8 kernels over half of their bytes");
    if (what.plan.cache == CacheFormat::int8)
        out.emplace_back("decodes over an int8 cache run at the rate of the fp8 kernels");
    if (e.admission == Admission::whole)
        out.emplace_back("a request is admitted when all its tokens have room; it gets as many as it asks for");
    for (std::string& term : serving_support(what).terms)
        out.push_back(std::move(term));
    return out;
}

void set_context(ModelSpec& model, std::optional<std::int64_t> context, std::vector<std::string>& notes) {
    if (!context) return;
    constexpr std::int64_t most = std::int64_t{1} << 30;
    if (*context < 2 || *context > most) throw InputError("--context: {} (2 to {} tokens)", *context, most);
    if (model.position_rows > 0 && *context > model.max_positions)
        throw InputError("--context: {} tokens are more than the {} positions that {} has learned", *context,
                         model.max_positions, model.name);
    if (model.max_positions > 0 && *context > model.max_positions)
        notes.push_back(fmt::format("requests of up to {} tokens, where the config of {} says {} (--context)", *context,
                                    model.name, model.max_positions));
    model.max_positions = *context;
}

void check_context(ModelSpec const& model, double prompt, double output) {
    if (model.max_positions > 0 && prompt + output > static_cast<double>(model.max_positions))
        throw InputError(
            "--prompt: {:.10g} + {:.10g} tokens are more than the {} that {} takes (a longer --context, as the "
            "engine's "
            "maximum length)",
            prompt, output, model.max_positions, model.name);
}

RequestShape checked_request(RequestShape request, ModelSpec const& model) {
    constexpr double longest = RequestShape::longest;
    auto const& [prompt, output, cached, shared] = request;
    if (!(prompt >= 1 && prompt <= longest)) throw InputError("--prompt: {} (1 to {:g} tokens)", prompt, longest);
    if (!(output >= 1 && output <= longest)) throw InputError("--output-tokens: {} (1 to {:g})", output, longest);
    if (!(cached >= 0 && cached < prompt)) throw InputError("--cached: {} (0 to below the prompt)", cached);
    if (!(shared >= 0 && shared <= cached))
        throw InputError("--shared: {} (0 to the {:g} of --cached)", shared, cached);
    check_context(model, prompt, output);
    return request;
}

std::string serving_interval_text(ServingSupport const& support) {
    auto const range = [](EngineInterval const& interval) {
        return fmt::format("{:.2f} to {:.2f} times{}", interval.low, interval.high,
                           interval.rows > 0 ? fmt::format(" ({} rows)", interval.rows) : std::string(" (assumed)"));
    };
    return fmt::format("TPOT {}, TTFT {} what is predicted", range(support.interval), range(support.first_token));
}

}  // namespace sextant::cli
