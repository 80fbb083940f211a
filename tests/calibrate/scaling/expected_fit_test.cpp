#include "tests/calibrate/scaling/reference.hpp"

#include "calibrate/scaling/batch_laws.hpp"
#include "calibrate/scaling/isoflop.hpp"
#include "cost_models/scaling/rate_laws.hpp"
#include "tests/catch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

using namespace sextant;
using namespace sextant::test;

namespace {

LossColumns const run_columns{{"parameters", "params"}, {"tokens", "tokens"}, {"flops", "flops"}, {"loss", "loss"}};

LossTable chinchilla_rows(std::string const& subset) {
    if (subset == "n245") return rows_of("chinchilla_digitised.csv", run_columns);
    if (subset.starts_with("n217"))
        return rows_of("chinchilla_digitised.csv", run_columns, {"in_n240=1", "flops<1e21"});
    return rows_of("chinchilla_digitised.csv", run_columns, {"in_n240=1"});
}

/// 1e-9 of the objective, and what follows from it for the parameters: meta.tolerance of the file.
void check_chinchilla(LawFit const& fit, Json const& j) {
    CHECK(fit.converged);
    CHECK(fit.objective <= j["objective"].get<double>() * (1 + 1e-9));
    CHECK(fit.objective >= j["objective"].get<double>() * (1 - 1e-9));
    char const* const names[] = {"A", "B", "E", "alpha", "beta"};
    for (std::size_t k = 0; k < 5; ++k)
        CHECK(fit.values[k] == Approx(j[names[k]].get<double>()).epsilon(k < 2 ? 3e-4 : 5e-5));
}

void check_compute(LawProblem const& problem, Json const& j, double reference, char const* coefficient,
                   double tolerance) {
    LawFit const fit = fitted(problem);
    CHECK(fit.converged);
    // The Huber entries come from a simplex: a slightly lower objective than theirs is no fault.
    CHECK(fit.objective <= j["objective"].get<double>() * (1 + tolerance));
    CHECK(fit.objective >= j["objective"].get<double>() * (1 - 1e-6));
    double const loose = std::max(2e-6, 30 * std::sqrt(tolerance));
    CHECK(fit.values[0] == Approx(j["Linf"].get<double>()).epsilon(loose));
    CHECK(fit.values[1] * std::pow(reference, -fit.values[2]) == Approx(j[coefficient].get<double>()).epsilon(loose));
    CHECK(fit.values[2] == Approx(j["alpha"].get<double>()).epsilon(loose));
}

}  // namespace

TEST_CASE("chinchilla fits meet the reference on every subset and objective") {
    int checked = 0;
    for (auto const& [key, value] : expected().items()) {
        std::size_t const slash = key.rfind('/');
        std::string const kind = key.substr(slash + 1);
        bool const huber = kind.starts_with("huber_log_delta_");
        if (!key.starts_with("chinchilla/n2") || (!huber && kind != "lsq_log")) continue;
        CAPTURE(key);
        std::string const objective =
            huber ? "huber:" + kind.substr(std::string("huber_log_delta_").size()) : "lsq-log";
        check_chinchilla(fitted(problem_over(chinchilla_rows(key.substr(11, slash - 11)), "chinchilla", objective)),
                         value);
        ++checked;
    }
    CHECK(checked == 12);
}

TEST_CASE("chinchilla: raw losses, absolute deviations, tied exponents meet the reference") {
    for (char const* subset : {"n240", "n217"}) {
        LawFit const fit = fitted(problem_over(chinchilla_rows(subset), "chinchilla", "lsq-raw"));
        Json const& j = expected()["chinchilla/" + std::string(subset) + "/lsq_raw"];
        CHECK(fit.objective == Approx(j["half_SSR"].get<double>()).epsilon(1e-9));
        CHECK(fit.values[3] == Approx(j["alpha"].get<double>()).epsilon(1e-7));
        CHECK(fit.values[4] == Approx(j["beta"].get<double>()).epsilon(1e-7));
    }
    // The reference walked delta down to a small number; the vertex is lower by 4e-9 of it.
    LawFit const lad = fitted(problem_over(chinchilla_rows("n240"), "chinchilla", "lad"));
    Json const& l = expected()["chinchilla/n240/lad_limit"];
    CHECK(lad.objective < l["sum_abs_log_residual"].get<double>());
    CHECK(lad.objective == Approx(l["sum_abs_log_residual"].get<double>()).epsilon(1e-8));
    CHECK(lad.values[0] == Approx(l["A"].get<double>()).epsilon(2e-6));
    CHECK(lad.values[1] == Approx(l["B"].get<double>()).epsilon(2e-6));
    CHECK(lad.values[3] == Approx(l["alpha"].get<double>()).epsilon(1e-6));
    LawProblem tied = problem_over(chinchilla_rows("n240"), "chinchilla", "huber:1e-3");
    tied.equals[4] = 3;
    LawFit const fit = fitted(tied);
    Json const& t = expected()["chinchilla/n240/tied_alpha_beta_huber1e-3"];
    CHECK(fit.objective == Approx(t["objective"].get<double>()).epsilon(1e-9));
    CHECK(fit.values[4] == Approx(t["alpha_beta"].get<double>()).epsilon(5e-6));
}

