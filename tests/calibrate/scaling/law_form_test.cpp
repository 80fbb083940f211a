#include "calibrate/scaling/law_fit.hpp"
#include "tests/catch.hpp"

#include <algorithm>
#include <cmath>
#include <random>

using namespace sextant;

namespace {

/// Plausible parameters of each form, in its order.
std::vector<double> truth_of(LawForm const& form) {
    std::string const name = form.name;
    if (name == "chinchilla") return {420, 1900, 1.75, 0.34, 0.36};
    if (name == "compute") return {1.7, 60, 0.09};
    if (name == "overtraining") return {1.7, 180, 300, 0.13};
    if (name == "data-constrained") return {520, 1480, 1.85, 0.35, 0.36, 15, 5};
    if (name == "moe-routed") return {-0.083, -0.118, 0.0099, 1.11, 2.07, 240};
    if (name == "moe-bilinear") return {-0.08, -0.088, 0.0074, 1.08};
    if (name == "moe-granularity") return {18.1, 0.115, 30.8, 0.147, 2.1, 0.58, 0.47};
    if (name == "precision") return {4299, 18060, 2.76, 0.4965, 0.589, 2.67, 2.21, 0.96};
    if (name == "batch-steps") return {2000, 1e7};
    FAIL("no parameters for '" << name << "': add them");
    return {};
}

double input_between(std::string const& name, double share) {
    auto const ln = [share](double low, double high) { return std::log(low) + share * std::log(high / low); };
    if (name == "parameters") return ln(2e7, 2e10);
    if (name == "tokens") return ln(4e8, 1e12);
    if (name == "unique_tokens") return ln(1e8, 2e11);
    if (name == "flops") return ln(1e17, 1e23);
    if (name == "experts") return ln(1, 512);
    if (name == "granularity") return ln(1, 32);
    if (name == "batch") return ln(64, 8192);
    return ln(3, 16);  // bits
}

/// Rows of a form without noise.
LawProblem rows_of(LawForm const& form, std::vector<double> const& truth, int count, unsigned seed) {
    LawProblem problem = law_problem(form, {.kind = ObjectiveKind::least_squares});
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> share;
    for (int i = 0; i < count; ++i) {
        std::vector<double> inputs;
        for (std::size_t c = 0; c < form.inputs.size(); ++c) {
            problem.inputs.columns[c].push_back(input_between(form.inputs[c], share(random)));
            inputs.push_back(std::exp(problem.inputs.columns[c].back()));
        }
        problem.measured.push_back(law_value(form, truth, inputs));
    }
    problem.inputs.rows = problem.measured.size();
    return problem;
}

}  // namespace

TEST_CASE("law forms: derivatives are those of the values") {
    for (LawForm const* form : law_form_catalog()) {
        CAPTURE(form->name);
        std::vector<double> const truth = truth_of(*form);
        REQUIRE(truth.size() == form->parameters.size());
        LawProblem const problem = rows_of(*form, truth, 40, 5);
        std::size_t const count = truth.size();
        std::vector<double> u = UnknownMap(problem).unknowns(truth);
        std::vector<double> values(problem.rows());
        std::vector<double> jacobian(problem.rows() * count);
        form->evaluate(u, problem.inputs, values, jacobian);
        for (std::size_t k = 0; k < count; ++k) {
            double const step = 1e-5 * std::max(1e-2, std::abs(u[k]));
            std::vector<double> above(problem.rows());
            std::vector<double> below(problem.rows());
            u[k] += step;
            form->evaluate(u, problem.inputs, above, {});
            u[k] -= 2 * step;
            form->evaluate(u, problem.inputs, below, {});
            u[k] += step;
            CAPTURE(form->parameters[k].name);
            for (std::size_t i = 0; i < problem.rows(); ++i) {
                double const slope = (above[i] - below[i]) / (2 * step);
                CHECK(jacobian[i * count + k] == Approx(slope).epsilon(2e-5).margin(1e-7 * std::abs(values[i])));
            }
        }
    }
}

TEST_CASE("fit_law: rows without noise give back what made them, whatever the form") {
    for (LawForm const* form : law_form_catalog()) {
        CAPTURE(form->name);
        std::vector<double> const truth = truth_of(*form);
        LawProblem problem = rows_of(*form, truth, 150, 11);
        // The base of repeated data is held, as the command does.
        if (std::string(form->name) == "data-constrained")
            for (std::size_t k = 0; k < 5; ++k)
                problem.fixed[k] = truth[k];
        LawFit const fit = fit_law(problem, {}, "test");
        CHECK(fit.converged);
        CHECK(fit.objective < 1e-12);
        for (std::size_t k = 0; k < truth.size(); ++k) {
            CAPTURE(form->parameters[k].name);
            CHECK(fit.values[k] == Approx(truth[k]).epsilon(2e-3));
        }
    }
}

