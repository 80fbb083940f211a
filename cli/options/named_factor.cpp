#include "cli/options/named_factor.hpp"

#include "core/error.hpp"

#include <charconv>
#include <cmath>

namespace sextant::cli {

NamedFactor named_factor(std::string const& text, std::string_view flag, std::string_view example) {
    auto const colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0)
        throw InputError("{}: '{}' has no factor (such as {})", flag, text, example);
    std::string number = text.substr(colon + 1);
    if (!number.empty() && (number.back() == 'x' || number.back() == 'X')) number.pop_back();
    NamedFactor result{.name = text.substr(0, colon)};
    auto const [stop, error] = std::from_chars(number.data(), number.data() + number.size(), result.factor);
    if (error != std::errc{} || stop != number.data() + number.size() || !std::isfinite(result.factor))
        throw InputError("{}: '{}' is not a factor (such as {})", flag, text.substr(colon + 1), example);
    return result;
}

}  // namespace sextant::cli
