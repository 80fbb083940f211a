#include "cli/goodput/view.hpp"

#include "core/quantity_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sextant::cli {
namespace {

using units::s;

constexpr std::size_t most_causes = 12;
constexpr std::size_t most_incidents = 40;

std::string percent(double share) {
    double const value = 100 * share;
    if (std::abs(value) < 1e-6) return "0 %";
    if (std::abs(value) < 0.01) return fmt::format("{:.1e} %", value);
    return fmt::format("{:.2f} %", value);
}

/// Of an incident whose restarts are all in vain: no number that anybody would read.
std::string cost_of(Seconds each) { return each.base() < 1e12 ? human(each) : "no end"; }

std::string per_day(double rate) {
    return rate == 0 ? "0" : rate >= 0.0995 ? fmt::format("{:.2f}", rate) : fmt::format("{:.2g}", rate);
}

std::string headline(GoodputReport const& report) {
    GoodputSubject const& subject = report.subject;
    std::int64_t const nodes = (subject.gpus + subject.gpus_per_node - 1) / subject.gpus_per_node;
    return fmt::format("{}{} accelerators in {} {}: {} of work, {} per checkpoint, {} to {}",
                       subject.model.empty() ? "" : subject.model + " on ", subject.gpus, nodes,
                       nodes == 1 ? "node" : "nodes", human(subject.run.work), human(subject.checkpoint.total),
                       name_of(subject.mode), subject.storage);
}

std::vector<std::pair<std::string, std::string>> key_figures(GoodputReport const& report) {
    GoodputSubject const& subject = report.subject;
    Goodput const& expected = report.expected;
    bool const simulated = report.study && report.study->finished > 0;
    std::vector<std::pair<std::string, std::string>> pairs;
    std::string ratio = percent(expected.ratio()) + " (closed form)";
    std::string wall = human_or_never(expected.wall);
    if (simulated) {
        FaultStudy const& study = *report.study;
        ratio = fmt::format("{:.2f} % +- {:.2g} ({} {}); closed form {}", 100 * study.ratio_of_means(),
                            100 * study.ratio_error(), study.finished, study.finished == 1 ? "trial" : "trials",
                            percent(expected.ratio()));
        wall = human(study.wall_s.mean * s);
        if (study.finished >= 20)
            wall += fmt::format("; {} to {} in nine of ten trials", human(study.wall_s.p5 * s),
                                human(study.wall_s.p95 * s));
    }
    pairs.emplace_back("effective training time", ratio);
    pairs.emplace_back("wall clock", wall);
    if (auto const hours = goodput_hours(report)) {
        auto const add = [&](char const* name, double gpu_hours) {
            std::string text = human_count(gpu_hours) + " accelerator hours";
            if (subject.usd_per_gpu_hour)
                text += fmt::format(" ({} at {}/h)", human(gpu_hours * *subject.usd_per_gpu_hour * units::USD),
                                    human(*subject.usd_per_gpu_hour * units::USD));
            pairs.emplace_back(name, text);
        };
        add("the run takes", hours->all);
        add("lost", hours->lost);
    }
    std::string failures = human_or_never(expected.mtbf) + " between failures of the job";
    if (simulated)
        failures += fmt::format("; {:.4g} in the run ({:.4g} to {:.4g})", report.study->failures.mean,
                                report.study->failures.p5, report.study->failures.p95);
    pairs.emplace_back("failures", failures);
    CheckpointSize const& size = subject.checkpoint;
    pairs.emplace_back("checkpoint", fmt::format("{}: {}", human(size.total), subject.checkpoint_words));
    pairs.emplace_back("busiest writers",
                       fmt::format("rank {}, node {}", human(size.busiest_rank), human(size.per_node)));
    return pairs;
}

std::string uses_text(GoodputReport const& report) {
    bool const simulated = report.study && report.study->finished > 0;
    std::vector<Column> columns{{"where the time goes"}, {"closed form", Align::right}};
    if (simulated) columns.push_back({"simulated", Align::right});
    columns.push_back({"time", Align::right});
    Table table(columns);
    Seconds const wall = simulated ? report.study->wall_s.mean * s : report.expected.wall;
    for (UseRow const& row : use_rows(report)) {
        double const best = simulated ? row.simulated : row.expected;
        if (row.expected < 1e-8 && best < 1e-8) continue;
        std::vector<std::string> cells{row.name, percent(row.expected)};
        if (simulated) cells.push_back(percent(row.simulated));
        cells.push_back(std::isfinite(wall.base()) ? human(best * wall) : "");
        table.add_row(std::move(cells));
    }
    return table.text();
}

std::string tiers_text(GoodputReport const& report) {
    Table table({{"checkpoints"},
                 {"interval", Align::right},
                 {"Young", Align::right},
                 {"Daly", Align::right},
                 {"exact", Align::right},
                 {"stall", Align::right},
                 {"behind", Align::right},
                 {"load", Align::right},
                 {"survives"}});
    for (std::size_t i = 0; i < report.subject.run.tiers.size(); ++i) {
        CheckpointTier const& tier = report.subject.run.tiers[i];
        TierInterval const& interval = report.expected.intervals[i];
        bool const open = tier.stall.base() > 0 && std::isfinite(interval.mtbf.base());
        table.add_row({tier.name, human(tier.interval), open ? human(interval.young) : "-",
                       open ? human(interval.daly) : "-", open ? human(interval.exact) : "-", human(tier.stall),
                       human(tier.lag), human(tier.load), std::string(name_of(tier.survives))});
    }
    return table.text();
}

std::string causes_text(GoodputReport const& report) {
    std::vector<CauseLoss> causes = report.expected.causes;
    if (causes.empty()) return {};
    std::stable_sort(causes.begin(), causes.end(), [](auto const& a, auto const& b) { return a.share > b.share; });
    Table table({{"cause"}, {"per day", Align::right}, {"each costs", Align::right}, {"share", Align::right}});
    CauseLoss rest{.name = "", .each = {}};
    for (std::size_t i = 0; i < causes.size(); ++i) {
        CauseLoss const& cause = causes[i];
        if (i < most_causes || causes.size() == most_causes + 1)
            table.add_row({cause.name, per_day(cause.per_day), cost_of(cause.each), percent(cause.share)});
        else {
            rest.per_day += cause.per_day;
            rest.share += cause.share;
            rest.each += cause.per_day * cause.each;
        }
    }
    if (rest.per_day > 0)
        table.add_row({fmt::format("{} more", causes.size() - most_causes), per_day(rest.per_day),
                       cost_of(rest.each / rest.per_day), percent(rest.share)});
    return table.text();
}

std::string search_text(IntervalSearch const& search) {
    if (search.tried.empty()) return {};
    Table table(
        {{"interval", Align::right}, {"simulated", Align::right}, {"behind", Align::right}, {"+-", Align::right}});
    for (IntervalTrial const& one : search.tried)
        table.add_row({human(one.interval), percent(one.ratio),
                       one.interval == search.best ? "best" : percent(one.behind),
                       one.interval == search.best ? "" : percent(one.behind_error)});
    return table.text() +
           wrapped(fmt::format("best interval by simulation: {} (from {} to {} none is worse by more than "
                               "two standard errors)",
                               human(search.best), human(search.flat_low), human(search.flat_high)));
}

std::string cause_of(GoodputReport const& report, Incident const& incident) {
    if (incident.cause >= 0) return report.subject.run.failures[static_cast<std::size_t>(incident.cause)].name;
    if (incident.kind == IncidentKind::injected) return fmt::format("injected: {}", name_of(incident.scope));
    return std::string(name_of(incident.kind));
}

std::string tier_of(GoodputReport const& report, Incident const& incident) {
    return incident.tier ? report.subject.run.tiers[*incident.tier].name : "the beginning";
}

std::string incidents_text(GoodputReport const& report) {
    TrialOutcome const& outcome = *report.timeline;
    std::string text =
        wrapped(fmt::format("what happened in one trial (seed {}): {} {}, {} checkpoints, {} after {}", report.seed,
                            outcome.incidents.size(), outcome.incidents.size() == 1 ? "interruption" : "interruptions",
                            outcome.checkpoints, outcome.finished ? "done" : "given up", human(outcome.wall)));
    Table table({{"at", Align::right},
                 {"cause"},
                 {"back to"},
                 {"work lost", Align::right},
                 {"detect", Align::right},
                 {"wait", Align::right},
                 {"restart", Align::right},
                 {"broken", Align::right}});
    for (std::size_t i = 0; i < std::min(most_incidents, outcome.incidents.size()); ++i) {
        Incident const& incident = outcome.incidents[i];
        table.add_row({human(incident.at), cause_of(report, incident), tier_of(report, incident),
                       human(incident.rewind), human(incident.detection), human(incident.waiting + incident.planned),
                       human(incident.restart), fmt::format("{}", incident.broken)});
    }
    text += table.text();
    if (outcome.incidents.size() > most_incidents)
        text += fmt::format("... and {} more (--format csv has all)\n", outcome.incidents.size() - most_incidents);
    return text;
}

std::string notes(GoodputReport const& report) {
    std::string text;
    if (!report.expected.approximation.empty()) text += wrapped("closed form: " + report.expected.approximation);
    if (!report.not_simulated.empty()) text += wrapped(report.not_simulated);
    if (report.study && report.study->interrupted)
        text += fmt::format("interrupted after {} trials\n", report.study->trials);
    if (report.study && report.study->finished < report.study->trials)
        text +=
            wrapped(fmt::format("{} of {} trials made next to no progress and were given up; the figures are of the "
                                "others",
                                report.study->trials - report.study->finished, report.study->trials));
    for (std::string const& assumption : report.subject.assumptions)
        text += wrapped("- " + assumption);
    return text;
}

std::string number(double value) { return fmt::format("{}", value); }

Table incident_table(GoodputReport const& report) {
    Table table({{"at_s", Align::right},
                 {"kind"},
                 {"cause"},
                 {"scope"},
                 {"component", Align::right},
                 {"back_to"},
                 {"rewind_s", Align::right},
                 {"detection_s", Align::right},
                 {"waiting_s", Align::right},
                 {"restart_s", Align::right},
                 {"planned_s", Align::right},
                 {"also", Align::right},
                 {"broken_nodes", Align::right},
                 {"missing_replicas", Align::right}});
    for (Incident const& i : report.timeline->incidents)
        table.add_row({number(i.at.base()), std::string(name_of(i.kind)), cause_of(report, i),
                       std::string(name_of(i.scope)), fmt::format("{}", i.component), tier_of(report, i),
                       number(i.rewind.base()), number(i.detection.base()), number(i.waiting.base()),
                       number(i.restart.base()), number(i.planned.base()), fmt::format("{}", i.also),
                       fmt::format("{}", i.broken), fmt::format("{}", i.missing)});
    return table;
}

}  // namespace

