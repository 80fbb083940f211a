#include "planner/validation/worst_rows.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

double distance(WorstRow const& row) { return std::abs(std::log(row.predicted / row.measured)); }

}  // namespace

void WorstRows::add(WorstRow row) {
    if (rows_.size() == most_ && (most_ == 0 || distance(row) <= distance(rows_.back()))) return;
    auto const at = std::find_if(rows_.begin(), rows_.end(),
                                 [&](WorstRow const& other) { return distance(row) > distance(other); });
    rows_.insert(at, std::move(row));
    if (rows_.size() > most_) rows_.pop_back();
}

}  // namespace sextant
