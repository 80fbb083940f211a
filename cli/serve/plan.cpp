#include "cli/interrupt.hpp"
#include "cli/options/number_text.hpp"
#include "cli/options/seed_option.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/serve/options.hpp"
#include "cli/serve/pages.hpp"
#include "cli/serve/plan_report.hpp"
#include "cli/serve/subcommand.hpp"
#include "cli/view/rows_csv.hpp"
#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/hourly_price.hpp"
#include "core/spec/model_catalog.hpp"
#include "planner/price_words.hpp"
#include "planner/serving/usual_formats.hpp"
#include "simulator/serving/request_trace.hpp"

#include <CLI/App.hpp>

#include <algorithm>
#include <memory>

namespace sextant::cli {
namespace {

constexpr double requests_per_usual_user = 1.0 / 60;  // a second

struct Options {
    std::string model;
    std::vector<std::string> clusters;
    std::string engine = "vllm";
    std::string scheduler;
    std::string trace;
    std::optional<std::string> prompt;
    std::optional<std::string> output_tokens;
    std::optional<std::string> arrivals;
    std::optional<double> variation;
    std::optional<double> rate;
    std::optional<double> users;
    std::optional<double> requests_per_user;
    std::string ttft;
    std::string tpot;
    double share = 0.99;
    std::vector<std::int64_t> tensor;  ///< none: those that are tried by themselves, as of the next two
    std::vector<std::int64_t> stages;
    std::vector<std::int64_t> groups;
    bool apart = false;
    std::vector<std::int64_t> prompt_tensor, prompt_stages, prompt_groups;
    std::vector<std::int64_t> batches, chunks;
    std::vector<std::string> weights;  ///< none: as the checkpoint is
    std::vector<std::string> caches;
    std::vector<double> prices;
    std::optional<double> most_error;
    std::optional<double> memory_utilisation;
    std::optional<std::int64_t> context;
    std::string dispatcher;
    std::int64_t redundant_experts = 0;
    std::int64_t most = 4096;
    std::optional<std::int64_t> requests;
    int top = 10;
    std::uint64_t seed = 1;
    unsigned threads = 0;
    bool progress = false;
    OutputOptions output;
};

std::optional<Sourced<double>> price_of(Options const& o, ClusterSpec const& cluster, std::size_t index) {
    if (o.prices.empty()) return hourly_price(cluster);
    return given_price(o.prices.size() == 1 ? o.prices.front() : o.prices[index]);
}

Seconds objective_from(std::string const& text, char const* flag) {
    if (text.empty()) return {};
    Seconds const time = parse_quantity<Seconds>(text, flag);
    if (!(time > Seconds{} && time <= 1 * units::day))
        throw InputError("{}: '{}' (above 0, at most a day)", flag, text);
    return time;
}

double rate_of(Options const& o) {
    if (o.rate && o.users) throw InputError("--rate: give it, or --users with --requests-per-user");
    if (o.requests_per_user && !o.users)
        throw InputError("--requests-per-user: how many users? (--users N; the requests of all are --rate)");
    if (o.rate) return *o.rate;
    if (!o.users)
        throw InputError(
            "--rate: how many requests a second? (or --users N and --requests-per-user R a second, or --trace "
            "FILE.csv)");
    if (!(*o.users > 0 && *o.users <= 1e10)) throw InputError("--users: {} (above 0, up to 1e10)", *o.users);
    double const of_each = o.requests_per_user.value_or(requests_per_usual_user);
    if (!(of_each > 0 && of_each <= 1e3))
        throw InputError("--requests-per-user: {} (above 0, up to 1000 a second)", of_each);
    return *o.users * of_each;
}

/// Clusters with their prices and the weights that are usual on them. @param notes gets whose prices they are, and
/// what is to be said of formats that nobody chose
void add_machines(ServeQuestion& q, CheckpointFormat const& checkpoint, Options const& o,
                  std::vector<std::string>& notes) {
    for (double const price : o.prices)
        static_cast<void>(given_price(price));
    if (o.prices.size() > 1 && o.prices.size() != o.clusters.size())
        throw InputError("--price: {} prices for {} cluster{} (one of all, or one of each in the order of --cluster)",
                         o.prices.size(), o.clusters.size(), o.clusters.size() == 1 ? "" : "s");
    for (std::size_t i = 0; i < o.clusters.size(); ++i) {
        ClusterSpec cluster = find_cluster(o.clusters[i], "--cluster");
        check_engine_vendor(q.engine, cluster.accelerator.vendor, "--engine");
        std::optional<Sourced<double>> const price = price_of(o, cluster, i);
        if (price) notes.push_back(fmt::format("{}: {}", cluster.name, price_assumption(*price)));
        UsualWeights usual = usual_weights(checkpoint, cluster.accelerator, q.engine);
        auto const note = [&](UsualWeights const& weights) {
            if (!weights.note.empty()) notes.push_back(fmt::format("{}: {}", cluster.name, weights.note));
        };
        if (o.weights.empty()) note(usual);
        for (std::string const& asked : o.weights)
            note(chosen_weights(asked, checkpoint, cluster.accelerator, q.engine));
        q.machines.push_back({.cluster = std::move(cluster),
                              .usd_per_hour = price ? std::optional(price->value) : std::nullopt,
                              .weights = std::move(usual)});
    }
}

/// Weight and cache formats to try: those given, else the cache as the checkpoint has it.
void add_formats(ServeQuestion& q, CheckpointFormat const& checkpoint, Options const& o) {
    for (std::string const& weights : o.weights) {
        check_weights_format(weights, "--weights");
        q.weights.push_back(weights);
    }
    for (std::string const& cache : o.caches)
        q.caches.push_back(cache_format_from(cache, "--kv-cache"));
    if (q.caches.empty()) {
        q.caches = {checkpoint.cache.value_or(CacheFormat::bf16)};
        q.caches_origin = checkpoint.cache ? FormatOrigin::checkpoint : FormatOrigin::usual;
    }
}

void draw_load(ServeQuestion& q, Options const& o) {
    q.rate = rate_of(o);
    q.prompt = length_distribution_from(o.prompt.value_or("1024"), "--prompt");
    q.output = length_distribution_from(o.output_tokens.value_or("256"), "--output-tokens");
    q.process = arrival_process_from(o.arrivals.value_or("poisson"), "--arrivals");
    if (o.variation && q.process != ArrivalProcess::gamma)
        throw InputError("--variation: only gamma arrivals have one to choose (--arrivals gamma)");
    q.variation = o.variation.value_or(1);
    q.requests = o.requests.value_or(4000);
    if (q.requests < 500 || q.requests > 1000000) throw InputError("--requests: {} (500 to 1000000)", q.requests);
}

void replay_load(ServeQuestion& q, Options const& o) {
    for (auto const& [flag, given] : {std::pair{"--rate", o.rate.has_value()},
                                      {"--users", o.users.has_value()},
                                      {"--requests-per-user", o.requests_per_user.has_value()},
                                      {"--prompt", o.prompt.has_value()},
                                      {"--output-tokens", o.output_tokens.has_value()},
                                      {"--arrivals", o.arrivals.has_value()},
                                      {"--variation", o.variation.has_value()},
                                      {"--requests", o.requests.has_value()}})
        if (given) throw InputError("{}: the trace says that (drop it or --trace)", flag);
    RequestTrace trace = read_request_trace(o.trace, q.model.max_positions > 0 ? q.model.max_positions : 1 << 20);
    if (trace.has_prefixes || !trace.adapters.empty())
        throw InputError(
            "--trace: {} has {} (a plan is for requests without; 'sextant sweep serve simulate ... --axis "
            "replicas=1..8 --columns state,objective.good_share' replays them on so many replicas)",
            o.trace, trace.has_prefixes ? "prefixes" : "adapters");
    for (ServingRequest& request : trace.requests)  // a plan serves everybody alike
        request.tenant = request.priority = 0;
    replay(q, std::move(trace.requests));
}

/// @param notes gets what is to be said of formats that nobody chose
ServeQuestion question_of(Options const& o, std::vector<std::string>& notes) {
    ServeQuestion q;
    StoredModel stored = find_stored_model(o.model);
    q.model = std::move(stored.model);
    q.checkpoint = stored.checkpoint;
    set_context(q.model, o.context, notes);
    q.engine = find_engine(o.engine, "--engine");
    add_machines(q, stored.checkpoint, o, notes);
    o.trace.empty() ? draw_load(q, o) : replay_load(q, o);
    q.ttft = objective_from(o.ttft, "--ttft");
    q.tpot = objective_from(o.tpot, "--tpot");
    q.share = o.share;
    q.tensor = o.tensor;
    q.stages = o.stages;
    q.groups = o.groups;
    q.apart = o.apart;
    if (!o.apart && !(o.prompt_tensor.empty() && o.prompt_stages.empty() && o.prompt_groups.empty()))
        throw InputError("--prefill-tp and its like: no replicas are for prompts alone (--disaggregated)");
    q.prompt_tensor = o.prompt_tensor;
    q.prompt_stages = o.prompt_stages;
    q.prompt_groups = o.prompt_groups;
    q.batches = o.batches;
    if (!o.chunks.empty()) q.chunks = o.chunks;
    add_formats(q, stored.checkpoint, o);
    q.memory_utilisation = o.memory_utilisation;
    q.dispatcher = dispatcher_option(o.dispatcher);
    q.redundant_experts = o.redundant_experts;
    q.most_error = o.most_error;
    if (!o.scheduler.empty()) {
        q.scheduler = scheduler_from(o.scheduler, "--scheduler");
        if (q.scheduler->queue != QueueOrder::arrival)
            throw InputError("--scheduler: the requests of a plan do not differ by {} (chunked, fcfs, prefill-first)",
                             q.scheduler->queue == QueueOrder::priority ? "priority" : "tenant");
    }
    q.errors = shipped_format_errors();
    if (o.most < 1 || o.most > 1000000) throw InputError("--max-gpus: {} (1 to 1000000)", o.most);
    q.most_accelerators = o.most;
    if (o.top < 1 || o.top > 1000) throw InputError("--top: {} (1 to 1000)", o.top);
    q.shown = o.top;
    q.seed = o.seed;
    q.threads = o.threads;
    return q;
}

int run(Options const& o, CommandContext& context) {
    Format const format = o.output.format();
    ServePlanReport report;
    std::vector<std::string> notes;
    report.question = question_of(o, notes);
    report.trace = o.trace;
    report.context = o.context;
    ServeQuestion& q = report.question;
    report.priced =
        std::all_of(q.machines.begin(), q.machines.end(), [](auto const& m) { return m.usd_per_hour.has_value(); });
    InterruptGuard const interrupt(context);
    q.stop = &interrupt.flag();
    q.progress = progress_lines(context, o.progress ? Progress::always : Progress::on_terminals);
    report.answer = plan_serving(q);
    report.assumptions = plan_assumptions(report, notes);
    switch (format) {
        case Format::json: deliver(o.output, context, serve_plan_json(report)); break;
        case Format::text: deliver(o.output, context, serve_plan_text(report)); break;
        case Format::csv: deliver(o.output, context, rows_csv(serve_plan_json(report), "candidates")); break;
        case Format::html: deliver(o.output, context, serve_plan_page(report)); break;
        case Format::markdown: deliver(o.output, context, serve_plan_markdown(report)); break;
    }
    if (report.answer.interrupted) return interrupted_exit;
    if (!report.answer.found()) tell_beside(format, context, no_deployment(report) + "\n");
    return report.answer.found() ? exit_code::done : exit_code::answer_is_no;
}

void add_options(CLI::App& app, Options& o) {
    app.add_option("-m,--model", o.model, "model (see 'sextant models'), or a Hugging Face config.json")
        ->required()
        ->option_text("NAME|FILE");
    app.add_option("-c,--cluster", o.clusters, "machines that may be rented, one or several")
        ->required()
        ->delimiter(',')
        ->option_text("NAME[,NAME...]");
    app.add_option("--engine", o.engine, "serving engine (default: vllm)")->option_text("NAME|FILE");
    app.add_option("--scheduler", o.scheduler, "chunked, fcfs or prefill-first (default: as the engine's profile says)")
        ->option_text("NAME");
    app.add_option("--rate", o.rate, "requests a second, all together")->option_text("R");
    app.add_option("--trace", o.trace, "instead: recorded requests, replayed whole; columns arrival_s, prompt, output")
        ->option_text("FILE.csv");
    app.add_option("--users", o.users, "instead: users, each with --requests-per-user")->option_text("N");
    app.add_option("--requests-per-user", o.requests_per_user, "of a user, a second (default: one a minute)")
        ->option_text("R");
    app.add_option("--prompt", o.prompt,
                   "tokens of a prompt: N, uniform:A-B, lognormal:MEAN,CV, exponential:MEAN (default: 1024)")
        ->option_text("LENGTH");
    app.add_option("--output-tokens", o.output_tokens, "tokens of an answer, in the same way (default: 256)")
        ->option_text("LENGTH");
    app.add_option("--arrivals", o.arrivals, "poisson, gamma (bursts) or deterministic (default: poisson)")
        ->option_text("NAME");
    app.add_option("--variation", o.variation, "of the intervals of gamma arrivals, deviation over mean (default: 1)")
        ->option_text("CV");
    app.add_option("--ttft", o.ttft, "time to the first token that has to be kept")->option_text("TIME");
    app.add_option("--tpot", o.tpot, "mean time per further token that has to be kept")->option_text("TIME");
    app.add_option("--share", o.share, "of the requests that keep both (default: 0.99)")->option_text("SHARE");
    app.add_option("--tp", o.tensor, "tensor parallelism that may be chosen (default: powers of two within a domain)")
        ->delimiter(',')
        ->option_text("N[,N...]");
    app.add_option("--pp", o.stages,
                   "pipeline stages that may be chosen (default: 1 to 16, four domains a replica at most)")
        ->delimiter(',')
        ->option_text("N[,N...]");
    app.add_option("--attention-dp", o.groups,
                   "attention groups that may be chosen (default: 1; of experts powers of two, likewise)")
        ->delimiter(',')
        ->option_text("N[,N...]");
    app.add_flag(
        "--disaggregated", o.apart,
        "also deployments whose prompts have replicas of their own, cut in another way than those that decode");
    app.add_option("--prefill-tp", o.prompt_tensor, "tp that these may have (default: as --tp)")
        ->delimiter(',')
        ->option_text("N[,N...]");
    app.add_option("--prefill-pp", o.prompt_stages, "stages that these may have (default: as --pp)")
        ->delimiter(',')
        ->option_text("N[,N...]");
    app.add_option("--prefill-attention-dp", o.prompt_groups,
                   "attention groups that these may have (default: as --attention-dp)")
        ->delimiter(',')
        ->option_text("N[,N...]");
    app.add_option("--max-batch", o.batches,
                   "sequences that decode at a time in a replica, that may be chosen (default: 32, 128, 512 and 1024 "
                   "of each attention group)")
        ->delimiter(',')
        ->option_text("N[,N...]");
    app.add_option("--max-batched-tokens", o.chunks,
                   "tokens of one iteration (of an attention group), that may be chosen (default: 2048, 8192; never "
                   "fewer than a group's sequences)")
        ->delimiter(',')
        ->option_text("N[,N...]");
    add_expert_options(app, o.dispatcher, o.redundant_experts);
    app.add_option("--weights", o.weights, "formats that may be chosen (default: as the checkpoint is, else bf16)")
        ->delimiter(',')
        ->option_text("FORMAT[,...]");
    app.add_option("--kv-cache", o.caches,
                   "formats of the cache that may be chosen (default: the checkpoint's, else bf16)")
        ->delimiter(',')
        ->option_text("FORMAT[,...]");
    app.add_option("--max-error", o.most_error,
                   "largest rms output error a format may have, as a share (see serve quality; default: any)")
        ->option_text("SHARE");
    app.add_option("--price", o.prices,
                   "US dollars per accelerator and hour, one of all or one of each cluster (default: the profiles')")
        ->delimiter(',')
        ->option_text("USD[,USD...]");
    app.add_option("--memory-utilisation", o.memory_utilisation,
                   "share of memory the engine takes, as its own option counts (default: the engine's)")
        ->option_text("SHARE");
    add_context_option(app, o.context);
    app.add_option("--max-gpus", o.most, "accelerators at most (default: 4096)")->option_text("N");
    app.add_option("--requests", o.requests, "of one simulation, at least (default: 4000)")->option_text("N");
    app.add_option("--top", o.top, "deployments shown (default: 10)")->option_text("N");
    add_seed_option(app, o.seed, "of the arrivals and lengths (default: 1)");
    app.add_option("--threads", o.threads, "0: all cores (default: 0)")->option_text("N");
    app.add_flag("--progress", o.progress, "say what is simulated, also when standard error is no terminal");
    add_output_options(app, o.output, formats_and_page);
}

}  // namespace

Subcommand describe_serve_plan(CLI::App& serve, CommandContext& context) {
    auto const o = std::make_shared<Options>();
    CLI::App& app = *serve.add_subcommand("plan", "the cheapest deployment that keeps latency objectives");
    add_options(app, *o);
    app.footer(
        "The closed form prunes machines, tensor, pipeline and expert parallelism, attention groups, formats, batch "
        "and chunk\nlimits; simulations decide how many replicas keep the objectives. Exit code 1: no deployment does. "
        "docs/serving.md.\n\n"
        "Examples:\n"
        "  sextant serve plan --model llama-3.1-70b --cluster h100-sxm,h200-sxm --rate 20 --ttft 2s --tpot 50ms\n"
        "  sextant serve plan --model llama-3.1-8b --cluster l40s,h100-sxm --users 5000 --prompt lognormal:800,1.2 "
        "--tpot 40ms\n"
        "  sextant serve plan --model llama-3.1-70b --cluster h100-sxm --trace requests.csv --ttft 1s --tpot 50ms\n"
        "  sextant serve plan --model llama-3.1-70b --cluster h100-sxm --rate 20 --ttft 2s --tpot 20ms "
        "--disaggregated\n");
    return {.app = &app, .run = [o, &context] { return run(*o, context); }};
}

}  // namespace sextant::cli
