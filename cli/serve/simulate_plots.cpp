#include "cli/serve/simulate_plots.hpp"

#include "cli/view/line_chart.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace sextant::cli {
namespace {

/// What happened between two samples.
struct Span {
    double at = 0;  ///< its end, seconds
    double tokens_per_s = 0;
    double busy = 0;          ///< share of the serving replicas' time
    double usd_per_hour = 0;  ///< of the replicas that are paid for
};

std::vector<Span> spans(ServeSimulateReport const& report) {
    std::vector<Span> out;
    ServingSample before{};
    for (ServingSample const& sample : report.outcome.series) {
        double const span = (sample.at - before.at).base();
        if (span <= 0) continue;
        auto const serving = static_cast<double>(std::max<std::int64_t>(1, std::max(before.up, sample.up)));
        out.push_back({.at = sample.at.base(),
                       .tokens_per_s = static_cast<double>(sample.tokens_out - before.tokens_out) / span,
                       .busy = std::min(1.0, (sample.busy - before.busy).base() / span / serving),
                       .usd_per_hour = report.price.value_or(0) *
                                       (static_cast<double>(sample.held) * report.accelerators_of_replica())});
        before = sample;
    }
    return out;
}

template <class Value>
ChartLine over_samples(ServeSimulateReport const& report, char const* name, Value const& value) {
    ChartLine line{.name = name, .points = {}};
    for (ServingSample const& sample : report.outcome.series)
        line.points.emplace_back(sample.at.base(), value(sample));
    return line;
}

template <class Value>
ChartLine over_spans(std::vector<Span> const& all, char const* name, Value const& value) {
    ChartLine line{.name = name, .points = {}};
    for (Span const& span : all)
        line.points.emplace_back(span.at, value(span));
    return line;
}

std::string title_of(ServeSimulateReport const& report, char const* what) {
    return fmt::format("{}: {} on {}, {}", what, report.what.model.name, report.what.cluster.name, report.load);
}

ChartPanel shares(char const* title, std::vector<Seconds> const& quantiles) {
    ChartLine line{.name = "", .points = {}};
    for (std::size_t i = 0; i < quantiles.size(); ++i)
        line.points.emplace_back(quantiles[i].in(units::ms),
                                 100 * static_cast<double>(i) / static_cast<double>(quantiles.size() - 1));
    return {.title = title, .lines = {line}, .top = 100};
}

std::string latency_svg(ServeSimulateReport const& report) {
    LineChart chart{.title = title_of(report, "latency"),
                    .horizontal = "milliseconds",
                    .scale = ChartScale::logarithmic,
                    .panels = {}};
    chart.panels.push_back(
        shares("% of the requests with a time to the first token up to this", report.outcome.ttft.curve));
    if (report.outcome.tpot.count > 0)
        chart.panels.push_back(shares("% with a mean time per later token up to this", report.outcome.tpot.curve));
    return line_chart_svg(chart);
}

std::string load_svg(ServeSimulateReport const& report) {
    LineChart chart{.title = title_of(report, "load"), .horizontal = "seconds", .panels = {}};
    chart.panels.push_back(
        {.title = "requests",
         .lines = {over_samples(report, "waiting", [](auto const& s) { return static_cast<double>(s.waiting); }),
                   over_samples(report, "running", [](auto const& s) { return static_cast<double>(s.running); })}});
    chart.panels.push_back({.title = "% of the cache in use",
                            .lines = {over_samples(report, "", [](auto const& s) { return 100 * s.cache_use; })},
                            .top = 100});
    chart.panels.push_back({.title = "output tokens a second",
                            .lines = {over_spans(spans(report), "", [](auto const& s) { return s.tokens_per_s; })}});
    return line_chart_svg(chart);
}

std::string cost_svg(ServeSimulateReport const& report) {
    LineChart chart{.title = title_of(report, "use and cost"), .horizontal = "seconds", .panels = {}};
    chart.panels.push_back({.title = "% of the time that first stages are busy",
                            .lines = {over_spans(spans(report), "", [](auto const& s) { return 100 * s.busy; })},
                            .top = 100});
    chart.panels.push_back(
        {.title = "replicas",
         .lines = {over_samples(report, "serve", [](auto const& s) { return static_cast<double>(s.up); }),
                   over_samples(report, "paid for", [](auto const& s) { return static_cast<double>(s.held); })}});
    if (report.price)
        chart.panels.push_back({.title = "USD an hour", .lines = {over_spans(spans(report), "", [](auto const& s) {
                                                            return s.usd_per_hour;
                                                        })}});
    return line_chart_svg(chart);
}

}  // namespace

std::string over_time_csv(ServeSimulateReport const& report) {
    std::string out =
        "at_s,waiting,running,cache_use,tokens_out,replicas_up,replicas_held,tokens_per_s,utilisation,usd_per_hour\n";
    std::vector<Span> const all = spans(report);
    std::size_t next = 0;
    for (ServingSample const& s : report.outcome.series) {
        if (next == all.size() || all[next].at != s.at.base()) continue;
        Span const& span = all[next++];
        out += fmt::format("{:.9g},{},{},{:.6g},{},{},{},{:.6g},{:.6g},{}\n", s.at.base(), s.waiting, s.running,
                           s.cache_use, s.tokens_out, s.up, s.held, span.tokens_per_s, span.busy,
                           report.price ? fmt::format("{:.6g}", span.usd_per_hour) : "");
    }
    return out;
}

void write_serve_simulate_plots(ServeSimulateReport const& report, std::string const& folder) {
    std::error_code problem;
    std::filesystem::create_directories(folder, problem);
    if (problem) throw InputError("--plots: cannot make the folder '{}' ({})", folder, problem.message());
    std::filesystem::path const path(folder);
    if (report.has_latencies()) write_text_file((path / "latency.svg").string(), latency_svg(report));
    write_text_file((path / "load.svg").string(), load_svg(report));
    write_text_file((path / "cost.svg").string(), cost_svg(report));
    write_text_file((path / "over_time.csv").string(), over_time_csv(report));
}

}  // namespace sextant::cli
