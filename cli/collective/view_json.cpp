#include "cli/collective/view.hpp"

#include "core/json/json_text.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

Json links_json(std::vector<LinkUse> const& links) {
    Json list = Json::array();
    for (LinkUse const& link : links)
        list.push_back({{"name", link.name},
                        {"bandwidth_bytes_per_s", link.bandwidth.base()},
                        {"carried_bytes", link.carried.base()},
                        {"busy_share", link.busy_share}});
    return list;
}

void add_rates(Json& json, CollectiveShape const& shape, Bytes bytes, Seconds time) {
    CollectiveRates const rates = rates_of(shape, bytes, time);
    json["time_s"] = time.base();
    json["algbw_bytes_per_s"] = rates.algorithm.base();
    json["busbw_bytes_per_s"] = rates.bus.base();
}

Json timing_json(CollectiveReport const& report, CollectiveTiming const& timing) {
    Json json{{"bytes", timing.bytes.base()}, {"state", name_of(timing.state)}};
    if (timing.state == Simulation::State::finished)
        add_rates(json, report.shape, timing.bytes, timing.time);
    else
        json["message"] = timing.message;
    json["busiest_links"] = links_json(timing.busiest);
    json["activities"] = timing.activities;
    return json;
}

Json run_json(CollectiveReport const& report, CollectiveRun const& run) {
    Json json{{"name", run.algorithm->name},
              {"summary", run.algorithm->summary},
              {"source", run.algorithm->source},
              {"possible", !run.reason.has_value()},
              {"takes_long", run.takes_long}};
    if (run.reason) {
        json["reason"] = *run.reason;
        return json;
    }
    json["rounds"] = run.rounds;
    json["flows"] = run.flows;
    json["phases"] = run.phases;
    json["sizes"] = Json::array();
    for (CollectiveTiming const& timing : run.timings)
        json["sizes"].push_back(timing_json(report, timing));
    return json;
}

Json interval_json(CollectiveReport const& report, std::size_t size) {
    if (!report.closed_form_applies()) return nullptr;
    return {{"low_s", (report.interval[size].low * report.closed_form[size]).base()},
            {"high_s", (report.interval[size].high * report.closed_form[size]).base()},
            {"basis", report.basis}};
}

}  // namespace

std::string collective_json(CollectiveReport const& report) {
    CollectiveShape const& shape = report.shape;
    Json json{{"format", "collective"},
              {"version", 1},
              {"kind", written(shape.kind)},
              {"cluster", report.cluster.name},
              {"gpus", shape.ranks},
              {"domains", shape.domains()},
              {"gpus_per_domain", shape.ranks_per_domain}};
    if (shape.stride > 1) json["stride"] = shape.stride;
    if (!shape.torus.empty()) json["torus"] = shape.torus;
    json["network"] = name_of(report.network);
    json["other_traffic"] = report.other_traffic;
    json["degraded_links"] = Json::array();
    for (DegradedLink const& link : report.degraded)
        json["degraded_links"].push_back({{"name", link.pattern}, {"factor", link.factor}});
    json["closed_form"] = Json::array();
    for (std::size_t size = 0; size < report.sizes.size(); ++size) {
        Json entry{{"bytes", report.sizes[size].base()}};
        add_rates(entry, shape, report.sizes[size], report.closed_form[size]);
        entry["jump"] = report.jump[size];
        entry["interval"] = interval_json(report, size);
        json["closed_form"].push_back(std::move(entry));
    }
    if (report.without_flows) json["without_flows"] = *report.without_flows;
    json["algorithms"] = Json::array();
    for (CollectiveRun const& run : report.runs)
        json["algorithms"].push_back(run_json(report, run));
    return json_text(json, 2) + "\n";
}

}  // namespace sextant::cli