std::string human_or_never(Seconds time) { return std::isfinite(time.base()) ? human(time) : "never"; }

std::optional<GoodputHours> goodput_hours(GoodputReport const& report) {
    bool const simulated = report.study && report.study->finished > 0;
    Seconds const wall = simulated ? report.study->wall_s.mean * s : report.expected.wall;
    double const ratio = simulated ? report.study->ratio_of_means() : report.expected.ratio();
    double const hours = wall.in(units::hour) * static_cast<double>(report.subject.gpus);
    if (!std::isfinite(hours)) return std::nullopt;
    return GoodputHours{.all = hours, .lost = (1 - ratio) * hours};
}

std::vector<UseRow> use_rows(GoodputReport const& report) {
    TimeUse<double> const& e = report.expected.shares;
    TimeUse<double> const none;
    TimeUse<double> const& m = report.study ? report.study->shares : none;
    return {{"useful work", e.useful, m.useful},        {"checkpoint stalls", e.stall, m.stall},
            {"work done again", e.rewind, m.rewind},    {"detection", e.detection, m.detection},
            {"restart and load", e.restart, m.restart}, {"waiting for a node", e.waiting, m.waiting},
            {"missing replicas", e.shrink, m.shrink},   {"planned maintenance", e.maintenance, m.maintenance}};
}

