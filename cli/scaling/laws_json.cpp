#include "cli/scaling/laws.hpp"
#include "core/json/json_text.hpp"
#include "cost_models/scaling/rate_laws.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {

using Json = nlohmann::ordered_json;

std::string law_list_json(std::vector<PublishedLaw> const& laws) {
    Json out{{"format", "scaling-laws"}, {"version", 1}, {"default", default_scaling_law}, {"laws", Json::array()}};
    for (PublishedLaw const& law : laws) {
        Json entry{{"name", law.name},       {"law", law.law.law},       {"title", law.law.title},
                   {"basis", law.law.basis}, {"source", law.law.source}, {"counting", law.law.counting}};
        for (std::size_t i = 0; i < law.law.names.size(); ++i)
            entry["parameters"][law.law.names[i]] = law.law.values[i];
        entry["ranges"] = Json::object();
        for (auto const& [input, range] : law.law.ranges)
            entry["ranges"][input] = {range.first, range.second};
        entry["resamples"] = law.law.resamples.size();
        entry["warnings"] = law.law.warnings;
        out["laws"].push_back(std::move(entry));
    }
    out["rate_laws"] = Json::array();
    for (RateLaw const& law : rate_laws())
        out["rate_laws"].push_back(
            {{"name", law.name}, {"formula", law.formula}, {"basis", law.basis}, {"source", law.source}});
    return json_text(out, 2) + "\n";
}

}  // namespace sextant::cli
