#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sextant {

/// Parameters of a law as `sextant scaling fit` writes them or a paper published them: what the other scaling commands
/// take with `--law NAME|FILE.json`.
struct FittedLaw {
    std::string law;                 ///< the form: "chinchilla", "compute", "data-constrained", ...
    std::string title;               ///< what it was fitted to, for reports
    std::string basis;               ///< "fitted", "published" or "assumed"
    std::string source;              ///< paper and table, or the data file and the command
    std::vector<std::string> names;  ///< of the parameters, in the order of `values` ("A", "B", "E", "alpha", "beta")
    std::vector<double> values;
    /// Parameters refitted to bootstrap resamples, each in the order of `names`; empty: no intervals can be given.
    std::vector<std::vector<double>> resamples{};
    /// Lowest and highest value of each input that was seen ("parameters", "tokens", "flops"); empty: not known.
    std::map<std::string, std::pair<double, double>> ranges{};
    /// What N counts: "total", "non-embedding", "active", ... Empty: not stated.
    std::string counting{};
    /// What a reader of any answer of this law must know ("shape only: ..."); reports repeat it.
    std::vector<std::string> warnings{};

    /// Value of a parameter. @throws InputError: the law has none of this name.
    [[nodiscard]] double value(std::string_view name) const;

    /// The same law with the parameters of one resample. @pre index < resamples.size().
    [[nodiscard]] FittedLaw resample(std::size_t index) const;
};

/// A law file, format "scaling-law" version 1; the result of `scaling fit --format json` is one.
/// Keys of a fit's report (objective, rows_used, intervals, ...) are allowed and not read.
/// @throws InputError: not readable, truncated, another format or version, values that are not finite.
FittedLaw read_fitted_law(std::string const& path);

/// The same from text; `name` is what messages call it.
FittedLaw parse_fitted_law(std::string_view text, std::string name);

/// The law as such a file. `read_fitted_law` gives the same law back, to the last bit.
std::string fitted_law_text(FittedLaw const& law);

}  // namespace sextant
