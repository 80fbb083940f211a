#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// Parameters of a law as `sextant scaling fit` writes them or a paper published them: what the other scaling commands
/// take with `--law-file FILE.json` or `--law NAME`.
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

    /// Value of a parameter. @throws InputError: the law has none of this name.
    [[nodiscard]] double value(std::string_view name) const;
};

/// A law file, format "scaling-law" version 1; the result of `scaling fit --format json` is one.
/// @throws InputError: not readable, truncated, another format or version, values that are not finite.
FittedLaw read_fitted_law(std::string const& path);

}  // namespace sextant
