#include "cli/plan/report_view.hpp"
#include "cli/view/percent_text.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/schedule_traits.hpp"
#include "planner/explain.hpp"
#include "planner/left_out.hpp"
#include "planner/price_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <sstream>

namespace sextant::cli {
namespace {

bool any_beside_one(std::vector<StepReport> const& reports, std::int64_t ParallelPlan::*axis) {
    for (StepReport const& r : reports)
        if (r.plan.*axis != 1) return true;
    return false;
}

std::string misfit_lines(SearchResult const& result, MemoryLimit const& limit) {
    std::string text;
    for (std::string const& sentence : misfit_sentences(result, limit))
        text += wrapped(sentence);
    return text;
}

/// "present: tp 8, pp 4: step 3.2 s, MFU 38 %, 61 GB, fits; the best takes 0.78 of its time".
std::string present_lines(PlanAnswer const& answer) {
    if (!answer.present) return "";
    StepReport const& r = *answer.present;
    std::string line = fmt::format("present: {}: step {}, MFU {:.1f} %, {} of {} usable memory{}", plan_label(r.plan),
                                   human(r.estimate.time), 100 * r.mfu, human(r.estimate.peak()), human(r.limit.usable),
                                   r.fits ? "" : ": " + fit_words(r.estimate.memory, r.limit));
    if (!answer.reports.empty() && answer.reports.front().workload.tokens() == r.workload.tokens())
        line +=
            fmt::format("; the best takes {:.2f} of its time", answer.reports.front().estimate.time / r.estimate.time);
    return wrapped(line, "   ");
}

/// "sel", the module that runs again, or of several their number: the plan's label has their names.
std::string selective_word(RecomputeModules modules) {
    if (modules == attention_core) return "sel";
    auto const count = std::popcount(static_cast<std::uint64_t>(modules.bits()));
    return count == 1 ? modules_text(modules, "+") : fmt::format("sel{}", count);
}

/// Where what sets plans apart needs the width, of the losses the largest has to do.
bool is_crowded(std::vector<StepReport> const& reports) {
    return std::any_of(reports.begin(), reports.end(), [](auto const& r) { return plan_extras(r).size() > 12; });
}

}  // namespace

std::string plan_extras(StepReport const& r) {
    ParallelPlan const& p = r.plan;
    std::string text = r.unsupported.empty() ? "" : "~";
    if (!r.not_expressed.empty()) text += "!";
    auto const add = [&](std::string const& word) { text += (text.empty() ? "" : " ") + word; };
    if (p.recompute == Recompute::full)
        add(p.recompute_layers > 0 ? fmt::format("full{}", p.recompute_layers) : "full");
    if (keeps_activations(p)) add("keep:" + activations_text(p.kept_activations, "+"));
    if (p.recompute == Recompute::selective) add(selective_word(p.recompute_modules));
    if (p.gradients == GradientFormat::bf16) add("bf16-grads");
    if (p.fp8_activation_input == Switch::on) add("fp8-act");
    if (p.narrow_copies == Switch::on) add("narrow-copies");
    if (p.adapters.on()) add(adapters_label(p.adapters));
    if (p.offload != Offload::none) add("off:" + std::string(name_of(p.offload)));
    if (offloads_some_layers(p)) add(fmt::format("({} layers)", p.offload_layers));
    if (offloads_some_activations(p)) add("(" + activations_text(p.offloaded_activations, "+") + ")");
    if (p.tp > 1 && p.sequence_parallel == Switch::off) add("no-sp");
    if (!is_usual(p.schedule)) add(std::string(name_of(p.schedule)));
    if (p.ep > 1 && p.dispatcher == Dispatcher::deduplicated) add("dedup");
    if (p.cp > 1 && p.cp_mode != ContextParallel::ring) add(std::string(name_of(p.cp_mode)));
    return text.empty() ? "-" : text;
}

std::vector<std::string> misfit_sentences(SearchResult const& result, MemoryLimit const& limit) {
    std::vector<std::string> out;
    if (result.fastest_misfit && !result.best.empty() &&
        result.fastest_misfit->estimate.time < result.best.front().estimate.time) {
        Candidate const& c = *result.fastest_misfit;
        out.push_back(fmt::format("fastest rejected: {} would take {} but needs {}, {} over the limit",
                                  plan_label(c.plan), human(c.estimate.time), human(c.estimate.peak()),
                                  human(c.estimate.peak() - limit.usable)));
    }
    if (result.best.empty() && result.smallest_misfit) {
        Candidate const& c = *result.smallest_misfit;
        out.push_back(fmt::format("nearest: {} needs {}, {} more than the {} that are usable", plan_label(c.plan),
                                  human(c.estimate.peak()), human(c.estimate.peak() - limit.usable),
                                  human(limit.usable)));
    }
    if (result.best.empty() && result.smallest_host_misfit) {
        Candidate const& c = *result.smallest_host_misfit;
        out.push_back(fmt::format("nearest with offload: {} fits the accelerators, but {}", plan_label(c.plan),
                                  host_misfit_words(c.estimate.memory, limit)));
    }
    return out;
}

std::vector<std::string> not_expressed_sentences(PlanQuestion const& q, PlanAnswer const& answer) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < answer.reports.size(); ++i)
        if (StepReport const& r = answer.reports[i]; !r.not_expressed.empty())
            out.push_back(fmt::format("{}: {}", i + 1, refusal_sentence(q.framework, r.not_expressed)));
    return out;
}

