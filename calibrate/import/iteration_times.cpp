#include "calibrate/import/iteration_times.hpp"

#include "core/measurements/row_cells.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sextant {

double steady_figure(std::vector<LoggedIterations> const& lines) {
    std::vector<double> figures;
    std::int64_t seen = 0;
    for (LoggedIterations const& line : lines) {
        if (seen >= warm_up_iterations && line.batch == lines.back().batch) figures.push_back(line.figure);
        seen += line.count;
    }
    constexpr std::int64_t little = 20;
    if (lines.size() == 1 && lines.front().count >= little * warm_up_iterations)
        figures.push_back(lines.front().figure);
    if (figures.empty())
        throw RowSkip(fmt::format("no time of iterations behind the first {}, which are slower (train for longer)",
                                  warm_up_iterations));
    std::sort(figures.begin(), figures.end());
    std::size_t const half = figures.size() / 2;
    return figures.size() % 2 == 1 ? figures[half] : 0.5 * (figures[half - 1] + figures[half]);
}

}  // namespace sextant
