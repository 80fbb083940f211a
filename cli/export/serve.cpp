#include "cli/export/serve.hpp"

#include "cli/export/plan_file.hpp"
#include "cli/export/plan_import.hpp"
#include "cli/export/report.hpp"
#include "cli/serve/options.hpp"
#include "cli/serve/prefill_options.hpp"
#include "core/error.hpp"
#include "core/spec/model_catalog.hpp"
#include "cost_models/serving/expert_exchange.hpp"
#include "cost_models/serving/serving_memory.hpp"
#include "planner/exporters/quoting.hpp"
#include "planner/exporters/serve_command.hpp"
#include "planner/left_out.hpp"
#include "planner/serving/usual_formats.hpp"
#include "simulator/serving/replica_limits.hpp"

#include <CLI/App.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <utility>
#include <vector>

namespace sextant::cli {
namespace {

struct Options {
    ServeOptions serve;
    PrefillOptions prefill;
    std::optional<std::int64_t> prefill_replicas;
    ExportOutput output;
    std::string plan_file;
    std::int64_t rank = 1;
    std::string model_path;
    std::int64_t replicas = 1;
    std::int64_t request_length = 0;  ///< of a plan from a file
    std::string scheduler;            ///< the same; empty: not known
    std::optional<std::int64_t> per_node;
};

/// The same of replicas for prompts.
void fill_prompts(Options& o, Given const& given, ServePlanFile const& file, bool same_engine) {
    ServingPlan const& plan = file.prompts->plan;
    PrefillOptions& p = o.prefill;
    if (!o.prefill_replicas) o.prefill_replicas = file.prompts->replicas;
    if (!p.tp) p.tp = plan.tp;
    if (!p.pp) p.pp = plan.pp;
    if (!p.ep) p.ep = plan.ep;
    if (!p.attention_dp) p.attention_dp = plan.attention_dp;
    if (!p.max_batch) p.max_batch = plan.max_batch;
    if (!p.max_batched_tokens) p.max_batched_tokens = plan.max_batched_tokens;
    if (!p.memory_utilisation && !given("--memory-utilisation") && same_engine)
        p.memory_utilisation = file.prompts->memory_utilisation;
    if (p.weights.empty() && !given("--weights") && plan.weights != file.plan.weights)
        p.weights = ServePlanFile::asked_weights(plan);
}

/// What the file says, in all that is not given.
void fill_from_file(Options& o, Given const& given) {
    ServePlanFile const file = read_serve_plan_file(o.plan_file, o.rank);
    ServeOptions& s = o.serve;
    if (!given("--model")) s.model = file.model;
    if (!given("--cluster")) s.cluster = file.cluster;
    if (!given("--engine") && !file.engine.empty()) s.engine = file.engine;
    bool const same_engine = file.engine.empty() || s.engine == file.engine;  // each has a share of its own meaning
    if (!given("--memory-utilisation") && same_engine) s.memory_utilisation = file.memory_utilisation;
    if (!given("--context")) s.context = file.context;
    if (!given("--tp")) s.tp = file.plan.tp;
    if (!given("--pp")) s.pp = file.plan.pp;
    if (!given("--ep")) s.ep = file.plan.ep;
    if (!given("--attention-dp")) s.attention_dp = file.plan.attention_dp;
    if (!given("--redundant-experts")) s.redundant_experts = file.plan.redundant_experts;
    if (!given("--moe-dispatcher") && file.plan.dispatcher) s.dispatcher = name_of(*file.plan.dispatcher);
    if (!given("--weights")) {
        s.weights = file.asked_weights();
        s.weights_origin = file.plan.weights_origin;
    }
    if (!given("--kv-cache")) s.cache = name_of(file.plan.cache);
    if (!given("--max-batch")) s.max_batch = file.plan.max_batch;
    if (!given("--max-batched-tokens")) s.max_batched_tokens = file.plan.max_batched_tokens;
    if (!given("--replicas")) o.replicas = file.replicas;
    if (file.prompts) fill_prompts(o, given, file, same_engine);
    o.request_length = file.request_length;
    o.scheduler = file.scheduler;
}

std::int64_t accelerators_of_node(Options const& o, ClusterSpec const& cluster) {
    std::int64_t const usual = cluster.domain_size <= 8 ? cluster.domain_size : 4;
    std::int64_t const per_node = o.per_node.value_or(usual);
    if (per_node < 1 || per_node > 4096) throw InputError("--gpus-per-node: {} (1 to 4096)", per_node);
    return per_node;
}

/// What the formats of the plan are not, and a scheduler that the engine does not run.
std::vector<NotExpressed> notes_of(Options const& o, ServingCase const& what) {
    std::vector<NotExpressed> notes;
    for (std::string const& note : what.format_notes)
        notes.push_back({"weights", note});
    if (std::string_view const own = scheduler_of(what.engine).name; !o.scheduler.empty() && o.scheduler != own)
        notes.push_back(
            {"scheduler", fmt::format("the plan's times are of '{}', and {} runs '{}' ('sextant serve plan --scheduler "
                                      "{}' finds a plan for that)",
                                      o.scheduler, what.engine.name, own, own)});
    return notes;
}

void check_replicas(std::int64_t replicas, char const* flag) {
    if (replicas < 1 || replicas > 1000000) throw InputError("{}: {} (1 to 1000000)", flag, replicas);
}

ServeLaunch launch_of(Options const& o, ServingCase const& what) {
    check_replicas(o.replicas, "--replicas");
    ServeLaunch launch{.model = what.model, .cluster = what.cluster, .plan = what.plan};
    launch.per_node = accelerators_of_node(o, what.cluster);
    if (!o.model_path.empty()) launch.model_path = o.model_path;
    check_exported_text(launch.model_path, "--model-path");
    check_exported_text(launch.model.name, "--model");
    launch.replicas = o.replicas;
    launch.memory = serving_memory(what);
    launch.request_length = o.request_length;
    StoredModel const stored = find_stored_model(o.serve.model);
    launch.checkpoint = stored.checkpoint;
    launch.own_context = stored.model.max_positions;
    if (sends_to_experts(what.plan)) launch.exchange = dispatcher_of(what);
    launch.run_weights = run_format(launch.checkpoint.weights, what.cluster.accelerator, what.engine).weights;
    launch.notes = notes_of(o, what);
    return launch;
}

/// Replicas that do all, or those for prompts and those that decode.
std::vector<ServeLaunch> launches_of(Options const& o, ServingCase const& what) {
    if (!o.prefill_replicas) {
        if (o.prefill.any())
            throw InputError(
                "--prefill-tp and its like: there are no replicas for prompts alone (--prefill-replicas N)");
        return {launch_of(o, what)};
    }
    check_replicas(*o.prefill_replicas, "--prefill-replicas");
    ServingCase const prompts = prefill_case_from(o.serve, o.prefill);
    ServeLaunch sender = launch_of(o, prompts);
    ServeLaunch receiver = launch_of(o, what);
    sender.replicas = *o.prefill_replicas;
    sender.role = ServeRole::prefill;
    sender.peer = what.plan;
    receiver.role = ServeRole::decode;
    receiver.peer = prompts.plan;
    return {std::move(sender), std::move(receiver)};
}

std::string format_name(ServeExporterEntry const& exporter, ServeRole role) {
    if (role == ServeRole::whole) return exporter.name;
    return fmt::format("{} {}", exporter.name, role == ServeRole::prefill ? "prefill" : "decode");
}

int run(Options o, CLI::App const& app, CommandContext& context) {
    if (!o.plan_file.empty()) {
        fill_from_file(o, given_options(app));
        require_known_names(o.serve.model, o.serve.cluster, o.plan_file);
    }
    if (o.serve.model.empty()) throw InputError("--model: which model is served? (or --plan FILE)");
    if (o.serve.cluster.empty()) throw InputError("--cluster: on which machines? (or --plan FILE)");
    ServeExporterEntry const& exporter = find_serve_exporter(o.serve.engine, "--engine");
    ServingCase const what = serving_case_from(o.serve);
    std::vector<ServeLaunch> const launches = launches_of(o, what);
    if (launches.size() > 1 && o.output.folder.empty() && o.output.report != "json")
        throw InputError(
            "--output: replicas for prompts and those that decode have a script each, which want a folder");
    std::vector<ExportedFormat> formats;
    for (ServeLaunch const& launch : launches) {
        ServeExport exported = exporter.write(launch);
        formats.push_back(
            {format_name(exporter, launch.role), std::move(exported.files), std::move(exported.not_expressed)});
    }
    ServeLaunch const& last = launches.back();
    std::string headline = fmt::format("{} on {}: {}", named(what.model), what.cluster.name, serving_plan_text(what));
    if (launches.size() > 1) headline += fmt::format("; prompts {}", split_words(launches.front().plan));
    ExportFacts const facts{
        .headline = headline, .nodes = nodes_of(last), .per_node = std::min(last.per_node, what.plan.accelerators())};
    deliver_export(o.output, formats, facts, context);
    int code = exit_code::done;
    for (ServeLaunch const& launch : launches) {
        if (launch.memory.fits()) continue;
        context.err << fmt::format("sextant: export serve: the replica{} does not fit into memory: {}\n",
                                   launch.role == ServeRole::prefill ? " for prompts" : "",
                                   misfit_words(launch.memory));
        code = exit_code::answer_is_no;
    }
    return code;
}

}  // namespace

Subcommand describe_export_serve(CLI::App& parent, CommandContext& context) {
    auto const o = std::make_shared<Options>();
    CLI::App& app = *parent.add_subcommand("serve", "the command that starts vLLM, SGLang or TensorRT-LLM");
    add_serve_options(app, o->serve);
    app.get_option("--model")->required(false);
    app.get_option("--cluster")->required(false);
    app.add_option("--plan", o->plan_file, "what 'sextant serve plan --format json' wrote")->option_text("FILE");
    app.add_option("--rank", o->rank, "which of its deployments (default: 1, the best)")->option_text("N");
    app.add_option("--model-path", o->model_path, "what the engine loads: a folder or a name at Hugging Face")
        ->option_text("PATH");
    app.add_option("--replicas", o->replicas, "how many are started (default: the file's, or 1)")->option_text("N");
    app.add_option("--prefill-replicas", o->prefill_replicas,
                   "replicas for prompts, with a script of their own; the others decode (default: the file's)")
        ->option_text("N");
    add_prefill_options(app, o->prefill);
    app.add_option("--gpus-per-node", o->per_node, "accelerators of a node (default: a domain of up to 8, else 4)")
        ->option_text("N");
    add_export_output(app, o->output);
    app.footer(
        "--engine takes vllm, sglang and tensorrt-llm.\n\nExamples:\n"
        "  sextant export serve --engine vllm --model llama-3.1-70b --cluster h100-sxm --tp 4 --weights fp8\n"
        "  sextant export serve --engine sglang --plan deployment.json --model-path /models/llama --output launch\n");
    return {.app = &app, .run = [o, &app, &context] { return run(*o, app, context); }};
}

}  // namespace sextant::cli
