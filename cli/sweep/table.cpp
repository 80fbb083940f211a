#include "cli/sweep/table.hpp"

#include "cli/sweep/grid.hpp"

namespace sextant::cli {

char const* name_of(PointStatus status) {
    switch (status) {
        case PointStatus::done: return "ok";
        case PointStatus::answer_is_no: return "no";
        case PointStatus::failed: return "failed";
    }
    return "failed";
}

std::vector<std::string> SweepTable::settings(std::int64_t point) const {
    std::vector<std::size_t> const at = positions_at(axes, groups, point);
    std::vector<std::string> out;
    for (std::size_t i = 0; i < axes.size(); ++i)
        out.push_back(axes[i].values[at[i]]);
    return out;
}

}  // namespace sextant::cli
