#include "cli/rl/rows_view.hpp"

#include "cli/view/percent_text.hpp"
#include "core/quantity_text.hpp"
#include "planner/explain.hpp"

#include <fmt/format.h>

#include <map>

namespace sextant::cli {
namespace {

std::string errors_text(std::string const& name, ErrorStatistics const& e) {
    return fmt::format("  {}: {} row{}, median error {:.1f} %, mean {:.1f} %, bias {}\n", name, e.n,
                       e.n == 1 ? "" : "s", e.median_ape_pct, e.mape_pct, signed_percent(e.bias_pct / 100));
}

std::string speed_ups_text(std::vector<RlRow> const& rows) {
    std::vector<RlSpeedUp> const pairs = rl_speed_ups(rows);
    if (pairs.empty()) return "";
    Table table({{"  model"}, {"measured", Align::right}, {"predicted", Align::right}, {"error", Align::right}});
    for (RlSpeedUp const& pair : pairs)
        table.add_row({"  " + pair.model, fmt::format("{:.2f}", pair.measured), fmt::format("{:.2f}", pair.predicted),
                       signed_percent(pair.predicted / pair.measured - 1)});
    return "\nresponses a second and GPU, asynchronous over colocated:\n" + table.text() +
           errors_text("all", speed_up_errors(pairs));
}

std::string divided(RlStep const& s) {
    if (s.mode == RlMode::colocated) return grouped_digits(s.rollout_accelerators);
    return fmt::format("{} + {}", s.rollout_accelerators, s.train_accelerators);
}

}  // namespace

std::string rl_rows_text(std::vector<RlRow> const& rows) {
    Table table({{"model"},
                 {"mode"},
                 {"GPUs", Align::right},
                 {"measured", Align::right},
                 {"predicted", Align::right},
                 {"error", Align::right},
                 {"generate", Align::right},
                 {"score", Align::right},
                 {"train", Align::right}});
    std::map<std::string, std::size_t> skipped;
    std::map<std::string, std::size_t> assumed;
    for (RlRow const& row : rows) {
        if (!row.skip_reason.empty()) ++skipped[row.skip_reason];
        if (!row.scored()) continue;
        RlStep const& s = *row.predicted;
        RlPhases const& p = s.phases;
        table.add_row({row.model, row.mode, divided(s), human(row.measured), human(s.step), signed_percent(row.error()),
                       human(p.generation), human(p.policy_scores + p.reference_scores + p.reward + p.critic_values),
                       human(p.policy_training + p.critic_training + p.swaps)});
        for (std::string const& what : row.assumptions)
            ++assumed[what];
    }
    std::string text = table.text() + "\nstep time, predicted against measured:\n";
    text += errors_text("all", rl_errors(rows));
    for (auto const& [mode, group] : scored_by_mode(rows))
        text += errors_text(mode, rl_errors(group));
    text += speed_ups_text(rows);
    if (!skipped.empty()) text += "\nnot predicted:\n";
    for (auto const& [reason, count] : skipped)
        text += wrapped(fmt::format("  {} row{}: {}", count, count == 1 ? "" : "s", reason), "    ");
    if (!assumed.empty()) text += "assumed, because the rows do not say:\n";
    for (auto const& [what, count] : assumed)
        text += wrapped(fmt::format("  {} row{}: {}", count, count == 1 ? "" : "s", what), "    ");
    return text;
}

Table rl_rows_table(std::vector<RlRow> const& rows) {
    Table table({{"source_id"},
                 {"model"},
                 {"mode"},
                 {"gpu"},
                 {"num_gpus", Align::right},
                 {"step_time_s", Align::right},
                 {"pred_step_time_s", Align::right},
                 {"pred_tokens_per_s_per_gpu", Align::right},
                 {"skip_reason"}});
    for (RlRow const& row : rows)
        table.add_row({row.source, row.model, row.mode, row.device, std::to_string(row.accelerators),
                       fmt::format("{:.6g}", row.measured.base()),
                       row.predicted ? fmt::format("{:.6g}", row.predicted->step.base()) : "",
                       row.predicted ? fmt::format("{:.6g}", row.predicted->tokens_per_s_per_gpu) : "",
                       row.skip_reason});
    return table;
}

}  // namespace sextant::cli
