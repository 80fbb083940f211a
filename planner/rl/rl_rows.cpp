#include "planner/rl/rl_rows.hpp"

#include "core/error.hpp"
#include "core/measurements/row_cells.hpp"
#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/model_name.hpp"
#include "core/text.hpp"
#include "cost_models/kernel_estimate.hpp"
#include "cost_models/serving/memory_share.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace sextant {
namespace {

constexpr double usual_prompt = 128;
constexpr std::int64_t usual_group = 32;

/// The preset that the name means. @throws RowSkip.
ModelSpec model_written(std::string const& name) {
    if (auto const preset = preset_called(name)) return find_model(*preset);
    throw RowSkip("the shape of the model is not known");
}

/// "[4,1,n/a]": numbers; 0 for what is none.
std::vector<std::int64_t> degrees_in(std::string const& text) {
    std::vector<std::int64_t> out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '[' && text[i] != ',') continue;
        std::size_t const begin = std::min(text.find_first_not_of(' ', i + 1), text.size());
        std::int64_t n = 0;
        std::from_chars(text.data() + begin, text.data() + text.size(), n);
        out.push_back(n);
    }
    return out;
}

void set_axis(std::optional<AxisFilter>& axis, std::int64_t value, char const* name) {
    axis = AxisFilter::parse(std::to_string(std::max<std::int64_t>(1, value)), name);
}

/// tp, cp, ep first; pp and chunks a stage last.
void set_training_degrees(SearchConstraints& c, RowCells const& cells, RlRow& row) {
    std::vector<std::int64_t> const d = degrees_in(cells.text("train_tp_cp_ep_pp_vpp"));
    if (d.size() < 5) {
        row.assumptions.emplace_back("degrees of training are searched");
        return;
    }
    set_axis(c.tp, d[0], "tp");
    set_axis(c.cp, d[1], "cp");
    set_axis(c.ep, d[2], "ep");
    set_axis(c.pp, d[d.size() - 2], "pp");
    set_axis(c.vpp, d.back(), "vpp");
}

void set_engine(RlQuestion& q, RowCells const& cells, RlRow& row) {
    std::vector<std::int64_t> const d = degrees_in(cells.text("gen_tp_pp"));
    if (d.size() == 2 && d[0] > 0) {
        q.rollout_tp = {d[0]};
        q.rollout.pp = std::max<std::int64_t>(1, d[1]);
    } else {
        row.assumptions.emplace_back("tensor parallelism of the engines is the best");
    }
    q.rollout.max_batch = usual_engine_batch(q.machine.cluster.accelerator);
    std::string const name = lower_case(cells.text("rollout_engine"));
    q.engine = find_engine(name.find("sglang") != std::string::npos ? "sglang" : "vllm", "rollout_engine");
    q.rollout.memory_utilisation = default_memory_share(q.engine, q.machine.cluster.accelerator, q.rollout);
    q.rollout.weights = std::string(name_of(two_byte_precision(q.machine.cluster.accelerator)));
}

/// What `rate` tokens a second and accelerator leave over responses of `mean` tokens.
double prompt_left_by(double mean, double rate, RlQuestion const& q, RlRow& row) {
    double const each =
        rate * static_cast<double>(q.accelerators) * row.measured.base() / static_cast<double>(q.responses());
    if (each > mean && each < 2 * mean) return std::round(each - mean);
    std::string assumption = fmt::format("prompts of {:.0f} tokens", usual_prompt);
    if (each > 0)
        assumption +=
            fmt::format(": tokens a second mean {:.0f} a sequence, which responses of {:.0f} do not leave", each, mean);
    row.assumptions.push_back(std::move(assumption));
    return usual_prompt;
}

void set_lengths(RlQuestion& q, RowCells const& cells, RlRow& row, double variation) {
    auto const mean = cells.number("avg_seq_len");
    if (!mean || !(*mean >= 1)) throw RowSkip("the lengths of the responses are not stated");
    auto const longest = cells.number("max_seq_or_resp_len");
    auto const rate = cells.number("tokens_per_s_per_gpu");
    q.prompt_tokens = prompt_left_by(*mean, rate.value_or(0), q, row);
    q.lengths = {.kind = LengthKind::lognormal,
                 .mean = *mean,
                 .variation = variation,
                 .maximum = longest ? std::max(*mean, *longest - q.prompt_tokens) : 4 * *mean};
    if (longest) q.lengths.variation = variation_to_the_cut(q.lengths, q.responses());
    row.assumptions.push_back(
        "variation of lengths " + std::to_string(q.lengths.variation).substr(0, 4) +
        (q.lengths.variation > variation ? ", so that the longest response of a step is cut" : ""));
}

RlMode mode_of(RlRow const& row) {
    std::string const mode = lower_case(row.mode);
    if (mode == "on policy" || mode == "sync") return RlMode::colocated;
    if (mode == "1-step off") return RlMode::asynchronous;
    throw RowSkip("mode '" + row.mode + "'");
}

std::int64_t rollout_accelerators(RlQuestion const& q, RlMode mode, RowCells const& cells, RlRow& row) {
    if (mode == RlMode::colocated) return q.accelerators;
    std::vector<std::int64_t> const split = degrees_in("[" + cells.text("gpu_split_rollout_train"));
    if (!split.empty() && split[0] > 0 && split[0] < q.accelerators) return split[0];
    row.assumptions.emplace_back("half of the accelerators generate");
    return q.accelerators / 2;
}

