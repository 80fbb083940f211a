#include "cli/page/page_cells.hpp"
#include "cli/serve/page_blocks.hpp"
#include "cli/serve/pages.hpp"
#include "cli/view/latency_text.hpp"
#include "core/quantity_text.hpp"
#include "planner/left_out.hpp"

#include <algorithm>

namespace sextant::cli {
namespace {

double per_user(ServeRow const& row) { return units::s / row.estimate.tpot; }
double per_gpu(ServeEstimateReport const& r, ServeRow const& row) {
    return row.estimate.output_tokens_per_s / static_cast<double>(r.what.plan.accelerators());
}

std::string load_label(ServeEstimateReport const& r, ServeRow const& row) {
    return fmt::format("{} {:g}", name_of(r.load), row.load);
}

/// What the largest batch is limited by.
std::string largest_by(ServeEstimateReport const& r) {
    return r.held > r.largest ? fmt::format(", by --max-batch; the cache would hold {:g}", r.held) : " fit the cache";
}

std::vector<PageFigure> figures(ServeEstimateReport const& r) {
    EngineInterval const& interval = r.support.interval;
    ServeRow const& first = r.rows.front();
    ServeRow const& busiest = *std::max_element(r.rows.begin(), r.rows.end(), [](ServeRow const& a, ServeRow const& b) {
        return a.estimate.output_tokens_per_s < b.estimate.output_tokens_per_s;
    });
    std::vector<PageFigure> list{
        {"capacity", fmt::format("{:.3g} req/s", r.capacity), "of one replica, at its largest batch"},
        {"largest batch", fmt::format("{:g}", r.largest),
         fmt::format("requests of {:g} tokens{}", r.request.prompt + r.request.output, largest_by(r))},
        {fmt::format("throughput at {}", load_label(r, busiest)), fmt::format("{:.0f} tok/s", per_gpu(r, busiest)),
         fmt::format("per GPU; 80 %: {:.0f} to {:.0f}; bound by {}", per_gpu(r, busiest) / interval.high,
                     per_gpu(r, busiest) / interval.low, busiest.bound)}};
    if (auto const tpot = r.tpot(first))
        list.insert(list.begin() + 2, {fmt::format("TPOT at {}", load_label(r, first)), latency_text(*tpot),
                                       fmt::format("80 %: {} to {}", latency_text(interval.low * *tpot),
                                                   latency_text(interval.high * *tpot))});
    if (r.price)
        list.push_back({"cost", fmt::format("${:.3f}", usd_per_million(r, busiest)),
                        fmt::format("per million output tokens at {}", load_label(r, busiest))});
    list.push_back(
        {"KV cache", human(r.memory.cache),
         fmt::format("{:.0f} tokens at {} of each rank", r.memory.cache_tokens, human(r.memory.cache_per_token))});
    return list;
}

Chart frontier(ServeEstimateReport const& r) {
    PointSeries line{.name = "one replica", .draw = Draw::both, .x = {}, .y = {}};
    for (ServeRow const& row : r.rows) {
        line.x.push_back(per_user(row));
        line.y.push_back(per_gpu(r, row));
        line.labels.push_back(load_label(r, row));
        line.low.push_back(per_gpu(r, row) / r.support.interval.high);
        line.high.push_back(per_gpu(r, row) / r.support.interval.low);
    }
    return {.title = "Throughput against latency",
            .note = "What a user gets against what a GPU brings, a point per load; bars are 80 % intervals.",
            .body = PointChart{.series = {std::move(line)},
                               .x = {.title = "output tokens/s of a user", .from_zero = true},
                               .y = {.title = "output tokens/s of a GPU", .from_zero = true}}};
}

Chart latencies(ServeEstimateReport const& r) {
    PointSeries first{.name = "TTFT", .draw = Draw::both, .x = {}, .y = {}};
    PointSeries next{.name = "TPOT", .draw = Draw::both, .x = {}, .y = {}};
    for (ServeRow const& row : r.rows) {
        if (auto const tpot = r.tpot(row)) {
            next.x.push_back(row.load);
            next.y.push_back(tpot->in(units::ms));
        }
        if (row.estimate.saturated) continue;  // the queue grows: there is no time to the first token
        first.x.push_back(row.load);
        first.y.push_back(row.estimate.ttft.total().in(units::ms));
    }
    std::vector<PointSeries> series{std::move(first)};
    if (!next.x.empty()) series.push_back(std::move(next));
    return {.title = "Latency over load",
            .note = "Time to the first token and from token to token.",
            .body = PointChart{.series = std::move(series),
                               .x = {.title = std::string(name_of(r.load)), .scale = ChartAxis::Scale::logarithmic},
                               .y = {.title = "ms", .scale = ChartAxis::Scale::logarithmic}}};
}

/// Bars of the parts of a time, one bar per load.
template <class Time, class Parts, class Of>
Chart part_chart(ServeEstimateReport const& r, std::string title, std::string note, Parts const& parts, Of const& of) {
    BarChart bars{.categories = {}, .series = {}, .x = {.title = "ms"}};
    for (auto const& [name, role, part] : parts) {
        static_cast<void>(part);
        bars.series.push_back({.name = name, .role = role, .values = {}});
    }
    for (ServeRow const& row : r.rows) {
        Time const* const time = of(row);
        if (time == nullptr) continue;
        bars.categories.push_back(load_label(r, row));
        std::size_t i = 0;
        for (auto const& [name, role, part] : parts)
            bars.series[i++].values.push_back(((*time).*part).in(units::ms));
    }
    return {.title = std::move(title), .note = std::move(note), .body = std::move(bars)};
}

template <class Time>
struct Part {
    char const* name;
    char const* role;
    Seconds Time::*time;
};

constexpr Part<IterationTime> iteration_parts[] = {{"products", "gemm", &IterationTime::gemm},
                                                   {"KV cache", "cache", &IterationTime::decode},
                                                   {"small kernels", "memory-bound", &IterationTime::streaming},
                                                   {"network", "tp", &IterationTime::communication},
                                                   {"head", "recompute", &IterationTime::head},
                                                   {"host", "host", &IterationTime::host}};
constexpr Part<FirstTokenTime> first_token_parts[] = {{"boundary", "quiet", &FirstTokenTime::boundary},
                                                      {"tokenise", "buffers", &FirstTokenTime::tokenise},
                                                      {"queue", "waiting", &FirstTokenTime::queue},
                                                      {"host", "host", &FirstTokenTime::host},
                                                      {"prefill", "gemm", &FirstTokenTime::prefill}};

Chart memory(ServeEstimateReport const& r) {
    ServingMemory const& m = r.memory;
    BarChart bars{.categories = {"an accelerator"},
                  .series = {},
                  .x = {.title = "GB", .from_zero = true},
                  .marks = {{.at = m.usable.in(units::GB), .label = fmt::format("usable {}", human(m.usable))}}};
    for (auto const& [name, bytes] : {std::pair{"weights", m.weights},
                                      {"activations", m.activations},
                                      {"overhead", m.overhead},
                                      {"cache", m.cache}})
        bars.series.push_back({.name = name, .role = name, .values = {bytes.in(units::GB)}});
    return {.title = "Memory budget",
            .note = fmt::format("Of the fullest rank; the device has {}.", human(m.capacity)),
            .body = std::move(bars),
            .wide = true};
}

/// Time from token to token, its interval, and tokens a second of a user.
std::vector<PageCell> token_cells(std::optional<Seconds> tpot, EngineInterval const& interval) {
    if (!tpot) return {{"-"}, {"-"}, {"-"}};
    double const ms = tpot->in(units::ms);
    return {number_cell("{:.4g}", ms),
            {fmt::format("{:.3g}-{:.3g}", interval.low * ms, interval.high * ms), interval.low * ms},
            number_cell("{:.1f}", units::s / *tpot)};
}

PageTable table_of(ServeEstimateReport const& r) {
    PageTable table{.title = "Loads",
                    .note = fmt::format("{:g} tokens in, {:g} out", r.request.prompt, r.request.output),
                    .columns = {{std::string(name_of(r.load))},
                                {"TTFT ms"},
                                {"TPOT ms"},
                                {"80 %"},
                                {"tok/s user"},
                                {"tok/s GPU"},
                                {"requests/s"}}};
    if (r.price) table.columns.push_back({"USD/Mtok"});
    for (char const* name : {"batch", "cache %", "W/GPU"})
        table.columns.push_back({name});
    if (r.what.model.moe) table.columns.push_back({"experts %", Align::right, PageColumn::Choice::none, "touched"});
    table.columns.push_back({"bound by", Align::left, PageColumn::Choice::list});
    EngineInterval const& interval = r.support.interval;
    for (ServeRow const& row : r.rows) {
        ServingEstimate const& e = row.estimate;
        auto const tpot = r.tpot(row);
        std::vector<PageCell> cells{number_cell("{:g}", row.load)};
        cells.push_back(e.saturated ? PageCell{"unbounded"} : number_cell("{:.4g}", e.ttft.total().in(units::ms)));
        for (PageCell& cell : token_cells(tpot, interval))
            cells.push_back(std::move(cell));
        cells.push_back(number_cell("{:.0f}", per_gpu(r, row)));
        cells.push_back(number_cell("{:.3g}", e.requests_per_s));
        if (r.price) cells.push_back(number_cell("{:.3f}", usd_per_million(r, row)));
        cells.push_back(number_cell("{:.1f}", e.decodes));
        cells.push_back(number_cell("{:.0f}", 100 * e.cache_share));
        cells.push_back(number_cell("{:.0f}", row.watts));
        if (r.what.model.moe) cells.push_back(number_cell("{:.0f}", 100 * row.touched));
        cells.push_back({e.saturated ? "SATURATED: " + row.bound : row.bound});
        table.rows.push_back(std::move(cells));
    }
    for (ServeMisfitRow const& row : r.misfits) {
        std::vector<PageCell> cells(table.columns.size(), PageCell{"-"});
        cells.front() = number_cell("{:g}", row.batch);
        cells.back() = {fmt::format("DOES NOT FIT: the cache holds {:g}", r.held)};
        table.rows.push_back(std::move(cells));
    }
    return table;
}

}  // namespace

std::string serve_estimate_page(ServeEstimateReport const& r) {
    ServingCase const& what = r.what;
    Page page{
        .command = "sextant serve estimate",
        .title = fmt::format("{} on {}", named(what.model), what.cluster.name),
        .lines = {fmt::format("a replica of {} ({}); requests of {:g} tokens in, {:g} out", what.plan.accelerators(),
                              serving_plan_text(what), r.request.prompt, r.request.output)}};
    auto const saturated =
        std::count_if(r.rows.begin(), r.rows.end(), [](ServeRow const& row) { return row.estimate.saturated; });
    page.verdict =
        fmt::format("A replica serves up to {:.3g} requests/s and holds {:g} at a time.", r.capacity, r.largest);
    if (saturated > 0) {
        page.verdict += fmt::format(" {} of {} loads are more than it can serve.", saturated, r.rows.size());
        page.tone = static_cast<std::size_t>(saturated) == r.rows.size() ? Tone::bad : Tone::warning;
    }
    for (ServeMisfitRow const& row : r.misfits) {
        page.verdict += fmt::format(" A {}.", row.sentence());
        page.tone = Tone::warning;
    }
    if (std::string const near = near_capacity_text(r); !near.empty()) {
        page.verdict += " " + near;
        if (page.tone == Tone::plain) page.tone = Tone::warning;
    }
    page.figures = figures(r);
    if (r.request.has_later_tokens()) page.blocks.push_back(frontier(r));
    page.blocks.push_back(latencies(r));
    page.blocks.push_back(part_chart<IterationTime>(r, "Where an iteration goes", "An iteration that only decodes.",
                                                    iteration_parts,
                                                    [](ServeRow const& row) { return &row.estimate.iteration; }));
    if (std::any_of(r.rows.begin(), r.rows.end(), [](ServeRow const& row) { return !row.estimate.saturated; }))
        page.blocks.push_back(part_chart<FirstTokenTime>(
            r, "To the first token", "Loads beyond the capacity have no such time: the queue grows.", first_token_parts,
            [](ServeRow const& row) { return row.estimate.saturated ? nullptr : &row.estimate.ttft; }));
    page.blocks.push_back(memory(r));
    page.blocks.push_back(table_of(r));
    add_serving_grounds(page, r.support, r.assumptions);
    return html_page(page);
}

}  // namespace sextant::cli
