#pragma once

#include "core/spec/sourced.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace sextant {

/// A price that the user gave, US dollars per accelerator and hour. @throws InputError: not in 0 to 1e6.
Sourced<double> given_price(double usd);

/// @throws InputError: a budget of money, and an accelerator without a price, or one of zero.
void require_price_of_budget(std::optional<double> usd_per_hour, std::string_view cluster);

/// What reports say of a machine without a price.
inline constexpr std::string_view no_price = "no price is known (--price)";

/// For one line: "$2.95 per GPU-hour (indicative: Nebius H100, on-demand, 2025)", "$2 per GPU-hour (--price)".
std::string price_words(Sourced<double> const& price);

/// For the assumptions of a report: whose price it is and of when, or that the user gave it. Sample:
///
///     price = $2.95 per GPU-hour, indicative: Nebius H100, on-demand, 2025 (dstack docs ...; seen); set your own
///     (--price)
std::string price_assumption(Sourced<double> const& price);

}  // namespace sextant
