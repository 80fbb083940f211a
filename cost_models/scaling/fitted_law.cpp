#include "cost_models/scaling/fitted_law.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"

#include <algorithm>

namespace sextant {

double FittedLaw::value(std::string_view name) const {
    auto const found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
        throw InputError("{}: a law of form '{}' without the parameter '{}' (it has: {})", title, law, name,
                         join(names));
    return values.at(static_cast<std::size_t>(found - names.begin()));
}

FittedLaw FittedLaw::resample(std::size_t index) const {
    return {.law = law,
            .title = title,
            .basis = basis,
            .source = source,
            .names = names,
            .values = resamples.at(index),
            .ranges = ranges,
            .counting = counting};
}

}  // namespace sextant
