#include "cli/validate/plots.hpp"

#include "cli/view/percent_text.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <set>

namespace sextant::cli {
namespace {

Scatter scatter_of(std::string title, ErrorStatistics const& errors, std::map<RowGroup, ScatterSeries> const& series) {
    Scatter scatter{.title = std::move(title), .subtitle = error_line(errors), .series = {}};
    for (auto const& [group, points] : series)
        scatter.series.push_back(points);
    return scatter;
}

}  // namespace

RowGroup colour_group(ScoredRow const& row) {
    for (RowGroup const& group : row.groups)
        if (group.by == "split") return group;
    return row.groups.empty() ? RowGroup{.by = "", .order = 0, .name = "rows"} : row.groups.front();
}

std::string error_line(ErrorStatistics const& errors) {
    if (errors.n == 0) return "no row is scored";
    return fmt::format("{} rows, error: median {:.1f} %, 90 % quantile {:.1f} %, bias {}", errors.n,
                       errors.median_ape_pct, errors.p90_ape_pct, signed_percent(errors.bias_pct / 100));
}

void ValidationPlots::add(ScoredRow const& row) {
    RowPrediction const& p = row.prediction;
    if (!p.time || !p.measured_time || !p.time_reason.empty() || !p.skip_reason.empty()) return;
    double const measured = p.measured_time->base();
    double const predicted = p.time->base();
    if (!(measured > 0 && predicted > 0)) return;
    RowGroup const group = colour_group(row);
    for (Series* series : {&overall_, &sources_[row.source.empty() ? "(no source)" : row.source]}) {
        ScatterSeries& points = (*series)[group];
        points.name = group.name;
        points.points.emplace_back(measured, predicted);
    }
}

std::size_t ValidationPlots::write(std::string const& folder, Validation const& validation) const {
    namespace fs = std::filesystem;
    std::error_code fault;
    fs::create_directories(folder, fault);
    if (!fs::is_directory(folder, fault)) throw InputError("--plots: {} is no folder and cannot become one", folder);
    std::set<std::string> names;
    auto const write_one = [&](std::string const& name, std::string const& title, ErrorStatistics const& errors,
                               Series const& series) {
        std::string file = file_name_of(name);
        for (int i = 2; !names.insert(file).second; ++i)
            file = fmt::format("{}-{}", file_name_of(name), i);
        write_text_file((fs::path(folder) / (file + ".svg")).string(), scatter_svg(scatter_of(title, errors, series)));
    };
    write_one("overall", fmt::format("{}: all rows", name_of(kind_)), validation.overall.time, overall_);
    for (SourceScore const& source : validation.sources)
        if (auto const found = sources_.find(source.source); found != sources_.end())
            write_one(source.source, source.source, source.time, found->second);
    return names.size();
}

}  // namespace sextant::cli
