#include "cli/page/page_cells.hpp"
#include "cli/serve/page_blocks.hpp"
#include "cli/serve/pages.hpp"
#include "cli/view/empty_columns.hpp"
#include "cli/view/latency_text.hpp"
#include "core/quantity_text.hpp"
#include "planner/left_out.hpp"

#include <algorithm>
#include <map>

namespace sextant::cli {
namespace {

using Choice = PageColumn::Choice;

std::string plan_words(ServePlanReport const& r, std::size_t machine, ServingPlan const& plan) {
    return fmt::format("{}, {}, weights {}, cache {}", r.question.machines[machine].cluster.name, split_words(plan),
                       plan.weights, name_of(plan.cache));
}

/// The same in short, for the names of bars: formats only where the listed deployments differ in them.
std::string short_words(ServePlanReport const& r, ServeCandidate const& c) {
    auto const& all = r.answer.ranked;
    auto const differ = [&](auto member) {
        return std::any_of(all.begin(), all.end(),
                           [&](ServeCandidate const& other) { return other.plan.*member != all.front().plan.*member; });
    };
    std::string out = fmt::format("{} tp{}", r.question.machines[c.machine].cluster.name, c.plan.tp);
    if (c.plan.pp > 1) out += fmt::format(" pp{}", c.plan.pp);
    if (c.plan.ep > 1) out += fmt::format(" ep{}", c.plan.ep);
    if (c.plan.attention_dp > 1) out += fmt::format(" dp{}", c.plan.attention_dp);
    if (differ(&ServingPlan::weights)) out += " " + c.plan.weights;
    if (differ(&ServingPlan::cache)) out += fmt::format(" cache {}", name_of(c.plan.cache));
    if (c.prompts) out += fmt::format(", prompts {}", split_words(c.prompts->plan));
    return out + fmt::format(" batch {} chunk {}", c.plan.max_batch, c.plan.max_batched_tokens);
}

/// "1 replica", "3 replicas".
std::string counted(std::int64_t count, std::string_view what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::int64_t replicas_of(ServeCandidate const& c) { return c.trial ? c.replicas : c.least_replicas; }

double hourly(ServePlanReport const& r, ServeCandidate const& c) {
    return r.question.machines[c.machine].usd_per_hour.value_or(0) *
           static_cast<double>(c.accelerators(replicas_of(c)));
}

void add_answer(Page& page, ServePlanReport const& r) {
    ServeQuestion const& q = r.question;
    if (!r.answer.found()) {
        page.verdict = r.answer.interrupted ? "Interrupted before a deployment was found that keeps the objectives."
                                            : no_deployment(r);
        page.tone = Tone::bad;
        auto const add_best = [&](char const* name, std::optional<Seconds> best, Seconds objective) {
            if (best)
                page.figures.push_back(
                    {fmt::format("best {} of any", name), latency_text(*best),
                     objective > Seconds{} ? "asked for: " + latency_text(objective) : std::string("no objective"),
                     objective > Seconds{} && *best > objective ? Tone::bad : Tone::plain});
        };
        add_best("TTFT", r.answer.best_ttft, q.ttft);
        add_best("TPOT", r.answer.best_tpot, q.tpot);
        return;
    }
    ServeCandidate const& best = r.answer.ranked.front();
    page.tone = Tone::good;
    std::int64_t const gpus = best.accelerators(best.replicas);
    std::string const for_prompts =
        best.prompts ? fmt::format("{} for prompts ({}) and ", counted(best.prompts->replicas, "replica"),
                                   split_words(best.prompts->plan))
                     : std::string();
    page.verdict =
        fmt::format("{}{} on {}: the objectives are kept with {}.", for_prompts, counted(best.replicas, "replica"),
                    plan_words(r, best.machine, best.plan), counted(gpus, "GPU"));
    if (std::string const confirmed = confirmed_words(r); !confirmed.empty()) page.verdict += " " + confirmed;
    if (std::string const tight = tight_words(r); !tight.empty()) {
        page.tone = Tone::warning;
        page.verdict += " " + tight;
    }
    if (r.answer.interrupted) page.verdict += " The search was interrupted: cheaper ones may exist.";
    ServeTrial const& trial = *best.trial;
    auto const objective = [](Seconds time) {
        return time > Seconds{} ? "; objective " + latency_text(time) : std::string();
    };
    page.figures = {{"GPUs", fmt::format("{}", gpus), counted(best.replicas, "replica")},
                    {"kept", fmt::format("{:.1f} %", 100 * trial.kept),
                     fmt::format("of the requests; asked: {:g} %", 100 * q.share)},
                    {"TTFT", latency_text(trial.ttft_p50), "p99 " + latency_text(trial.ttft_p99) + objective(q.ttft)},
                    {"TPOT", latency_text(trial.tpot_p50), "p99 " + latency_text(trial.tpot_p99) + objective(q.tpot)},
                    {"throughput", human_count(trial.output_tokens_per_s) + " tok/s",
                     fmt::format("{:.0f} a GPU", trial.output_tokens_per_s / static_cast<double>(gpus))}};
    if (q.machines[best.machine].usd_per_hour)
        page.figures.push_back({"cost", fmt::format("${:.2f}/h", hourly(r, best)),
                                fmt::format("${:.3f} per million output tokens",
                                            hourly(r, best) / (trial.output_tokens_per_s * 3600) * 1e6)});
}

Chart frontier(ServePlanReport const& r) {
    std::map<std::size_t, PointSeries> machines;
    for (FrontierPoint const& p : r.answer.frontier) {
        PointSeries& series = machines[p.machine];
        series.name = r.question.machines[p.machine].cluster.name;
        series.x.push_back(p.tokens_per_s_user);
        series.y.push_back(p.tokens_per_s_accelerator);
        series.labels.push_back(fmt::format("{}, {:g} in flight", plan_words(r, p.machine, p.plan), p.concurrency));
    }
    PointChart chart{.series = {},
                     .x = {.title = "output tokens/s of a user", .scale = ChartAxis::Scale::logarithmic},
                     .y = {.title = "output tokens/s of a GPU", .scale = ChartAxis::Scale::logarithmic}};
    for (auto& [machine, series] : machines)
        chart.series.push_back(std::move(series));
    if (r.question.tpot > Seconds{})
        chart.marks.push_back({.at = units::s / r.question.tpot, .label = "TPOT asked for"});
    return {.title = "Latency-throughput frontier",
            .note = "By closed form: no configuration is better in both. What a user gets against what a GPU brings.",
            .body = std::move(chart)};
}

Chart cost_chart(ServePlanReport const& r) {
    constexpr std::size_t most = 12;
    bool const dollars = r.priced;
    BarChart bars{.categories = {},
                  .series = {{.name = "simulated", .role = "compute", .values = {}},
                             {.name = "at least, by closed form", .role = "idle", .values = {}}},
                  .x = {.title = dollars ? "US dollars an hour" : "accelerators", .from_zero = true}};
    for (std::size_t i = 0; i < std::min(most, r.answer.ranked.size()); ++i) {
        ServeCandidate const& c = r.answer.ranked[i];
        double const cost = dollars ? hourly(r, c) : static_cast<double>(c.accelerators(replicas_of(c)));
        bars.categories.push_back(fmt::format("{}: {} x {}", i + 1, replicas_text(c), short_words(r, c)));
        bars.series[0].values.push_back(c.trial ? cost : 0);
        bars.series[1].values.push_back(c.trial ? 0 : cost);
    }
    return {.title = dollars ? "Cost of the deployments" : "Size of the deployments",
            .note = "Those that were simulated and keep the objectives; the others cost at least this.",
            .body = std::move(bars)};
}

/// A degree that no deployment uses takes the room of what tells them apart.
void leave_out_if_one(PageTable& table, std::string_view header) {
    for (std::vector<PageCell>& row : table.rows)
        for (std::size_t i = 0; i < row.size(); ++i)
            if (table.columns[i].header == header && row[i].text != "1") return;
    for (std::vector<PageCell>& row : table.rows)
        for (std::size_t i = 0; i < row.size(); ++i)
            if (table.columns[i].header == header) row[i].text.clear();
    leave_out_if_empty(table.columns, table.rows, header,
                       [](PageCell const& cell) { return std::string_view(cell.text); });
}

PageTable table_of(ServePlanReport const& r) {
    PageTable table{
        .title = "Deployments, ranked",
        .note =
            ">= marks the least that the closed form allows, of deployments that were not simulated to "
            "the end. Latencies are p50 and p99 of the simulation.",
        .columns = {{"#"},
                    {"machine", Align::left, Choice::list},
                    {"GPUs"},
                    {"replicas"},
                    {"tp", Align::right, Choice::list},
                    {"pp", Align::right, Choice::list},
                    {"ep", Align::right, Choice::list},
                    {"attn dp", Align::right, Choice::list, "groups of tp ranks with sequences of their own"},
                    {"weights", Align::left, Choice::list},
                    {"cache", Align::left, Choice::list},
                    {"batch", Align::right, Choice::list},
                    {"chunk", Align::right, Choice::list},
                    {"USD/h"},
                    {"kept %"},
                    {"TTFT p50 ms"},
                    {"p99"},
                    {"TPOT p50 ms"},
                    {"p99"}}};
    for (ServeCandidate const& c : r.answer.ranked) {
        std::int64_t const replicas = replicas_of(c);
        auto const bound = [&](std::string const& text, double value) {
            return PageCell{(c.trial ? "" : ">= ") + text, value};
        };
        auto const gpus = static_cast<double>(c.accelerators(replicas));
        auto const of_sides = [&](std::int64_t ServingPlan::*member) {
            PageCell cell = count_cell(c.plan.*member);
            if (c.prompts && c.prompts->plan.*member != c.plan.*member)
                cell.text = fmt::format("{} + {}", c.prompts->plan.*member, c.plan.*member);
            return cell;
        };
        std::optional<ServeTrial> const& kept = c.trial ? c.trial : c.missed;
        auto const time = [&](Seconds ServeTrial::*member) {
            return c.trial ? number_cell("{:.4g}", ((*c.trial).*member).in(units::ms)) : PageCell{"-"};
        };
        table.rows.push_back({count_cell(static_cast<std::int64_t>(table.rows.size()) + 1),
                              {r.question.machines[c.machine].cluster.name},
                              bound(fmt::format("{}", c.accelerators(replicas)), gpus),
                              bound(replicas_text(c), static_cast<double>(replicas)),
                              of_sides(&ServingPlan::tp),
                              of_sides(&ServingPlan::pp),
                              of_sides(&ServingPlan::ep),
                              of_sides(&ServingPlan::attention_dp),
                              {c.plan.weights},
                              {std::string(name_of(c.plan.cache))},
                              of_sides(&ServingPlan::max_batch),
                              of_sides(&ServingPlan::max_batched_tokens),
                              r.question.machines[c.machine].usd_per_hour
                                  ? bound(fmt::format("{:.2f}", hourly(r, c)), hourly(r, c))
                                  : PageCell{"-"},
                              kept ? number_cell("{:.1f}", 100 * kept->kept) : PageCell{"-"},
                              time(&ServeTrial::ttft_p50),
                              time(&ServeTrial::ttft_p99),
                              time(&ServeTrial::tpot_p50),
                              time(&ServeTrial::tpot_p99)});
    }
    for (char const* const degree : {"pp", "ep", "attn dp"})
        leave_out_if_one(table, degree);
    return table;
}

}  // namespace

std::string serve_plan_page(ServePlanReport const& r) {
    ServeQuestion const& q = r.question;
    ServeLoadWords const load = load_words(r);
    Page page{.command = "sextant serve plan",
              .title = fmt::format("Serving {} at {:.4g} requests/s", named(q.model), q.rate),
              .lines = {fmt::format("arrivals {}, prompts {}, answers {}, engine {}", load.arrivals, load.prompts,
                                    load.answers, q.engine.name)}};
    std::string objectives;
    if (q.ttft > Seconds{}) objectives += "TTFT up to " + latency_text(q.ttft);
    if (q.tpot > Seconds{}) objectives += (objectives.empty() ? "TPOT up to " : ", TPOT up to ") + latency_text(q.tpot);
    page.lines.push_back(objectives.empty() ? "no objectives (only no overload)"
                                            : fmt::format("{} for {:g} % of the requests", objectives, 100 * q.share));
    if (std::string missing = missing_prices(r); !missing.empty()) page.lines.push_back(std::move(missing));
    for (std::string& line : unlisted_machines(r))
        page.lines.push_back(std::move(line));
    add_answer(page, r);
    if (!r.answer.ranked.empty()) page.blocks.push_back(cost_chart(r));
    if (!r.answer.frontier.empty()) page.blocks.push_back(frontier(r));
    if (!r.answer.ranked.empty()) page.blocks.push_back(table_of(r));
    page.blocks.push_back(PageList{"The search", search_counts(r.answer)});
    if (!r.answer.ranked.empty()) add_serving_grounds(page, support_of(q, r.answer.ranked.front()), r.assumptions);
    return html_page(page);
}

}  // namespace sextant::cli
