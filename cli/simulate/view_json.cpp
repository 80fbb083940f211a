#include "cli/plan/plan_report_json.hpp"
#include "cli/simulate/view.hpp"
#include "core/json/json_text.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Memory over time is part of the report up to this many changes.
constexpr std::size_t most_memory_steps = 20'000;

std::string key(TaskPart part, char const* suffix) { return std::string(name_of(part)) + suffix; }

Json parts_object(PartTimes const& parts) {
    Json json = Json::object();
    for (std::size_t i = 0; i < task_part_count; ++i)
        if (parts.time[i] > Seconds{}) json[key(static_cast<TaskPart>(i), "_s")] = parts.time[i].base();
    return json;
}

double share(Seconds part, Seconds whole) { return whole > Seconds{} ? part / whole : 0; }

Json rank_object(RankAnalysis const& rank, Seconds makespan) {
    return {{"compute_s", rank.compute.total().base()},
            {"exposed_s", rank.exposed.total().base()},
            {"idle_s", rank.idle.total().base()},
            {"idle_before_s", rank.idle.before.base()},
            {"idle_between_s", rank.idle.between.base()},
            {"idle_after_s", rank.idle.after.base()},
            {"bubble_share", share(rank.idle.total(), makespan)},
            {"compute", parts_object(rank.compute)},
            {"exposed", parts_object(rank.exposed)}};
}

Json rank_list(SimulationReport const& r) {
    Json list = Json::array();
    for (std::size_t i = 0; i < r.analysis.ranks.size(); ++i) {
        SimulatedRank const& of = r.graph.ranks[i];
        Json json{{"rank", of.rank}, {"stage", of.pipeline}, {"stands_for", of.stands_for}};
        json.update(rank_object(r.analysis.ranks[i], r.analysis.makespan));
        list.push_back(std::move(json));
    }
    return list;
}

Json overlap_object(StepAnalysis const& analysis) {
    Json json = Json::object();
    for (std::size_t i = 0; i < task_part_count; ++i) {
        auto const part = static_cast<TaskPart>(i);
        Overlap const& overlap = analysis.mean.overlap[i];
        if (!is_communication(part) || overlap.total == Seconds{}) continue;
        json[std::string(name_of(part))] = {{"total_s", overlap.total.base()},
                                            {"hidden_s", overlap.hidden.base()},
                                            {"exposed_s", analysis.mean.exposed.time[i].base()},
                                            {"overlap_share", overlap.share()}};
    }
    return json;
}

Json link_list(std::vector<LinkUse> const& links) {
    Json list = Json::array();
    for (LinkUse const& link : by_use(links))
        list.push_back({{"name", link.name},
                        {"bandwidth_bytes_per_s", link.bandwidth.base()},
                        {"carried_bytes", link.carried.base()},
                        {"busy_share", link.busy_share}});
    return list;
}

Json path_object(SimulationReport const& r) {
    CriticalPath const& path = r.path;
    Json ops = Json::array();
    for (PathOp const& op : path.ops)
        ops.push_back({{"name", op.name}, {"time_s", op.time.base()}, {"count", op.count}});
    Json ranks = Json::array();
    for (std::size_t i = 0; i < path.ranks.size(); ++i)
        if (path.ranks[i] > Seconds{})
            ranks.push_back({{"rank", r.graph.ranks[i].rank}, {"time_s", path.ranks[i].base()}});
    return {{"tasks", path.tasks.size()},
            {"length_s", path.length.base()},
            {"waiting_s", path.waiting.base()},
            {"network_delay_s", path.network_delay.base()},
            {"compute_delay_s", path.compute_delay.base()},
            {"parts", parts_object(path.parts)},
            {"ops", std::move(ops)},
            {"ranks", std::move(ranks)}};
}