TEST_CASE("fit_law: rows that are rounded to many digits converge as well as exact ones, by every objective") {
    LawForm const& form = find_law_form("chinchilla", "test");
    std::vector<double> const truth{480, 2100, 1.8, 0.345, 0.37};
    char const* const objective = GENERATE("huber:1e-3", "lsq-log", "lsq-raw", "lad", "asymmetric");
    LawProblem problem = law_problem(form, fit_objective_from(objective, "test"));
    for (int i = 0; i < 64; ++i) {
        double const n = 5e7 * std::pow(200, i / 8 / 7.0);
        double const d = 1e9 * std::pow(300, i % 8 / 7.0);
        problem.inputs.columns[0].push_back(std::log(n));
        problem.inputs.columns[1].push_back(std::log(d));
    }
    problem.inputs.rows = 64;
    for (int const digits : {8, 9, 10, 11, 12, 15}) {
        problem.measured.clear();
        double const unit = std::pow(10, digits);
        for (std::size_t i = 0; i < 64; ++i) {
            std::vector<double> const at{std::exp(problem.inputs.columns[0][i]),
                                         std::exp(problem.inputs.columns[1][i])};
            problem.measured.push_back(std::round(law_value(form, truth, at) * unit) / unit);
        }
        LawFit const fit = fit_law(problem, {}, "test");
        CAPTURE(objective, digits);
        CHECK(fit.converged);
        for (std::size_t k = 0; k < truth.size(); ++k)
            CHECK(fit.values[k] == Approx(truth[k]).epsilon(1e-5));
    }
}

TEST_CASE("fit_law: a tied exponent equals the other and the objective is not lower than without the tie") {
    LawForm const& form = find_law_form("chinchilla", "test");
    LawProblem problem = rows_of(form, truth_of(form), 60, 3);
    problem.measured[7] *= 1.02;
    problem.measured[20] *= 0.97;
    LawFit const free = fit_law(problem, {}, "test");
    problem.equals[4] = 3;
    LawFit const tied = fit_law(problem, {}, "test");
    CHECK(tied.values[3] == tied.values[4]);
    CHECK(tied.unknowns.size() == 4);
    CHECK(tied.objective >= free.objective);
}

TEST_CASE("fit_law refuses rows that cannot carry the law, and says why") {
    LawForm const& form = find_law_form("chinchilla", "test");
    LawProblem const good = rows_of(form, truth_of(form), 30, 3);
    CHECK_THROWS_WITH(fit_law(rows_of(form, truth_of(form), 4, 1), {}, "t"), contains("4 rows for 5 parameters"));
    LawProblem constant = good;
    std::fill(constant.inputs.columns[1].begin(), constant.inputs.columns[1].end(), std::log(1e10));
    CHECK_THROWS_WITH(fit_law(constant, {}, "t"), contains("tokens is 1e+10 in every row"));
    LawProblem flat = good;
    std::fill(flat.measured.begin(), flat.measured.end(), 2.5);
    CHECK_THROWS_WITH(fit_law(flat, {}, "t"), contains("the loss is 2.5 in every row"));
    LawProblem negative = good;
    negative.measured[3] = -1;
    CHECK_THROWS_WITH(fit_law(negative, {}, "t"), contains("must be positive"));
    LawProblem empty = law_problem(form, {});
    CHECK_THROWS_WITH(fit_law(empty, {}, "t"), contains("no usable rows"));
    CHECK_THROWS_WITH(find_law_form("chinchila", "--law"), contains("did you mean 'chinchilla'"));
}

TEST_CASE("fit_objective_from reads what name_of writes and refuses the rest") {
    for (char const* text : {"huber:0.001", "huber:0.5", "lad", "lsq-log", "lsq-raw", "asymmetric:10:0.001"})
        CHECK(name_of(fit_objective_from(text, "t")) == text);
    CHECK(fit_objective_from("asymmetric", "t").penalty == 10);
    for (char const* text :
         {"", "huber:", "huber:0", "huber:-1", "huber:nan", "huber:1:2", "lad:1", "mse", "asymmetric:x"})
        CHECK_THROWS(fit_objective_from(text, "t"));
}
