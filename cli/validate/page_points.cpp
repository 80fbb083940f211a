#include "cli/validate/page.hpp"

#include "cli/validate/plots.hpp"

#include <algorithm>

namespace sextant::cli {

std::size_t ValidationPoints::Figure::size() const {
    std::size_t sum = 0;
    for (auto const& [group, points] : groups)
        sum += points.size();
    return sum;
}

void ValidationPoints::add(char const* name, char const* unit, ScoredRow const& row, double measured,
                           double predicted) {
    if (!(measured > 0 && predicted > 0)) return;
    auto found = std::find_if(figures_.begin(), figures_.end(), [&](Figure const& f) { return f.name == name; });
    if (found == figures_.end()) found = figures_.insert(figures_.end(), {.name = name, .unit = unit});
    found->groups[colour_group(row)].push_back(
        {measured, predicted, row.what.empty() ? row.where : row.where + ": " + row.what});
}

void ValidationPoints::add(ScoredRow const& row) {
    RowPrediction const& p = row.prediction;
    if (!p.skip_reason.empty()) return;
    if (kind_ == ValidationKind::serving) {
        constexpr std::array<char const*, served_names.size()> units{"ms", "ms", "tok/s"};
        for (std::size_t i = 0; i < served_names.size(); ++i)
            if (p.served[i].measured && p.served[i].predicted)
                add(served_names[i].data(), units[i], row, *p.served[i].measured, *p.served[i].predicted);
        return;
    }
    if (p.time && p.measured_time && p.time_reason.empty())
        add("time", "s", row, p.measured_time->base(), p.time->base());
    if (p.memory_gb && p.measured_memory_gb && p.memory_reason.empty())
        add("memory", "GB", row, *p.measured_memory_gb, *p.memory_gb);
}

}  // namespace sextant::cli