TEST_CASE("overtraining: five runs of each corpus give the published law") {
    for (std::string const corpus : {"rpj", "c4_original"}) {
        std::string names;
        for (char const* run : {"-d=96_l=8_h=4-1.0", "-d=96_l=8_h=4-16.0", "-d=512_l=8_h=4-1.0", "-d=576_l=24_h=8-1.0",
                                "-d=1024_l=24_h=8-1.0"})
            names += (names.empty() ? "" : "|") + corpus + run;
        LossTable const table =
            rows_of("overtraining_c4_rpj.csv",
                    {{"parameters", "params"}, {"tokens", "tokens"}, {"loss", "loss_c4_val"}}, {"name=" + names});
        LawFit const fit = fitted(problem_over(table, "overtraining", "lsq-raw"));
        Json const& j = expected()["gadre/" + corpus];
        CHECK(2 * fit.objective == Approx(j["SSR"].get<double>()).epsilon(1e-8));
        CHECK(fit.values[0] == Approx(j["E"].get<double>()).epsilon(1e-5));
        CHECK(fit.values[1] == Approx(j["a"].get<double>()).epsilon(1e-4));
        CHECK(fit.values[2] == Approx(j["b"].get<double>()).epsilon(1e-4));
        CHECK(fit.values[3] == Approx(j["eta"].get<double>()).epsilon(1e-5));
    }
}

TEST_CASE("routed experts: both forms meet the reference") {
    for (std::string const router : {"S-Base", "RL-R"}) {
        LossTable const table =
            rows_of("routed_moe_final_sbase_rlr.csv",
                    {{"parameters", "dense_parameter_count"}, {"experts", "num_experts"}, {"loss", "loss_validation"}},
                    {"router_type=Dense|" + router});
        Json const& j = expected()["routed/" + router];
        CHECK(table.rows() == j["n"].get<std::size_t>());
        double const to_mse = 2 / (static_cast<double>(table.rows()) * std::pow(std::log(10), 2));
        LawFit const plain = fitted(problem_over(table, "moe-bilinear", "lsq-log"));
        CHECK(plain.objective * to_mse == Approx(j["bilinear"]["mse_log10"].get<double>()).epsilon(1e-8));
        LawFit const fit = fitted(problem_over(table, "moe-routed", "lsq-log"));
        Json const& s = j["saturating"];
        CHECK(fit.objective * to_mse <= s["mse_log10"].get<double>() * (1 + 1e-9));
        char const* const names[] = {"a", "b", "c", "d", "E_start", "E_max"};
        for (std::size_t k = 0; k < 6; ++k)
            CHECK(fit.values[k] == Approx(s[names[k]].get<double>()).epsilon(k < 4 ? 1e-3 : 5e-3));
    }
}

