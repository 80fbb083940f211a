#include "perf/goal.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <unordered_map>
#include <vector>

namespace sextant::perf {
namespace {

Format chosen = Format::text;

/// Numbers of a linear congruential generator (Knuth's MMIX constants), the same in every run.
std::vector<std::uint64_t> fixed_numbers(std::size_t count) {
    std::vector<std::uint64_t> numbers(count);
    std::uint64_t state = 1;
    for (std::uint64_t& number : numbers)
        number = (state = state * 6364136223846793005U + 1442695040888963407U) >> 20;
    return numbers;
}

}  // namespace

void set_format(Format format) { chosen = format; }

double reference_seconds() {
    std::vector<std::uint64_t> const numbers = fixed_numbers(200'000);
    double best = 1e300;
    for (int i = 0; i < 3; ++i) {
        auto const start = Clock::now();
        std::vector<std::uint64_t> sorted = numbers;
        std::sort(sorted.begin(), sorted.end());
        std::unordered_map<std::uint64_t, double> table;
        for (std::uint64_t const number : numbers)
            table[number % 4096] += static_cast<double>(number);
        double total = 0;  // keeps the work from being optimised away
        for (std::uint64_t const number : sorted)
            total += table[number % 4096] / (1 + static_cast<double>(number));
        if (!(total > 0)) std::abort();
        best = std::min(best, seconds_since(start));
    }
    return best;
}

void print(char const* what, double value, char const* unit, double goal, char const* relation) {
    static std::string parent;  // a target that begins with a space belongs to the one before
    std::string const name = what[0] == ' ' ? parent + "," + (what + 1) : what;
    if (what[0] != ' ') parent = what;
    if (chosen == Format::csv) {
        fmt::print("\"{}\",{:.6g},{},{},{:g},{:.6g}\n", name, value, unit, relation, goal, reference_seconds());
    } else {
        bool const met = relation[0] == '>' ? value >= goal : value <= goal;
        fmt::print("{:<62} {:>12.4g} {:<14} goal {} {:g}  {}\n", what, value, unit, relation, goal,
                   met ? "met" : "MISSED");
    }
    std::fflush(stdout);
}

}  // namespace sextant::perf
