#include "cli/plan/pages.hpp"
#include "cli/plan/report_view.hpp"
#include "cli/plan/step_blocks.hpp"
#include "core/quantity_text.hpp"
#include "planner/explain.hpp"

#include <fmt/format.h>

namespace sextant::cli {
namespace {

PageTable part_table(StepReport const& r) {
    TimeScale const scale = time_scale(r.estimate.time);
    PageTable table{.title = fmt::format("The step of stage {}, the slowest", r.estimate.slowest_stage),
                    .note = {},
                    .columns = {{"part", Align::left}, {fmt::format("time {}", scale.name)}, {"share %"}}};
    for (auto const& [name, time] : breakdown_parts(r.estimate.breakdown))
        if (time > Seconds{})
            table.rows.push_back({{std::string(name)},
                                  {fmt::format("{:.4g}", scale(time)), scale(time)},
                                  {fmt::format("{:.1f}", 100 * (time / r.estimate.time)), time / r.estimate.time}});
    return table;
}

std::string misfit_words(StepReport const& r) {
    if (r.estimate.memory.host > r.limit.host) return host_misfit_words(r.estimate.memory, r.limit);
    return fmt::format("{} are needed and {} are usable", human(r.estimate.peak()), human(r.limit.usable));
}

}  // namespace

std::string estimate_page(PlanQuestion const& q, StepReport const& r, std::vector<std::string> const& explanation) {
    Page page{.command = "sextant estimate",
              .title = fmt::format("{} on {} x {}", q.model.name, r.accelerators, q.cluster.name),
              .lines = {headline(q, r.accelerators, r.plan.precision),
                        fmt::format("plan: {}, {} microbatches, {}", plan_label(r.plan), r.microbatches,
                                    name_of(r.plan.schedule))}};
    if (!r.not_expressed.empty()) page.lines.push_back(refusal_sentence(q.framework, r.not_expressed));
    page.tone = r.fits ? Tone::good : Tone::bad;
    page.verdict = r.fits ? fmt::format("A step takes {} and fits into memory: {} of {} usable.",
                                        human(r.estimate.time), human(r.estimate.peak()), human(r.limit.usable))
                          : fmt::format("It does not fit: {}. With enough memory a step would take {}.",
                                        misfit_words(r), human(r.estimate.time));
    page.figures = step_figures(r, q.cluster);
    std::vector<std::string> const name{plan_label(r.plan)};
    page.blocks.push_back(breakdown_chart({r}, name));
    page.blocks.push_back(memory_chart({r}, name));
    if (!r.measured.empty()) page.blocks.push_back(PageList{"A step that ran", r.measured});
    if (!explanation.empty()) page.blocks.push_back(PageList{"Why, and what would move it", explanation});
    page.blocks.push_back(part_table(r));
    add_grounds(page, r.unsupported, all_assumptions(r));
    page.blocks.push_back(PagePairs{"Provenance", {{"graph digest", r.digest}}});
    return html_page(page);
}

}  // namespace sextant::cli
