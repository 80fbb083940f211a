#pragma once

#include "cli/view/table.hpp"
#include "cost_models/scaling/published_laws.hpp"

#include <string>
#include <vector>

namespace sextant::cli {

/// For people. Sample:
///
///     law               form        basis      optimum at 5.76e23   parameters
///     ----------------  ----------  ---------  -------------------  ------------------------------
///     chinchilla-huber  chinchilla  fitted     73.2 B x 1.31 T      A 477.8, B 2143, E 1.817, ...
std::string law_list_text(std::vector<PublishedLaw> const& laws);
Table law_list_table(std::vector<PublishedLaw> const& laws);
std::string law_list_json(std::vector<PublishedLaw> const& laws);

/// Title, formula, parameters, what it was fitted to, warnings.
std::string law_text(PublishedLaw const& law);
Table law_parameter_table(PublishedLaw const& law);

}  // namespace sextant::cli