TEST_CASE("data-constrained: the lower basin is found, the published one is reported, the profile is theirs") {
    LossTable const table =
        rows_of("data_constrained_182.csv",
                {{"parameters", "params"}, {"tokens", "tokens"}, {"unique_tokens", "unique_tokens"}, {"loss", "loss"}});
    Json const& j = expected()["data_constrained_182"];
    LawProblem problem = problem_over(table, "data-constrained", "huber:1e-3");
    Json const& base = j["fixed"];
    double const held[] = {std::exp(base["a"].get<double>()), std::exp(base["b"].get<double>()),
                           std::exp(base["e"].get<double>()), base["alpha"], base["beta"]};
    for (std::size_t k = 0; k < 5; ++k)
        problem.fixed[k] = held[k];
    LawFit const fit = fitted(problem);
    Json const& lowest = j["global_minimum"];
    CHECK(fit.objective == Approx(lowest["objective"].get<double>()).epsilon(1e-9));
    CHECK(fit.values[5] == Approx(lowest["RD"].get<double>()).epsilon(1e-4));
    CHECK(fit.values[6] == Approx(lowest["RN"].get<double>()).epsilon(1e-4));
    Json const& local = j["local_minimum"];
    bool const reported = std::any_of(fit.others.begin(), fit.others.end(), [&](LawBasin const& b) {
        return std::abs(b.values[5] / local["RD"].get<double>() - 1) < 1e-3;
    });
    CHECK(reported);
    for (auto const& [key, value] : j["profile_RD_to_objective"].items()) {
        CAPTURE(key);
        problem.fixed[5] = std::stod(key);
        double const ours = fitted(problem).objective;
        double const theirs = value;
        CHECK(ours <= theirs * (1 + 1e-8));
        CHECK(ours >= theirs * (1 - 1e-3));
    }
}

TEST_CASE("Porian's optima: weighted exponents and the compute law meet the reference") {
    for (auto const& [name, j] : expected()["porian_refinedweb"].items()) {
        CAPTURE(name);
        LossTable const table =
            rows_of("porian_optima_refinedweb.csv",
                    {{"flops", "flops"}, {"parameters", "n"}, {"sd", "n_star_std"}, {"loss", "loss"}}, {"exp=" + name});
        CHECK(table.rows() == j["n"].get<std::size_t>());
        std::vector<double> weights;
        for (double const sd : table.column("sd"))
            weights.push_back(1 / (sd * sd));
        PowerLaw const weighted = fit_power_law(table.column("flops"), table.column("parameters"), weights, "test");
        CHECK(weighted.exponent == Approx(j["weighted_exponent"].get<double>()).epsilon(1e-8));
        CHECK(weighted.coefficient == Approx(j["weighted_coef"].get<double>()).epsilon(1e-7));
        CHECK(weighted.r2 == Approx(j["weighted_r2"].get<double>()).epsilon(1e-8));
        PowerLaw const plain = fit_power_law(table.column("flops"), table.column("parameters"), {}, "test");
        CHECK(plain.exponent == Approx(j["unweighted_exponent"].get<double>()).epsilon(1e-8));
        check_compute(problem_over(table, "compute", "lsq-raw"), j["L(C)_raw"], 1e17, "a_at_1e17", 1e-9);
        check_compute(problem_over(table, "compute", "lsq-log"), j["L(C)_log"], 1e17, "a_at_1e17", 1e-9);
        check_compute(problem_over(table, "compute", "huber:1e-3"), j["L(C)_huber"], 1e17, "a_at_1e17", 1e-7);
    }
}

TEST_CASE("IsoFLOP parabolas meet the reference with either window") {
    int checked = 0;
    for (auto const& [name, j] : expected()["porian_refinedweb"].items()) {
        // rw_tuned_shortwarmup_constdecay_standardcount_val
        std::vector<std::string> words;
        for (std::size_t begin = 0; begin < name.size();) {
            std::size_t const end = std::min(name.find('_', begin), name.size());
            words.push_back(name.substr(begin, end - begin));
            begin = end + 1;
        }
        auto const without = [](std::string word, std::string const& tail) { return word.substr(0, word.find(tail)); };
        LossTable const table = rows_of(
            "porian_isoflop_refinedweb.csv", run_columns,
            {"hparams=" + words[1], "warmup=" + without(words[2], "warmup"), "decay=" + without(words[3], "decay"),
             "count=" + without(words[4], "count"), "loss_kind=" + words[5]});
        for (auto const& [window, key] : {std::pair<std::optional<double>, char const*>{std::nullopt, "parabola_all"},
                                          {0.5, "parabola_halfdecade"}}) {
            CAPTURE(name, key);
            IsoflopOptions options;
            options.window = window;
            options.of = ParabolaOf::log_loss;
            IsoflopFit const fit = fit_isoflop(isoflop_rows(table), options, "test");
            auto const used = std::count_if(fit.vertices.begin(), fit.vertices.end(),
                                            [](IsoflopVertex const& v) { return v.dropped.empty(); });
            CHECK(used == j[key]["budgets_used"].get<int>());
            CHECK(fit.size.exponent == Approx(j[key]["N_exponent"].get<double>()).epsilon(1e-8));
            CHECK(fit.size.coefficient == Approx(j[key]["N_coef"].get<double>()).epsilon(1e-6));
            CHECK(fit.size.r2 == Approx(j[key]["r2"].get<double>()).epsilon(1e-8));
            ++checked;
        }
    }
    CHECK(checked == 20);
}

