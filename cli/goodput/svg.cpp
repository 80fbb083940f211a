#include "cli/goodput/view.hpp"
#include "cli/view/svg_text.hpp"
#include "core/quantity_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace sextant::cli {
namespace {

// All lengths in pixels.
constexpr double left = 60;
constexpr double width = 1200;
constexpr double top = 50;
constexpr double height = 260;
constexpr double lane = 26;

char const* colour_of(IncidentKind kind, FailureScope scope) {
    if (kind == IncidentKind::spike) return "#7a5bb8";
    if (kind == IncidentKind::rejoin) return "#2f9a68";
    if (kind == IncidentKind::maintenance) return "#7d8fa6";
    switch (scope) {
        case FailureScope::process: return "#e3bd1f";
        case FailureScope::gpu: return "#cf3d35";
        case FailureScope::node: return "#ef8e2c";
        case FailureScope::fabric: return "#3d3d46";
    }
    return "#000000";
}

/// Axes with five ticks each.
std::string axes(Seconds wall, Seconds work) {
    std::string svg;
    for (int i = 0; i <= 5; ++i) {
        double const x = left + width * i / 5.0;
        double const y = top + height * (1 - i / 5.0);
        svg += fmt::format("<line x1='{0:.1f}' y1='{1:.1f}' x2='{0:.1f}' y2='{2:.1f}' stroke='#ddd'/>\n", x, top,
                           top + height + lane);
        svg += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='middle'>{}</text>\n", x, top + height + lane + 16,
                           xml(human(wall * i / 5)));
        svg += fmt::format("<line x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}' stroke='#eee'/>\n", left, y,
                           left + width, y);
        svg +=
            fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='end'>{:.0f} %</text>\n", left - 6, y + 4, 20.0 * i);
    }
    svg += fmt::format("<text x='{:.1f}' y='{:.1f}'>work done, of {}</text>\n", left, top - 8, xml(human(work)));
    return svg;
}

/// The line of progress and the marks of the incidents.
struct Drawing {
    std::string points;
    std::string marks;
};
Drawing drawn(GoodputReport const& report) {
    TrialOutcome const& outcome = *report.timeline;
    double const wall = outcome.wall.base();
    double const work = report.subject.run.work.base();
    auto const x_of = [&](double at) { return left + width * at / wall; };
    auto const y_of = [&](double done) { return top + height * (1 - std::clamp(done / work, 0.0, 1.0)); };

    // Between incidents progress is drawn as a straight line: its slope is what the checkpoints leave.
    double lost = 0, stopped = 0;
    for (Incident const& incident : outcome.incidents) {
        lost += incident.rewind.base();
        stopped += (incident.cost() - incident.rewind).base();
    }
    double const slope = (outcome.use.useful.base() + lost) / std::max(1e-9, wall - stopped);
    std::string points = fmt::format("{:.2f},{:.2f}", x_of(0), y_of(0));
    std::string marks;
    double now = 0, done = 0;
    for (Incident const& incident : outcome.incidents) {
        double const at = incident.at.base();
        done += slope * std::max(0.0, at - now);
        points += fmt::format(" {:.2f},{:.2f}", x_of(at), y_of(done));
        done -= incident.rewind.base();
        now = at + (incident.cost() - incident.rewind).base();
        points += fmt::format(" {:.2f},{:.2f} {:.2f},{:.2f}", x_of(at), y_of(done), x_of(now), y_of(done));
        std::string const name = incident.cause >= 0
                                     ? report.subject.run.failures[static_cast<std::size_t>(incident.cause)].name
                                     : std::string(name_of(incident.kind));
        marks += fmt::format(
            "<rect x='{:.2f}' y='{:.1f}' width='{:.2f}' height='{:.1f}' fill='{}'><title>{}</title></rect>\n", x_of(at),
            top + height + 2, std::max(1.0, x_of(now) - x_of(at)), lane - 4, colour_of(incident.kind, incident.scope),
            xml(fmt::format("{} at {}: {} of work lost, {} in all", name, human(incident.at), human(incident.rewind),
                            human(incident.cost()))));
    }
    points += fmt::format(" {:.2f},{:.2f}", x_of(wall), y_of(outcome.use.useful.base()));
    return {points, marks};
}

std::string legend() {
    std::string svg;
    double x = left;
    for (auto const& [kind, scope, name] : {std::tuple{IncidentKind::failure, FailureScope::process, "software"},
                                            {IncidentKind::failure, FailureScope::gpu, "accelerator"},
                                            {IncidentKind::failure, FailureScope::node, "node"},
                                            {IncidentKind::failure, FailureScope::fabric, "fabric"},
                                            {IncidentKind::spike, FailureScope::process, "loss spike"},
                                            {IncidentKind::rejoin, FailureScope::process, "node rejoins"},
                                            {IncidentKind::maintenance, FailureScope::process, "maintenance"}}) {
        double const y = top + height + lane + 34;
        svg += fmt::format(
            "<rect x='{:.1f}' y='{:.1f}' width='12' height='12' fill='{}'/><text x='{:.1f}' "
            "y='{:.1f}'>{}</text>\n",
            x, y, colour_of(kind, scope), x + 17, y + 11, name);
        x += 120;
    }
    return svg;
}

}  // namespace

std::string goodput_svg(GoodputReport const& report) {
    TrialOutcome const& outcome = *report.timeline;
    Drawing const drawing = drawn(report);
    std::string svg = fmt::format(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0:.0f} {1:.0f}' width='{0:.0f}' height='{1:.0f}' "
        "font-family='sans-serif' font-size='12'>\n<rect width='100%' height='100%' fill='white'/>\n",
        left + width + 40, top + height + lane + 60);
    svg +=
        fmt::format("<text x='{:.1f}' y='20' font-size='15'>{}</text>\n", left,
                    xml(fmt::format("one run (seed {}): {} interruptions, {:.1f} % effective training time",
                                    report.seed, outcome.incidents.size(), 100 * outcome.use.useful / outcome.wall)));
    svg += axes(outcome.wall, report.subject.run.work) + drawing.marks;
    svg += fmt::format("<polyline points='{}' fill='none' stroke='#4c86d4' stroke-width='1.5'/>\n", drawing.points);
    return svg + legend() + "</svg>\n";
}

}  // namespace sextant::cli
