#include "cli/serve/options.hpp"
#include "cli/serve/plan_report.hpp"
#include "planner/serving/apart_candidates.hpp"
#include "planner/serving/usual_formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace sextant::cli {
namespace {

void add_new(std::vector<std::string>& lines, std::string line) {
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
}

}  // namespace

std::vector<std::string> plan_assumptions(ServePlanReport const& report, std::vector<std::string> const& notes) {
    ServeQuestion const& q = report.question;
    ServingPlan plan;
    plan.weights = q.weights.empty() ? q.machines.front().weights.weights : q.weights.front();
    plan.cache = q.caches.front();
    std::vector<std::string> out = serving_assumptions({.model = q.model,
                                                        .cluster = q.machines.front().cluster,
                                                        .plan = plan,
                                                        .engine = q.engine,
                                                        .format_notes = notes});
    for (CacheFormat const cache : q.caches)
        if (std::string words = missing_cache(q.engine, cache); cache != plan.cache && !words.empty())
            out.push_back(std::move(words));
    std::string stored;
    auto const add = [&](std::string_view part, std::string_view format) {
        stored += fmt::format("{}{} {}", stored.empty() ? "" : ", ", part, format);
    };
    if (q.weights.empty() && q.machines.front().weights.from == FormatOrigin::checkpoint)
        add("weights", q.machines.front().weights.weights);
    if (q.caches_origin == FormatOrigin::checkpoint) add("cache", name_of(q.caches.front()));
    if (!stored.empty())
        out.insert(out.begin(), stored + ", as the checkpoint is (--weights and --kv-cache allow others)");
    if (q.apart && q.mean_request().output > 1)
        out.emplace_back(
            "replicas for prompts lie beside each other and before those that decode; caches share the links with each "
            "other only");
    if (q.apart && q.mean_request().output <= 1)
        out.emplace_back("answers of one token leave nothing to decode: --disaggregated has nothing to add");
    if (!q.apart)
        out.emplace_back("prompts and answers are served by the same replicas (--disaggregated tries others)");
    out.emplace_back(q.most_error
                         ? "errors of formats are of generated values under the usual scaling (sextant serve quality)"
                         : "what a format costs in accuracy is not weighed (--max-error, sextant serve quality)");
    if (std::string missing = missing_prices(report); !missing.empty()) out.push_back(std::move(missing));
    for (ServeCandidate const& c : report.answer.ranked)
        if (auto const fault = c.prompts ? pipeline_fault(q.engine.program, c.prompts->plan, c.plan) : std::nullopt)
            add_new(out, fmt::format("{}: pairs with --pp or --prefill-pp are priced as if it did", *fault));
    if (!report.answer.ranked.empty())
        for (std::string& term : support_of(q, report.answer.ranked.front()).terms)
            add_new(out, std::move(term));
    return out;
}

}  // namespace sextant::cli