std::string goodput_text(GoodputReport const& report) {
    std::string text = wrapped(headline(report)) + "\n" + aligned_pairs(key_figures(report));
    text += "\n" + uses_text(report) + "\n" + tiers_text(report);
    if (std::string const causes = causes_text(report); !causes.empty()) text += "\n" + causes;
    if (report.search) text += "\n" + search_text(*report.search);
    if (report.timeline) text += "\n" + incidents_text(report);
    if (std::string const more = notes(report); !more.empty()) text += "\n" + more;
    return text;
}

Table goodput_table(GoodputReport const& report) {
    if (report.timeline) return incident_table(report);
    Table table({{"part"},
                 {"name"},
                 {"closed_form_share", Align::right},
                 {"simulated_share", Align::right},
                 {"closed_form_per_day", Align::right},
                 {"simulated_per_day", Align::right},
                 {"closed_form_each_s", Align::right},
                 {"simulated_each_s", Align::right}});
    bool const simulated = report.study && report.study->finished > 0;
    for (UseRow const& row : use_rows(report))
        table.add_row({"use", row.name, number(row.expected), simulated ? number(row.simulated) : ""});
    for (CauseLoss const& cause : report.expected.causes) {
        std::vector<std::string> cells{
            "cause", cause.name, number(cause.share), "", number(cause.per_day), "", number(cause.each.base()), ""};
        if (simulated)
            for (SimulatedCause const& other : report.study->causes)
                if (other.name == cause.name) {
                    cells[3] = number(other.share);
                    cells[5] = number(other.per_day);
                    cells[7] = number(other.each.base());
                }
        table.add_row(std::move(cells));
    }
    return table;
}

}  // namespace sextant::cli
