#include "cli/page/page_cells.hpp"
#include "cli/serve/page_blocks.hpp"
#include "cli/serve/pages.hpp"
#include "cli/view/latency_text.hpp"
#include "core/quantity_text.hpp"
#include "planner/left_out.hpp"
#include "planner/serving/serve_plan.hpp"

namespace sextant::cli {
namespace {

struct NamedSpread {
    char const* name;
    LatencySpread const& spread;
};

std::vector<NamedSpread> spreads(ServeSimulateReport const& r) {
    ServingOutcome const& o = r.outcome;
    std::vector<NamedSpread> list;
    for (NamedSpread const& s : {NamedSpread{"time to the first token", o.ttft},
                                 {"per further token", o.tpot},
                                 {gap_name(r), o.itl},
                                 {"end to end", o.e2e},
                                 {"until scheduled", o.queue}})
        if (s.spread.count > 0) list.push_back(s);
    return list;
}

/// How many keep the objectives: as many as a plan asks for, at least most of them, or fewer.
void judge_objectives(Page& page, ServeSimulateReport const& r) {
    double const kept = r.good_share();
    page.verdict = fmt::format("{:.3g} % keep {}: ", 100 * kept, objective_words(r.setup.objective)) + page.verdict;
    if (kept < 0.5)
        page.tone = Tone::bad;
    else if (kept < ServeQuestion{}.share)
        page.tone = Tone::warning;
}

void add_answer(Page& page, ServeSimulateReport const& r) {
    ServingOutcome const& o = r.outcome;
    double const tokens = r.output_tokens_per_s();
    if (o.state == SteadyState::overloaded) {
        page.tone = Tone::bad;
        page.verdict = fmt::format("Overloaded: {}; the queue has grown since {}.", overload_rates(r), human(o.onset));
    } else {
        page.tone = o.state == SteadyState::steady ? Tone::good : Tone::warning;
        page.verdict =
            fmt::format("{:.4g} requests/s are served, {} output tokens/s.", r.requests_per_s(), human_count(tokens));
        if (o.state == SteadyState::unsettled)
            page.verdict += " The run is too short for a steady state: the figures are of these requests.";
        if (r.setup.objective.any() && r.has_latencies()) judge_objectives(page, r);
    }
    if (o.interrupted) page.verdict += " The run was interrupted.";
    page.figures.push_back(
        {"throughput", human_count(tokens) + " tok/s",
         fmt::format("{:.0f} a GPU, {:.4g} requests/s", r.output_tokens_per_s_per_gpu(), r.requests_per_s())});
    if (r.has_latencies()) {
        page.figures.push_back({"TTFT, median", latency_text(o.ttft.p50), "p99 " + latency_text(o.ttft.p99)});
        page.figures.push_back({"TPOT, median", latency_text(o.tpot.p50), "p99 " + latency_text(o.tpot.p99)});
        if (r.setup.objective.any())
            page.figures.push_back({"within the objective", fmt::format("{:.3g} %", 100 * r.good_share()),
                                    fmt::format("{:.4g} good requests/s", r.good_share() * r.requests_per_s())});
    }
    page.figures.push_back(
        {"busy", fmt::format("{:.3g} %", 100 * r.utilisation()), "of the time, mean of the replicas"});
    page.figures.push_back({"KV cache", fmt::format("{:.3g} %", 100 * r.mean_cache_use()),
                            fmt::format("in use on average, {:.3g} % at most", 100 * o.most_cache_use)});
    if (auto const usd = r.usd_per_million_output_tokens())
        page.figures.push_back({"cost", fmt::format("${:.4g}", *usd), "per million output tokens"});
}

Chart latency_chart(ServeSimulateReport const& r) {
    PointChart chart{.series = {},
                     .x = {.title = "ms", .scale = ChartAxis::Scale::logarithmic},
                     .y = {.title = "share of requests, %"}};
    for (NamedSpread const& s : spreads(r)) {
        PointSeries line{.name = s.name, .draw = Draw::both, .x = {}, .y = {}};
        for (auto const& [share, time] : {std::pair{50.0, s.spread.p50},
                                          {90.0, s.spread.p90},
                                          {95.0, s.spread.p95},
                                          {99.0, s.spread.p99},
                                          {100.0, s.spread.largest}}) {
            if (time <= Seconds{}) continue;  // nothing to show on a logarithmic axis
            line.x.push_back(time.in(units::ms));
            line.y.push_back(share);
        }
        if (!line.x.empty()) chart.series.push_back(std::move(line));
    }
    return {.title = "Latencies",
            .note = "How many requests are at most that late: p50 to the largest.",
            .body = std::move(chart)};
}

struct SampleLine {
    char const* name;
    double (*value)(ServingSample const&);
};

Chart over_time(ServingOutcome const& o, std::string title, std::string note, std::string unit,
                std::vector<SampleLine> const& lines) {
    PointChart chart{.series = {}, .x = {.title = "s"}, .y = {.title = std::move(unit), .from_zero = true}};
    for (SampleLine const& line : lines) {
        PointSeries series{.name = line.name, .draw = Draw::line, .x = {}, .y = {}};
        for (ServingSample const& s : o.series) {
            series.x.push_back(s.at.base());
            series.y.push_back(line.value(s));
        }
        chart.series.push_back(std::move(series));
    }
    return {.title = std::move(title), .note = std::move(note), .body = std::move(chart)};
}

Chart token_rate(ServingOutcome const& o) {
    PointSeries series{.name = "output tokens/s", .draw = Draw::line, .x = {}, .y = {}};
    ServingSample before{};
    for (ServingSample const& s : o.series) {
        if (double const span = (s.at - before.at).base(); span > 0) {
            series.x.push_back(s.at.base());
            series.y.push_back(static_cast<double>(s.tokens_out - before.tokens_out) / span);
        }
        before = s;
    }
    return {
        .title = "Tokens over time",
        .note = "Of all replicas together.",
        .body = PointChart{
            .series = {std::move(series)}, .x = {.title = "s"}, .y = {.title = "output tokens/s", .from_zero = true}}};
}

PageTable latency_table(ServeSimulateReport const& r) {
    PageTable table{.title = "Latencies in ms",
                    .note = fmt::format("{} requests measured, after a warm-up of {:g} %.", r.outcome.measured,
                                        100 * r.setup.warmup_share),
                    .columns = {{"latency", Align::left}, {"mean"}, {"p50"}, {"p90"}, {"p95"}, {"p99"}, {"largest"}}};
    for (NamedSpread const& s : spreads(r)) {
        std::vector<PageCell> row{{s.name}};
        for (Seconds const time :
             {s.spread.mean, s.spread.p50, s.spread.p90, s.spread.p95, s.spread.p99, s.spread.largest})
            row.push_back(number_cell("{:.4g}", time.in(units::ms)));
        table.rows.push_back(std::move(row));
    }
    return table;
}

PagePairs state(ServeSimulateReport const& r) {
    ServingOutcome const& o = r.outcome;
    double const replicas = static_cast<double>(r.setup.replicas);
    PagePairs list{"The replicas", {}};
    list.pairs = {
        {"requests running in a replica",
         fmt::format("{:.4g} of {} at most", r.per_second(o.window.running) / replicas, r.setup.limits.max_batch)},
        {"requests waiting, of all", fmt::format("{:.3g}, at most {}", r.per_second(o.window.waiting), o.most_waiting)},
        {"cache of a replica", fmt::format("{} tokens", r.setup.limits.cache_tokens())},
        {"preemptions", fmt::format("{}", o.whole.counters.preemptions)},
        {"found in the prefix cache", fmt::format("{:.3g} % of the prompt tokens", 100 * r.hit_rate())},
        {"prefixes read from host memory",
         human_count(static_cast<double>(o.window.counters.loaded_tokens)) + " tokens"},
        {"tokens per step of a sequence", fmt::format("{:.4g}", r.tokens_per_step())},
        {"iterations", human_count(static_cast<double>(o.window.counters.iterations))}};
    return list;
}

}  // namespace

std::string serve_simulate_page(ServeSimulateReport const& r) {
    Page page{.command = "sextant serve simulate",
              .title = fmt::format("{} on {} x {}", named(r.what.model), r.accelerators(), r.what.cluster.name),
              .lines = {fmt::format("{}, {} scheduler, {} router", replicas_words(r), r.setup.limits.scheduler.name,
                                    name_of(r.setup.router)),
                        fmt::format("{}; prompts {}, outputs {}; {} requests, seed {}", r.load, r.prompt, r.output,
                                    r.requests, r.seed)}};
    if (r.setup.objective.any()) page.lines.push_back("objectives: " + objective_words(r.setup.objective));
    add_answer(page, r);
    if (r.has_latencies()) page.blocks.push_back(latency_chart(r));
    page.blocks.push_back(token_rate(r.outcome));
    page.blocks.push_back(
        over_time(r.outcome, "Requests over time", "Running and waiting, of all replicas.", "requests",
                  {{"running", [](ServingSample const& s) { return static_cast<double>(s.running); }},
                   {"waiting", [](ServingSample const& s) { return static_cast<double>(s.waiting); }}}));
    page.blocks.push_back(over_time(r.outcome, "KV cache over time", "Share of the blocks in use.", "%",
                                    {{"in use", [](ServingSample const& s) { return 100 * s.cache_use; }}}));
    if (r.has_latencies()) page.blocks.push_back(latency_table(r));
    page.blocks.push_back(state(r));
    add_serving_grounds(page, r.support(), r.assumptions);
    return html_page(page);
}

}  // namespace sextant::cli
