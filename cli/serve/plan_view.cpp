// rank  machine    GPUs  replicas  tp  weights  cache  batch  chunk  USD/h   kept    TTFT p50/p99     TPOT p50/p99
// ----  ---------  ----  --------  --  -------  -----  -----  -----  ------  ------  ---------------  --------------
#include "cli/serve/options.hpp"
#include "cli/serve/plan_report.hpp"
#include "cli/serve/quality_report.hpp"
#include "cli/view/latency_text.hpp"
#include "core/nearest.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/kernel_constants.hpp"
#include "planner/left_out.hpp"
#include "planner/serving/serving_support.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace sextant::cli {
namespace {

std::string both(Seconds a, Seconds b) { return latency_text(a) + " / " + latency_text(b); }

/// "8", "4 pp 2", "1 ep 16 dp 16", below "tp".
std::string short_split(ServingPlan const& plan) {
    std::string out = fmt::format("{}", plan.tp);
    if (plan.pp > 1) out += fmt::format(" pp {}", plan.pp);
    if (plan.ep > 1) out += fmt::format(" ep {}", plan.ep);
    if (plan.attention_dp > 1) out += fmt::format(" dp {}", plan.attention_dp);
    return out;
}

std::string objectives(ServeQuestion const& q) {
    std::string out;
    if (q.ttft > Seconds{}) out += fmt::format("TTFT <= {}", latency_text(q.ttft));
    if (q.tpot > Seconds{}) out += fmt::format("{}TPOT <= {}", out.empty() ? "" : ", ", latency_text(q.tpot));
    return out.empty() ? "no objectives (only no overload)"
                       : fmt::format("{} for {:g} % of the requests", out, 100 * q.share);
}

/// Why there is no answer, and what comes nearest to one.
std::string why_not(ServePlanReport const& report) {
    ServeAnswer const& a = report.answer;
    ServeQuestion const& q = report.question;
    if (a.interrupted) return "Interrupted before a deployment was found that keeps the objectives.\n";
    std::string out = wrapped(no_deployment(report));
    if (q.ttft > Seconds{} && a.best_ttft && *a.best_ttft > q.ttft)
        out += fmt::format(
            "  TTFT: {} is the best of all configurations for a request alone, {:.2g} times the objective.\n",
            latency_text(*a.best_ttft), *a.best_ttft / q.ttft);
    if (q.tpot > Seconds{} && a.best_tpot && *a.best_tpot > q.tpot)
        out += fmt::format(
            "  TPOT: {} is the best of all configurations for a request alone, {:.2g} times the objective.\n",
            latency_text(*a.best_tpot), *a.best_tpot / q.tpot);
    for (ServeCandidate const& c : a.ranked)
        if (c.missed) {
            out += fmt::format("  Nearest: {} x {} {}{} keep {:.1f} %{}.\n", c.missed->replicas,
                               q.machines[c.machine].cluster.name, split_words(c.plan),
                               c.prompts ? " behind replicas for prompts of " + split_words(c.prompts->plan) : "",
                               100 * c.missed->kept, c.missed->overloaded ? " (overloaded)" : "");
            break;
        }
    return out;
}

/// What to ask for instead, by the reasons why configurations were rejected.
std::string remedies(ServePlanReport const& report) {
    ServeAnswer const& a = report.answer;
    ServeQuestion const& q = report.question;
    bool const missed =
        std::any_of(a.ranked.begin(), a.ranked.end(), [](auto const& c) { return c.missed.has_value(); });
    auto const has = [&](char const* reason) { return a.rejected.contains(reason); };
    std::vector<std::string> list;
    if (has(serving_slow_ttft) || has(serving_slow_prompts) || (missed && q.ttft > Seconds{}))
        list.emplace_back("a longer --ttft");
    if (has(serving_slow_tpot) || (missed && q.tpot > Seconds{})) list.emplace_back("a longer --tpot");
    if (has(serving_too_many) || missed) list.push_back(fmt::format("--max-gpus above {}", q.most_accelerators));
    if (has(serving_misfit)) list.emplace_back("narrower --weights");
    if (q.most_error) list.emplace_back("a larger --max-error");
    list.emplace_back("another --cluster");
    return join(list);
}

/// The widest of the usual formats that are narrower than these weights and run on their device; empty: none.
std::string narrower_weights(ServePlanReport const& report, ServeShortage const& least) {
    GemmFormat const* const now = find_gemm_format(least.plan.weights);
    AcceleratorProfile const& device = report.question.machines[least.machine].cluster.accelerator;
    for (char const* name : {"fp8-block", "int8-weights", "int4-weights"})
        if (GemmFormat const* const format = find_gemm_format(name);
            now != nullptr && format->right < now->right && device.multiplies(*format))
            return name;
    return "";
}

/// What may fit where no deployment that was tried does.
std::string ways_to_fit(ServePlanReport const& report, ServeShortage const& least) {
    std::vector<std::string> list;
    if (std::string const narrower = narrower_weights(report, least); !narrower.empty())
        list.push_back("narrower weights as --weights " + narrower);
    list.emplace_back("accelerators with more memory");
    if (2 * least.plan.accelerators() <= report.question.most_accelerators) {
        list.push_back(fmt::format("more pipeline stages as --pp {}", 2 * least.plan.pp));
        if (report.question.model.moe && least.plan.pp == 1)
            list.push_back(fmt::format("more attention groups as --attention-dp {}", 2 * least.plan.attention_dp));
    }
    return join(list);
}

/// A line for each pair of narrow formats that is shown.
std::string format_errors_text(ServeAnswer const& answer) {
    std::set<std::string> lines;
    for (ServeCandidate const& c : answer.ranked)
        if (std::string line = quality_line(c.plan); !line.empty()) lines.insert(std::move(line));
    std::string out;
    for (std::string const& line : lines)
        out += wrapped(line, "  ");
    return out.empty() ? out : out + "\n";
}

}  // namespace

