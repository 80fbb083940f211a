#include "cli/serve/simulate_report.hpp"

#include "cli/interrupt.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/serve/misfit.hpp"
#include "cli/serve/pages.hpp"
#include "cli/serve/prefill_options.hpp"
#include "cli/serve/simulate_options.hpp"
#include "cli/serve/simulate_plots.hpp"
#include "cli/serve/subcommand.hpp"
#include "cli/simulate/need_simgrid.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"
#include "core/quantity_text.hpp"
#include "planner/serving/apart_candidates.hpp"

#include <fmt/format.h>
#include <CLI/App.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace sextant::cli {
namespace {

void note_assumptions(ServeSimulateReport& report) {
    report.assumptions = serving_assumptions(report.what);
    if (report.what.plan.attention_dp > 1)
        report.assumptions.emplace_back(
            "attention data-parallel groups of a replica step together; a request goes to the one with the fewest");
    if (report.setup.prefill_replicas > 0)
        report.assumptions.emplace_back(
            "replicas fill the nodes in order, prompts first; caches go from rank to rank as one message, which meets "
            "other caches only");
    if (report.setup.prefill_replicas > 0) {
        ServingPlan const& decodes = report.what.plan;
        ServingPlan const& prompts = report.prompts ? report.prompts->what.plan : decodes;
        if (auto const fault = pipeline_fault(report.what.engine.program, prompts, decodes))
            report.assumptions.push_back(fmt::format("{}: these are the figures of one that did", *fault));
    }
    if (report.prompts) {
        for (std::string& words : serving_assumptions(report.prompts->what))
            if (std::find(report.assumptions.begin(), report.assumptions.end(), words) == report.assumptions.end())
                report.assumptions.push_back("replicas for prompts: " + std::move(words));
        report.assumptions.emplace_back(
            "a rank that receives gets each part that it keeps from one rank that has it, every message at once; the "
            "first replica that decodes begins at a multiple of its size");
    }
    if (!report.cold_start_words.empty()) report.assumptions.push_back(report.cold_start_words);
    if (report.setup.outages.mtbf > Seconds{})
        report.assumptions.emplace_back(
            "replicas fail after exponential times in service; the router knows at once, and tokens that are out stay");
    if (report.adapter_cost)
        report.assumptions.emplace_back(
            "adapters are on attention and dense feed-forward products, in two bytes, two small kernels each; a "
            "request "
            "that waits for a slot is overtaken by 64 others at most");
    if (report.setup.limits.preemption == PreemptionPolicy::swap) {
        Sourced<BytesPerSecond> const link = host_link(report.what.cluster.accelerator);
        EngineProfile const& engine = report.what.engine;
        if (engine.program == EngineProgram::vllm || engine.program == EngineProgram::sglang)
            report.assumptions.push_back(
                fmt::format("{} computes preempted sequences again and never swaps them: these are the figures of one "
                            "that did (--preemption recompute)",
                            engine.name));
        report.assumptions.push_back(
            fmt::format("copies from and to host memory run at {} of each accelerator ({}: {}), and iterations wait",
                        human(link.value), name_of(link.basis), link.source));
    }
    if (report.host_prefixes > Bytes{}) {
        Sourced<BytesPerSecond> const link = host_link(report.what.cluster.accelerator);
        report.assumptions.push_back(fmt::format(
            "prefixes are written to host memory when they are made, beside iterations, and read at {} of each "
            "accelerator ({}: {}) beside the iteration that begins behind them, which takes no less",
            human(link.value), name_of(link.basis), link.source));
    }
    if (report.what.model.recurrent)
        report.assumptions.emplace_back("shared prefixes are computed again: states at their ends are not kept");
    if (report.setup.limits.speculation.tokens > 0)
        report.assumptions.emplace_back(
            "guesses are right independently of each other, cost --draft-cost each (default 0: heads or n-grams), and "
            "need no memory of their own; their tokens come at once, and gaps (itl) are those between steps, as vllm "
            "bench serve has them: per token it is TPOT");
    if (report.outcome.cut_requests > 0)
        report.assumptions.push_back(fmt::format("{} requests were drawn longer than the {} tokens that fit, and cut",
                                                 report.outcome.cut_requests, longest_request(report)));
}

/// Runs it, with the file of requests where one is wanted.
void simulate(ServeSimulateOptions const& o, CommandContext& context, ServeSimulateReport& report,
              RequestSource& source) {
    IterationModel const model(report.what);
    ModelledService service(model, report.adapter_cost);
    std::optional<IterationModel> prompt_model;
    std::optional<ModelledService> prompts;
    if (report.prompts) {
        prompt_model.emplace(report.prompts->what);
        prompts.emplace(*prompt_model, report.prompts->adapter_cost);
        std::int64_t const senders = report.setup.prefill_replicas;
        service.connect(*prompts, senders, report.setup.replicas - senders);
    } else if (report.setup.prefill_replicas > 0) {
        service.connect(report.setup.replicas);
    }
    InterruptGuard const interrupt(context);
    ServingHooks hooks;
    hooks.stop = &interrupt.flag();
    auto const run = [&] {
        return report.clock == ServingClock::loop ? simulate_serving(report.setup, service, source, hooks)
                                                  : simulate_serving_on_simgrid(report.setup, service, source, hooks);
    };
    ProgressLine progress(context, o.progress ? Progress::always : Progress::on_terminals);
    if (progress.shown())
        hooks.progress = [&](std::int64_t arrived) {
            progress.show(fmt::format("simulating: {} of {} requests", arrived, report.requests));
        };
    if (o.requests_file.empty()) {
        report.outcome = run();
    } else {
        write_text_file(o.requests_file, [&](std::ostream& out) {
            out << request_csv_header();
            hooks.finished = [&](FinishedRequest const& request) { out << request_csv_row(request, report.tenants); };
            report.outcome = run();
            return Keep::yes;
        });
    }
}

/// Weights leave no cache. @param whose "", or before what is lacking
ServingMisfit misfit(ServingCase const& what, ServingMemory const& m, std::optional<AdapterCost> const& cost,
                     std::int64_t slots, char const* whose) {
    ServingMisfit out{.what = what,
                      .memory = m,
                      .cache = static_cast<double>(what.plan.block_tokens) * m.cache_per_token,
                      .reason = {}};
    std::string adapters;
    if (cost) {
        out.adapters = cost->bytes * slots;
        adapters = fmt::format(", {} for {} adapters", human(out.adapters), slots);
    }
    out.reason = fmt::format(
        "{}{} for weights, {} for activations{} and {} of overhead leave no cache in the usable {} (larger --tp or "
        "--pp, narrower --weights)",
        whose, human(m.weights), human(m.activations), adapters, human(m.overhead), human(m.usable));
    return out;
}

int run(ServeSimulateOptions const& o, CommandContext& context) {
    Format const format = o.output.format();
    ServeSimulateReport report;
    report.what = serving_case_from(o.serve);
    report.memory = serving_memory(report.what);
    if (o.prefill.any()) {
        if (!o.prefill_replicas)
            throw InputError(
                "--prefill-tp and its like: there are no replicas for prompts alone (--prefill-replicas N "
                "--decode-replicas N)");
        report.prompts = SimulatedReplica{.what = prefill_case_from(o.serve, o.prefill), .memory = {}};
        report.prompts->memory = serving_memory(report.prompts->what);
    }
    read_adapters(o, report);
    report.price = serving_price(o.serve, report.what);
    report.seed = o.seed;
    read_serve_simulate_setup(o, report);
    std::int64_t const slots = report.setup.limits.adapter_slots;
    if (!report.memory.fits())
        return deliver_misfit(MisfitCommand::simulate,
                              misfit(report.what, report.memory, report.adapter_cost, slots, ""), o.output, context);
    if (report.prompts && !report.prompts->memory.fits())
        return deliver_misfit(MisfitCommand::simulate,
                              misfit(report.prompts->what, report.prompts->memory, report.prompts->adapter_cost, slots,
                                     "of a replica for prompts, "),
                              o.output, context);
    if (report.clock == ServingClock::simgrid) need_simgrid("--events simgrid");
    auto const source = simulated_requests(o, report);
    report.requests = source->count();
    simulate(o, context, report, *source);
    note_assumptions(report);
    put_price_first(report.assumptions, o.serve, report.what);
    if (!o.timeline.empty()) write_text_file(o.timeline, serve_simulate_trace(report));
    if (!o.plots.empty()) write_serve_simulate_plots(report, o.plots);
    switch (format) {
        case Format::json: deliver(o.output, context, serve_simulate_json(report)); break;
        case Format::text: deliver(o.output, context, serve_simulate_text(report)); break;
        case Format::html: deliver(o.output, context, serve_simulate_page(report)); break;
        case Format::markdown:
            deliver(o.output, context, serve_simulate_table(report).markdown() + assumed_markdown(report.assumptions));
            break;
        default: deliver(o.output, context, render(serve_simulate_table(report), format)); break;
    }
    if (report.outcome.interrupted) return interrupted_exit;
    return report.outcome.state == SteadyState::overloaded ? exit_code::answer_is_no : exit_code::done;
}

}  // namespace

