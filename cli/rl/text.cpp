#include "cli/rl/view.hpp"

#include "cli/view/percent_text.hpp"
#include "core/quantity_text.hpp"
#include "planner/explain.hpp"
#include "planner/left_out.hpp"

#include <fmt/format.h>

namespace sextant::cli {
namespace {

constexpr std::size_t most_split_rows = 24;

std::string gpus_text(RlStep const& step) {
    if (step.mode == RlMode::colocated) return grouped_digits(step.rollout_accelerators);
    return fmt::format("{} + {}", grouped_digits(step.rollout_accelerators), grouped_digits(step.train_accelerators));
}

std::string engine_text(RlStep const& step) {
    std::string text = fmt::format("{} x tp {}", grouped_digits(step.replicas), step.engine.tp);
    if (step.engine.pp > 1) text += fmt::format(" pp {}", step.engine.pp);
    if (step.engine.attention_dp > 1) text += fmt::format(" attention-dp {}", step.engine.attention_dp);
    return text;
}

Seconds scores(RlPhases const& p) {
    return p.reward + p.rules + p.policy_scores + p.reference_scores + p.critic_values;
}
Seconds training(RlPhases const& p) { return p.policy_training + p.critic_training + p.swaps; }

std::string headline(RlReport const& report) {
    RlQuestion const& q = report.question;
    std::string text =
        fmt::format("{} of {} on {} x {}, {} and {}: {} prompt{} of {:.0f} tokens", name_of(q.algorithm),
                    named(q.policy), grouped_digits(q.accelerators), q.machine.cluster.name, q.engine.name,
                    q.machine.framework.name, grouped_digits(q.prompts), q.prompts == 1 ? "" : "s", q.prompt_tokens);
    if (q.group > 1) text += fmt::format(" with {} responses each", q.group);
    text += fmt::format("; responses of {:.0f} tokens", q.lengths.mean);
    if (q.lengths.variation > 0)
        text += fmt::format(" ({}, variation {:.2g}, cut at {:.0f}; the longest of a step {:.0f})",
                            name_of(q.lengths.kind), q.lengths.variation, q.lengths.maximum, report.longest);
    text += fmt::format("; {} update{} of {} responses", q.updates(), q.updates() == 1 ? "" : "s",
                        grouped_digits(q.batch()));
    return wrapped(text);
}

std::string range_text(RlOverheads const& overheads, Seconds step) {
    RlInterval const range = rl_interval(overheads, step);
    return fmt::format("{} to {}", human(range.low), human(range.high));
}

/// Modes side by side, a figure a line.
std::string modes_text(RlReport const& report) {
    std::vector<Column> columns{{""}};
    std::vector<std::vector<std::string>> rows{{"GPUs"},         {"engines"},      {"step"},      {"generation"},
                                               {"scores"},       {"training"},     {"weights"},   {"controller"},
                                               {"engines busy"}, {"trainer busy"}, {"samples/s"}, {"tokens/s/GPU"},
                                               {"80 % range"}};
    bool const ranged = report.question.overheads.log_error > 0;
    bool const priced = report.question.usd_per_hour.has_value();
    if (!ranged) rows.pop_back();
    if (priced) rows.insert(rows.end(), {{"USD/step"}, {"USD/1000 samples"}});
    std::string reasons;
    for (RlModeAnswer const& mode : report.answer.modes) {
        if (!mode.best) {
            reasons += wrapped(fmt::format("{}: not possible: {}", name_of(mode.mode), mode.reason));
            continue;
        }
        RlStep const& s = *mode.best;
        columns.push_back({std::string(name_of(s.mode)), Align::right});
        std::size_t i = 0;
        for (std::string const& cell :
             {gpus_text(s), engine_text(s), human(s.step), human(s.phases.generation), human(scores(s.phases)),
              human(training(s.phases)), human(s.phases.sync + s.phases.offload), human(s.phases.controller),
              percent(s.rollout_busy, 0), percent(s.train_busy, 0), fmt::format("{:.4g}", s.responses_per_s),
              fmt::format("{:.4g}", s.tokens_per_s_per_gpu)})
            rows[i++].push_back(cell);
        if (ranged) rows[i++].push_back(range_text(report.question.overheads, s.step));
        if (priced) {
            rows[i++].push_back(fmt::format("{:.4g}", *usd_per_step(report.question, s)));
            rows[i++].push_back(fmt::format("{:.4g}", *usd_per_thousand_responses(report.question, s)));
        }
    }
    if (columns.size() == 1) return reasons;
    Table table(columns);
    for (std::vector<std::string> const& row : rows)
        table.add_row(row);
    return table.text() + reasons;
}

/// How much staleness may cost before nothing is gained.
std::string break_even_text(RlReport const& report, RlStep const& fast) {
    std::string out;
    for (RlMode const mode : {RlMode::colocated, RlMode::split})
        if (RlStep const* const slow = report.answer.best(mode))
            if (auto const penalty = break_even_penalty(fast, *slow))
                out += fmt::format("{}{:.3g} % (over {})",
                                   out.empty() ? "; it gains as long as a response loses less than " : ", ",
                                   100 * *penalty, name_of(mode));
    return out.empty() ? out : out + " of its worth per update behind";
}

std::string speed_up_text(RlReport const& report) {
    RlStep const* const fast = report.answer.best(RlMode::asynchronous);
    if (fast == nullptr) return "";
    std::string text;
    for (RlMode const mode : {RlMode::colocated, RlMode::split})
        if (RlStep const* const slow = report.answer.best(mode)) {
            text += fmt::format("{}{:.2f} x {}", text.empty() ? "" : ", ",
                                fast->responses_per_s / slow->responses_per_s, name_of(mode));
            if (fast->worth < 1)
                text +=
                    fmt::format(" ({:.2f} x with staleness counted)", fast->effective_rate() / slow->effective_rate());
        }
    if (text.empty()) return "";
    std::string ages;
    for (std::size_t i = 0; i < fast->age.size(); ++i)
        if (fast->age[i] > 0) ages += fmt::format("{}{}: {:.0f}%", ages.empty() ? "" : ", ", i, 100 * fast->age[i]);
    double const penalty = report.question.staleness_penalty;
    std::string groups;
    if (fast->group_wait > Seconds{})
        groups = fmt::format(
            " A response waits {} for the last of its {}, on average (the longest of these has {:.0f} tokens).",
            human(fast->group_wait), report.question.group, report.longest_of_group);
    return "\n" +
           wrapped(fmt::format(
               "asynchronous is {}. Responses by updates behind (at most {}): {}; mean {:.2f}.{} What that costs in "
               "learning is {}.",
               text + break_even_text(report, *fast), report.question.staleness, ages, fast->mean_age(), groups,
               penalty > 0 ? fmt::format("{:g} % of a response's worth per update, as given", 100 * penalty)
                           : std::string("not in these figures: a penalty of 0 is assumed (--staleness-penalty)")));
}

std::string phases_text(RlStep const& step) {
    std::vector<std::pair<std::string, std::string>> rows;
    auto const add = [&](char const* name, Seconds time, std::string const& remark = "") {
        if (time > Seconds{}) rows.emplace_back(name, fmt::format("{:>9}  {}", human(time), remark));
    };
    RlPhases const& p = step.phases;
    BatchGeneration const& g = step.generation;
    add("generation", p.generation,
        fmt::format("{:.0f} responses at most at once on an engine, {:.0f} decoding on average; {} with prompts",
                    g.most_batch, g.mean_batch, human(g.prefill)));
    add("  long tail", g.straggling(),
        fmt::format("{} of it: responses of equal length end after {}", percent(g.straggling() / g.time, 0),
                    human(g.even)));
    add("reward", p.reward);
    bool const waits = step.mode == RlMode::asynchronous && p.rules >= 0.999 * step.step;
    add("rules", p.rules, std::string("rewards, on machines of their own") + (waits ? "; they bound the step" : ""));
    add("policy scores", p.policy_scores);
    add("reference scores", p.reference_scores);
    add("critic values", p.critic_values);
    add("policy training", p.policy_training,
        fmt::format("{}, {} an update, MFU {:.0f} %", plan_label(step.training->plan), human(step.update),
                    100 * step.training->mfu * (step.training->estimate.time / step.update)));
    add("critic training", p.critic_training);
    add("swaps", p.swaps, "of training state with host memory");
    add("weight sync", p.sync,
        fmt::format(
            "{} an engine rank: gather {}{}{}{}", human(step.sync.rank_bytes), human(step.sync.gather),
            step.sync.broadcast > Seconds{} ? ", broadcast " + human(step.sync.broadcast) : std::string(),
            step.sync.over_host > Seconds{} ? ", over host memory " + human(step.sync.over_host) : std::string(),
            step.sync.software > Seconds{} ? ", software " + human(step.sync.software) : std::string()));
    add("controller", p.controller, "batches, advantages, logging");
    add("offload", p.offload, "training state to host memory and back");
    return aligned_pairs(rows, "  ");
}

std::string memory_text(RlStep const& step) {
    Table table({{"  role"}, {"needs", Align::right}, {"of", Align::right}, {""}});
    for (RoleMemory const& m : step.memory)
        table.add_row({"  " + m.role, human(m.needed), human(m.usable), m.remark});
    return table.text();
}

std::string splits_text(RlModeAnswer const& mode) {
    if (mode.splits.size() < 2) return "";
    Table table({{"  engines", Align::right},
                 {"trainer", Align::right},
                 {"engine", Align::right},
                 {"step", Align::right},
                 {"engines busy", Align::right},
                 {"trainer busy", Align::right},
                 {"samples/s", Align::right},
                 {""}});
    std::string reasons;
    std::size_t const n = mode.splits.size();
    std::size_t const every = (n + most_split_rows - 1) / most_split_rows;
    for (std::size_t i = 0; i < n; ++i) {
        RlStep const& s = mode.splits[i];
        bool const best = mode.best && s.rollout_accelerators == mode.best->rollout_accelerators;
        if (i % every != 0 && !best) continue;
        std::vector<std::string> row{grouped_digits(s.rollout_accelerators), grouped_digits(s.train_accelerators)};
        if (s.possible())
            row.insert(row.end(), {engine_text(s), human(s.step), percent(s.rollout_busy, 0), percent(s.train_busy, 0),
                                   fmt::format("{:.4g}", s.responses_per_s), best ? "best" : ""});
        else
            row.insert(row.end(), {"", "-"});
        if (!s.possible()) reasons += wrapped(fmt::format("  {}: {}", gpus_text(s), s.reason), "    ");
        table.add_row(row);
    }
    std::string text = fmt::format("\n{}: division of the GPUs\n", name_of(mode.mode)) + table.text() + reasons;
    if (every > 1) text += fmt::format("  ({} divisions were tried; --format csv shows all)\n", n);
    return text;
}

}  // namespace

std::string rl_text(RlReport const& report) {
    std::string text = headline(report) + "\n" + modes_text(report) + speed_up_text(report);
    if (RlStep const* const best = report.answer.best()) {
        text += fmt::format("\nbest: {}, {} GPUs\n", name_of(best->mode), gpus_text(*best)) + phases_text(*best) + "\n";
        text += memory_text(*best);
    }
    for (RlModeAnswer const& mode : report.answer.modes)
        text += splits_text(mode);
    text += "\nassumed:\n";
    for (std::string const& assumption : rl_assumptions(report))
        text += wrapped("  " + assumption, "    ");
    if (report.answer.interrupted) text += "interrupted: better divisions may exist\n";
    return text;
}

Table rl_table(RlReport const& report) {
    std::vector<Column> columns{{"mode"}, {"rollout_gpus"}, {"train_gpus"}, {"engine_tp"}, {"replicas"}, {"best"}};
    for (char const* name : {"step_time_s", "generation_s", "long_tail_s", "reward_s", "policy_scores_s",
                             "reference_scores_s", "critic_values_s", "policy_training_s", "critic_training_s",
                             "swaps_s", "weight_sync_s", "offload_s", "controller_s", "rollout_busy", "train_busy",
                             "samples_per_s", "tokens_per_s_per_gpu", "mean_age", "effective_samples_per_s"})
        columns.push_back({name, Align::right});
    columns.push_back({"train_plan"});
    columns.push_back({"reason"});
    Table table(columns);
    for (RlModeAnswer const& mode : report.answer.modes)
        for (RlStep const& s : mode.splits) {
            std::vector<std::string> row{std::string(name_of(s.mode)), std::to_string(s.rollout_accelerators),
                                         std::to_string(s.train_accelerators), std::to_string(s.engine.tp),
                                         std::to_string(s.replicas)};
            if (!s.possible()) {
                row.resize(columns.size() - 1);
                row.push_back(s.reason);
                table.add_row(row);
                continue;
            }
            row.push_back(mode.best && s.rollout_accelerators == mode.best->rollout_accelerators ? "1" : "0");
            RlPhases const& p = s.phases;
            for (Seconds const time : {s.step, p.generation, s.generation.straggling(), p.reward + p.rules,
                                       p.policy_scores, p.reference_scores, p.critic_values, p.policy_training,
                                       p.critic_training, p.swaps, p.sync, p.offload, p.controller})
                row.push_back(fmt::format("{:.6g}", time.base()));
            for (double const value : {s.rollout_busy, s.train_busy, s.responses_per_s, s.tokens_per_s_per_gpu,
                                       s.mean_age(), s.effective_rate()})
                row.push_back(fmt::format("{:.6g}", value));
            row.push_back(plan_label(s.training->plan));
            row.emplace_back();
            table.add_row(row);
        }
    return table;
}

}  // namespace sextant::cli
