#include "core/token_count.hpp"

#include "core/error.hpp"

#include <charconv>
#include <cmath>

namespace sextant {

double token_count_from(std::string_view text, std::string_view where) {
    double value = 0;
    auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || !std::isfinite(value))
        throw InputError("{}: '{}' is no number of tokens (8192, or 8Ki)", where, text.substr(0, 60));
    std::string_view const unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    if (unit.empty()) return value;
    if (unit == "Ki") return value * 1024;
    if (unit == "Mi") return value * 1024 * 1024;
    auto const refuse_as_unclear = [&](double decimal, double binary) {
        throw InputError("{0}: '{1}' may be {2} or {3} tokens (write {2}, or {4:g}{5}i)", where, text.substr(0, 60),
                         value * decimal, value * binary, value, decimal > 1000 ? "M" : "K");
    };
    if (unit == "k" || unit == "K") refuse_as_unclear(1000, 1024);
    if (unit == "m" || unit == "M") refuse_as_unclear(1e6, 1024 * 1024);
    throw InputError("{}: '{}' is no number of tokens (8192, or 8Ki)", where, text.substr(0, 60));
}

}  // namespace sextant
