#include "cli/serve/support_json.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {

nlohmann::ordered_json support_json(ServingSupport const& support) {
    return {{"low", support.interval.low},
            {"high", support.interval.high},
            {"rows", support.interval.rows},
            {"unsupported", support.terms}};
}

}  // namespace sextant::cli
