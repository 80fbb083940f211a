#include "cli/plan/step_blocks.hpp"

#include "cli/plan/report_view.hpp"
#include "core/quantity_text.hpp"
#include "planner/explain.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sextant::cli {
namespace {

/// Colours of the parts, in the order of `breakdown_parts`.
constexpr char const* part_roles[] = {"gemm", "attention", "memory-bound", "host",      "recompute",
                                      "tp",   "cp",        "ep",           "pp",        "bubble",
                                      "dp",   "optimizer", "offload",      "reference", "fixed"};

struct MemoryPart {
    char const* name;
    Bytes StageMemory::*bytes;
};
constexpr MemoryPart memory_parts[] = {{"weights", &StageMemory::weights},
                                       {"gradients", &StageMemory::gradients},
                                       {"optimizer", &StageMemory::optimizer},
                                       {"reference", &StageMemory::reference},
                                       {"activations", &StageMemory::activations},
                                       {"logits", &StageMemory::logits},
                                       {"buffers", &StageMemory::buffers},
                                       {"workspaces", &StageMemory::workspaces},
                                       {"slack", &StageMemory::slack}};

bool all_zero(std::vector<double> const& values) {
    return std::all_of(values.begin(), values.end(), [](double v) { return v == 0; });
}

}  // namespace

TimeScale time_scale(Seconds largest) {
    if (largest >= 1 * units::s) return {units::s, "s"};
    return largest >= 1 * units::ms ? TimeScale{units::ms, "ms"} : TimeScale{units::us, "us"};
}

std::string interval_words(Seconds time, StepInterval const& interval) {
    return fmt::format("{} to {}", human(interval.low * time), human(interval.high * time));
}

Chart breakdown_chart(std::vector<StepReport> const& reports, std::vector<std::string> const& names) {
    Seconds longest;
    for (StepReport const& r : reports)
        longest = std::max(longest, r.estimate.time);
    TimeScale const scale = time_scale(longest);
    BarChart bars{.categories = names, .series = {}, .x = {.title = fmt::format("{} per step", scale.name)}};
    for (std::size_t part = 0; part < std::size(part_roles); ++part) {
        BarSeries series{.name = {}, .role = part_roles[part], .values = {}};
        for (StepReport const& r : reports) {
            auto const [name, time] = breakdown_parts(r.estimate.breakdown)[part];
            series.name = name;
            series.values.push_back(scale(time));
        }
        if (!all_zero(series.values)) bars.series.push_back(std::move(series));
    }
    return {.title = "Where the step goes",
            .note = "Exposed time of the slowest pipeline stage; communication that hides behind compute is not in it.",
            .body = std::move(bars),
            .wide = true};
}

Chart memory_chart(std::vector<StepReport> const& reports, std::vector<std::string> const& names) {
    BarChart bars{.categories = names, .series = {}, .x = {.title = "GB per accelerator", .from_zero = true}};
    for (MemoryPart const& part : memory_parts) {
        BarSeries series{.name = part.name, .role = part.name, .values = {}};
        for (StepReport const& r : reports)
            series.values.push_back((r.estimate.memory.*part.bytes).in(units::GB));
        if (!all_zero(series.values)) bars.series.push_back(std::move(series));
    }
    MemoryLimit const& limit = reports.front().limit;
    bars.marks.push_back({.at = limit.usable.in(units::GB), .label = fmt::format("usable {}", human(limit.usable))});
    return {
        .title = "Memory budget",
        .note = fmt::format(
            "Of the fullest pipeline stage. \"slack\" is what the allocator reserves and does not use (typical); the "
            "device has {}.",
            human(limit.capacity)),
        .body = std::move(bars),
        .wide = reports.size() == 1};
}

std::vector<PageFigure> step_figures(StepReport const& r, ClusterSpec const& cluster) {
    auto const per_gpu = r.tokens_per_second / static_cast<double>(r.accelerators);
    bool const tight = roomier_limit(r).has_value();
    std::vector<PageFigure> figures{
        {"step time", human(r.estimate.time), "80 %: " + interval_words(r.estimate.time, r.interval)},
        {"MFU", fmt::format("{:.1f} %", 100 * r.mfu),
         fmt::format("{} per accelerator; HFU {:.1f} %", human(r.model_rate), 100 * r.hfu)},
        {"memory", human(r.estimate.peak()),
         fmt::format("{} of {} usable; 80 %: {} to {}",
                     r.fits                                  ? (tight ? "fits, tight," : "fits")
                     : r.estimate.memory.host > r.limit.host ? host_misfit_words(r.estimate.memory, r.limit) + ";"
                                                             : "DOES NOT FIT:",
                     human(r.limit.usable), human(r.estimate.memory.reserved_low),
                     human(r.estimate.memory.reserved_high)),
         !r.fits ? Tone::bad
         : tight ? Tone::warning
                 : Tone::good},
        {"throughput", human_count(r.tokens_per_second) + " tok/s", human_count(per_gpu) + " per accelerator"}};
    double const trillion = 1e12;
    figures.push_back({"a trillion tokens", human(trillion / r.tokens_per_second * units::s),
                       fmt::format("without failures; 80 %: {}",
                                   interval_words(trillion / r.tokens_per_second * units::s, r.interval))});
    if (r.million_tokens_cost)
        figures.push_back(
            {"cost per million tokens", human(*r.million_tokens_cost),
             fmt::format("{} for a trillion, {} a step,{}", human(trillion / 1e6 * *r.million_tokens_cost),
                         human(*r.step_cost), at_price(cluster))});
    return figures;
}

void add_grounds(Page& page, std::vector<std::string> const& unsupported, std::vector<std::string> const& assumptions) {
    if (!unsupported.empty())
        page.blocks.push_back(
            PageList{"Not supported by any measurement, so the interval is wider", unsupported, Tone::warning});
    if (!assumptions.empty())
        page.blocks.push_back(PageList{fmt::format("Assumed values ({})", assumptions.size()), assumptions});
}

}  // namespace sextant::cli
