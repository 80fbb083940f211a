#include "cli/options/number_text.hpp"

#include "core/error.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace sextant::cli {
namespace {

constexpr double largest = 1e40;  // far above any budget, far below where doubles end
constexpr std::size_t most_counts = 200;

double factor_of(char letter) {
    switch (letter) {
        case 'k':
        case 'K': return 1e3;
        case 'm':
        case 'M': return 1e6;
        case 'b':
        case 'B':
        case 'G': return 1e9;
        case 't':
        case 'T': return 1e12;
        case 'P': return 1e15;
        default: return 0;
    }
}

/// "1e6", "1k" and "4M" in digits; empty: no number, or none of digits alone.
std::string in_digits(std::string_view text) {
    double const factor = text.empty() ? 0 : factor_of(text.back());
    if (factor > 0) text.remove_suffix(1);
    double value = 0;
    auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    value *= factor > 0 ? factor : 1;
    bool const whole = error == std::errc{} && stop == text.data() + text.size() && value == std::floor(value);
    return whole && value > 0 && value < 1e15 ? fmt::format("{:.0f}", value) : std::string();
}

}  // namespace

std::string whole_number_words(std::string_view text, std::string_view flag) {
    std::string const digits = in_digits(text);
    return fmt::format("a whole number (digits alone{}{})", digits.empty() ? ", such as 512" : ": " + digits,
                       flag == "--global-batch" ? "; it counts sequences, not tokens" : "");
}

double count_from(std::string_view text, std::string_view flag) {
    std::string_view rest = trimmed(text);
    double factor = 1;
    if (!rest.empty() && factor_of(rest.back()) > 0) {
        factor = factor_of(rest.back());
        rest = trimmed(rest.substr(0, rest.size() - 1));
    }
    double value = 0;
    auto const [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc{} || stop != rest.data() + rest.size() || !std::isfinite(value))
        throw InputError("{}: '{}' is not a number (such as 7e9, 70B or 1.4T)", flag, text.substr(0, 60));
    value *= factor;
    if (!(value > 0 && value <= largest))
        throw InputError("{}: '{}' is out of range (above 0, up to {:g})", flag, text.substr(0, 60), largest);
    return value;
}

std::vector<double> counts_from(std::string_view list, std::string_view flag) {
    std::vector<double> out;
    for (std::size_t begin = 0; begin <= list.size();) {
        std::size_t const end = std::min(list.find(',', begin), list.size());
        std::string_view const entry = list.substr(begin, end - begin);
        if (trimmed(entry).empty())
            throw InputError("{}: '{}' has an empty entry (numbers with one comma between two, such as 1,8,64)", flag,
                             list.substr(0, 60));
        if (auto const dots = entry.find(".."); dots != std::string_view::npos) {
            double const first = count_from(entry.substr(0, dots), flag);
            double const last = count_from(entry.substr(dots + 2), flag);
            if (last < first) throw InputError("{}: '{}' ends before it begins (LOWEST..HIGHEST)", flag, entry);
            for (double value = first; value <= last * (1 + 1e-9) && out.size() <= most_counts; value *= 10)
                out.push_back(value);
        } else {
            out.push_back(count_from(entry, flag));
        }
        if (out.size() > most_counts) throw InputError("{}: more than {} values", flag, most_counts);
        begin = end + 1;
    }
    return out;
}

double share_from(double share, std::string_view flag) {
    if (!(share > 0 && share <= 1)) throw InputError("{}: {} (a share above 0 and up to 1)", flag, share);
    return share;
}

std::string power_text(double value) {
    std::string text = fmt::format("{:.2e}", value);
    if (!std::isfinite(value)) return value > 0 ? "unbounded" : "-";
    auto const e = text.find('e');
    std::string mantissa = text.substr(0, e);
    while (mantissa.back() == '0')
        mantissa.pop_back();
    if (mantissa.back() == '.') mantissa.pop_back();
    return fmt::format("{}e{}", mantissa, std::stoi(text.substr(e + 1)));
}

std::string digits_text(double value) {
    double const magnitude = std::abs(value);
    if (magnitude >= 1e6 || (magnitude > 0 && magnitude < 1e-4)) return fmt::format("{:.2e}", value);
    if (magnitude >= 100) return fmt::format("{:.0f}", value);
    return fmt::format("{:#.3g}", value);
}

}  // namespace sextant::cli
