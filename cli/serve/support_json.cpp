#include "cli/serve/support_json.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {

std::string support_json(ServingSupport const& support) {
    return nlohmann::ordered_json{{"low", support.interval.low},
                                  {"high", support.interval.high},
                                  {"rows", support.interval.rows},
                                  {"unsupported", support.terms}}
        .dump();
}

}  // namespace sextant::cli