TEST_CASE("approach 2 on the Chinchilla table meets the reference, its vertices and their compute law too") {
    Json const& j = expected()["chinchilla/approach2_tol0.05"];
    IsoflopOptions options;
    for (Json const& vertex : j["vertices"])
        options.budgets.push_back(vertex[0]);
    IsoflopFit const fit = fit_isoflop(isoflop_rows(chinchilla_rows("n240")), options, "test");
    CHECK(fit.rows == j["rows"].get<std::size_t>());
    CHECK(fit.size.exponent == Approx(j["N_exponent"].get<double>()).epsilon(2e-8));
    CHECK(fit.size.coefficient == Approx(j["N_coef"].get<double>()).epsilon(1e-7));
    CHECK(fit.data.exponent == Approx(j["D_exponent"].get<double>()).epsilon(2e-8));
    CHECK(fit.data.coefficient == Approx(j["D_coef"].get<double>()).epsilon(1e-7));
    LossTable vertices;
    for (std::size_t i = 0; i < fit.vertices.size(); ++i) {
        CHECK(fit.vertices[i].parameters == Approx(j["vertices"][i][1].get<double>()).epsilon(4e-6));
        CHECK(fit.vertices[i].tokens == Approx(j["vertices"][i][2].get<double>()).epsilon(4e-6));
        CHECK(fit.vertices[i].loss == Approx(j["vertices"][i][3].get<double>()).epsilon(4e-7));
        vertices.columns["flops"].push_back(fit.vertices[i].flops);
        vertices.columns["loss"].push_back(fit.vertices[i].loss);
        vertices.lines.push_back(i);
    }
    for (auto const& [objective, key] : {std::pair{"lsq-raw", "raw"}, {"lsq-log", "log"}, {"huber:1e-3", "huber"}})
        check_compute(problem_over(vertices, "compute", objective), j["L_of_C"][key], 1e20, "a_at_1e20", 2e-7);
}

TEST_CASE("critical batch: every size and both power laws meet the reference") {
    LossTable const table = rows_of(
        "critical_batch_steps.csv",
        {{"parameters", "model_params_millions"}, {"batch", "batch_size_sequences"}, {"steps", "steps_to_target"}});
    std::vector<BatchRow> rows;
    for (std::size_t i = 0; i < table.rows(); ++i)
        rows.push_back({table.column("parameters")[i], table.column("batch")[i], table.column("steps")[i]});
    CriticalBatchFit const fit = fit_critical_batch(rows, {}, "test");
    Json const& j = expected()["critical_batch"];
    REQUIRE(fit.sizes.size() == j["fits"].size());
    for (CriticalBatchOfSize const& size : fit.sizes) {
        Json const& theirs = j["fits"][fmt::format("{:g}", size.parameters)];
        CHECK(size.least_steps == Approx(theirs["Smin"].get<double>()).epsilon(1e-7));
        CHECK(size.least_samples == Approx(theirs["Emin"].get<double>()).epsilon(1e-7));
        CHECK(size.half_squares == Approx(theirs["half_SSR"].get<double>()).epsilon(1e-6));
    }
    CHECK(fit.at_overhead.coefficient == Approx(j["B20_power_law"]["coef"].get<double>()).epsilon(1e-7));
    CHECK(fit.at_overhead.exponent == Approx(j["B20_power_law"]["exponent"].get<double>()).epsilon(1e-7));
    CHECK(fit.noise_scale.coefficient ==
          Approx(j["McCandlish_Emin_over_Smin_power_law"]["coef"].get<double>()).epsilon(1e-7));
    // The shipped rule is this fit, in tokens of sequences of 512.
    RateBand const band = rate_band({.parameters = 7e8, .tokens = 20 * 7e8, .flops = 6e18, .loss = 3});
    auto const zhang = std::find_if(band.entries.begin(), band.entries.end(),
                                    [](auto const& entry) { return std::string_view(entry.law->name) == "zhang"; });
    REQUIRE(zhang != band.entries.end());
    CHECK(*zhang->critical_batch == Approx(512 * fit.at_overhead(700)).epsilon(1e-7));
    CHECK(*zhang->noise_scale == Approx(512 * fit.noise_scale(700)).epsilon(1e-7));
}
