#include "cli/export/serve.hpp"

#include "cli/export/plan_file.hpp"
#include "cli/export/plan_import.hpp"
#include "cli/export/report.hpp"
#include "cli/serve/options.hpp"
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

namespace sextant::cli {
namespace {

struct Options {
    ServeOptions serve;
    ExportOutput output;
    std::string plan_file;
    std::int64_t rank = 1;
    std::string model_path;
    std::int64_t replicas = 1;
    std::int64_t request_length = 0;  ///< of a plan from a file
    std::string scheduler;            ///< the same; empty: not known
    std::optional<std::int64_t> per_node;
};

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

ServeLaunch launch_of(Options const& o, ServingCase const& what) {
    if (o.replicas < 1 || o.replicas > 1000000) throw InputError("--replicas: {} (1 to 1000000)", o.replicas);
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

int run(Options o, CLI::App const& app, CommandContext& context) {
    if (!o.plan_file.empty()) {
        fill_from_file(o, given_options(app));
        require_known_names(o.serve.model, o.serve.cluster, o.plan_file);
    }
    if (o.serve.model.empty()) throw InputError("--model: which model is served? (or --plan FILE)");
    if (o.serve.cluster.empty()) throw InputError("--cluster: on which machines? (or --plan FILE)");
    ServeExporterEntry const& exporter = find_serve_exporter(o.serve.engine, "--engine");
    ServingCase const what = serving_case_from(o.serve);
    ServeLaunch const launch = launch_of(o, what);
    ServeExport const exported = exporter.write(launch);
    ExportFacts const facts{
        .headline = fmt::format("{} on {}: {}", named(what.model), what.cluster.name, serving_plan_text(what)),
        .nodes = nodes_of(launch),
        .per_node = std::min(launch.per_node, what.plan.accelerators())};
    deliver_export(o.output, {{exporter.name, exported.files, exported.not_expressed}}, facts, context);
    if (launch.memory.fits()) return exit_code::done;
    context.err << fmt::format("sextant: export serve: the replica does not fit into memory: {}\n",
                               misfit_words(launch.memory));
    return exit_code::answer_is_no;
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
