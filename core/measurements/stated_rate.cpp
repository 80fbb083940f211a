#include "core/measurements/stated_rate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace sextant {

void require_rate(RowCells const& row, StatedRate const& rate, std::optional<Seconds> const& measured,
                  std::initializer_list<double> amounts) {
    std::string unread;
    auto const stated = number_in(row.text(rate.column), rate.column, unread);
    if (!measured || !stated || *stated <= 0) return;
    constexpr double most_apart = 0.1;
    constexpr double rounding = 0.01;
    bool const agrees = std::any_of(amounts.begin(), amounts.end(), [&](double amount) {
        double const said = amount / measured->base() / rate.unit;
        return std::abs(*stated - said) <= most_apart * said + rounding;
    });
    if (!agrees)
        throw RowSkip(fmt::format("latency_us and {} contradict each other by more than 10 % (us and {} are expected)",
                                  rate.column, rate.unit_text));
}

}  // namespace sextant