RlQuestion question_of(RowCells const& cells, RlRow& row, double variation, RlOverheads const& overheads) {
    RlQuestion q;
    std::string const algorithm = lower_case(cells.stated("algorithm"));
    if (algorithm != "grpo" && algorithm != "ppo") throw RowSkip("algorithm '" + algorithm + "'");
    q.algorithm = rl_algorithm_from(algorithm, "algorithm");
    q.accelerators = need(cells.count("num_gpus"), "num_gpus");
    auto const cluster = cluster_for_device(row.device);
    if (!cluster) throw RowSkip("no profile of this device");
    q.machine.cluster = *cluster;
    auto const batch = cells.count("global_batch_gen");
    if (!batch || *batch < 1) throw RowSkip("the responses of a step are not stated");
    constexpr std::int64_t most_responses = 1 << 20;  // as of a question: each is drawn
    if (*batch > most_responses) throw RowSkip("more responses a step than are drawn");
    q.group = q.algorithm == RlAlgorithm::grpo && *batch % usual_group == 0 ? usual_group : 1;
    q.prompts = *batch / q.group;
    q.update_batch = cells.count("global_batch_train").value_or(0);
    set_lengths(q, cells, row, variation);
    q.policy = model_written(cells.stated("model"));
    q.context = static_cast<std::int64_t>(q.prompt_tokens + q.lengths.maximum) + 1;
    q.overheads = overheads;
    q.followed_replicas = 256;
    q.machine.framework = find_framework("megatron", "train_engine");
    q.machine.limit = default_memory_limit(q.machine.cluster, q.machine.framework);
    q.machine.constraints.base.precision = two_byte_precision(q.machine.cluster.accelerator);
    set_training_degrees(q.machine.constraints, cells, row);
    set_engine(q, cells, row);
    return q;
}

void predict(RowCells const& cells, RlRow& row, double variation, RlOverheads const& overheads) {
    RlMode const mode = mode_of(row);
    RlPlanner planner(question_of(cells, row, variation, overheads));
    RlQuestion const& q = planner.question();
    std::int64_t const engines = rollout_accelerators(q, mode, cells, row);
    for (EngineSplit const split : possible_engines(q)) {
        RlStep step = planner.step(mode, engines, split);
        if (!step.possible())
            row.skip_reason = step.reason;
        else if (!row.predicted || step.step < row.predicted->step)
            row.predicted = std::move(step);
    }
    if (row.predicted) row.skip_reason.clear();
}

}  // namespace

std::vector<std::string_view> rl_columns() {
    return {"source_id",           "model",       "algorithm",        "mode",       "gpu", "num_gpus",
            "max_seq_or_resp_len", "avg_seq_len", "global_batch_gen", "step_time_s"};
}

std::vector<RlRow> predict_rl_rows(CsvTable const& table, double variation, RlOverheads const& overheads) {
    static_cast<void>(table.require(rl_columns()));
    std::vector<RlRow> rows;
    std::size_t unreadable = 0;
    std::string first;
    for (CsvRecord const& record : table.records) {
        RowCells const cells(table, record);
        RlRow row{.source = cells.text("source_id"),
                  .model = cells.text("model"),
                  .mode = cells.text("mode"),
                  .device = cells.text("gpu"),
                  .accelerators = 0,
                  .skip_reason = {},
                  .predicted = {},
                  .measured = {},
                  .assumptions = {}};
        try {
            row.accelerators = cells.count("num_gpus").value_or(0);
            row.measured = cells.number("step_time_s").value_or(0) * units::s;
            predict(cells, row, variation, overheads);
        } catch (RowSkip const& skip) {
            row.skip_reason = skip.what();
            if (!skip.place().empty() && ++unreadable == 1) first = fmt::format("{} ({})", skip.what(), skip.place());
        } catch (InputError const& error) {
            row.skip_reason = error.what();
        }
        rows.push_back(std::move(row));
    }
    if (!rows.empty() && unreadable == rows.size()) throw InputError("no row can be read: {}", first);
    return rows;
}

std::vector<RlSpeedUp> rl_speed_ups(std::vector<RlRow> const& rows) {
    std::vector<RlSpeedUp> out;
    auto const is = [](RlRow const& row, RlMode mode) { return row.scored() && row.predicted->mode == mode; };
    for (RlRow const& slow : rows)
        for (RlRow const& fast : rows) {
            if (!is(slow, RlMode::colocated) || !is(fast, RlMode::asynchronous)) continue;
            if (slow.source != fast.source || slow.model != fast.model) continue;
            double const share = static_cast<double>(slow.accelerators) / static_cast<double>(fast.accelerators);
            out.push_back({.source = slow.source,
                           .model = slow.model,
                           .measured = share * (slow.measured / fast.measured),
                           .predicted = share * (slow.predicted->step / fast.predicted->step)});
        }
    return out;
}

ErrorStatistics rl_errors(std::vector<RlRow> const& rows) {
    std::vector<double> errors;
    for (RlRow const& row : rows)
        if (row.scored()) errors.push_back(row.error());
    return error_statistics(errors);
}

ErrorStatistics speed_up_errors(std::vector<RlSpeedUp> const& pairs) {
    std::vector<double> errors;
    errors.reserve(pairs.size());
    for (RlSpeedUp const& pair : pairs)
        errors.push_back(pair.predicted / pair.measured - 1);
    return error_statistics(errors);
}

std::map<std::string, std::vector<RlRow>> scored_by_mode(std::vector<RlRow> const& rows) {
    std::map<std::string, std::vector<RlRow>> groups;
    for (RlRow const& row : rows)
        if (row.scored()) groups[row.mode].push_back(row);
    return groups;
}

}  // namespace sextant