ServingSupport support_of(ServeQuestion const& q, ServeCandidate const& c) {
    return c.prompts ? serving_support(q.case_of_prompts(c), q.case_of(c)) : serving_support(q.case_of(c));
}

std::string replicas_text(ServeCandidate const& c) {
    std::int64_t const replicas = c.trial ? c.replicas : c.least_replicas;
    return c.prompts ? fmt::format("{} + {}", c.prompts->replicas, replicas) : fmt::format("{}", replicas);
}

std::string no_deployment(ServePlanReport const& report) {
    if (auto const& least = report.answer.shortage)
        return fmt::format(
            "No deployment that was tried fits the memory: {} with {}, {} weights and {} cache lacks the least, {} "
            "needed of each accelerator for one request, {} usable (what may fit: {}).",
            report.question.machines[least->machine].cluster.name, split_words(least->plan), least->plan.weights,
            name_of(least->plan.cache), human(least->needed), human(least->usable), ways_to_fit(report, *least));
    return fmt::format("No deployment {} ({} may help).",
                       report.question.ttft > Seconds{} || report.question.tpot > Seconds{}
                           ? std::string("keeps the objectives")
                           : fmt::format("keeps up with {:.4g} requests/s", report.question.rate),
                       remedies(report));
}

std::string missing_prices(ServePlanReport const& report) {
    std::vector<std::string> names;
    for (ServeMachine const& machine : report.question.machines)
        if (!machine.usd_per_hour) names.push_back(machine.cluster.name);
    if (names.empty()) return {};
    return fmt::format("no price is known of {}, so accelerators are counted instead of dollars (--price {})",
                       join(names),
                       report.question.machines.size() == 1 ? "USD" : "USD,USD...: one of each, or one of all");
}

std::vector<std::string> unlisted_machines(ServePlanReport const& report) {
    ServeAnswer const& a = report.answer;
    std::vector<std::string> out;
    if (!a.found() || a.interrupted) return out;
    for (std::size_t m = 0; m < report.question.machines.size(); ++m) {
        if (std::any_of(a.ranked.begin(), a.ranked.end(), [&](auto const& c) { return c.machine == m; })) continue;
        std::vector<std::string> reasons;
        for (auto const& [reason, count] : a.rejected_on.at(m))
            reasons.push_back(fmt::format("{}: {}", reason, count));
        out.push_back(fmt::format("nothing of {} is listed ({})", report.question.machines[m].cluster.name,
                                  reasons.empty() ? "--top asks for fewer" : join(reasons)));
    }
    return out;
}

