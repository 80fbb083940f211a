#include "cli/trials/budget.hpp"
#include "core/quantity_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace sextant::cli {
namespace {

using units::s;

std::string number(double value) { return fmt::format("{}", value); }
std::string short_number(double value) { return fmt::format("{:.4g}", value); }

std::string clock(BudgetReport const& report, double seconds) {
    return report.timed ? human(seconds * s) : short_number(seconds);
}

std::string cost_text(BudgetReport const& report) {
    TrialCost const& trial = report.trial;
    std::vector<Column> columns{{"method"},
                                {"started", Align::right},
                                {"whole", Align::right},
                                {"units", Align::right},
                                {"whole trials' worth", Align::right}};
    if (trial.flops) columns.push_back({"FLOPs", Align::right});
    if (trial.gpu_seconds) columns.push_back({"GPU hours", Align::right});
    if (trial.gpu_seconds && trial.usd_per_gpu_hour) columns.push_back({"cost", Align::right});
    Table table(columns);
    auto const add = [&](std::string name, SearchAnswer const& answer, double units, std::optional<double> gpu_s,
                         bool chance) {
        double const trials = report.trials_of(answer, units);
        std::vector<std::string> cells{std::move(name), chance ? "" : fmt::format("{}", answer.cost.started),
                                       chance ? "" : fmt::format("{}", answer.cost.finished), short_number(units),
                                       short_number(trials)};
        if (trial.flops) cells.push_back(fmt::format("{:.3g}", trials * *trial.flops));
        if (gpu_s) {
            double const hours = *gpu_s / 3600;
            cells.push_back(human_count(hours));
            if (trial.usd_per_gpu_hour) cells.push_back(human(hours * *trial.usd_per_gpu_hour * units::USD));
        }
        table.add_row(std::move(cells));
    };
    for (SearchAnswer const& answer : report.answers) {
        BudgetReport::Amounts const gpu_s = report.gpu_seconds_of(answer);
        add(std::string(name_of(answer.plan.method)), answer, answer.cost.units, gpu_s.usual, false);
        if (answer.plan.method == SearchMethod::asha) {
            if (answer.study.runs > 0) add("  on average", answer, answer.study.units, gpu_s.mean, true);
            add("  at worst", answer, answer.cost.worst_units, gpu_s.worst, true);
        }
    }
    return table.text();
}

std::string study_text(BudgetReport const& report) {
    Table table({{fmt::format("on {} {}", report.machine.workers, report.machine.workers == 1 ? "worker" : "workers")},
                 {"wall clock", Align::right},
                 {"nine of ten searches", Align::right},
                 {"idle", Align::right},
                 {"first whole", Align::right},
                 {"rank of the chosen", Align::right}});
    for (SearchAnswer const& answer : report.answers) {
        SearchStudy const& study = answer.study;
        if (study.runs == 0) continue;
        table.add_row({std::string(name_of(answer.plan.method)), clock(report, study.wall_s),
                       clock(report, study.wall_p5_s) + " to " + clock(report, study.wall_p95_s),
                       fmt::format("{:.1f} %", 100 * std::max(0.0, study.idle_share)),
                       study.first_full_s ? clock(report, *study.first_full_s) : "-",
                       fmt::format("{:.1f} of {}", study.winner_rank, answer.cost.started)});
    }
    return table.row_count() > 0 ? table.text() : "";
}

/// Rungs of one bracket in a line: "81 x 1, 27 x 3, 9 x 9".
std::string rungs_line(Bracket const& bracket) {
    constexpr std::size_t most = 6;
    std::string line;
    for (std::size_t i = 0; i < bracket.rungs.size(); ++i) {
        if (bracket.rungs.size() > most && i == most - 1) {
            line += fmt::format(", ... {} x {}", bracket.rungs.back().trials, short_number(bracket.rungs.back().units));
            break;
        }
        line +=
            fmt::format("{}{} x {}", i == 0 ? "" : ", ", bracket.rungs[i].trials, short_number(bracket.rungs[i].units));
    }
    return line;
}

std::string rungs_text(BudgetReport const& report) {
    Table table({{"rungs"}, {"trials x units"}, {"from the start", Align::right}, {"resumed", Align::right}});
    for (SearchAnswer const& answer : report.answers) {
        if (answer.cost.brackets.front().rungs.size() < 2 && answer.cost.brackets.size() < 2) continue;
        for (Bracket const& bracket : answer.cost.brackets) {
            std::string name(name_of(answer.plan.method));
            if (answer.plan.method == SearchMethod::pbt) {
                table.add_row({name,
                               fmt::format("{} x {} in {} pieces", bracket.started(), short_number(answer.plan.full),
                                           bracket.rungs.size()),
                               "", short_number(bracket.units_resumed())});
                continue;
            }
            if (answer.cost.brackets.size() > 1) name += fmt::format(" s={}", bracket.early);
            table.add_row(
                {name, rungs_line(bracket), short_number(bracket.units()), short_number(bracket.units_resumed())});
        }
    }
    return table.row_count() > 0 ? table.text() : "";
}

}  // namespace

