#include "core/quantity_text.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

namespace sextant {
namespace {

/// Exponents of time, data, work, money.
using Dimension = std::array<int, 4>;

constexpr Dimension time_dimension{1, 0, 0, 0};
constexpr Dimension data{0, 1, 0, 0};
constexpr Dimension work{0, 0, 1, 0};
constexpr Dimension work_rate{-1, 0, 1, 0};
constexpr Dimension data_rate{-1, 1, 0, 0};
constexpr Dimension money{0, 0, 0, 1};

struct Unit {
    std::string_view name;
    Dimension dimension;
    double factor;  ///< value in base units
};

constexpr double kib = 1024.0;
constexpr Unit units_known[] = {
    {"B", data, 1},
    {"KB", data, 1e3},
    {"kB", data, 1e3},
    {"MB", data, 1e6},
    {"GB", data, 1e9},
    {"TB", data, 1e12},
    {"PB", data, 1e15},
    {"KiB", data, kib},
    {"MiB", data, kib* kib},
    {"GiB", data, kib* kib* kib},
    {"TiB", data, kib* kib* kib* kib},
    {"bit", data, 1.0 / 8},
    {"Kbit", data, 1e3 / 8},
    {"kbit", data, 1e3 / 8},
    {"Mbit", data, 1e6 / 8},
    {"Gbit", data, 1e9 / 8},
    {"Tbit", data, 1e12 / 8},
    {"Mbps", data_rate, 1e6 / 8},
    {"Gbps", data_rate, 1e9 / 8},
    {"Tbps", data_rate, 1e12 / 8},
    {"s", time_dimension, 1},
    {"ms", time_dimension, 1e-3},
    {"us", time_dimension, 1e-6},
    {"ns", time_dimension, 1e-9},
    {"min", time_dimension, 60},
    {"h", time_dimension, 3600},
    {"hour", time_dimension, 3600},
    {"hours", time_dimension, 3600},
    {"d", time_dimension, 86400},
    {"day", time_dimension, 86400},
    {"days", time_dimension, 86400},
    {"week", time_dimension, 7 * 86400},
    {"weeks", time_dimension, 7 * 86400},
    {"FLOP", work, 1},
    {"KFLOP", work, 1e3},
    {"MFLOP", work, 1e6},
    {"GFLOP", work, 1e9},
    {"TFLOP", work, 1e12},
    {"PFLOP", work, 1e15},
    {"EFLOP", work, 1e18},
    {"ZFLOP", work, 1e21},
    {"OP", work, 1},
    {"GOP", work, 1e9},
    {"TOP", work, 1e12},
    {"POP", work, 1e15},
    {"FLOPS", work_rate, 1},
    {"GFLOPS", work_rate, 1e9},
    {"TFLOPS", work_rate, 1e12},
    {"PFLOPS", work_rate, 1e15},
    {"EFLOPS", work_rate, 1e18},
    {"GOPS", work_rate, 1e9},
    {"TOPS", work_rate, 1e12},
    {"POPS", work_rate, 1e15},
    {"USD", money, 1},
    {"$", money, 1},
};

/// Bits as network vendors abbreviate them, in rates alone: an amount of "16 Gb" may be of either.
constexpr Unit bits_of_rates[] = {
    {"b", data, 1.0 / 8},  {"Kb", data, 1e3 / 8}, {"kb", data, 1e3 / 8},
    {"Mb", data, 1e6 / 8}, {"Gb", data, 1e9 / 8}, {"Tb", data, 1e12 / 8},
};

/// How a dimension is called in a message, and what may be written for it.
struct DimensionText {
    Dimension dimension;
    std::string_view noun;
    std::string_view allowed;
};
constexpr DimensionText dimension_texts[] = {
    {time_dimension, "a time", "'12.5 us', units ns us ms s min h day week"},
    {data, "an amount of data", "'80 GB', units B KB MB GB TB PB, KiB MiB GiB TiB, bit Kbit Mbit Gbit Tbit"},
    {data_rate, "a data rate", "'3.35 TB/s' or '400 Gbit/s', units <data>/<time>"},
    {work, "an amount of work", "'1 PFLOP', units FLOP KFLOP MFLOP GFLOP TFLOP PFLOP EFLOP ZFLOP, OP GOP TOP POP"},
    {work_rate, "a rate of work", "'989.4 TFLOP/s', units <work>/<time> or GFLOPS TFLOPS PFLOPS EFLOPS"},
    {money, "an amount of money", "'2.50 USD'"},
    {{-1, 0, 0, 1}, "a price per time", "'2.50 USD/h'"},
    {{1, -1, 0, 0}, "a time per data", "'20 us/MB'"},
};

std::string noun_of(Dimension const& dimension) {
    for (auto const& entry : dimension_texts)
        if (entry.dimension == dimension) return std::string(entry.noun);
    return "of another kind";
}

std::string allowed_for(Dimension const& dimension) {
    for (auto const& entry : dimension_texts)
        if (entry.dimension == dimension) return fmt::format("{} such as {}", entry.noun, entry.allowed);
    return "a number with a unit";
}

std::string quoted(std::string_view text) {  // a pasted file is not shown whole
    constexpr std::size_t longest = 60;
    return text.size() <= longest ? std::string(text) : std::string(text.substr(0, longest)) + "...";
}

std::optional<Unit> unit_of(std::span<Unit const> units, std::string_view name) {
    for (auto const& unit : units)
        if (unit.name == name) return unit;
    return std::nullopt;
}

std::optional<Unit> single_unit(std::string_view name) { return unit_of(units_known, name); }

/// The unit of `name`, of the form `GB` or `GB/s`.
std::optional<Unit> find_unit(std::string_view name) {
    auto const slash = name.find('/');
    if (slash == std::string_view::npos) return single_unit(name);
    auto above = single_unit(trimmed(name.substr(0, slash)));
    auto const below = single_unit(trimmed(name.substr(slash + 1)));
    if (!above && below && below->dimension == time_dimension)
        above = unit_of(bits_of_rates, trimmed(name.substr(0, slash)));
    if (!above || !below) return std::nullopt;
    Unit unit{name, above->dimension, above->factor / below->factor};
    for (std::size_t i = 0; i < unit.dimension.size(); ++i)
        unit.dimension[i] -= below->dimension[i];
    return unit;
}

/// "; did you mean 'GB/s'?" for "GBps", which letters alone would take for "Gbps", an eighth of it; or 'GB' for "G".
std::string bytes_meant(std::string_view name, Dimension const& wanted) {
    constexpr std::string_view per_second = "Bps";
    if (wanted == data_rate && name.ends_with(per_second)) {
        std::string const rate = std::string(name.substr(0, name.size() - 2)) + "/s";
        if (find_unit(rate)) return fmt::format("; did you mean '{}'?", rate);
    }
    std::string const bytes = std::string(name) + "B";
    bool const prefix_alone = wanted == data && !name.empty() && single_unit(bytes).has_value();
    return prefix_alone ? fmt::format("; did you mean '{}'?", bytes) : "";
}

/// Units of the right dimension that may have been meant by `name`, for the message.
std::string suggestion(std::string_view name, Dimension const& wanted) {
    if (std::string meant = bytes_meant(name, wanted); !meant.empty()) return meant;
    std::vector<std::string> known;
    for (auto const& unit : units_known) {
        if (unit.dimension == wanted) known.emplace_back(unit.name);
        auto rate = unit.dimension;
        rate[0] -= 1;
        if (rate == wanted) known.push_back(std::string(unit.name) + "/s");
    }
    return did_you_mean(name, known);
}

double parse_base(std::string_view text, std::string_view where, Dimension const& wanted) {
    auto rest = trimmed(text);
    auto const shown = quoted(text);
    bool const money_first = !rest.empty() && rest.front() == '$';
    if (money_first) rest = trimmed(rest.substr(1));

    double number = 0;
    auto const [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (code == std::errc::result_out_of_range)
        throw InputError("{}: '{}' is outside the range of numbers (a finite number is expected)", where, shown);
    if (code != std::errc{})
        throw InputError("{}: '{}' does not start with a number (expected {})", where, shown, allowed_for(wanted));
    if (!std::isfinite(number))
        throw InputError("{}: '{}' is not finite (expected {})", where, shown, allowed_for(wanted));
    if (std::signbit(number) && number != 0)
        throw InputError("{}: '{}' is negative (it must be zero or more)", where, shown);

    auto name = std::string(trimmed(rest.substr(static_cast<std::size_t>(end - rest.data()))));
    if (money_first) name.insert(0, "$");
    if (name.empty()) throw InputError("{}: '{}' has no unit (expected {})", where, shown, allowed_for(wanted));
    auto const unit = find_unit(name);
    if (!unit)
        throw InputError("{}: '{}' has the unknown unit '{}'{} (expected {})", where, shown, quoted(name),
                         suggestion(name, wanted), allowed_for(wanted));
    if (unit->dimension != wanted)
        throw InputError("{}: '{}' is {} (expected {})", where, shown, noun_of(unit->dimension), allowed_for(wanted));
    double const base = number * unit->factor;
    if (!std::isfinite(base))
        throw InputError("{}: '{}' is outside the range of numbers (a finite number is expected)", where, shown);
    return base;
}

struct Step {
    double size;
    std::string_view name;
};

/// Four significant digits without trailing zeros; thousands stay whole.
std::string digits(double value) {
    double const magnitude = std::abs(value);
    int const decimals = magnitude < 9.9995 ? 3 : magnitude < 99.995 ? 2 : magnitude < 999.95 ? 1 : 0;
    auto text = fmt::format("{:.{}f}", value, decimals);
    if (decimals > 0) {
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.') text.pop_back();
    }
    return text == "-0" ? "0" : text;
}

/// `steps` ascending. The largest step that leaves at least one, after rounding.
std::string scaled(double value, std::span<Step const> steps) {
    if (!std::isfinite(value)) return fmt::format("{} {}", value, steps.front().name);
    auto const* chosen = &steps.front();
    for (auto const& step : steps)
        if (std::abs(value) >= step.size * 0.99995) chosen = &step;
    double const shown = value / chosen->size;
    auto const text = value != 0 && std::abs(shown) < 5e-4 ? fmt::format("{:.3g}", shown) : digits(shown);
    return chosen->name.empty() ? text : fmt::format("{} {}", text, chosen->name);
}

}  // namespace

template <class Q>
Q parse_quantity(std::string_view text, std::string_view where) {
    return [&]<int T, int B, int F, int M>(Quantity<T, B, F, M>) {
        return Q::from_base(parse_base(text, where, Dimension{T, B, F, M}));
    }(Q{});
}

template Seconds parse_quantity<Seconds>(std::string_view, std::string_view);
template Bytes parse_quantity<Bytes>(std::string_view, std::string_view);
template Flops parse_quantity<Flops>(std::string_view, std::string_view);
template Dollars parse_quantity<Dollars>(std::string_view, std::string_view);
template BytesPerSecond parse_quantity<BytesPerSecond>(std::string_view, std::string_view);
template FlopsPerSecond parse_quantity<FlopsPerSecond>(std::string_view, std::string_view);
template DollarsPerSecond parse_quantity<DollarsPerSecond>(std::string_view, std::string_view);
template SecondsPerByte parse_quantity<SecondsPerByte>(std::string_view, std::string_view);

std::string human(Seconds time) {
    static constexpr Step steps[] = {{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1, "s"}};
    if (std::abs(time.base()) >= 2 * 86400) return digits(time.base() / 86400) + " days";
    if (std::abs(time.base()) >= 7200) return digits(time.base() / 3600) + " h";
    if (std::abs(time.base()) >= 600) return digits(time.base() / 60) + " min";
    if (time.base() == 0) return "0 s";
    return scaled(time.base(), steps);
}

std::string human(Bytes bytes) {
    static constexpr Step steps[] = {{1, "B"}, {1e3, "KB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}, {1e15, "PB"}};
    return scaled(bytes.base(), steps);
}

std::string human(Flops flops) {
    static constexpr Step steps[] = {{1, "FLOP"},     {1e3, "KFLOP"},  {1e6, "MFLOP"},  {1e9, "GFLOP"},
                                     {1e12, "TFLOP"}, {1e15, "PFLOP"}, {1e18, "EFLOP"}, {1e21, "ZFLOP"}};
    return scaled(flops.base(), steps);
}

std::string human(BytesPerSecond rate) {
    static constexpr Step steps[] = {{1, "B/s"},    {1e3, "KB/s"},  {1e6, "MB/s"},
                                     {1e9, "GB/s"}, {1e12, "TB/s"}, {1e15, "PB/s"}};
    return scaled(rate.base(), steps);
}

std::string human(FlopsPerSecond rate) {
    static constexpr Step steps[] = {{1, "FLOP/s"},     {1e6, "MFLOP/s"},  {1e9, "GFLOP/s"},
                                     {1e12, "TFLOP/s"}, {1e15, "PFLOP/s"}, {1e18, "EFLOP/s"}};
    return scaled(rate.base(), steps);
}

std::string human(Dollars amount) {
    double const value = amount.base();
    std::string const sign = value < 0 ? "-" : "";
    double const magnitude = std::abs(value);
    if (magnitude > 0 && magnitude < 0.0995) {  // two digits of what cents would round away
        int const decimals = std::min(9, 1 - static_cast<int>(std::floor(std::log10(magnitude))));
        return fmt::format("{}${:.{}f}", sign, magnitude, decimals);
    }
    if (magnitude < 999.995) return fmt::format("{}${:.2f}", sign, magnitude);
    if (magnitude < 9999.5) return fmt::format("{}${:.0f}", sign, magnitude);
    static constexpr Step steps[] = {{1e3, "K"}, {1e6, "M"}, {1e9, "B"}};
    return sign + "$" + scaled(magnitude, steps);
}

std::string human_count(double count) {
    static constexpr Step steps[] = {{1, ""}, {1e3, "K"}, {1e6, "M"}, {1e9, "B"}, {1e12, "T"}};
    double const magnitude = std::abs(count);
    if (magnitude > 0 && magnitude < 0.1) return fmt::format("{:.3g}", count);
    if (!std::isfinite(count) || magnitude < 999.5) return digits(count);
    Step const* chosen = &steps[1];
    for (auto const& step : steps)
        if (magnitude >= step.size * 0.9995) chosen = &step;
    double const shown = count / chosen->size;
    int const decimals = std::abs(shown) < 9.995 ? 2 : std::abs(shown) < 99.95 ? 1 : 0;
    return fmt::format("{:.{}f} {}", shown, decimals, chosen->name);
}

}  // namespace sextant