std::string tight_words(ServePlanReport const& report) {
    ServeQuestion const& q = report.question;
    if (!report.answer.found()) return {};
    ServeCandidate const& first = report.answer.ranked.front();
    ServingSupport const support = support_of(q, first);
    std::string out;
    auto const add = [&](char const* name, Seconds kept, EngineInterval const& interval, Seconds objective) {
        if (objective <= Seconds{} || interval.high * kept <= objective) return;
        out += fmt::format("{}{} of {:g} % of the requests is up to {} there, {:.2f} times {}", out.empty() ? "" : "; ",
                           name, 100 * q.share, latency_text(interval.high * kept), interval.high, latency_text(kept));
    };
    auto const& confirmed = first.confirmed;
    add("TTFT", confirmed ? confirmed->ttft_longest : first.trial->ttft_kept, support.first_token, q.ttft);
    add("TPOT", confirmed ? confirmed->tpot_longest : first.trial->tpot_kept, support.interval, q.tpot);
    if (!out.empty())
        out = "The first is tight: it misses the objectives at the upper end of its 80 % interval (" + out + ").";
    if (!confirmed || !confirmed->is_unsteady(q.ttft, q.tpot)) return out;
    return fmt::format(
        "{}{} simulations differ (TTFT of {:g} % of the requests {} to {}, TPOT {} to {}): it is near its capacity, "
        "and "
        "longer runs may miss.",
        out, out.empty() ? "The first is tight: its" : " Its", 100 * q.share, latency_text(confirmed->ttft_shortest),
        latency_text(confirmed->ttft_longest), latency_text(confirmed->tpot_shortest),
        latency_text(confirmed->tpot_longest));
}

std::string confirmed_words(ServePlanReport const& report) {
    if (!report.answer.found() || !report.question.trace.empty()) return {};
    auto const& confirmed = report.answer.ranked.front().confirmed;
    if (!confirmed) return "The first was simulated with one seed: others were not reached.";
    std::string out = fmt::format(
        "The first keeps the objectives in {} simulations with a seed each, of up to {} requests ({:.1f} % "
        "of the requests or more)",
        confirmed->simulations, confirmed->longest, 100 * confirmed->least_kept);
    if (confirmed->added > 0)
        out += fmt::format("; with {} {} fewer one of them does, and another misses", confirmed->added,
                           confirmed->added == 1 ? "GPU" : "GPUs");
    return out + ".";
}

Table serve_plan_table(ServePlanReport const& report) {
    Table table({{"#", Align::right},
                 {"machine"},
                 {"GPUs", Align::right},
                 {"replicas", Align::right},
                 {"tp", Align::right},
                 {"weights"},
                 {"cache"},
                 {"batch", Align::right},
                 {"chunk", Align::right},
                 {"USD/h", Align::right},
                 {"kept", Align::right},
                 {"TTFT p50 / p99", Align::right},
                 {"TPOT p50 / p99", Align::right}});
    int rank = 0;
    for (ServeCandidate const& c : report.answer.ranked) {
        ServeMachine const& machine = report.question.machines[c.machine];
        std::int64_t const replicas = c.trial ? c.replicas : c.least_replicas;
        std::string const at_least = c.trial ? "" : ">= ";
        table.add_row(
            {fmt::format("{}", ++rank), machine.cluster.name, fmt::format("{}{}", at_least, c.accelerators(replicas)),
             at_least + replicas_text(c), of_both(c, short_split),
             c.prompts && c.prompts->plan.weights == c.plan.weights
                 ? c.plan.weights
                 : of_both(c, [](ServingPlan const& plan) { return plan.weights; }),
             std::string(name_of(c.plan.cache)),
             of_both(c, [](ServingPlan const& plan) { return fmt::format("{}", plan.max_batch); }),
             of_both(c, [](ServingPlan const& plan) { return fmt::format("{}", plan.max_batched_tokens); }),
             machine.usd_per_hour ? fmt::format("{}{:.2f}", at_least,
                                                *machine.usd_per_hour * static_cast<double>(c.accelerators(replicas)))
                                  : "-",
             c.trial    ? fmt::format("{:.1f} %", 100 * c.trial->kept)
             : c.missed ? fmt::format("{:.1f} %", 100 * c.missed->kept)
                        : "-",
             c.trial ? both(c.trial->ttft_p50, c.trial->ttft_p99) : "-",
             c.trial ? both(c.trial->tpot_p50, c.trial->tpot_p99) : "-"});
    }
    return table;
}

ServeLoadWords load_words(ServePlanReport const& report) {
    ServeQuestion const& q = report.question;
    if (q.trace.empty()) return {std::string(name_of(q.process)), q.prompt.words(), q.output.words()};
    return {fmt::format("{} recorded in {}", q.trace.size(), report.trace), fmt::format("mean {:.4g}", q.prompt.mean),
            fmt::format("mean {:.4g}", q.output.mean)};
}

