#include "calibrate/scaling/batch_laws.hpp"

#include "calibrate/scaling/law_fit.hpp"
#include "core/error.hpp"
#include "cost_models/scaling/chinchilla_law.hpp"

#include <fmt/format.h>
#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

namespace sextant {
namespace {

CriticalBatchOfSize of_size(double parameters, std::vector<BatchRow> const& rows, CriticalBatchOptions const& options,
                            std::string const& where) {
    LawProblem problem = law_problem(find_law_form("batch-steps", where), {.kind = ObjectiveKind::least_squares});
    for (BatchRow const& row : rows) {
        problem.inputs.columns[0].push_back(std::log(row.batch));
        problem.measured.push_back(row.steps);
    }
    problem.inputs.rows = rows.size();
    std::string const here = fmt::format("{}: size {:g}", where, parameters);
    LawFit const fit = fit_law(problem, {}, here);
    double const noise_scale = fit.values[1] / fit.values[0];
    CriticalBatchOfSize out{
        .parameters = parameters,
        .least_steps = fit.values[0],
        .least_samples = fit.values[1],
        .half_squares = fit.objective,
        .rows = rows.size(),
        .batch_at_overhead = (1 + options.overhead) * (options.linear_from + noise_scale) - noise_scale};
    if (!fit.converged || !(noise_scale > 1e-6 && noise_scale < 1e12))
        throw InputError(
            "{}: the steps do not level off or do not fall with the batch (S = S_min + E_min / B needs both)", here);
    return out;
}

/// Of each (N, D), the runs whose loss is within `flat` of the best.
struct BestRuns {
    BestRuns(std::vector<TuningRow> const& rows, double flat, std::string const& where) {
        std::map<std::pair<double, double>, std::vector<TuningRow>> by_size;
        for (TuningRow const& row : rows)
            by_size[{row.parameters, row.tokens}].push_back(row);
        cells = by_size.size();
        if (cells < 3)
            throw InputError("{}: {} different (N, D) (a law of the learning rate over both needs three)", where,
                             cells);
        for (auto const& entry : by_size)
            add(entry.second, flat);
    }

    std::vector<TuningRow> kept;
    std::size_t cells = 0;
    std::size_t edges = 0;  ///< cells whose best run is at an end of their grid

private:
    void add(std::vector<TuningRow> const& runs, double flat) {
        auto const best =
            std::min_element(runs.begin(), runs.end(), [](auto const& a, auto const& b) { return a.loss < b.loss; });
        auto const edge = [&](double TuningRow::*field) {
            auto const [low, high] = std::minmax_element(
                runs.begin(), runs.end(), [&](auto const& a, auto const& b) { return a.*field < b.*field; });
            return runs.size() > 1 && ((*best).*field == (*low).*field || (*best).*field == (*high).*field);
        };
        if (edge(&TuningRow::learning_rate) || edge(&TuningRow::batch)) ++edges;
        std::copy_if(runs.begin(), runs.end(), std::back_inserter(kept),
                     [&](TuningRow const& run) { return run.loss <= best->loss * (1 + flat); });
    }
};

}  // namespace

CriticalBatchFit fit_critical_batch(std::vector<BatchRow> const& rows, CriticalBatchOptions const& options,
                                    std::string const& where) {
    std::map<double, std::vector<BatchRow>> by_size;
    for (BatchRow const& row : rows)
        by_size[row.parameters].push_back(row);
    if (by_size.size() < 2)
        throw InputError("{}: one model size ({} rows); a law over sizes needs two", where, rows.size());
    CriticalBatchFit fit;
    std::vector<double> sizes;
    std::vector<double> batches;
    std::vector<double> noise;
    for (auto const& [parameters, of] : by_size) {
        fit.sizes.push_back(of_size(parameters, of, options, where));
        sizes.push_back(parameters);
        batches.push_back(fit.sizes.back().batch_at_overhead);
        noise.push_back(fit.sizes.back().least_samples / fit.sizes.back().least_steps);
    }
    if (*std::min_element(batches.begin(), batches.end()) <= 0)
        throw InputError("{}: no batch has that overhead (give a larger --overhead or a smaller --linear-from)", where);
    fit.at_overhead = fit_power_law(sizes, batches, {}, "critical-batch");
    fit.noise_scale = fit_power_law(sizes, noise, {}, "critical-batch");
    return fit;
}

TuningLaws fit_tuning_laws(std::vector<TuningRow> const& rows, double flat, std::string const& where) {
    BestRuns const best(rows, flat, where);
    std::vector<TuningRow> const& kept = best.kept;
    TuningLaws laws;
    laws.cells = best.cells;
    laws.edges = best.edges;
    laws.rows = kept.size();
    auto const count = static_cast<Eigen::Index>(kept.size());
    Eigen::MatrixXd design(count, 3);
    Eigen::VectorXd target(count);
    std::vector<double> tokens;
    std::vector<double> flops;
    std::vector<double> rates;
    std::vector<double> batches;
    for (Eigen::Index i = 0; i < count; ++i) {
        TuningRow const& row = kept[static_cast<std::size_t>(i)];
        design.row(i) << 1, std::log(row.parameters), std::log(row.tokens);
        target[i] = std::log(row.learning_rate);
        tokens.push_back(row.tokens);
        flops.push_back(training_flops_per_parameter_token * row.parameters * row.tokens);
        rates.push_back(row.learning_rate);
        batches.push_back(row.batch);
    }
    auto const solver = design.colPivHouseholderQr();
    if (solver.rank() < 3)
        throw InputError(
            "{}: parameters and tokens move together or do not vary (their exponents cannot be told apart)", where);
    Eigen::Vector3d const p = solver.solve(target);
    laws.lr_coefficient = std::exp(p[0]);
    laws.lr_by_parameters = p[1];
    laws.lr_by_tokens = p[2];
    laws.batch_by_tokens = fit_power_law(tokens, batches, {}, "lr-batch");
    laws.lr_by_flops = fit_power_law(flops, rates, {}, "lr-batch");
    laws.batch_by_flops = fit_power_law(flops, batches, {}, "lr-batch");
    return laws;
}

}  // namespace sextant
