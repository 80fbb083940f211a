#include "planner/price_words.hpp"

#include "core/error.hpp"

#include <fmt/format.h>

#include <string_view>

namespace sextant {
namespace {

/// Source of a price that the user gave.
constexpr std::string_view of_user = "--price";

/// What the sources of the profiles that ship begin and end with.
constexpr std::string_view indicative = "indicative: ";
constexpr std::string_view replace_it = "; set your own";

/// "Nebius H100, on-demand, 2025" of "indicative: Nebius H100, on-demand, 2025 (where it was read)": up to what stands
/// in brackets after the date.
std::string_view provider_and_date(std::string_view source) {
    source.remove_prefix(indicative.size());
    auto const date = source.find(", 20");
    return date == std::string_view::npos ? source : source.substr(0, source.find(" (", date));
}

}  // namespace

Sourced<double> given_price(double usd) {
    if (!(usd >= 0 && usd <= 1e6))
        throw InputError("--price: {} is not a price (0 to 1e6 US dollars per accelerator and hour)", usd);
    return {usd, Basis::assumed, std::string(of_user)};
}

void require_price_of_budget(std::optional<double> usd_per_hour, std::string_view cluster) {
    if (!usd_per_hour)
        throw InputError("--dollars: nobody says what {} costs (--price USD per accelerator and hour)", cluster);
    if (!(*usd_per_hour > 0))
        throw InputError("--dollars: at a price of zero money is no budget (--price above 0, or --flops)");
}

std::string price_words(Sourced<double> const& price) {
    std::string const amount = fmt::format("${:g} per GPU-hour", price.value);
    if (price.source.starts_with(indicative))
        return fmt::format("{} ({}{})", amount, indicative, provider_and_date(price.source));
    if (price.source == of_user) return fmt::format("{} ({})", amount, of_user);
    return price.basis == Basis::assumed ? amount + " (assumed)" : fmt::format("{} ({})", amount, price.source);
}

std::string price_assumption(Sourced<double> const& price) {
    std::string const amount = fmt::format("price = ${:g} per GPU-hour", price.value);
    if (price.source == of_user) return fmt::format("{}, as given ({})", amount, of_user);
    if (price.source.starts_with(indicative)) {
        bool const invites = price.source.ends_with(replace_it);
        return fmt::format("{}, {}{}", amount, price.source, invites ? " (--price)" : "");
    }
    std::string const source = price.source.empty() ? "no source" : price.source;
    return fmt::format("{}{}: {}", amount, price.basis == Basis::assumed ? ", assumed" : "", source);
}

}  // namespace sextant