std::int64_t ServeSimulateReport::accelerators() const {
    std::int64_t const for_prompts = prompts ? setup.prefill_replicas : 0;
    return (setup.replicas - for_prompts) * what.plan.accelerators() +
           for_prompts * (prompts ? prompts->what.plan.accelerators() : 0);
}

double ServeSimulateReport::hit_rate() const {
    ReplicaCounters const& c = outcome.window.counters;
    return c.wanted_tokens > 0 ? static_cast<double>(c.cached_tokens) / static_cast<double>(c.wanted_tokens) : 0;
}

double ServeSimulateReport::adapter_hit_rate() const {
    ReplicaCounters const& c = outcome.window.counters;
    if (c.adapters_wanted == 0) return 0;
    return 1 - static_cast<double>(c.adapters_loaded) / static_cast<double>(c.adapters_wanted);
}

double ServeSimulateReport::token_share(TenantOutcome const& tenant) const {
    std::int64_t all = 0;
    for (TenantOutcome const& each : outcome.tenants)
        all += each.prompt_tokens + each.output_tokens;
    return all > 0 ? static_cast<double>(tenant.prompt_tokens + tenant.output_tokens) / static_cast<double>(all) : 0;
}

std::optional<Seconds> ServeSimulateReport::ttft_missed_from() const {
    auto const growth = drift();
    if (outcome.state != SteadyState::overloaded || !setup.objective.ttft || !growth || *growth <= 0)
        return std::nullopt;
    return outcome.onset + *setup.objective.ttft * (*outcome.capacity / *growth);
}

