#include "cli/serve_simulate.hpp"

#include "cli/interrupt.hpp"
#include "cli/output.hpp"
#include "cli/serve_subcommand.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"
#include "core/quantity_text.hpp"
#include "simulator/serving/request_trace.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>

namespace sextant::cli {
namespace {

struct Options {
    ServeOptions serve;
    std::optional<std::int64_t> replicas, prefill_replicas, decode_replicas;
    std::string router = "least-loaded";
    std::string scheduler = "chunked";
    double watermark = 0.01;
    bool no_prefix_caching = false;
    std::int64_t speculate = 0;
    std::optional<double> acceptance, draft_cost;
    std::optional<double> rate;
    std::string arrivals;
    std::optional<double> variation;
    std::optional<std::int64_t> concurrency;
    std::string trace;
    std::string prompt, output_tokens;
    std::int64_t prefixes = 0;
    std::optional<std::int64_t> prefix_tokens;
    std::optional<std::int64_t> count;
    std::int64_t seed = 1;
    double warmup = 0.1;
    std::string slo_ttft, slo_tpot;
    std::string requests_file, timeline;
    bool progress = false;
    OutputOptions output;
};

void in_range(double value, char const* flag, double least, double most) {
    if (!(value >= least && value <= most))
        throw InputError("{}: {:g} is out of range ({:g} to {:g})", flag, value, least, most);
}

/// Prompt and output of one request, together, that the model and the cache of a replica take.
std::int64_t longest_request(ServeSimulateReport const& report) {
    double longest = report.memory.cache_tokens;
    if (report.what.model.max_positions > 0)
        longest = std::min(longest, static_cast<double>(report.what.model.max_positions));
    return static_cast<std::int64_t>(std::min(longest, 1e9));
}

std::unique_ptr<RequestSource> trace_source(Options const& o, ServeSimulateReport& report) {
    for (auto const& [flag, given] : {std::pair{"--prompt", !o.prompt.empty()},
                                      {"--output-tokens", !o.output_tokens.empty()},
                                      {"--count", o.count.has_value()},
                                      {"--prefixes", o.prefixes != 0},
                                      {"--prefix-tokens", o.prefix_tokens.has_value()},
                                      {"--arrivals", !o.arrivals.empty()}})
        if (given) throw InputError("{}: the trace says that (drop it or --trace)", flag);
    RequestTrace trace = request_trace(read_csv(o.trace), longest_request(report));
    if (report.setup.limits.scheduler.queue == QueueOrder::priority && !trace.has_priorities)
        throw InputError("--scheduler: priority wants a column 'priority' in {}", o.trace);
    if (report.setup.limits.scheduler.queue == QueueOrder::tenant && trace.tenants.size() < 2)
        throw InputError("--scheduler: fair wants several tenants (a column 'tenant' in {})", o.trace);
    double prompt = 0;
    double output = 0;
    for (ServingRequest const& request : trace.requests) {
        prompt += request.prompt;
        output += request.output;
    }
    auto const count = static_cast<double>(trace.requests.size());
    report.prompt = fmt::format("of the trace, mean {:.4g}", prompt / count);
    report.output = fmt::format("of the trace, mean {:.4g}", output / count);
    report.tenants = trace.tenants;
    if (report.setup.concurrency > 0) {
        report.load = fmt::format("{} requests in flight at all times, of {}", report.setup.concurrency, o.trace);
    } else {
        Seconds const span = trace.requests.back().arrival - trace.requests.front().arrival;
        report.load = span > Seconds{} ? fmt::format("arrivals of {}, {:.4g} requests/s on average", o.trace,
                                                     (count - 1) / span.base())
                                       : fmt::format("all requests of {} at once", o.trace);
    }
    return std::make_unique<ListedSource>(std::move(trace.requests));
}

SyntheticWorkload workload_of(Options const& o, ServeSimulateReport& report) {
    SyntheticWorkload w;
    bool const closed = o.concurrency.has_value();
    if (closed && !o.arrivals.empty())
        throw InputError("--arrivals: with --concurrency a request arrives when another is done");
    w.process = closed               ? ArrivalProcess::closed
                : o.arrivals.empty() ? ArrivalProcess::poisson
                                     : arrival_process_from(o.arrivals, "--arrivals");
    if (!closed && w.process == ArrivalProcess::closed) throw InputError("--arrivals: closed wants --concurrency N");
    if (o.variation && w.process != ArrivalProcess::gamma)
        throw InputError("--cv: only gamma arrivals have one to choose (--arrivals gamma)");
    w.rate = o.rate.value_or(1);
    w.variation = o.variation.value_or(2);
    w.prompt = length_distribution_from(o.prompt.empty() ? "1024" : o.prompt, "--prompt");
    w.output = length_distribution_from(o.output_tokens.empty() ? "256" : o.output_tokens, "--output-tokens");
    if ((o.prefixes > 0) != o.prefix_tokens.has_value())
        throw InputError("--prefixes: both are needed, --prefixes N and --prefix-tokens TOKENS");
    in_range(static_cast<double>(o.prefixes), "--prefixes", 0, 1e7);
    if (o.prefix_tokens) {
        in_range(static_cast<double>(*o.prefix_tokens), "--prefix-tokens", 1, 1e8);
        w.prefix_tokens = static_cast<std::int32_t>(*o.prefix_tokens);
    }
    w.prefixes = o.prefixes;
    w.requests = o.count.value_or(10000);
    w.seed = static_cast<std::uint64_t>(o.seed);
    w.longest = static_cast<std::int32_t>(longest_request(report));
    return w;
}

std::unique_ptr<RequestSource> synthetic_source(Options const& o, ServeSimulateReport& report) {
    if (report.setup.limits.scheduler.queue != QueueOrder::arrival)
        throw InputError("--scheduler: {} wants requests that differ: a --trace with a column '{}'", o.scheduler,
                         report.setup.limits.scheduler.queue == QueueOrder::priority ? "priority" : "tenant");
    SyntheticWorkload const w = workload_of(o, report);
    report.prompt = w.prompt.words();
    if (w.prefixes > 0) report.prompt += fmt::format(", after one of {} prefixes of {}", w.prefixes, w.prefix_tokens);
    report.output = w.output.words();
    switch (w.process) {
        case ArrivalProcess::closed:
            report.load = fmt::format("{} requests in flight at all times", *o.concurrency);
            break;
        case ArrivalProcess::gamma:
            report.load = fmt::format("bursts (gamma, variation {:g}), {:g} requests/s", w.variation, w.rate);
            report.setup.interval_variation = w.variation;
            break;
        default: report.load = fmt::format("{} arrivals, {:g} requests/s", name_of(w.process), w.rate); break;
    }
    return std::make_unique<SyntheticSource>(w);
}

void read_replicas(Options const& o, ServingSetup& setup) {
    auto const number = [](std::optional<std::int64_t> value, char const* flag) {
        in_range(static_cast<double>(value.value_or(1)), flag, 1, 32768);
        return value.value_or(1);
    };
    setup.replicas = number(o.replicas, "--replicas");
    if (!o.prefill_replicas && !o.decode_replicas) return;
    if (!o.prefill_replicas || !o.decode_replicas || o.replicas)
        throw InputError("--prefill-replicas: wants --decode-replicas beside it, and no --replicas");
    setup.prefill_replicas = number(o.prefill_replicas, "--prefill-replicas");
    setup.replicas = setup.prefill_replicas + number(o.decode_replicas, "--decode-replicas");
}

void read_setup(Options const& o, ServeSimulateReport& report) {
    ServingSetup& setup = report.setup;
    ServingPlan const& plan = report.what.plan;
    read_replicas(o, setup);
    setup.router = router_from(o.router, "--router");
    setup.warmup_share = o.warmup;
    in_range(o.watermark, "--watermark", 0, 0.5);
    ReplicaLimits& limits = setup.limits;
    limits.scheduler = scheduler_from(o.scheduler, "--scheduler");
    limits.max_batch = plan.max_batch;
    limits.max_batched_tokens = plan.max_batched_tokens * plan.attention_dp;
    limits.block_tokens = plan.block_tokens;
    limits.blocks = static_cast<std::int64_t>(report.memory.cache_tokens / static_cast<double>(plan.block_tokens)) *
                    plan.attention_dp;
    limits.watermark_blocks = static_cast<std::int64_t>(o.watermark * static_cast<double>(limits.blocks));
    limits.lanes = plan.pp;
    limits.prefix_caching = o.no_prefix_caching ? PrefixCaching::off : PrefixCaching::on;
    if (o.speculate == 0 && (o.acceptance || o.draft_cost))
        throw InputError("--acceptance: nothing is guessed (--speculate K)");
    if (o.speculate != 0 && !o.acceptance)
        throw InputError("--speculate: how often a guess is right is not said (--acceptance 0.7)");
    limits.speculation = {.tokens = o.speculate,
                          .acceptance = o.acceptance.value_or(0),
                          .draft_share = o.draft_cost.value_or(0),
                          .seed = static_cast<std::uint64_t>(std::max<std::int64_t>(0, o.seed))};
    if (o.concurrency) {
        in_range(static_cast<double>(*o.concurrency), "--concurrency", 1, 1e7);
        setup.concurrency = *o.concurrency;
    }
    if (o.rate) in_range(*o.rate, "--rate", 1e-6, 1e9);
    if (o.seed < 0) throw InputError("--seed: {} is negative", o.seed);
    if (!o.slo_ttft.empty()) setup.objective.ttft = parse_quantity<Seconds>(o.slo_ttft, "--slo-ttft");
    if (!o.slo_tpot.empty()) setup.objective.tpot = parse_quantity<Seconds>(o.slo_tpot, "--slo-tpot");
    int const ways =
        int{o.rate.has_value()} + int{o.concurrency.has_value() && o.trace.empty()} + int{!o.trace.empty()};
    if (ways != 1)
        throw InputError(
            "serve simulate: {} (one of --rate, --concurrency and --trace; --concurrency also with a "
            "trace)",
            ways == 0 ? "no load" : "more than one load");
}

void note_assumptions(ServeSimulateReport& report, RequestSource const& source) {
    report.assumptions = serving_assumptions(report.what);
    if (report.what.plan.attention_dp > 1)
        report.assumptions.emplace_back("attention data-parallel groups of a replica share its sequences evenly");
    if (report.setup.prefill_replicas > 0)
        report.assumptions.emplace_back(
            "caches go to another node as one message per rank, one after another of a sender, without meeting others");
    if (report.setup.limits.speculation.tokens > 0)
        report.assumptions.emplace_back(
            "guesses are right independently of each other, cost --draft-cost each (default 0: heads or n-grams), and "
            "need no memory of their own");
    if (auto const* synthetic = dynamic_cast<SyntheticSource const*>(&source); synthetic && synthetic->clipped() > 0)
        report.assumptions.push_back(fmt::format("{} requests were drawn longer than the {} tokens that fit, and cut",
                                                 synthetic->clipped(), longest_request(report)));
}

/// Runs it, with the file of requests where one is wanted.
void simulate(Options const& o, CommandContext& context, ServeSimulateReport& report, RequestSource& source) {
    IterationModel const model(report.what);
    ModelledService const service(model);
    InterruptGuard const interrupt;
    ServingHooks hooks;
    hooks.stop = &interrupt.flag();
    bool const show = o.progress || (&context.err == &std::cerr && isatty(STDERR_FILENO) == 1);
    if (show)
        hooks.progress = [&](std::int64_t arrived) {
            context.err << fmt::format("\rsimulating: {} of {} requests ", arrived, report.requests) << std::flush;
        };
    if (o.requests_file.empty()) {
        report.outcome = simulate_serving(report.setup, service, source, hooks);
    } else {
        write_text_file(o.requests_file, [&](std::ostream& out) {
            out << request_csv_header();
            hooks.finished = [&](FinishedRequest const& request) { out << request_csv_row(request, report.tenants); };
            report.outcome = simulate_serving(report.setup, service, source, hooks);
            return Keep::yes;
        });
    }
    if (show) context.err << "\r" << std::string(60, ' ') << "\r" << std::flush;
}

int run(Options const& o, CommandContext& context) {
    Format const format = o.output.format();
    ServeSimulateReport report;
    report.what = serving_case_from(o.serve);
    report.memory = serving_memory(report.what);
    report.price = serving_price(o.serve, report.what);
    report.seed = static_cast<std::uint64_t>(o.seed);
    if (!report.memory.fits()) {
        context.err << fmt::format(
            "{} on {} ({}) does not fit: {} for weights, {} for activations and {} of overhead leave no cache in the "
            "usable {} (larger --tp or --pp, narrower --weights)\n",
            report.what.model.name, report.what.cluster.name, serving_plan_text(report.what),
            human(report.memory.weights), human(report.memory.activations), human(report.memory.overhead),
            human(report.memory.usable));
        return exit_code::answer_is_no;
    }
    read_setup(o, report);
    auto const source = o.trace.empty() ? synthetic_source(o, report) : trace_source(o, report);
    report.requests = source->count();
    simulate(o, context, report, *source);
    note_assumptions(report, *source);
    if (!o.timeline.empty()) write_text_file(o.timeline, serve_simulate_trace(report));
    switch (format) {
        case Format::json: deliver(o.output, context, serve_simulate_json(report)); break;
        case Format::text: deliver(o.output, context, serve_simulate_text(report)); break;
        default: deliver(o.output, context, render(serve_simulate_table(report), format)); break;
    }
    if (report.outcome.interrupted) return interrupted_exit;
    return report.outcome.state == SteadyState::overloaded ? exit_code::answer_is_no : exit_code::done;
}

void add_load_options(CLI::App& app, Options& o) {
    app.add_option("--rate", o.rate, "requests a second, of all replicas together")->option_text("R");
    app.add_option("--arrivals", o.arrivals, "poisson (default), gamma (bursts) or deterministic")->option_text("NAME");
    app.add_option("--cv", o.variation, "standard deviation of the intervals over their mean, of gamma (default: 2)")
        ->option_text("RATIO");
    app.add_option("--concurrency", o.concurrency, "requests in flight at all times, instead of a rate")
        ->option_text("N");
    app.add_option("--trace", o.trace,
                   "recorded requests: columns arrival_s, prompt, output[, prefix_id, prefix_tokens][, tenant][, "
                   "priority]")
        ->option_text("FILE.csv");
    app.add_option("--prompt", o.prompt, "tokens: 1024 (default), uniform:A-B, lognormal:MEAN,CV, exponential:MEAN")
        ->option_text("LENGTH");
    app.add_option("--output-tokens", o.output_tokens, "the same of an answer (default: 256)")->option_text("LENGTH");
    app.add_option("--prefixes", o.prefixes, "different shared prefixes, one before each prompt (default: none)")
        ->option_text("N");
    app.add_option("--prefix-tokens", o.prefix_tokens, "of each, besides the prompt")->option_text("TOKENS");
    app.add_option("--count", o.count, "requests (default: 10000)")->option_text("N");
    app.add_option("--warmup", o.warmup, "share of the requests not measured, the first ones (default: 0.1)")
        ->option_text("SHARE");
    app.add_option("--seed", o.seed, "of chance (default: 1)")->option_text("N");
}

void add_replica_options(CLI::App& app, Options& o) {
    app.add_option("--replicas", o.replicas, "copies of the model (default: 1)")->option_text("N");
    app.add_option("--prefill-replicas", o.prefill_replicas,
                   "replicas that process prompts only, instead of --replicas")
        ->option_text("N");
    app.add_option("--decode-replicas", o.decode_replicas, "replicas that get their caches and decode")
        ->option_text("N");
    app.add_option("--router", o.router, "least-loaded (default) or round-robin")->option_text("NAME");
    app.add_option("--scheduler", o.scheduler,
                   "chunked (default), fcfs (whole prompts), prefill-first, priority, fair (tenants)")
        ->option_text("NAME");
    app.add_option("--watermark", o.watermark,
                   "share of the cache kept free when a request is admitted (default: 0.01)")
        ->option_text("SHARE");
    app.add_flag("--no-prefix-caching", o.no_prefix_caching, "compute shared prefixes again each time");
    app.add_option("--speculate", o.speculate, "tokens guessed per step and sequence, checked together (default: 0)")
        ->option_text("K");
    app.add_option("--acceptance", o.acceptance, "probability that a guess is right, when those before it are")
        ->option_text("SHARE");
    app.add_option("--draft-cost", o.draft_cost, "time of one guess over that of a plain decode iteration (default: 0)")
        ->option_text("RATIO");
    app.add_option("--slo-ttft", o.slo_ttft, "longest time to the first token that counts as good")
        ->option_text("TIME");
    app.add_option("--slo-tpot", o.slo_tpot, "longest mean time per later token that counts as good")
        ->option_text("TIME");
}

}  // namespace

double ServeSimulateReport::hit_rate() const {
    ReplicaCounters const& c = outcome.window.counters;
    return c.wanted_tokens > 0 ? static_cast<double>(c.cached_tokens) / static_cast<double>(c.wanted_tokens) : 0;
}

double ServeSimulateReport::utilisation() const {
    return std::min(1.0, per_second(outcome.window.counters.busy.base()) / static_cast<double>(setup.replicas));
}

double ServeSimulateReport::mean_cache_use() const {
    return per_second(outcome.window.blocks) / static_cast<double>(setup.limits.blocks * setup.replicas);
}

double ServeSimulateReport::tokens_per_step() const {
    ReplicaCounters const& c = outcome.whole.counters;
    return c.decode_steps > 0 ? static_cast<double>(c.decode_tokens) / static_cast<double>(c.decode_steps) : 0;
}

std::optional<double> ServeSimulateReport::usd_per_million_output_tokens() const {
    if (!price || output_tokens_per_s() <= 0) return std::nullopt;
    return *price * static_cast<double>(accelerators()) / (output_tokens_per_s() * 3600) * 1e6;
}

ServeSubcommand describe_serve_simulate(CLI::App& serve, CommandContext& context) {
    auto const o = std::make_shared<Options>();
    CLI::App& app =
        *serve.add_subcommand("simulate", "requests through replicas, event by event: latencies, throughput, overload");
    add_serve_options(app, o->serve);
    add_replica_options(app, *o);
    add_load_options(app, *o);
    app.add_option("--requests", o->requests_file, "a row per request")->option_text("FILE.csv");
    app.add_option("--timeline", o->timeline, "queue, batch, cache and tokens over time, for Perfetto")
        ->option_text("FILE.json");
    app.add_flag("--progress", o->progress, "progress on stderr, even if it is no terminal");
    add_output_options(app, o->output);
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
        "  sextant serve simulate -m llama-3.1-70b -c h100-sxm --tp 4 --concurrency 8 --speculate 4 --acceptance 0.7 "
        "--draft-cost 0.08\n"
        "  sextant serve simulate -m llama-3.1-8b -c h100-sxm --trace requests.csv --requests out.csv --format json\n");
    return {.app = &app, .run = [o, &context] { return run(*o, context); }};
}

}  // namespace sextant::cli
