#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant::cli {

/// A positive number as people write sizes: "7e9", "70B", "1.4T", "350 M" (K, M, B or G, T, P: thousands).
/// @throws InputError: not a number, not positive, or beyond 1e40.
double count_from(std::string_view text, std::string_view flag);

/// One number or several: "1e21,1e22,1e23", and "1e21..1e25" for every power of ten of the first up to the last.
/// At most 200. @throws InputError as above, or an empty entry.
std::vector<double> counts_from(std::string_view list, std::string_view flag);

/// What stands behind "is not" where `text` is no whole number: "a whole number (digits alone: 1000000)" for "1e6" or
/// "1M", else with an example; of --global-batch also that it counts sequences.
std::string whole_number_words(std::string_view text, std::string_view flag);

/// A share above 0 and up to 1, as MFU is. @throws InputError otherwise.
double share_from(double share, std::string_view flag);

/// "5.76e23", "1e21": powers of ten as people write budgets, three digits.
std::string power_text(double value);

/// Three to four digits without an exponent where that is short: "17.9", "0.00124", "1.2e-05".
std::string digits_text(double value);

}  // namespace sextant::cli
