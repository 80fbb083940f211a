#include "core/measurements/row_cells.hpp"
#include "cost_models/kernel_estimate.hpp"
#include "cost_models/network_correction.hpp"
#include "planner/validation/score.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace sextant {

std::string_view name_of(ValidationKind kind) {
    switch (kind) {
        case ValidationKind::train: return "train";
        case ValidationKind::kernels: return "kernels";
        case ValidationKind::collectives: return "collectives";
        case ValidationKind::serving: return "serving";
    }
    return "?";
}

IntervalFactors interval_factors(ValidationKind kind) {
    if (kind == ValidationKind::train) return {.low = 0.8, .high = 1.25};
    if (kind == ValidationKind::serving) return {.low = 0.7, .high = 1.5};
    if (kind == ValidationKind::kernels)
        return {.low = assumed_kernel_factors.low, .high = assumed_kernel_factors.high};
    return {.low = assumed_collective_factors.low, .high = assumed_collective_factors.high};
}

IntervalFactors interval_of(ValidationKind kind, RowPrediction const& prediction) {
    return prediction.interval.value_or(interval_factors(kind));
}

double FitScore::accuracy_pct() const {
    return n == 0 ? 0 : 100 * (1 - static_cast<double>(missed + false_alarms) / static_cast<double>(n));
}

namespace {

/// What can be said of a row that nothing is known against, from the other rows of its source.
std::string reason_of_source(ValidationKind kind, WorstRow const& row, SourceScore const& source,
                             std::vector<double> const& alike) {
    auto const [low, high] = std::minmax_element(alike.begin(), alike.end());
    if (alike.size() > 1 && *high > 1.3 * *low)
        return row.tokens_per_s
                   ? fmt::format("one of {} rows that the model cannot tell apart, measured {:.4g} to {:.4g} tok/s",
                                 alike.size(), 1 / *high, 1 / *low)
                   : fmt::format("one of {} rows that the model cannot tell apart, measured {:.3g} to {:.3g} s",
                                 alike.size(), *low, *high);
    // An assumption that most rows of the source share does not set this one apart.
    for (std::string const& assumption : row.assumptions)
        if (auto const found = source.assumptions.find(assumption);
            found != source.assumptions.end() && 2 * found->second < source.time.n)
            return "assumed: " + assumption;
    double const bias = row.tokens_per_s ? source.served[2].bias_pct : source.time.bias_pct;
    constexpr double least_bias = 0.5;  // which is written as 1 %
    if (source.time.n >= 5 && std::abs(bias) >= least_bias && bias * row.error_pct() > 0 &&
        std::abs(bias) > 0.3 * std::abs(row.error_pct()))
        return fmt::format("the whole source is off by {:+.0f} %{}", bias,
                           row.assumptions.empty() ? "" : "; assumed: " + row.assumptions.front());
    bool const is_call = kind == ValidationKind::kernels || kind == ValidationKind::collectives;
    if (is_call && std::max(row.measured, row.predicted) < 10 * units::us) return "only a few microseconds long";
    return "not explained";
}

}  // namespace

void Scorer::add(Tally& tally, RowPrediction const& p) const {
    SourceScore& score = tally.score;
    ++score.n;
    if (!p.skip_reason.empty()) {
        ++score.skipped;
        count_skip(score.skip_reasons, p.skip_reason, p.unreadable);
        return;
    }
    for (auto const& assumption : std::set<std::string>(p.assumptions.begin(), p.assumptions.end()))
        ++score.assumptions[assumption];
    if (p.measured_time) {
        if (p.time && p.time_reason.empty()) {
            IntervalFactors const interval = interval_of(kind_, p);
            tally.time_errors.push_back(*p.time / *p.measured_time - 1);
            if (interval.low * *p.time <= *p.measured_time && *p.measured_time <= interval.high * *p.time)
                ++score.inside_interval;
        } else {
            ++score.time_reasons[p.time_reason];
        }
    }
    for (std::size_t i = 0; i < served_names.size(); ++i)
        if (p.served[i].predicted && p.served[i].measured && *p.served[i].measured > 0)
            tally.served_errors[i].push_back(*p.served[i].predicted / *p.served[i].measured - 1);
    if (p.measured_memory_gb && *p.measured_memory_gb > 0) {
        if (p.memory_gb && p.memory_reason.empty())
            tally.memory_errors.push_back(*p.memory_gb / *p.measured_memory_gb - 1);
        else
            ++score.memory_reasons[p.memory_reason];
    }
    if (p.ran && p.fits) {
        ++score.oom.n;
        if (*p.ran && !*p.fits) ++score.oom.false_alarms;
        if (!*p.ran && *p.fits) ++score.oom.missed;
    }
}

void Scorer::add_to_worst(ScoredRow const& row) {
    RowPrediction const& p = row.prediction;
    if (!p.skip_reason.empty() || !p.time_reason.empty() || !p.time || !p.measured_time || !(p.time->base() > 0))
        return;
    WorstRow worst{.source = row.source.empty() ? "(no source)" : row.source,
                   .where = row.where,
                   .what = row.what,
                   .measured = *p.measured_time,
                   .predicted = *p.time,
                   .split = "",
                   .assumptions = p.assumptions,
                   .reason = row.doubt};
    if (kind_ == ValidationKind::serving)
        worst.tokens_per_s = {.measured = units::s / worst.measured, .predicted = units::s / worst.predicted};
    for (RowGroup const& group : row.groups)
        if (group.by == "split") worst.split = group.name;
    alike_[{worst.source, worst.predicted.base()}].push_back(worst.measured.base());
    worst_.add(std::move(worst));
}

void Scorer::add(ScoredRow const& row) {
    add_to_worst(row);
    add(sources_[row.source.empty() ? "(no source)" : row.source], row.prediction);
    for (RowGroup const& group : row.groups)
        add(groups_[group], row.prediction);
    add(overall_, row.prediction);
    RowPrediction const& p = row.prediction;
    if (!p.question.empty() && p.time && p.measured_time && p.time_reason.empty())
        questions_[p.question].push_back({.predicted = p.time->base(), .measured = p.measured_time->base()});
}

Validation Scorer::result() const {
    auto const finish = [](std::string name, Tally const& tally) {
        SourceScore score = tally.score;
        score.source = std::move(name);
        score.time = error_statistics(tally.time_errors);
        score.memory = error_statistics(tally.memory_errors);
        for (std::size_t i = 0; i < served_names.size(); ++i)
            score.served[i] = error_statistics(tally.served_errors[i]);
        return score;
    };
    Validation result{.kind = kind_, .overall = finish("overall", overall_), .sources = {}, .groups = {}};
    for (auto const& [name, tally] : sources_)
        result.sources.push_back(finish(name, tally));
    for (auto const& [group, tally] : groups_)
        result.groups.push_back({.group = group, .score = finish(group.name, tally)});
    result.ranking = layout_ranking(questions_);
    result.worst = worst_.rows();
    for (WorstRow& row : result.worst)
        for (SourceScore const& source : result.sources)
            if (row.reason.empty() && source.source == row.source)
                row.reason = reason_of_source(kind_, row, source, alike_.at({row.source, row.predicted.base()}));
    return result;
}

}  // namespace sextant
