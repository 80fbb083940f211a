#include "cli/serve/estimate.hpp"

#include "cli/options/number_text.hpp"
#include "cli/output.hpp"
#include "cli/serve/misfit.hpp"
#include "cli/serve/pages.hpp"
#include "cli/serve/subcommand.hpp"
#include "cli/view/rows_csv.hpp"
#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/parameters.hpp"
#include "cost_models/kernel_estimate.hpp"
#include "planner/validation/served_loop.hpp"

#include <fmt/format.h>
#include <CLI/App.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <ostream>

namespace sextant::cli {
namespace {

struct Options {
    ServeOptions serve;
    double prompt = 1024;
    double output_tokens = 256;
    double cached = 0;
    double shared = 0;
    std::string concurrency;
    std::string rate;
    std::string batch;
    OutputOptions output;
};

// Draw of an accelerator over its rated power. Source: assumed; measured serving runs sit at 0.6 of it in decode and
// near it in prefill.
constexpr double power_computing = 0.95;
constexpr double power_reading = 0.62;
constexpr double power_waiting = 0.3;

/// Parts of the mean iteration by what limits them.
struct Limits {
    Seconds compute;
    Seconds weights;
    Seconds cache;
    Seconds network;
    Seconds host;
};

Limits limits_of(ServingCase const& what, RequestShape const& request, ServingEstimate const& e) {
    Seconds const mean = request.has_later_tokens() ? e.tpot : e.chunk.total();
    Seconds const span = e.chunk.total() - e.iteration.total();
    double const share = span > Seconds{} ? std::clamp((mean - e.iteration.total()) / span, 0.0, 1.0) : 0;
    auto const mixed = [&](Seconds IterationTime::*part) {
        return (1 - share) * (e.iteration.*part) + share * (e.chunk.*part);
    };
    // Products read their weights for longer than they compute until the batch covers the device's flop per byte.
    AcceleratorProfile const& device = what.cluster.accelerator;
    GemmFormat const& format = *find_gemm_format(what.plan.weights);
    double const flop_per_weight =
        2 * std::max(1.0, e.decodes / static_cast<double>(what.plan.attention_dp * what.plan.pp));
    double const balance = device.peak_of(format).value.base() / device.memory_bandwidth.value.base() * format.right;
    Limits out;
    (flop_per_weight < balance ? out.weights : out.compute) += (1 - share) * (e.iteration.gemm + e.iteration.head);
    out.compute += share * (e.chunk.gemm + e.chunk.head) + mixed(&IterationTime::prefill);
    out.cache = mixed(&IterationTime::decode);
    out.network = mixed(&IterationTime::communication);
    out.host = mixed(&IterationTime::host) + mixed(&IterationTime::streaming);
    return out;
}

std::string bound_of(Limits const& l) {
    std::array<std::pair<Seconds, char const*>, 5> const parts{{{l.compute, "compute"},
                                                                {l.weights, "weights"},
                                                                {l.cache, "KV cache"},
                                                                {l.network, "network"},
                                                                {l.host, "host, small kernels"}}};
    return std::max_element(parts.begin(), parts.end(), [](auto const& a, auto const& b) { return a.first < b.first; })
        ->second;
}

/// Mean over the time, that without an iteration included.
double watts_of(ServingCase const& what, Limits const& l, double busy_share) {
    Seconds const all = l.compute + l.weights + l.cache + l.network + l.host;
    double const working = power_computing * (l.compute / all) + power_reading * ((l.weights + l.cache) / all) +
                           power_waiting * ((l.network + l.host) / all);
    return what.cluster.accelerator.power_watts.value * (busy_share * working + (1 - busy_share) * power_waiting);
}

/// Whether requests of a closed loop are all alike and so stay in step: answers of one or two tokens (classes, scores)
/// differ by no more, and prompts come together as answers end together, where the steady state has them begin at
/// random. Longer answers differ in length.
bool stays_in_step(RequestShape const& request) { return request.output <= 2 && request.cached == 0; }

/// A closed loop: followed request by request where they stay in step, a loop of a fraction of a request excepted.
ServingEstimate loop_of(IterationModel const& model, RequestShape const& request, double concurrency) {
    bool const whole = concurrency >= 1 && concurrency == std::floor(concurrency);
    if (!stays_in_step(request) || !whole) return closed_loop(model, request, concurrency);
    return served_loop(model, {.concurrency = concurrency,
                               .request = request,
                               .rounds = 20,
                               .least_requests = 4000,
                               .warmup_share = 0.2});  // the first round comes at once
}

ServeRow row_of(IterationModel const& model, ServeEstimateReport const& report, double load) {
    ServeRow row;
    row.load = load;
    switch (report.load) {
        case ServeLoad::concurrency: row.estimate = loop_of(model, report.request, load); break;
        case ServeLoad::rate: row.estimate = open_loop(model, report.request, load); break;
        case ServeLoad::static_batch: row.estimate = static_batch(model, report.request, load); break;
    }
    Limits const limits = limits_of(report.what, report.request, row.estimate);
    row.bound = bound_of(limits);
    row.watts = watts_of(report.what, limits, row.estimate.busy);
    if (report.what.model.moe) {
        auto const experts = static_cast<double>(report.what.model.moe->experts);
        row.touched =
            touched_experts(experts, static_cast<double>(report.what.model.moe->top_k), row.estimate.decodes) / experts;
    }
    return row;
}

std::vector<double> batches_of(Options const& o, ServingPlan const& plan) {
    std::vector<double> batches = counts_from(o.batch, "--batch");
    for (double const batch : batches) {
        if (batch < 1 || batch != std::floor(batch)) throw InputError("--batch: {:g} (whole requests)", batch);
        if (batch > static_cast<double>(plan.max_batch))
            throw InputError(
                "--batch: {:g} (the engine runs {} at a time: a larger --max-batch, or --concurrency, where the others "
                "wait)",
                batch, plan.max_batch);
    }
    return batches;
}

std::vector<double> loads_of(Options const& o, ServeEstimateReport& report) {
    int const given = (o.concurrency.empty() ? 0 : 1) + (o.rate.empty() ? 0 : 1) + (o.batch.empty() ? 0 : 1);
    if (given > 1) throw InputError("--concurrency: give one of --concurrency, --rate and --batch");
    if (!o.rate.empty()) {
        report.load = ServeLoad::rate;
        return counts_from(o.rate, "--rate");
    }
    if (!o.batch.empty()) {
        report.load = ServeLoad::static_batch;
        return batches_of(o, report.what.plan);
    }
    if (!o.concurrency.empty()) return counts_from(o.concurrency, "--concurrency");
    std::vector<double> loads;
    for (double load = 1; load < report.largest; load *= 4)
        loads.push_back(load);
    loads.push_back(std::max(1.0, report.largest));
    return loads;
}

/// What a batch that begins together takes at its end that the cache does not hold; empty where it does.
std::string batch_misfit(ServeEstimateReport const& report, double batch) {
    if (report.load != ServeLoad::static_batch || batch <= report.held) return {};
    return fmt::format(
        "a batch of {:g} requests of {:g} tokens, of which the cache of {:.0f} tokens holds {:g} (a smaller --batch, "
        "or --concurrency, where the others wait)",
        batch, report.request.prompt + report.request.output, report.memory.cache_tokens, report.held);
}

/// Why a replica cannot run any of this, or nothing: one request and the weights are too much, or no batch fits.
std::optional<ServingMisfit> misfit(ServeEstimateReport const& report, std::vector<double> const& loads) {
    ServingCase const& what = report.what;
    double const tokens = report.request.prompt + report.request.output;
    ServingMisfit out{.what = what, .memory = report.memory, .cache = report.memory.cache_of(tokens), .reason = {}};
    if (report.largest < 1) {
        out.reason = fmt::format(
            "{} of each accelerator are needed for one request, {} of {} are usable (larger --tp or --pp, narrower "
            "--weights{})",
            human(out.needed()), human(report.memory.usable), human(report.memory.capacity),
            report.memory.fixed() < report.memory.usable ? " or --kv-cache" : "");
        return out;
    }
    double const least = *std::min_element(loads.begin(), loads.end());
    out.reason = batch_misfit(report, least);
    if (out.reason.empty()) return std::nullopt;
    double const prefix = report.memory.prefix_tokens(report.request.shared);
    double const own = report.memory.shape.own(tokens, report.request.shared);
    out.cache = (prefix + own * least / static_cast<double>(what.plan.attention_dp)) * report.memory.cache_per_token;
    return out;
}

/// How often what the prefix cache has is in the cache.
std::string prefix_words(ServeEstimateReport const& report) {
    double const shared = report.memory.state > Bytes{} ? 0 : report.request.shared;
    double const own = report.request.cached - shared;
    if (shared == 0)
        return fmt::format(
            "the {:g} tokens found in the prefix cache are each request's own, as of a conversation so far, and take "
            "room for each{}",
            own,
            report.request.shared > 0 ? ": states of recurrent layers are not shared" : " (--shared: of all requests)");
    return fmt::format(
        "a prefix of {:g} tokens is that of all requests, in whole blocks once in each cache{}; attention "
        "reads it for each of them",
        shared, own > 0 ? fmt::format(", and {:g} found there are each request's own", own) : "");
}

int run(Options const& o, CommandContext& context) {
    Format const format = o.output.format();
    ServeEstimateReport report;
    report.what = serving_case_from(o.serve);
    ServingCase const& what = report.what;
    report.request = checked_request(
        {.prompt = o.prompt, .output = o.output_tokens, .cached = o.cached, .shared = o.shared}, what.model);
    report.memory = serving_memory(what);
    report.price = serving_price(o.serve, what);
    report.cache_bytes_per_token = kv_cache_bytes_per_token(what.model, bytes_per_value(what.plan.cache));
    report.support = serving_support(what);
    report.assumptions = serving_assumptions(what);
    put_price_first(report.assumptions, o.serve, what);
    report.assumptions.push_back(
        fmt::format("power: {} of the rated power while computing, {} while reading memory, {} while waiting",
                    power_computing, power_reading, power_waiting));
    if (report.request.cached > 0) report.assumptions.push_back(prefix_words(report));
    double const tokens = report.request.prompt + report.request.output;
    report.largest = largest_batch(what, report.memory, tokens, report.request.shared);
    ServingCase any = what;
    any.plan.max_batch = std::numeric_limits<std::int64_t>::max();
    report.held = largest_batch(any, report.memory, tokens, report.request.shared);
    std::vector<double> const loads = loads_of(o, report);
    if (report.load == ServeLoad::concurrency)
        report.assumptions.emplace_back(
            stays_in_step(report.request)
                ? "answers of one or two tokens are alike, so requests stay in step: the loop is followed, iteration "
                  "by iteration"
                : "answers differ in length, so prompts begin at random times; requests of equal length stay in step "
                  "(sextant serve simulate --concurrency follows either)");
    if (auto const why = misfit(report, loads)) return deliver_misfit(MisfitCommand::estimate, *why, o.output, context);
    IterationModel const model(what);
    report.capacity = serving_capacity(model, report.request);
    for (double const load : loads)
        if (std::string reason = batch_misfit(report, load); reason.empty())
            report.rows.push_back(row_of(model, report, load));
        else
            report.misfits.push_back({load, std::move(reason)});
    switch (format) {
        case Format::json: deliver(o.output, context, serve_estimate_json(report)); break;
        case Format::text: deliver(o.output, context, serve_estimate_text(report)); break;
        case Format::csv: deliver(o.output, context, rows_csv(serve_estimate_json(report), "rows")); break;
        case Format::html: deliver(o.output, context, serve_estimate_page(report)); break;
        default:
            deliver(o.output, context, serve_estimate_table(report).markdown() + assumed_markdown(report.assumptions));
            break;
    }
    bool const all_saturated =
        std::all_of(report.rows.begin(), report.rows.end(), [](ServeRow const& row) { return row.estimate.saturated; });
    for (ServeMisfitRow const& row : report.misfits)
        tell_beside(format, context, row.sentence() + "\n");
    return all_saturated || !report.misfits.empty() ? exit_code::answer_is_no : exit_code::done;
}

}  // namespace

std::string_view name_of(ServeLoad load) {
    switch (load) {
        case ServeLoad::rate: return "rate";
        case ServeLoad::static_batch: return "batch";
        case ServeLoad::concurrency: break;
    }
    return "concurrency";
}

std::optional<Seconds> ServeEstimateReport::tpot(ServeRow const& row) const {
    return request.has_later_tokens() ? std::optional(row.estimate.tpot) : std::nullopt;
}

std::string ServeMisfitRow::sentence() const { return fmt::format("batch {:g} does not fit: {}", batch, reason); }

double usd_per_million(ServeEstimateReport const& report, ServeRow const& row) {
    return report.price.value_or(0) * static_cast<double>(report.what.plan.accelerators()) /
           (row.estimate.output_tokens_per_s * 3600) * 1e6;
}

Subcommand describe_serve_estimate(CLI::App& serve, CommandContext& context) {
    auto const o = std::make_shared<Options>();
    CLI::App& app = *serve.add_subcommand("estimate", "one replica in the steady state, by closed form");
    add_serve_options(app, o->serve);
    app.add_option("--prompt", o->prompt, "tokens of a prompt (default: 1024)")->option_text("TOKENS");
    app.add_option("--output-tokens", o->output_tokens, "tokens of an answer (default: 256)")->option_text("TOKENS");
    app.add_option("--cached", o->cached, "tokens of the prompt that the prefix cache has (default: 0)")
        ->option_text("TOKENS");
    app.add_option("--shared", o->shared,
                   "of these, a prefix that all requests have: in the cache once (default: 0, each has its own)")
        ->option_text("TOKENS");
    app.add_option("--concurrency", o->concurrency,
                   "requests in flight at all times (default: 1, 4, 16, ... to the largest batch)")
        ->option_text("N[,N...]");
    app.add_option("--rate", o->rate, "requests a second that arrive at random at a replica, instead")
        ->option_text("R[,R...]");
    app.add_option("--batch", o->batch, "one batch that begins together and runs to its end, instead")
        ->option_text("N[,N...]");
    add_output_options(app, o->output, formats_and_page);
    app.footer(
        "TTFT is to the first token, TPOT from token to token. Exit code 1: it does not fit, or a batch does not, or "
        "every\n"
        "rate is more than a replica can serve. Formulas and what they leave out: docs/serving.md.\n\n"
        "Examples:\n"
        "  sextant serve estimate --model llama-3.1-70b --cluster h100-sxm --tp 4\n"
        "  sextant serve estimate --model llama-3.1-8b --cluster l40s --prompt 2000 --output-tokens 300 --rate 1,2,4\n"
        "  sextant serve estimate --model deepseek-v3 --cluster h200-sxm --tp 8 --concurrency "
        "16,64\n");
    return {.app = &app, .run = [o, &context] { return run(*o, context); }};
}

}  // namespace sextant::cli
