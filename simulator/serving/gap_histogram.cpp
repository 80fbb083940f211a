#include "simulator/serving/gap_histogram.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

constexpr double first_bin = 1e-6;  // seconds
double const bin_width = std::log(1.005);

}  // namespace

void GapHistogram::add(Seconds gap, std::int64_t count) {
    double const bin = std::max(0.0, std::floor(std::log(gap.base() / first_bin) / bin_width));
    auto const at = gap.base() > first_bin ? static_cast<std::size_t>(bin) : std::size_t{0};
    if (at >= bins_.size()) bins_.resize(at + 1, 0);
    bins_[at] += count;
    count_ += count;
    sum_ += gap * count;
    largest_ = std::max(largest_, gap);
}

void GapHistogram::add(GapHistogram const& other) {
    if (other.bins_.size() > bins_.size()) bins_.resize(other.bins_.size(), 0);
    for (std::size_t i = 0; i < other.bins_.size(); ++i)
        bins_[i] += other.bins_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    largest_ = std::max(largest_, other.largest_);
}

Seconds GapHistogram::mean() const { return count_ > 0 ? sum_ / count_ : Seconds{}; }

Seconds GapHistogram::quantile(double q) const {
    double const rank = q * static_cast<double>(count_ - 1);
    std::int64_t below = 0;
    for (std::size_t i = 0; i < bins_.size(); ++i) {
        below += bins_[i];
        if (static_cast<double>(below) > rank)
            return std::min(largest_, first_bin * std::exp((static_cast<double>(i) + 0.5) * bin_width) * units::s);
    }
    return largest_;
}

}  // namespace sextant
