#include "planner/trials/rung_table.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

void check(std::int64_t n, double r, std::int64_t eta, double R) {
    if (n < 1 || n > 100000000) throw InputError("trials: {} is out of range (1 to 1e8)", n);
    if (eta < 2 || eta > 1000) throw InputError("--eta: {} is out of range (2 to 1000)", eta);
    if (!(R > 0) || !std::isfinite(R)) throw InputError("full length: {} units is not possible (more than zero)", R);
    if (!(r > 0) || r > R)
        throw InputError("shortest length: {} units is not possible (more than zero, up to {})", r, R);
    if (R / r > 1e12) throw InputError("shortest length: {} of {} units is too short (at most a factor of 1e12)", r, R);
}

/// Units of each rung: r, r eta, ... up to R. The last is R itself also where r eta^i misses it by rounding.
std::vector<double> lengths(double r, std::int64_t eta, double R) {
    std::vector<double> units;
    for (double length = r;; length *= static_cast<double>(eta)) {
        bool const last = length >= R * (1 - 1e-9);
        units.push_back(last ? R : length);
        if (last) return units;
    }
}

}  // namespace

double Bracket::units() const {
    double sum = 0;
    for (Rung const& rung : rungs)
        sum += static_cast<double>(rung.trials) * rung.units;
    return sum;
}

double Bracket::units_resumed() const {
    double sum = 0;
    for (Rung const& rung : rungs)
        sum += static_cast<double>(rung.trials) * rung.new_units;
    return sum;
}

Bracket successive_halving(std::int64_t n, double r, std::int64_t eta, double R) {
    check(n, r, eta, R);
    Bracket bracket;
    double before = 0;
    for (double const units : lengths(r, eta, R)) {
        bracket.rungs.push_back({n, units, units - before});
        before = units;
        n = std::max<std::int64_t>(1, n / eta);  // floor(floor(n / a) / b) = floor(n / (a b))
    }
    bracket.early = static_cast<int>(bracket.rungs.size()) - 1;
    return bracket;
}

std::vector<Bracket> hyperband(double r, std::int64_t eta, double R) {
    check(1, r, eta, R);
    int s_max = 0;
    double ratio = R / r * (1 + 1e-9);
    for (; ratio >= static_cast<double>(eta); ratio /= static_cast<double>(eta))
        ++s_max;
    std::vector<Bracket> brackets;
    for (int s = s_max; s >= 0; --s) {
        std::int64_t power = 1;
        for (int i = 0; i < s; ++i)
            power *= eta;
        std::int64_t const n = ((s_max + 1) * power + s) / (s + 1);  // rounded up
        Bracket bracket = successive_halving(n, R / static_cast<double>(power), eta, R);
        bracket.early = s;
        brackets.push_back(std::move(bracket));
    }
    return brackets;
}

Bracket asha_worst_case(std::int64_t n, double r, std::int64_t eta, double R) {
    check(n, r, eta, R);
    Bracket bracket;
    double before = 0;
    for (double const units : lengths(r, eta, R)) {
        bracket.rungs.push_back({n, units, units - before});
        before = units;
        n = std::max<std::int64_t>(1, n - (eta - 1));
    }
    bracket.early = static_cast<int>(bracket.rungs.size()) - 1;
    return bracket;
}

}  // namespace sextant
