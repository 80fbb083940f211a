#include "cli/export/plan_import.hpp"
#include "cli/interrupt.hpp"
#include "cli/options/plan_options.hpp"
#include "cli/output.hpp"
#include "cli/plan/pages.hpp"
#include "cli/plan/report_view.hpp"
#include "cli/progress.hpp"
#include "cli/view/rows_csv.hpp"
#include "core/error.hpp"
#include "core/nearest.hpp"
#include "planner/explain.hpp"
#include "planner/not_expressed.hpp"
#include "planner/ranking.hpp"
#include "planner/refine_recompute.hpp"
#include "planner/relaxation.hpp"
#include "planner/support.hpp"

#include <CLI/App.hpp>

#include <memory>

namespace sextant::cli {
namespace {

struct Options {
    PlanOptions plan;
    OutputOptions output;
    std::string objective = "time";
    std::string space = "standard";
    std::int64_t top = 10;
    std::int64_t verify = 0;
    std::int64_t threads = 0;
    bool every_plan = false;
    bool explain = false;
    bool only_validated = false;
    bool progress = false;
};

constexpr Seconds most_for_one_simulation = 120 * units::s;

SearchOptions search_options(Options const& o) {
    SearchOptions options;
    options.objective = objective_from(o.objective, "--objective");
    if (o.top < 1 || o.top > 10000) throw InputError("--top: {} is out of range (1 to 10000)", o.top);
    if (o.threads < 0 || o.threads > 1024)
        throw InputError("--threads: {} is out of range (0 for all, up to 1024)", o.threads);
    if (o.verify < 0 || o.verify > 1000) throw InputError("--verify: {} is out of range (0 to 1000)", o.verify);
    options.top = static_cast<std::size_t>(std::max(o.top, o.verify));
    options.keep = Kept::to_refine;
    options.threads = static_cast<unsigned>(o.threads);
    options.grouping = o.every_plan ? Grouping::none : Grouping::layout;
    return options;
}

SearchConstraints::Width width_from(std::string const& name) {
    if (name == "standard") return SearchConstraints::Width::standard;
    if (name == "full") return SearchConstraints::Width::full;
    throw InputError("--space: unknown space '{}' (standard or full)", name);
}

std::vector<StepReport> reports_of(std::vector<Candidate> const& candidates, ClosedForm& form,
                                   MemoryLimit const& limit) {
    std::vector<StepReport> reports;
    reports.reserve(candidates.size());
    for (Candidate const& candidate : candidates)
        reports.push_back(make_report(form, candidate.plan, limit, candidate.estimate));
    return reports;
}

/// At most `most` of a front, evenly spread, first and last included.
std::vector<Candidate> thinned(std::vector<Candidate> const& front, std::size_t most) {
    if (front.size() <= most) return front;
    std::vector<Candidate> kept;
    for (std::size_t i = 0; i < most; ++i)
        kept.push_back(front[i * (front.size() - 1) / (most - 1)]);
    return kept;
}

/// Not one plan that keeps the structural rules is a fault of the question, not an answer to it.
void require_runnable(Subject const& subject, SearchResult const& result, std::vector<std::string> const& advice) {
    SearchCounts const& counts = result.counts;
    if (counts.rejected[rejected_for_memory] + counts.rejected[rejected_for_host_memory] > 0) return;
    std::string const why = counts.enumerated == 0 ? fmt::format("no degrees that {} runs multiply to the accelerators",
                                                                 subject.framework.name)
                                                   : rejection_summary(result, subject.model, subject.workload);
    throw InputError("plan: {} cannot be split as asked: {} ({})", subject.model.name, why,
                     advice.empty() ? "see docs/plan.md for the rules" : advice.front());
}

/// Simulates the first `o.verify` plans and puts them in the order of the objective over what came out.
/// @pre a report of each candidate
std::vector<Verification> verify_best(Options const& o, Subject const& subject, std::vector<Candidate> const& best,
                                      std::vector<StepReport>& reports, std::atomic<bool> const& stop,
                                      ProgressLine& progress) {
    std::size_t const count = std::min(static_cast<std::size_t>(o.verify), reports.size());
    std::vector<ParallelPlan> plans;
    for (std::size_t i = 0; i < count; ++i)
        plans.push_back(reports[i].plan);
    VerifyOptions options{.threads = static_cast<unsigned>(o.threads), .stop = &stop};
    options.simulation.graph.granularity = Granularity::layer;
    options.simulation.engine.time_limit = most_for_one_simulation;
    if (progress.shown())
        options.progress = [&](std::size_t done) {
            progress.show(fmt::format("simulating: {} of {} plans", done, count));
        };
    std::vector<Verification> const verified =
        verify(subject.model, subject.workload, subject.cluster, subject.framework, plans, options);
    progress.clear();
    std::vector<StepReport> sorted;
    std::vector<Verification> sorted_verified;
    Objective const objective = objective_from(o.objective, "--objective");
    for (std::size_t const i : order_by_objective(verified, best, objective, accelerator_price(subject.cluster))) {
        sorted.push_back(std::move(reports[i]));
        sorted_verified.push_back(verified[i]);
    }
    std::move(sorted.begin(), sorted.end(), reports.begin());
    return sorted_verified;
}

/// The plans to search for each number of accelerators. @throws InputError without one.
std::vector<SearchSpace> spaces_of(Subject const& subject, std::vector<std::int64_t> const& counts,
                                   SearchConstraints const& constraints) {
    if (counts.empty())
        throw InputError("--gpus: how many accelerators is not said (such as --gpus 512, or --gpus 64,128,256)");
    std::vector<SearchSpace> spaces;
    spaces.reserve(counts.size());
    for (std::int64_t const n : counts)
        spaces.push_back(make_search_space(subject.model, subject.workload, subject.cluster, n, constraints));
    return spaces;
}

/// What every plan of a space stands on and no measurement supports, a term each.
std::vector<std::string> missing_support(Subject const& subject, SearchSpace const& space) {
    ParallelPlan widest = space.base;
    widest.dp = space.accelerators;
    return unsupported_terms(subject.model, subject.cluster, subject.framework, widest);
}

/// Leaves the spaces whose plans may stand on measurements alone, and says which it left out beside them.
/// @return where none is left, what the first of them lacks
std::vector<std::string> keep_supported(Subject const& subject, std::vector<SearchSpace>& spaces,
                                        CommandContext& context) {
    std::vector<SearchSpace> kept;
    std::vector<std::string> first;
    std::string left_out;
    for (SearchSpace& space : spaces) {
        keep_measured(space, subject.framework, subject.cluster.accelerator.generation);
        std::vector<std::string> terms = missing_support(subject, space);
        if (terms.empty()) {
            kept.push_back(std::move(space));
            continue;
        }
        left_out += fmt::format("sextant: plan: {} accelerators are left out: {}\n", space.accelerators,
                                fmt::join(terms, "; "));
        if (first.empty()) first = std::move(terms);
    }
    spaces = std::move(kept);
    if (spaces.empty()) return first;
    context.err << left_out;
    return {};
}

/// The plan that a file of another program describes, beside those of the search.
std::optional<StepReport> present_report(std::optional<PlanOptions> const& present) {
    if (!present) return {};
    Subject const subject = find_subject(*present);
    ParallelPlan const plan = single_plan(*present, subject);
    ClosedForm form(subject.model, subject.workload, subject.cluster, subject.framework, plan.precision);
    StepReport report = make_report(form, plan, subject.limit);
    report.not_expressed = not_expressed(subject.model, subject.cluster, subject.framework, subject.workload, plan);
    return report;
}

/// The search. The front is thinned to what can be shown.
SearchResult search_spaces(Subject const& subject, std::vector<SearchSpace> const& spaces, SearchOptions options,
                           ProgressLine& progress) {
    if (progress.shown())
        options.progress = [&progress](double share, std::int64_t visited) {
            progress.show(fmt::format("searching: {:.0f} %, {} plans", 100 * share, grouped_digits(visited)));
        };
    SearchResult result =
        search(subject.model, subject.workload, subject.cluster, subject.framework, spaces, subject.limit, options);
    progress.clear();
    constexpr std::size_t most_of_front = 50;
    result.pareto = thinned(result.pareto, most_of_front);
    return result;
}

/// What to change when nothing fits. @throws InputError where nothing can run at all.
std::vector<std::string> advice_of(Subject const& subject, SearchResult const& result,
                                   std::vector<std::int64_t> const& counts, SearchConstraints const& constraints) {
    if (!result.best.empty() || result.interrupted) return {};
    std::vector<std::string> advice;
    for (Relaxation const& relaxation : relaxations(subject.model, subject.workload, subject.cluster, subject.framework,
                                                    counts, constraints, subject.limit))
        advice.push_back(relaxation_sentence(relaxation));
    require_runnable(subject, result, advice);
    if (advice.empty())
        advice.push_back(
            "neither more accelerators nor any option alone gives an answer: free several of those that fix degrees, "
            "or take accelerators with more memory (a shorter sequence may help)");
    return advice;
}

void deliver_plans(Options const& o, Format format, PlanQuestion const& question, PlanAnswer const& answer,
                   CommandContext& context) {
    switch (format) {
        case Format::json: deliver(o.output, context, plan_json(question, answer)); break;
        case Format::text: deliver(o.output, context, plan_text(question, answer)); break;
        case Format::csv: deliver(o.output, context, rows_csv(plan_json(question, answer), "candidates")); break;
        case Format::markdown: deliver(o.output, context, plan_markdown(question, answer)); break;
        case Format::html: deliver(o.output, context, plan_page(question, answer)); break;
    }
}

/// The answer to --only-validated where no plan stands on measurements alone: a report without plans in any format.
int deliver_unsupported(Options const& o, Format format, PlanQuestion const& question, MemoryLimit const& limit,
                        std::vector<std::string> const& terms, CommandContext& context) {
    std::string const problem = "no plan stands on measurements alone (--only-validated)";
    std::string const remedy = "without --only-validated such plans are shown, with wider intervals";
    std::string text = problem + ":\n";
    for (std::string const& term : terms)
        text += wrapped("  " + term, "    ");
    text += remedy + "\n";
    if (format == Format::text || format == Format::markdown) {
        deliver(o.output, context, text);
    } else {
        SearchResult const nothing;
        std::vector<StepReport> const none;
        deliver_plans(o, format, question,
                      {.result = nothing,
                       .reports = none,
                       .pareto = none,
                       .explanation = {},
                       .advice = {fmt::format("{}: {}", problem, join(terms, "; ")), remedy},
                       .limit = limit},
                      context);
        if (format == Format::csv) tell_beside(format, context, text);
    }
    return exit_code::answer_is_no;
}

int plan(Options const& given, CLI::App const& app, CommandContext& context) {
    Options o = given;
    Format const format = o.output.format();
    SearchImport const imported = import_for_search(given.plan, app, context);
    o.plan = imported.search;
    std::optional<StepReport> const present = present_report(imported.present);
    Subject const subject = find_subject(o.plan);
    PlanQuestion const question{subject.model, subject.cluster, subject.framework, subject.workload};
    if (o.verify > 0 && subject.workload.has_reference())
        throw InputError(
            "--verify: the passes of a reference are not simulated (leave --verify out with --preference dpo, or ask "
            "for reference-free, which has none)");
    SearchConstraints constraints = search_constraints(o.plan, subject.cluster, subject.framework);
    constraints.width = width_from(o.space);
    std::vector<std::int64_t> const counts = accelerator_counts(o.plan, subject.cluster);
    std::vector<SearchSpace> spaces = spaces_of(subject, counts, constraints);
    if (o.only_validated) {
        if (auto const terms = keep_supported(subject, spaces, context); !terms.empty())
            return deliver_unsupported(o, format, question, subject.limit, terms, context);
    }

    InterruptGuard const interrupt(context);
    SearchOptions options = search_options(o);
    options.stop = &interrupt.flag();
    ProgressLine progress(context, o.progress ? Progress::always : Progress::on_terminals);
    SearchResult result = search_spaces(subject, spaces, options, progress);
    ClosedForm form(subject.model, subject.workload, subject.cluster, subject.framework, constraints.base.precision);
    refine_with_recompute(result, form, spaces, subject.limit, options);
    std::vector<StepReport> reports = reports_of(result.best, form, subject.limit);
    std::vector<Verification> verified;
    if (o.verify > 0 && !result.interrupted)
        verified = verify_best(o, subject, result.best, reports, interrupt.flag(), progress);
    if (reports.size() > static_cast<std::size_t>(o.top)) {  // those that only simulation could have brought up
        reports.erase(reports.begin() + o.top, reports.end());
        if (verified.size() > reports.size()) verified.resize(reports.size());
    }
    for (StepReport& report : reports)
        report.not_expressed =
            not_expressed(subject.model, subject.cluster, subject.framework, subject.workload, report.plan);
    std::vector<StepReport> const front = reports_of(result.pareto, form, subject.limit);
    std::vector<std::string> const advice = advice_of(subject, result, counts, constraints);
    std::vector<std::string> const explanation =
        o.explain && !reports.empty() ? explain(reports.front(), form) : std::vector<std::string>{};
    PlanAnswer const answer{result, reports, front, explanation, advice, subject.limit, verified, present};
    deliver_plans(o, format, question, answer, context);
    if (reports.empty() && format == Format::csv)  // JSON has the advice and the nearest plan
        tell_beside(format, context, plan_text(question, answer));
    if (result.interrupted || interrupt.flag()) return interrupted_exit;
    return result.best.empty() ? exit_code::answer_is_no : exit_code::done;
}

Action describe(CLI::App& app, CommandContext& context) {
    auto const o = std::make_shared<Options>();
    add_plan_options(app, o->plan, Axes::search);
    add_adapter_options(app, o->plan);
    add_import_options(app, o->plan);
    app.add_option("--objective", o->objective, "time, cost, memory or tokens-per-dollar (default: time)");
    app.add_option("--space", o->space,
                   "standard (default), or full: every degree and divisor, partial recompute, offload");
    app.add_option("--top", o->top, "how many plans to show (default: 10)");
    app.add_option("--verify", o->verify,
                   "simulate the best N plans (discrete events) and rank them by the objective over that")
        ->option_text("N");
    app.add_flag("--only-validated", o->only_validated,
                 "only plans whose every term a measurement supports (others are marked ~)");
    app.add_flag("--every-plan", o->every_plan, "rank every plan, not the best of each (dp, tp, pp, cp, ep)");
    app.add_flag("--explain", o->explain, "say what binds the best plan, what would move it, and every assumed value");
    app.add_option("--threads", o->threads, "worker threads (default: 0, all cores); the answer does not depend on it");
    app.add_flag("--progress", o->progress, "progress on standard error also when it is no terminal");
    add_output_options(app, o->output, formats_and_page);
    app.footer(
        "AXIS is a value, a list or a range: 8, or 1,2,4, or 2..16, or '<=8', or '>=2'. Without one the axis is "
        "searched.\n"
        "Ctrl-C ends the search and reports what it has found. Exit code 1 when nothing fits.\n\nExamples:\n"
        "  sextant plan --model llama-3.1-70b --cluster h100-sxm --gpus 512\n"
        "  sextant plan --model llama-3.1-405b --cluster h100-sxm --gpus 16384 --global-batch 2048 --tp 8 --zero "
        "'<=1'\n"
        "  sextant plan --model deepseek-v3 --cluster h100-sxm --gpus 2048 --seq 4096 --global-batch 15360 "
        "--max-memory 90%\n"
        "  sextant plan --model llama-2-7b --cluster a100-sxm-80gb --gpus 8,16,32 --objective cost --format csv\n"
        "  sextant plan --model llama-3.1-8b --cluster h100-sxm --gpus 64 --verify 16\n"
        "  sextant plan --model llama-3.1-70b --cluster h100-sxm --from-torchtitan train.toml\n");
    return [o, &app, &context] { return plan(*o, app, context); };
}

}  // namespace

extern constinit CommandEntry const plan_command;
constinit CommandEntry const plan_command{
    .name = "plan",
    .summary = "the best ways to split a model over a cluster, ranked, with the reasons",
    .describe = describe,
};

}  // namespace sextant::cli
