#include "cli/collective/view.hpp"

#include "cli/view/percent_text.hpp"
#include "core/quantity_text.hpp"
#include "simulator/collectives/collective_graph.hpp"

#include <fmt/format.h>

#include <cmath>

namespace sextant::cli {
namespace {

std::string closed_form_name(CollectiveReport const& report) {
    return report.closed_form_applies() ? "closed form" : "closed form, idle network";
}

/// What the closed form may be off by, where the network is the one it is of.
std::string interval_line(CollectiveReport const& report, std::size_t size) {
    if (!report.closed_form_applies())
        return "closed form: of the network idle and whole; the algorithms have it as it is asked for\n";
    TimeFactors const factors = report.interval[size];
    Seconds const formula = report.closed_form[size];
    return fmt::format("closed form, 80 %: {} to {} ({})\n", human(factors.low * formula),
                       human(factors.high * formula), report.basis);
}

std::string headline(CollectiveReport const& report) {
    CollectiveShape const& shape = report.shape;
    std::string text =
        fmt::format("{} over {} accelerators of {}, {} domain{} of {}", written(shape.kind), shape.ranks,
                    report.cluster.name, shape.domains(), shape.domains() == 1 ? "" : "s", shape.ranks_per_domain);
    if (!shape.torus.empty()) {
        text += " (torus";
        for (std::size_t i = 0; i < shape.torus.size(); ++i)
            text += fmt::format("{}{}", i == 0 ? " " : " x ", shape.torus[i]);
        text += ")";
    }
    if (shape.stride > 1) text += fmt::format(", {0} apart and {0} such groups at work", shape.stride);
    text += fmt::format("; {} network", name_of(report.network));
    for (DegradedLink const& link : report.degraded)
        text += fmt::format(", {} at {:g} of its bandwidth", link.pattern, link.factor);
    if (report.other_traffic > 0)
        text += fmt::format(", others use {:g} % of the scale-out network", 100 * report.other_traffic);
    return text;
}

std::string busiest(CollectiveTiming const& timing) {
    if (timing.busiest.empty()) return "-";
    LinkUse const& link = timing.busiest.front();
    return fmt::format("{} {:.0f} %", link.name, 100 * link.busy_share);
}

std::vector<std::string> rate_cells(CollectiveReport const& report, Bytes bytes, Seconds time) {
    CollectiveRates const rates = rates_of(report.shape, bytes, time);
    return {human(time), human(rates.algorithm), human(rates.bus)};
}

std::string size_table(CollectiveReport const& report, std::size_t size) {
    Bytes const bytes = report.sizes[size];
    Seconds const formula = report.closed_form[size];
    Table table({{human(bytes)},
                 {"rounds", Align::right},
                 {"flows", Align::right},
                 {"time", Align::right},
                 {"algbw", Align::right},
                 {"busbw", Align::right},
                 {"formula", Align::right},
                 {"busiest link"}});
    auto const add = [&](std::vector<std::string> cells, Seconds time, std::vector<std::string> const& tail) {
        for (auto& cell : rate_cells(report, bytes, time))
            cells.push_back(std::move(cell));
        cells.insert(cells.end(), tail.begin(), tail.end());
        table.add_row(std::move(cells));
    };
    add({closed_form_name(report), "", ""}, formula, {});
    for (CollectiveRun const& run : report.runs) {
        if (run.reason) continue;
        CollectiveTiming const& timing = run.timings[size];
        std::vector<std::string> cells{std::string(run.algorithm->name), fmt::format("{}", run.rounds),
                                       fmt::format("{}", run.flows)};
        if (timing.state != Simulation::State::finished) {
            cells.emplace_back(name_of(timing.state));
            table.add_row(std::move(cells));
            continue;
        }
        add(std::move(cells), timing.time, {signed_percent(timing.time / formula - 1), busiest(timing)});
    }
    std::string text = table.text() + interval_line(report, size);
    if (double const jump = report.jump[size]; std::abs(std::log(jump)) > 0.05)
        text += fmt::format(
            "as measured there, the library's choice at this size takes {:.2g} times what sizes around "
            "it suggest\n",
            jump);
    return text;
}

/// Algorithms that were not run, and why.
std::string left_out(CollectiveReport const& report) {
    std::string impossible;
    std::string slow;
    for (CollectiveRun const& run : report.runs)
        if (run.reason)
            (run.takes_long ? slow : impossible) +=
                wrapped(fmt::format("  {}: {}", run.algorithm->name, *run.reason), "    ");
    std::string text;
    if (report.without_flows) text += "\n" + wrapped("no algorithms: " + *report.without_flows);
    if (!impossible.empty()) text += "\nnot possible\n" + impossible;
    if (!slow.empty()) text += "\nnot simulated (--algorithm NAME does)\n" + slow;
    return text;
}

}  // namespace

CollectiveRates rates_of(CollectiveShape const& shape, Bytes bytes, Seconds time) {
    CollectiveRates rates{.algorithm = bytes / time, .bus = {}};
    rates.bus = bus_bandwidth_factor(shape.kind, shape.ranks) * rates.algorithm;
    return rates;
}

std::string collective_text(CollectiveReport const& report) {
    std::string text = wrapped(headline(report));
    for (std::size_t size = 0; size < report.sizes.size(); ++size)
        text += "\n" + size_table(report, size);
    text += left_out(report);
    for (CollectiveRun const& run : report.runs)
        for (CollectiveTiming const& timing : run.timings)
            if (timing.state != Simulation::State::finished)
                text +=
                    "\n" + wrapped(fmt::format("{}, {}: {}", run.algorithm->name, human(timing.bytes), timing.message));
    return text;
}

Table collective_table(CollectiveReport const& report) {
    Table table({{"algorithm"},
                 {"bytes", Align::right},
                 {"rounds", Align::right},
                 {"flows", Align::right},
                 {"time_s", Align::right},
                 {"algbw_bytes_per_s", Align::right},
                 {"busbw_bytes_per_s", Align::right},
                 {"closed_form_s", Align::right},
                 {"busiest_link"},
                 {"busiest_link_share", Align::right},
                 {"state"},
                 {"low_s", Align::right},
                 {"high_s", Align::right}});
    auto const number = [](double value) { return fmt::format("{}", value); };
    for (std::size_t size = 0; size < report.sizes.size(); ++size) {
        Bytes const bytes = report.sizes[size];
        auto const add = [&](std::string name, std::string rounds, std::string flows, Seconds time) {
            CollectiveRates const rates = rates_of(report.shape, bytes, time);
            return std::vector<std::string>{std::move(name),          number(bytes.base()),
                                            std::move(rounds),        std::move(flows),
                                            number(time.base()),      number(rates.algorithm.base()),
                                            number(rates.bus.base()), number(report.closed_form[size].base())};
        };
        std::vector<std::string> formula = add(closed_form_name(report), "", "", report.closed_form[size]);
        auto const limit = [&](double factor) {
            return report.closed_form_applies() ? number((factor * report.closed_form[size]).base()) : "";
        };
        formula.insert(formula.end(),
                       {"", "", "", limit(report.interval[size].low), limit(report.interval[size].high)});
        table.add_row(std::move(formula));
        for (CollectiveRun const& run : report.runs) {
            if (run.reason) continue;
            CollectiveTiming const& timing = run.timings[size];
            std::string const rounds = fmt::format("{}", run.rounds);
            std::string const flows = fmt::format("{}", run.flows);
            bool const finished = timing.state == Simulation::State::finished;
            std::vector<std::string> cells =
                finished ? add(std::string(run.algorithm->name), rounds, flows, timing.time)
                         : std::vector<std::string>{
                               std::string(run.algorithm->name),       number(bytes.base()), rounds, flows, "", "", "",
                               number(report.closed_form[size].base())};
            bool const has_link = !timing.busiest.empty();
            cells.push_back(has_link ? timing.busiest.front().name : "");
            cells.push_back(has_link ? number(timing.busiest.front().busy_share) : "");
            cells.emplace_back(name_of(timing.state));
            table.add_row(std::move(cells));
        }
    }
    return table;
}

}  // namespace sextant::cli