std::string budget_text(BudgetReport const& report) {
    std::string text;
    if (!report.trial.words.empty()) text += wrapped("a whole trial: " + report.trial.words) + "\n";
    text += cost_text(report);
    if (std::string const rungs = rungs_text(report); !rungs.empty()) text += "\n" + rungs;
    if (std::string const study = study_text(report); !study.empty()) {
        text += "\n" + study;
        if (!report.timed) text += "times are in units of training\n";
    }
    for (SearchAnswer const& answer : report.answers)
        if (answer.study.interrupted)
            text += fmt::format("{}: interrupted after {} simulated searches\n", name_of(answer.plan.method),
                                answer.study.runs);
    text += "\n";
    for (std::string const& assumption : report.assumptions)
        text += wrapped("- " + assumption);
    return text;
}

Table budget_table(BudgetReport const& report) {
    Table table({{"method"},
                 {"started", Align::right},
                 {"finished", Align::right},
                 {"units", Align::right},
                 {"worst_units", Align::right},
                 {"simulated_units", Align::right},
                 {"flops", Align::right},
                 {"gpu_s", Align::right},
                 {"mean_gpu_s", Align::right},
                 {"worst_gpu_s", Align::right},
                 {"usd", Align::right},
                 {"mean_usd", Align::right},
                 {"worst_usd", Align::right},
                 {"wall_s", Align::right},
                 {"wall_p5_s", Align::right},
                 {"wall_p95_s", Align::right},
                 {"idle_share", Align::right},
                 {"winner_rank", Align::right}});
    for (SearchAnswer const& answer : report.answers) {
        TrialCost const& trial = report.trial;
        bool const simulated = answer.study.runs > 0;
        double const trials = report.trials_of(answer, answer.cost.units);
        auto const when = [&](bool there, double value) { return there ? number(value) : std::string(); };
        auto const known = [](std::optional<double> const& value) { return value ? number(*value) : std::string(); };
        BudgetReport::Amounts const gpu_s = report.gpu_seconds_of(answer);
        BudgetReport::Amounts const usd = report.usd_of(answer);
        bool const clock = simulated && report.timed;
        table.add_row({std::string(name_of(answer.plan.method)), fmt::format("{}", answer.cost.started),
                       fmt::format("{}", answer.cost.finished), number(answer.cost.units),
                       number(answer.cost.worst_units), when(simulated, answer.study.units),
                       when(trial.flops.has_value(), trials * trial.flops.value_or(0)), known(gpu_s.usual),
                       known(gpu_s.mean), known(gpu_s.worst), known(usd.usual), known(usd.mean), known(usd.worst),
                       when(clock, answer.study.wall_s), when(clock, answer.study.wall_p5_s),
                       when(clock, answer.study.wall_p95_s), when(simulated, answer.study.idle_share),
                       when(simulated, answer.study.winner_rank)});
    }
    return table;
}

}  // namespace sextant::cli