std::vector<std::string> search_counts(ServeAnswer const& a) {
    std::vector<std::string> out{fmt::format("{} configurations, {} simulated", a.enumerated, a.simulated)};
    std::int64_t rest = a.enumerated - a.simulated - a.untried;
    for (auto const& [reason, count] : a.rejected) {
        out.push_back(fmt::format("{}: {}", reason, count));
        rest -= count;
    }
    if (rest > 0 && a.found() && !a.interrupted)
        out.push_back(fmt::format("dearer than the best by closed form: {}", rest));
    if (a.untried > 0) out.push_back(fmt::format("not simulated, and may be cheaper: {}", a.untried));
    return out;
}

std::string serve_plan_text(ServePlanReport const& report) {
    ServeQuestion const& q = report.question;
    ServeAnswer const& a = report.answer;
    ServeLoadWords const load = load_words(report);
    std::string out = fmt::format("{} at {:.4g} requests/s ({}), prompts {}, answers {}; {}, {} scheduler\n{}\n\n",
                                  named(q.model), q.rate, load.arrivals, load.prompts, load.answers, q.engine.name,
                                  q.used_scheduler().name, objectives(q));
    if (std::string const missing = missing_prices(report); !missing.empty() && q.machines.size() > 1) {
        out.pop_back();
        out += wrapped(missing) + "\n";
    }
    if (!a.found()) out += why_not(report) + "\n";
    if (!a.ranked.empty()) out += serve_plan_table(report).text() + "\n";
    if (!a.ranked.empty())
        out += wrapped(fmt::format("80 % of measured runs of the first: {}",
                                   serving_interval_text(support_of(q, a.ranked.front()))),
                       "    ");
    for (std::string const& words : {confirmed_words(report), tight_words(report)})
        if (!words.empty()) out += wrapped(words, "    ");
    if (std::any_of(a.ranked.begin(), a.ranked.end(), [](ServeCandidate const& c) { return c.prompts.has_value(); }))
        out += wrapped("A + B: replicas that process prompts only, and those that decode", "    ");
    for (std::string const& line : unlisted_machines(report))
        out += wrapped(line, "    ");
    out += format_errors_text(a);
    out += wrapped(fmt::format("{}", fmt::join(search_counts(a), "; ")), "    ");
    if (a.interrupted && a.found()) out += "interrupted: cheaper deployments may exist\n";
    if (!a.frontier.empty()) {
        Table frontier({{"frontier: tok/s of a user", Align::right},
                        {"tok/s of a GPU", Align::right},
                        {"machine"},
                        {"tp", Align::right},
                        {"weights"},
                        {"cache"},
                        {"in flight", Align::right}});
        std::size_t const step = a.frontier.size() / 12 + 1;
        for (std::size_t i = 0; i < a.frontier.size(); i += step) {
            FrontierPoint const& p = a.frontier[i];
            frontier.add_row(
                {fmt::format("{:.1f}", p.tokens_per_s_user),
                 fmt::format("{:.{}f}", p.tokens_per_s_accelerator, p.tokens_per_s_accelerator < 10 ? 1 : 0),
                 q.machines[p.machine].cluster.name, short_split(p.plan), p.plan.weights,
                 std::string(name_of(p.plan.cache)), fmt::format("{:g}", p.concurrency)});
        }
        out += "\n" + frontier.text();
    }
    out += "\nassumed\n";
    for (std::string const& text : report.assumptions)
        out += "  " + wrapped(text, "    ", 96);
    return out;
}

std::string serve_plan_markdown(ServePlanReport const& report) {
    ServeAnswer const& a = report.answer;
    std::string out = a.found() ? "" : why_not(report);
    if (!a.ranked.empty()) out += (out.empty() ? "" : "\n") + serve_plan_table(report).markdown();
    for (std::string const& words : {confirmed_words(report), tight_words(report)})
        if (!words.empty()) out += "\n" + words + "\n";
    for (std::string const& line : unlisted_machines(report))
        out += "\n" + line + "\n";
    if (a.interrupted && a.found()) out += "\nInterrupted: cheaper deployments may exist.\n";
    return out + assumed_markdown(report.assumptions);
}

}  // namespace sextant::cli
