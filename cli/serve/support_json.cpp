#include "cli/serve/support_json.hpp"

#include "core/json/json_text.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {

std::string support_json(ServingSupport const& support) {
    using Json = nlohmann::ordered_json;
    auto const interval = [](EngineInterval const& i) {
        return Json{{"low", i.low}, {"high", i.high}, {"rows", i.rows}};
    };
    return json_text(Json{
        {"tpot", interval(support.interval)}, {"ttft", interval(support.first_token)}, {"unsupported", support.terms}});
}

}  // namespace sextant::cli
