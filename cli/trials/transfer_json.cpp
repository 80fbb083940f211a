#include "cli/trials/transfer.hpp"

#include "core/json/json_text.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {

std::string transfer_json(TransferReport const& report) {
    using Json = nlohmann::ordered_json;
    Json json{{"format", "trials-transfer"}, {"version", 1}, {"ladder", Json::array()}, {"rules", Json::array()}};
    for (Proxy const& proxy : report.ladder)
        json["ladder"].push_back({{"parameters", proxy.parameters},
                                  {"tokens", proxy.tokens},
                                  {"flops", proxy.flops},
                                  {"share_of_target", proxy.share_of_target}});
    for (TransferRule const& rule : transfer_rules())
        json["rules"].push_back({{"hyperparameter", rule.what},
                                 {"tune_at", rule.tune_at},
                                 {"carry_over", rule.carry_over},
                                 {"basis", rule.basis},
                                 {"source", rule.source}});
    return json_text(json, 2) + "\n";
}

}  // namespace sextant::cli