std::string against_best(StepReport const& r, StepReport const& best) {
    Bytes const more = r.estimate.peak() - best.estimate.peak();
    if (r.estimate.time < best.estimate.time)  // ranked by something else than time
        return fmt::format("{:.1f} % faster, {} {} memory", 100 * (1 - r.estimate.time / best.estimate.time),
                           human(more < Bytes{} ? -more : more), more < Bytes{} ? "less" : "more");
    auto const mine = breakdown_parts(r.estimate.breakdown);
    auto const theirs = breakdown_parts(best.estimate.breakdown);
    std::size_t worst = 0;
    Seconds growth;
    for (std::size_t i = 0; i < mine.size(); ++i) {
        Seconds const g = mine[i].second - theirs[i].second;
        if (g > growth) {
            growth = g;
            worst = i;
        }
    }
    if (growth <= Seconds{}) return "as fast as the first, ranked by memory";
    return fmt::format("{}: {} {} more", signed_percent(r.estimate.time / best.estimate.time - 1), human(growth),
                       mine[worst].first);
}

namespace {

enum class CostColumn : std::uint8_t { absent, present };

Table plan_table(PlanAnswer const& answer, CostColumn cost) {
    auto const& reports = answer.reports;
    bool const cp = any_beside_one(reports, &ParallelPlan::cp);
    bool const ep = any_beside_one(reports, &ParallelPlan::ep);
    std::vector<Column> columns{{"#", Align::right}, {"dp", Align::right}, {"tp", Align::right}, {"pp", Align::right}};
    if (cp) columns.push_back({"cp", Align::right});
    if (ep) columns.push_back({"ep", Align::right});
    for (Column const& c : {Column{"vpp", Align::right},
                            {"mb", Align::right},
                            {"zero", Align::right},
                            {"extra"},
                            {"step", Align::right},
                            {"MFU", Align::right},
                            {"memory", Align::right},
                            {"losses"}})
        columns.push_back(c);
    bool const simulated = !answer.verified.empty();
    if (simulated)  // after the closed form's step time
        columns.insert(columns.end() - 3, {"simulated", Align::right});
    if (cost == CostColumn::present) columns.insert(columns.end() - 1, {"USD per M tokens", Align::right});
    Table table(columns);
    bool const crowded = is_crowded(reports);
    for (std::size_t i = 0; i < reports.size(); ++i) {
        StepReport const& r = reports[i];
        ParallelPlan const& p = r.plan;
        std::vector<std::string> row{fmt::format("{}", i + 1), fmt::format("{}", p.dp), fmt::format("{}", p.tp),
                                     fmt::format("{}", p.pp)};
        if (cp) row.push_back(fmt::format("{}", p.cp));
        if (ep) row.push_back(fmt::format("{}", p.ep));
        std::string step = human(r.estimate.time);
        std::string simulation = "-";
        if (i < answer.verified.size()) {
            Verification const& v = answer.verified[i];
            simulation = v.finished() ? human(v.time) : std::string(name_of(v.state));
        }
        for (std::string cell : {fmt::format("{}", p.vpp), fmt::format("{}", p.micro_batch), fmt::format("{}", p.zero),
                                 plan_extras(r), std::move(step)})
            row.push_back(std::move(cell));
        if (simulated) row.push_back(std::move(simulation));
        for (std::string cell : {fmt::format("{:.1f} %", 100 * r.mfu), human(r.estimate.peak())})
            row.push_back(std::move(cell));
        if (cost == CostColumn::present)
            row.push_back(r.million_tokens_cost ? fmt::format("{:.4g}", r.million_tokens_cost->base()) : "-");
        std::string const losses = largest_losses(r.estimate);
        row.push_back(crowded ? losses.substr(0, losses.find(',')) : losses);
        table.add_row(std::move(row));
    }
    return table;
}

/// The best plan in full, and what its explanation says.
std::string best_plan_text(StepReport const& best, ClusterSpec const& cluster,
                           std::vector<std::string> const& explanation) {
    // Never so long that a terminal takes the line below for more of it.
    std::string text = "\n" + wrapped(fmt::format("1: {}", plan_label(best.plan)), "   ", 90);
    text +=
        wrapped(fmt::format("   step {} (80 %: {} to {}), {} tokens/s, MFU {:.1f} %, {} of {} usable memory (allocated "
                            "{}, reserved up to {})",
                            human(best.estimate.time), human(best.interval.low * best.estimate.time),
                            human(best.interval.high * best.estimate.time), human_count(best.tokens_per_second),
                            100 * best.mfu, human(best.estimate.peak()), human(best.limit.usable),
                            human(best.estimate.memory.allocated()), human(best.estimate.memory.reserved_high)),
                "   ");
    if (auto const room = roomier_limit(best))
        text += fmt::format("   tight: the upper end of the memory range does not fit; {} asks for more room\n",
                            room_option(*room));
    if (best.million_tokens_cost)
        text += wrapped(fmt::format("   {} per million tokens{}", human(*best.million_tokens_cost), at_price(cluster)),
                        "   ");
    else
        text += fmt::format("   {}\n", no_price);
    for (std::string const& line : explanation)
        text += wrapped("   - " + line, "     ");
    return text;
}

/// A few plans of the front, evenly spread.
std::string front_text(std::vector<StepReport> const& pareto) {
    if (pareto.size() <= 1) return "";
    Table front({{"step", Align::right}, {"memory", Align::right}, {"GPUs", Align::right}, {"plan"}});
    std::size_t const most = 6;
    std::size_t const n = pareto.size();
    for (std::size_t i = 0; i < std::min(most, n); ++i) {
        StepReport const& r = pareto[n <= most ? i : i * (n - 1) / (most - 1)];
        std::istringstream label(wrapped(plan_label(r.plan), "  ", 80));
        std::string line;
        std::getline(label, line);
        front.add_row({human(r.estimate.time), human(r.estimate.peak()), fmt::format("{}", r.accelerators), line});
        while (std::getline(label, line))
            front.add_row({"", "", "", line});
    }
    bool const one = std::all_of(pareto.begin(), pareto.end(),
                                 [&](StepReport const& r) { return r.accelerators == pareto.front().accelerators; });
    return fmt::format("\ntime against memory (no plan is better in {}):\n",
                       one ? "both" : "both on as many accelerators") +
           front.text();
}

std::string found_plans_text(PlanQuestion const& q, PlanAnswer const& answer) {
    StepReport const& best = answer.reports.front();
    SearchCounts const& counts = answer.result.counts;
    std::string text = wrapped(headline(q, best.accelerators, best.plan.precision)) + "\n";
    text += plan_table(answer, CostColumn::absent).text();
    text += best_plan_text(best, q.cluster, answer.explanation);
    for (std::size_t i = 1; i < answer.reports.size(); ++i)
        text += wrapped(
            fmt::format("{}: {}: {}", i + 1, plan_label(answer.reports[i].plan), against_best(answer.reports[i], best)),
            "   ");
    for (std::size_t i = 0; i < answer.verified.size(); ++i)
        if (!answer.verified[i].finished())
            text += wrapped(fmt::format("{}: not simulated: {}", i + 1, answer.verified[i].message), "   ");
    for (std::string const& sentence : not_expressed_sentences(q, answer))
        text += wrapped(sentence, "   ");
    text += present_lines(answer);
    text += "\n" + wrapped(fmt::format("{} plans enumerated, {} fit; {}", grouped_digits(counts.enumerated),
                                       grouped_digits(counts.evaluated), rejection_summary(counts)));
    text += misfit_lines(answer.result, best.limit);
    text += front_text(answer.pareto);
    text += "\n" + unsupported_lines(best.unsupported);
    std::vector<std::string> const assumptions = all_assumptions(best);
    return text + assumption_lines(assumptions, answer.explanation.empty() ? 3 : assumptions.size());
}

std::string no_plan_text(PlanQuestion const& q, PlanAnswer const& answer) {
    SearchCounts const& counts = answer.result.counts;
    std::string text = fmt::format("{}: no plan fits\n", named(q.model)) + present_lines(answer);
    text +=
        wrapped(fmt::format("{} plans enumerated; {}", grouped_digits(counts.enumerated), rejection_summary(counts)));
    text += misfit_lines(answer.result, answer.limit);
    for (std::string const& line : answer.advice)
        text += wrapped("- " + line);
    return text;
}

std::string interrupted_line(SearchResult const& result) {
    return result.interrupted ? fmt::format("interrupted after {:.0f} % of the search: better plans may exist\n",
                                            100 * result.share_done)
                              : "";
}

}  // namespace

std::string plan_text(PlanQuestion const& q, PlanAnswer const& answer) {
    std::string const text = answer.reports.empty() ? no_plan_text(q, answer) : found_plans_text(q, answer);
    return text + interrupted_line(answer.result);
}

std::string plan_markdown(PlanQuestion const& q, PlanAnswer const& answer) {
    if (answer.reports.empty()) return no_plan_text(q, answer) + interrupted_line(answer.result);
    StepReport const& best = answer.reports.front();
    CostColumn const cost = best.million_tokens_cost ? CostColumn::present : CostColumn::absent;
    std::string text = headline(q, best.accelerators, best.plan.precision) + "\n\n";
    text += plan_table(answer, cost).markdown();
    if (auto const room = roomier_limit(best))
        text += fmt::format(
            "\nThe first is tight: the upper end of the memory range does not fit; {} asks for more room.\n",
            room_option(*room));
    for (std::string const& sentence : not_expressed_sentences(q, answer))
        text += "\n" + sentence + "\n";
    if (answer.result.interrupted) text += "\n" + interrupted_line(answer.result);
    return text + assumed_markdown(all_assumptions(best));
}

}  // namespace sextant::cli
