#include "planner/validation/train_validation.hpp"

#include <set>
#include <utility>

namespace sextant {

double FitScore::accuracy_pct() const {
    return n == 0 ? 0 : 100 * (1 - static_cast<double>(missed + false_alarms) / static_cast<double>(n));
}

void TrainScorer::add(Tally& tally, RowPrediction const& p) {
    SourceScore& score = tally.score;
    ++score.n;
    if (!p.skip_reason.empty()) {
        ++score.skipped;
        ++score.skip_reasons[p.skip_reason];
        return;
    }
    for (auto const& assumption : std::set<std::string>(p.assumptions.begin(), p.assumptions.end()))
        ++score.assumptions[assumption];
    if (p.measured_time) {
        if (p.time && p.time_reason.empty())
            tally.time_errors.push_back(*p.time / *p.measured_time - 1);
        else
            ++score.time_reasons[p.time_reason];
    }
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

void TrainScorer::add(TrainingRow const& row, RowPrediction const& prediction) {
    add(tallies_[row.source_id.empty() ? "(no source)" : row.source_id], prediction);
    add(overall_, prediction);
}

TrainValidation TrainScorer::result() const {
    auto const finish = [](std::string name, Tally const& tally) {
        SourceScore score = tally.score;
        score.source = std::move(name);
        score.time = error_statistics(tally.time_errors);
        score.memory = error_statistics(tally.memory_errors);
        return score;
    };
    TrainValidation result;
    result.overall = finish("overall", overall_);
    for (auto const& [name, tally] : tallies_)
        result.sources.push_back(finish(name, tally));
    return result;
}

}  // namespace sextant
