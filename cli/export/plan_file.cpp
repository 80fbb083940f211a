#include "cli/export/plan_file.hpp"

#include "core/error.hpp"
#include "core/json/object_reader.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"

#include <charconv>
#include <cmath>
#include <tuple>
#include <utility>

namespace sextant::cli {
namespace {

/// Tokens of prompts or answers that are all alike ("512"), 0: they are not ("lognormal, mean 512, ...").
std::int64_t fixed_length(std::string const& words) {
    double tokens = 0;
    auto const [stop, error] = std::from_chars(words.data(), words.data() + words.size(), tokens);
    bool const alike = error == std::errc{} && stop == words.data() + words.size();
    constexpr double most = 1e9;
    return alike && tokens >= 0 && tokens <= most ? static_cast<std::int64_t>(std::ceil(tokens)) : 0;
}

Switch switch_of(bool on) { return on ? Switch::on : Switch::off; }

ParallelPlan read_plan(ObjectReader in) {
    ParallelPlan p;
    for (auto const& [key, value] : {std::pair{"dp", &p.dp},
                                     {"tp", &p.tp},
                                     {"pp", &p.pp},
                                     {"cp", &p.cp},
                                     {"ep", &p.ep},
                                     {"expert_tp", &p.expert_tp},
                                     {"vpp", &p.vpp},
                                     {"micro_batch", &p.micro_batch},
                                     {"shard_group", &p.shard_group},
                                     {"recompute_layers", &p.recompute_layers}})
        *value = in.integer(key);
    std::int64_t const zero = in.integer("zero");
    if (zero < 0 || zero > 3) throw InputError("{}: {} (0, 1, 2 or 3)", in.path_to("zero"), zero);
    p.zero = static_cast<int>(zero);
    p.schedule = schedule_from(in.text("schedule"), in.path_to("schedule"));
    p.recompute = recompute_from(in.text("recompute"), in.path_to("recompute"));
    if (in.has("recompute_modules"))
        p.recompute_modules = recompute_modules_from(in.text("recompute_modules"), in.path_to("recompute_modules"));
    if (in.has("kept_activations"))
        p.kept_activations =
            activation_groups_from(in.text("kept_activations"), in.path_to("kept_activations"), keepable_activations);
    if (in.has("offloaded_activations"))
        p.offloaded_activations =
            activation_groups_from(in.text("offloaded_activations"), in.path_to("offloaded_activations"));
    if (in.has("offload_layers")) p.offload_layers = in.integer("offload_layers");
    if (in.has("gradients")) p.gradients = gradient_format_from(in.text("gradients"), in.path_to("gradients"));
    p.sequence_parallel = switch_of(in.flag("sequence_parallel"));
    p.cp_mode = context_parallel_from(in.text("cp_mode"), in.path_to("cp_mode"));
    p.dispatcher = dispatcher_from(in.text("moe_dispatcher"), in.path_to("moe_dispatcher"));
    p.offload = offload_from(in.text("offload"), in.path_to("offload"));
    p.attention = attention_kernel_from(in.text("attention"), in.path_to("attention"));
    p.optimizer = optimizer_from(in.text("optimizer"), in.path_to("optimizer"));
    p.precision = precision_from(in.text("precision"), in.path_to("precision"));
    p.dropout = switch_of(in.flag("dropout"));
    p.fused_cross_entropy = switch_of(in.flag("fused_cross_entropy"));
    if (in.has("fp8_activation_input")) p.fp8_activation_input = switch_of(in.flag("fp8_activation_input"));
    if (in.has("narrow_copies")) p.narrow_copies = switch_of(in.flag("narrow_copies"));
    if (in.has("expert_imbalance")) p.expert_imbalance = in.number("expert_imbalance");
    if (in.has("loss_chunks")) p.loss_chunks = in.integer("loss_chunks");
    p.stage_layers = in.integers("stage_layers");
    if (in.has("lora_rank"))
        p.adapters = {.rank = in.integer("lora_rank"),
                      .targets = adapter_targets_from(in.text("lora_targets"), in.path_to("lora_targets")),
                      .base = base_weights_from(in.text("base_weights"), in.path_to("base_weights"))};
    in.finish();
    return p;
}

/// The entry of this rank. @throws InputError: there is none.
ObjectReader candidate(ObjectReader& root, std::int64_t rank) {
    std::vector<ObjectReader> candidates = root.objects("candidates");
    auto const count = static_cast<std::int64_t>(candidates.size());
    if (count == 0) throw InputError("{}: there is no plan in it (nothing fitted)", root.where());
    if (rank < 1 || rank > count) throw InputError("--rank: {} (the file has 1 to {})", rank, count);
    return candidates[static_cast<std::size_t>(rank - 1)];
}

}  // namespace

PlanFile read_plan_file(std::string const& path, std::int64_t rank) {
    return read_plan_document(JsonDocument::from_file(path), rank);
}

PlanFile read_plan_document(JsonDocument const& document, std::int64_t rank) {
    ObjectReader root(document);
    std::string const format = root.text("format");
    bool const of_run = format == "run_plan";
    if (format != "plan" && format != "step_report" && !of_run)
        throw InputError(
            "{}: format '{}' is no plan ('sextant plan', 'estimate' and 'run-plan' write one with --format json)",
            document.name(), format);
    root.format(format, 1);
    if (of_run && !(root.has("run") && root.has("model")))
        throw InputError("{}: there is no plan in it (no run was found)", root.where());
    PlanFile out{.model = of_run ? root.object("model").text("name") : root.text("model"),
                 .cluster = root.text("cluster"),
                 .framework = root.text("framework"),
                 .workload = {.sequence = root.integer("seq"), .global_batch = root.integer("global_batch")},
                 .plan = {}};
    if (root.has("document_tokens")) out.workload.document = root.integer("document_tokens");
    if (root.has("preference"))
        out.workload.preference = preference_from(root.text("preference"), root.path_to("preference"));
    if (format != "plan" && rank != 1) throw InputError("--rank: {} (the file has one plan)", rank);
    auto const take_figures = [&](ObjectReader& report) {
        out.digest = report.text("graph_digest", "");
        if (report.has("iteration_time_s")) out.seconds = report.number("iteration_time_s");
    };
    if (of_run) {
        ObjectReader run = root.object("run");
        out.steps = run.integer("steps");
        out.plan = read_plan(run.object("plan"));
        take_figures(run);
    } else if (format == "plan") {
        ObjectReader chosen = candidate(root, rank);
        out.plan = read_plan(chosen.object("plan"));
        if (!chosen.has("report")) return out;
        ObjectReader report = chosen.object("report");
        take_figures(report);
    } else {
        out.plan = read_plan(root.object("plan"));
        take_figures(root);
    }
    return out;
}

void require_known_names(std::string const& model, std::string const& cluster, std::string const& plan_file) {
    try {
        find_model(model);
        find_cluster(cluster, "--cluster");
    } catch (InputError const& unknown) {
        throw InputError("{} {}", unknown.what(), give_again(plan_file));
    }
}

std::string give_again(std::string const& plan_file) {
    return fmt::format(
        "(where {} was made with files of a model or a cluster, give them again: --model FILE --cluster FILE)",
        plan_file);
}

std::string const& ServePlanFile::asked_weights(ServingPlan const& plan) {
    bool const from_user = plan.weights_origin == FormatOrigin::given && find_gemm_format(plan.stored) != nullptr;
    return from_user ? plan.stored : plan.weights;
}

namespace {

/// With its share of memory, where the file says it.
std::pair<ServingPlan, std::optional<double>> read_serving_plan(ObjectReader plan) {
    ServingPlan out;
    out.tp = plan.integer("tp");
    out.pp = plan.integer("pp");
    out.ep = plan.integer("ep");
    out.attention_dp = plan.integer("attention_dp");
    out.weights = plan.text("weights");
    out.stored = plan.text("weights_stored", out.weights);
    if (plan.has("moe_dispatcher"))
        out.dispatcher = dispatcher_from(plan.text("moe_dispatcher"), plan.path_to("moe_dispatcher"));
    out.redundant_experts = plan.integer("redundant_experts", 0);
    out.weights_origin = format_origin_from(plan.text("weights_origin", std::string(name_of(FormatOrigin::given))),
                                            plan.path_to("weights_origin"));
    out.cache = cache_format_from(plan.text("kv_cache"), plan.path_to("kv_cache"));
    out.max_batch = plan.integer("max_batch");
    out.max_batched_tokens = plan.integer("max_batched_tokens");
    std::optional<double> share;
    if (plan.has("memory_utilisation")) share = plan.number("memory_utilisation");
    return {std::move(out), share};
}

}  // namespace

ServePlanFile read_serve_plan_file(std::string const& path, std::int64_t rank) {
    return read_serve_plan_document(JsonDocument::from_file(path), rank);
}

ServePlanFile read_serve_plan_document(JsonDocument const& document, std::int64_t rank) {
    ObjectReader root(document);
    if (std::string const format = root.text("format"); format != "serving-plan")
        throw InputError("{}: format '{}' is no deployment ('sextant serve plan --format json' writes one)",
                         document.name(), format);
    root.format("serving-plan", 1);
    ServePlanFile out{.model = root.text("model"),
                      .cluster = {},
                      .engine = root.text("engine", ""),
                      .scheduler = root.text("scheduler", ""),
                      .plan = {},
                      .memory_utilisation = {},
                      .context = {}};
    if (root.has("context")) out.context = root.integer("context");
    if (root.has("prompt") && root.has("output")) {
        std::int64_t const prompt = fixed_length(root.text("prompt"));
        std::int64_t const answer = fixed_length(root.text("output"));
        out.request_length = prompt > 0 && answer > 0 ? prompt + answer : 0;
    }
    ObjectReader entry = candidate(root, rank);
    out.cluster = entry.text("cluster");
    out.replicas = entry.integer("replicas");
    std::tie(out.plan, out.memory_utilisation) = read_serving_plan(entry.object("plan"));
    if (!entry.has("prefill")) return out;
    ObjectReader prefill = entry.object("prefill");
    out.prompts.emplace();
    out.prompts->replicas = prefill.integer("replicas");
    std::tie(out.prompts->plan, out.prompts->memory_utilisation) = read_serving_plan(prefill.object("plan"));
    return out;
}

}  // namespace sextant::cli
