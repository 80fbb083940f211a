#include "cli/trials/schedule.hpp"

#include "core/json/json_text.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {

std::string schedule_json(ScheduleReport const& report) {
    using Json = nlohmann::ordered_json;
    CalendarSpec const& spec = report.spec;
    Json json{{"format", "trials-schedule"},        {"version", 1},
              {"shape", name_of(spec.shape)},       {"peak_learning_rate", spec.peak_rate},
              {"final_share", spec.final_share},    {"warmup_tokens", spec.warmup_tokens},
              {"decay_tokens", spec.decay_end()},   {"steps", report.calendar.steps()},
              {"tokens", report.calendar.tokens()}, {"learning_rate_sum", report.calendar.rate_area()}};
    if (spec.shape == RateShape::wsd) {
        json["decay"] = name_of(spec.decay);
        json["decay_share"] = spec.decay_share;
    }
    json["rows"] = Json::array();
    for (CalendarRow const& row : report.rows)
        json["rows"].push_back({{"step", row.step},
                                {"tokens", row.tokens},
                                {"batch_tokens", row.batch_tokens},
                                {"learning_rate", row.rate},
                                {"event", row.event}});
    return json_text(json, 2) + "\n";
}

}  // namespace sextant::cli
