#include "simulator/serving/length_distribution.hpp"

#include "core/error.hpp"
#include "core/token_count.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace sextant {
namespace {

constexpr double most_tokens = 1e8;

[[noreturn]] void refuse(std::string_view text, std::string_view where) {
    throw InputError("{}: '{}' is no length (1024, uniform:100-2000, lognormal:MEAN,CV or exponential:MEAN)", where,
                     text);
}

void check_range(double value, std::string_view text, std::string_view where, double least, double most) {
    if (!(value >= least && value <= most))
        throw InputError("{}: {:g} in '{}' is out of range ({:g} to {:g})", where, value, text, least, most);
}

/// Tokens, at most `most_tokens`.
double tokens_from(std::string_view part, std::string_view text, std::string_view where, double least) {
    bool const begins_right =
        !part.empty() && (part.front() == '-' || part.front() == '.' || (part.front() >= '0' && part.front() <= '9'));
    if (!begins_right) refuse(text, where);
    double const value = token_count_from(part, where);
    check_range(value, text, where, least, most_tokens);
    return value;
}

double number_from(std::string_view part, std::string_view text, std::string_view where, double least, double most) {
    double value = 0;
    auto const [end, problem] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (problem != std::errc{} || end != part.data() + part.size()) refuse(text, where);
    check_range(value, text, where, least, most);
    return value;
}

}  // namespace

std::int32_t LengthDistribution::draw(RandomStream& random, std::int32_t limit, std::int64_t& clipped) const {
    double value = mean;
    switch (kind) {
        case Kind::fixed: break;
        case Kind::uniform: value = low + std::floor((1 - random.uniform()) * (high - low + 1)); break;
        case Kind::lognormal: {
            // mean = exp(mu + sigma^2 / 2), variation^2 = exp(sigma^2) - 1.
            double const variance = std::log1p(variation * variation);
            value = std::round(mean * std::exp(std::sqrt(variance) * random.normal() - variance / 2));
            break;
        }
        case Kind::exponential:
            // P(length > n) = (1 - 1 / mean)^n.
            value = mean <= 1 ? 1 : std::ceil(std::log(random.uniform()) / std::log1p(-1 / mean));
            break;
    }
    if (value > limit) ++clipped;
    return static_cast<std::int32_t>(std::clamp(value, 1.0, static_cast<double>(std::max(1, limit))));
}

double LengthDistribution::least() const { return kind == Kind::fixed ? mean : kind == Kind::uniform ? low : 1; }

std::string LengthDistribution::spelling() const {
    switch (kind) {
        case Kind::fixed: break;
        case Kind::uniform: return fmt::format("uniform:{}-{}", low, high);
        case Kind::lognormal: return fmt::format("lognormal:{},{}", mean, variation);
        case Kind::exponential: return fmt::format("exponential:{}", mean);
    }
    return fmt::format("{}", mean);
}

std::string LengthDistribution::words() const {
    switch (kind) {
        case Kind::fixed: break;
        case Kind::uniform: return fmt::format("uniform {:g} to {:g}", low, high);
        case Kind::lognormal: return fmt::format("lognormal, mean {:g}, variation {:g}", mean, variation);
        case Kind::exponential: return fmt::format("exponential, mean {:g}", mean);
    }
    return fmt::format("{:g}", mean);
}

LengthDistribution length_distribution_from(std::string_view text, std::string_view where) {
    LengthDistribution out;
    std::size_t const colon = text.find(':');
    if (colon == std::string_view::npos) {
        out.mean = std::round(tokens_from(text, text, where, 1));
        return out;
    }
    std::string_view const kind = text.substr(0, colon);
    std::string_view const rest = text.substr(colon + 1);
    if (kind == "uniform") {
        std::size_t const dash = std::min(rest.find('-'), rest.size());
        out.kind = LengthDistribution::Kind::uniform;
        out.low = std::round(tokens_from(rest.substr(0, dash), text, where, 1));
        out.high = std::round(tokens_from(rest.substr(std::min(dash + 1, rest.size())), text, where, out.low));
    } else if (kind == "lognormal") {
        std::size_t const comma = std::min(rest.find(','), rest.size());
        out.kind = LengthDistribution::Kind::lognormal;
        out.mean = tokens_from(rest.substr(0, comma), text, where, 1);
        out.variation = number_from(rest.substr(std::min(comma + 1, rest.size())), text, where, 0, 100);
    } else if (kind == "exponential") {
        out.kind = LengthDistribution::Kind::exponential;
        out.mean = tokens_from(rest, text, where, 1);
    } else {
        refuse(text, where);
    }
    return out;
}

}  // namespace sextant
