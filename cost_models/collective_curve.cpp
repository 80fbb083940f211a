#include "cost_models/collective_time.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sextant {
namespace {

constexpr double steps_per_octave = 4;
constexpr double octaves = 44;  // up to 16 TiB, beyond that in proportion
constexpr auto table_size = static_cast<std::size_t>(octaves * steps_per_octave) + 1;

}  // namespace

std::size_t CollectiveCurve::fastest(Bytes bytes) const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < count_; ++i)
        if (lines_[i].latency + bytes * lines_[i].slope < lines_[best].latency + bytes * lines_[best].slope) best = i;
    return best;
}

Seconds CollectiveCurve::envelope(Bytes bytes) const {
    Line const& line = lines_[fastest(bytes)];
    return line.latency + bytes * line.slope;
}

Seconds CollectiveCurve::time(Bytes bytes) const {
    if (count_ == 0) return {};
    if (table_.empty()) return envelope(bytes);
    double const at = bytes > 1 * units::B ? std::log2(bytes.base()) * steps_per_octave : 0;
    auto const last = static_cast<double>(table_.size() - 1);
    if (at >= last) return std::exp2(table_.back() + (at - last) / steps_per_octave) * units::s;
    auto const i = static_cast<std::size_t>(at);
    double const share = at - static_cast<double>(i);
    return std::exp2(table_[i] + share * (table_[i + 1] - table_[i])) * units::s;
}

Seconds CollectiveCurve::latency(Bytes bytes) const {
    if (count_ == 0) return {};
    Line const& line = lines_[fastest(bytes)];
    return table_.empty() ? line.latency : time(bytes) * (line.latency / (line.latency + bytes * line.slope));
}

void CollectiveCurve::add(Seconds latency, SecondsPerByte slope) {
    Line const line{latency, slope};
    auto const beaten_by = [](Line const& a, Line const& b) { return b.latency <= a.latency && b.slope <= a.slope; };
    auto* const end = lines_.begin() + count_;
    if (std::any_of(lines_.begin(), end, [&](Line const& other) { return beaten_by(line, other); })) return;
    auto* const kept = std::remove_if(lines_.begin(), end, [&](Line const& other) { return beaten_by(other, line); });
    count_ = static_cast<std::size_t>(kept - lines_.begin());
    lines_.at(count_) = line;
    ++count_;
}

void CollectiveCurve::correct(std::function<double(double)> const& log_factor,
                              std::function<double(double)> const& jump) {
    if (count_ == 0) return;
    std::vector<double> table(table_size);
    for (std::size_t i = 0; i < table.size(); ++i) {
        double const log2_bytes = static_cast<double>(i) / steps_per_octave;
        Bytes const bytes = std::exp2(log2_bytes) * units::B;
        double const wanted = std::log2(envelope(bytes).base()) + log_factor(log2_bytes) / std::log(2.0);
        // Between T(S / 2^(1/4)) and 2^(1/4) times that, so that the time grows, and the bandwidth as well.
        table[i] = i == 0 ? wanted : std::clamp(wanted, table[i - 1], table[i - 1] + 1 / steps_per_octave);
    }
    if (jump)
        for (std::size_t i = 0; i < table.size(); ++i)
            table[i] += jump(static_cast<double>(i) / steps_per_octave) / std::log(2.0);
    table_ = std::move(table);
}

SecondsPerByte CollectiveCurve::asymptotic_slope() const {
    if (count_ == 0) return {};
    if (!table_.empty()) return std::exp2(table_.back() - octaves) * units::s / units::B;
    SecondsPerByte slope = lines_[0].slope;
    for (std::size_t i = 1; i < count_; ++i)
        slope = std::min(slope, lines_[i].slope);
    return slope;
}

}  // namespace sextant
