// Scaling laws: the fit of the usual 240 rows from cold, its bootstrap, approach 2 and the compute law.
#include "calibrate/scaling/isoflop.hpp"
#include "calibrate/scaling/law_bootstrap.hpp"
#include "calibrate/scaling/loss_table.hpp"
#include "perf/goal.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

namespace sextant::perf {
namespace {

LossTable rows() {
    return loss_table(read_csv(std::string(SEXTANT_SOURCE_DIR) + "/tests/data/scaling/chinchilla_digitised.csv"),
                      {{"parameters", "params"}, {"tokens", "tokens"}, {"flops", "flops"}, {"loss", "loss"}}, {},
                      {row_condition_from("in_n240=1", "perf")});
}

/// Median milliseconds of one call.
template <class Work>
double milliseconds(int repeats, Work work) {
    std::vector<double> times;
    for (int i = 0; i < repeats; ++i) {
        auto const start = Clock::now();
        work();
        times.push_back(1e3 * seconds_since(start));
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

}  // namespace

void scaling_goals() {
    LossTable const table = rows();
    LawProblem problem = law_problem(find_law_form("chinchilla", "perf"), {});
    for (std::size_t i = 0; i < table.rows(); ++i) {
        problem.inputs.columns[0].push_back(std::log(table.column("parameters")[i]));
        problem.inputs.columns[1].push_back(std::log(table.column("tokens")[i]));
    }
    problem.measured = table.column("loss");
    problem.inputs.rows = table.rows();
    LawFit const fit = fit_law(problem, {}, "perf");
    print("scaling: Huber fit of 240 rows from cold, one thread",
          milliseconds(51, [&] { fit_law(problem, {}, "perf"); }), "ms", 25, "<=");
    constexpr double reference = 0.0010182740178005998;  // tests/data/scaling/expected.json
    print("scaling: its objective over the reference's, less one", std::max(0.0, fit.objective / reference - 1), "",
          1e-9, "<=");
    BootstrapOptions options{.resamples = 4000, .seed = 1, .threads = 1};
    double const one = milliseconds(1, [&] { bootstrap_law(problem, fit, options); }) / 1e3;
    print("scaling: 4,000 bootstrap refits, one thread", one, "s", 1.5, "<=");
    options.threads = 0;
    double const all = milliseconds(1, [&] { bootstrap_law(problem, fit, options); }) / 1e3;
    print("scaling: the same on all threads, gain per thread", one / all / std::thread::hardware_concurrency(), "x",
          0.8, ">=");
    std::vector<IsoflopRow> runs;
    for (std::size_t i = 0; i < table.rows(); ++i)
        runs.push_back({.parameters = table.column("parameters")[i],
                        .tokens = table.column("tokens")[i],
                        .flops = table.column("flops")[i],
                        .loss = table.column("loss")[i]});
    IsoflopOptions isoflop;
    isoflop.budgets = {6e18, 1e19, 3e19, 6e19, 1e20, 3e20, 6e20, 1e21, 3e21};
    print("scaling: approach 2, nine budgets", milliseconds(201, [&] { fit_isoflop(runs, isoflop, "perf"); }), "ms", 1,
          "<=");
    LawProblem compute = law_problem(find_law_form("compute", "perf"), {.kind = ObjectiveKind::raw_squares});
    for (IsoflopVertex const& v : fit_isoflop(runs, isoflop, "perf").vertices) {
        compute.inputs.columns[0].push_back(std::log(v.flops));
        compute.measured.push_back(v.loss);
    }
    compute.inputs.rows = compute.measured.size();
    print("scaling: compute law over its nine vertices", milliseconds(201, [&] { fit_law(compute, {}, "perf"); }), "ms",
          1, "<=");
}

}  // namespace sextant::perf
