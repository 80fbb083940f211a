#include "cli/serve/support_json.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {

std::string support_json(ServingSupport const& support) {
    using Json = nlohmann::ordered_json;
    auto const interval = [](EngineInterval const& i) {
        return Json{{"low", i.low}, {"high", i.high}, {"rows", i.rows}};
    };
    return Json{
        {"tpot", interval(support.interval)}, {"ttft", interval(support.first_token)}, {"unsupported", support.terms}}
        .dump();
}

}  // namespace sextant::cli