Json memory_list(SimulationReport const& r) {
    Json list = Json::array();
    std::size_t steps = 0;
    for (MemoryTimeline const& timeline : r.memory)
        steps += timeline.steps.size();
    for (std::size_t i = 0; i < r.memory.size(); ++i) {
        MemoryTimeline const& timeline = r.memory[i];
        Json json{{"rank", r.graph.ranks[i].rank},
                  {"peak_bytes", timeline.peak.base()},
                  {"peak_time_s", timeline.peak_time.base()}};
        if (steps <= most_memory_steps) {
            Json times = Json::array();
            Json bytes = Json::array();
            for (MemoryStep const& step : timeline.steps) {
                times.push_back(step.time);
                bytes.push_back(step.bytes.base());
            }
            json["time_s"] = std::move(times);
            json["bytes"] = std::move(bytes);
        }
        list.push_back(std::move(json));
    }
    return list;
}

Json repetitions_object(SimulationReport const& r) {
    if (r.repetitions.empty()) return nullptr;
    Json times = Json::array();
    for (Seconds const time : r.repetitions)
        times.push_back(time.base());
    Json json{{"first_seed", r.first_seed}, {"iteration_time_s", std::move(times)}};
    for (auto const& [name, at] : {std::pair{"p10_s", 0.1}, {"p50_s", 0.5}, {"p90_s", 0.9}, {"max_s", 1.0}})
        json[name] = time_quantile(r.repetitions, at).base();
    return json;
}

Json reserved_bytes(SimulationReport const& r) {
    return r.memory.empty() ? Json(nullptr) : Json(most_reserved(r).base());
}

/// What was simulated, and whether it came to its end.
Json simulation_head(SimulationReport const& r) {
    Json plan = Json::parse(plan_object_json(r.plan));
    if (!r.schedule.empty()) plan["schedule"] = r.schedule;
    return {{"format", "simulation"},
            {"version", 1},
            {"model", r.model},
            {"cluster", r.cluster},
            {"framework", r.framework},
            {"seq", r.sequence},
            {"global_batch", r.global_batch},
            {"plan", std::move(plan)},
            {"plan_label", r.plan_label},
            {"gpus", r.accelerators},
            {"network", r.network},
            {"granularity", r.granularity},
            {"steps", r.steps},
            {"state", name_of(r.state)}};
}

Json optional_seconds(std::optional<Seconds> const& time) { return time ? Json(time->base()) : Json(nullptr); }

}  // namespace

std::string unfinished_simulation_json(SimulationReport const& r, std::string const& message) {
    Json json = simulation_head(r);
    json["message"] = message;
    return json_text(json, 2) + "\n";
}

std::string simulation_json(SimulationReport const& r) {
    Json json = simulation_head(r);
    json.update({{"iteration_time_s", r.step_time.base()},
                 {"iteration_time_low_s", (r.interval.low * r.step_time).base()},
                 {"iteration_time_high_s", (r.interval.high * r.step_time).base()},
                 {"tokens_per_s", r.tokens_per_second},
                 {"mfu", r.mfu},
                 {"closed_form_time_s", optional_seconds(r.closed_form)},
                 {"uncontended_time_s", optional_seconds(r.without_contention)},
                 {"bubble_share", r.analysis.bubble_share()},
                 {"tasks", r.graph.tasks.size()},
                 {"activities", r.activities},
                 {"repetitions", repetitions_object(r)},
                 {"ranks", rank_list(r)},
                 {"mean", rank_object(r.analysis.mean, r.analysis.makespan)},
                 {"overlap", overlap_object(r.analysis)},
                 {"links", link_list(r.links)},
                 {"critical_path", path_object(r)},
                 {"memory", memory_list(r)},
                 {"peak_reserved_bytes", reserved_bytes(r)},
                 {"usable_memory_bytes", r.usable_memory ? Json(r.usable_memory->base()) : Json(nullptr)},
                 {"notes", r.notes}});
    if (!r.analysis.ranks.empty()) {
        json["busiest_rank"] = r.graph.ranks[r.analysis.busiest].rank;
        json["least_bubble_share"] = r.analysis.least_bubble_share();
    }
    if (r.document > 0) json["document_tokens"] = r.document;
    if (r.wall_time) json["wall_time_s"] = r.wall_time->base();
    return json_text(json, 2) + "\n";
}

}  // namespace sextant::cli
