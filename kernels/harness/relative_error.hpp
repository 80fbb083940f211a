#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace sextant::bench {

/// Largest |got - wanted| / max(|wanted|, rms of wanted): relative, but an element that is nearly zero by cancellation
/// is measured against the size of its neighbours. NaN when any element is NaN.
class RelativeError {
public:
    void add(double got, double wanted) {
        got_.push_back(got);
        wanted_.push_back(wanted);
    }
    double largest() const {
        double squares = 0;
        for (double const value : wanted_)
            squares += value * value;
        double const rms = wanted_.empty() ? 0 : std::sqrt(squares / static_cast<double>(wanted_.size()));
        double worst = 0;
        for (std::size_t i = 0; i < got_.size(); ++i) {
            double const size = std::max(std::abs(wanted_[i]), rms);
            double const off = std::abs(got_[i] - wanted_[i]);
            double const error = off == 0 ? 0 : off / size;
            if (std::isnan(error)) return error;
            worst = std::max(worst, error);
        }
        return worst;
    }

private:
    std::vector<double> got_;
    std::vector<double> wanted_;
};

/// The larger of two errors, NaN where one is.
inline double worse(double a, double b) { return std::isnan(a) || b <= a ? a : b; }

/// The same over two arrays.
template <class Got, class Wanted>
double relative_error(std::vector<Got> const& got, std::vector<Wanted> const& wanted) {
    RelativeError error;
    for (std::size_t i = 0; i < wanted.size(); ++i)
        error.add(static_cast<double>(got.at(i)), static_cast<double>(wanted[i]));
    return error.largest();
}

}  // namespace sextant::bench