std::optional<double> ServeSimulateReport::drift() const {
    if (!outcome.capacity) return std::nullopt;
    return outcome.offered - *outcome.capacity;
}

double ServeSimulateReport::replicas_up() const {
    return setup.changes() ? per_second(outcome.window.up) : static_cast<double>(setup.replicas);
}

double ServeSimulateReport::replicas_held() const {
    return setup.changes() ? per_second(outcome.window.held) : static_cast<double>(setup.replicas);
}

double ServeSimulateReport::output_tokens_per_s_per_gpu() const {
    double const gpus = replicas_held() * accelerators_of_replica();
    return gpus > 0 ? output_tokens_per_s() / gpus : 0;
}

double ServeSimulateReport::gpu_hours() const { return outcome.whole.held * accelerators_of_replica() / 3600; }

double ServeSimulateReport::availability() const {
    double const all = outcome.whole.up + outcome.whole.down;
    return all > 0 ? outcome.whole.up / all : 0;
}

double ServeSimulateReport::utilisation() const {
    return std::min(1.0, per_second(outcome.window.counters.busy.base()) / replicas_up());
}

double ServeSimulateReport::mean_cache_use() const {
    return outcome.window.room > 0 ? outcome.window.blocks / outcome.window.room : 0;
}

double ServeSimulateReport::tokens_per_step() const {
    ReplicaCounters const& c = outcome.whole.counters;
    return c.decode_steps > 0 ? static_cast<double>(c.decode_tokens) / static_cast<double>(c.decode_steps) : 0;
}

std::optional<double> ServeSimulateReport::usd_per_million_output_tokens() const {
    if (!price || output_tokens_per_s() <= 0) return std::nullopt;
    return *price * (accelerators_of_replica() * replicas_held()) / (output_tokens_per_s() * 3600) * 1e6;
}

Subcommand describe_serve_simulate(CLI::App& serve, CommandContext& context) {
    auto const o = std::make_shared<ServeSimulateOptions>();
    CLI::App& app =
        *serve.add_subcommand("simulate", "requests through replicas, event by event: latencies, throughput, overload");
    add_serve_simulate_options(app, *o);
    add_output_options(app, o->output, formats_and_page);
    app.footer(
        "Exit code 1: the model does not fit, or more requests arrive than are served: the queue grows without bound, "
        "and\n"
        "the run stops there. Same options and seed, same bytes. docs/serving.md has the rules.\n\n"
        "Examples:\n"
        "  sextant serve simulate -m llama-3.1-70b -c h100-sxm --tp 4 --replicas 8 --rate 40\n"
        "  sextant serve simulate -m llama-3.1-8b -c h100-sxm --concurrency 64 --prompt lognormal:1000,1 "
        "--output-tokens uniform:50-400\n"
        "  sextant serve simulate -m llama-3.1-8b -c h100-sxm --rate 8 --arrivals gamma --cv 3 --slo-ttft 500ms "
        "--slo-tpot 50ms\n"
        "  sextant serve simulate -m llama-3.1-70b -c h100-sxm --tp 4 --rate 20 --prefill-replicas 3 --decode-replicas "
        "2\n"
        "  sextant serve simulate -m llama-3.1-70b -c h100-sxm --tp 8 --prefill-tp 4 --rate 20 --prefill-replicas 4 "
        "--decode-replicas 1\n"
        "  sextant serve simulate -m llama-3.1-70b -c h100-sxm --tp 4 --concurrency 8 --speculate 4 --acceptance 0.7 "
        "--draft-cost 0.08\n"
        "  sextant serve simulate -m llama-3.1-8b -c h100-sxm --trace requests.csv --requests out.csv --format json\n");
    return {.app = &app, .run = [o, &context] { return run(*o, context); }};
}

}  // namespace sextant::cli
