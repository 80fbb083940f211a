#include "planner/search_space.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <charconv>

namespace sextant {
namespace {

constexpr std::int64_t most = std::int64_t{1} << 31;

std::int64_t read_integer(std::string_view text, std::string_view whole, std::string_view where, std::int64_t least) {
    std::int64_t value = 0;
    auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    bool const digits = stop == text.data() + text.size();
    if (digits && (error == std::errc::result_out_of_range || value > most))
        throw InputError("{}: {} is out of range (from {} to {})", where, text, least, most);
    if (error != std::errc{} || !digits)
        throw InputError("{}: '{}' is not a number or a range (such as 8, 1,2,4, 2..16, <=8 or >=2)", where, whole);
    if (value < least) throw InputError("{}: {} is too small (at least {})", where, value, least);
    return value;
}

}  // namespace

AxisFilter AxisFilter::parse(std::string_view text, std::string_view where, std::int64_t least) {
    AxisFilter filter;
    filter.text_ = text;
    filter.least_ = least;
    if (text.starts_with("<=")) {
        filter.most_ = read_integer(text.substr(2), text, where, least);
    } else if (text.starts_with(">=")) {
        filter.least_ = read_integer(text.substr(2), text, where, least);
    } else if (auto const dots = text.find(".."); dots != std::string_view::npos) {
        filter.least_ = read_integer(text.substr(0, dots), text, where, least);
        filter.most_ = read_integer(text.substr(dots + 2), text, where, least);
        if (filter.most_ < filter.least_)
            throw InputError("{}: '{}' is an empty range (the first end is the smaller one)", where, text);
    } else {
        std::size_t begin = 0;
        while (begin <= text.size()) {
            std::size_t const comma = std::min(text.find(',', begin), text.size());
            filter.named_.push_back(read_integer(text.substr(begin, comma - begin), text, where, least));
            begin = comma + 1;
        }
    }
    return filter;
}

bool AxisFilter::allows(std::int64_t value) const {
    if (!named_.empty()) return std::find(named_.begin(), named_.end(), value) != named_.end();
    return value >= least_ && value <= most_;
}

std::vector<std::int64_t> divisors(std::int64_t n) {
    std::vector<std::int64_t> low, high;
    for (std::int64_t d = 1; d * d <= n; ++d) {
        if (n % d != 0) continue;
        low.push_back(d);
        if (d != n / d) high.push_back(n / d);
    }
    low.insert(low.end(), high.rbegin(), high.rend());
    return low;
}

}  // namespace sextant
