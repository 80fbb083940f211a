#include "core/json/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/cli/run_sextant.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <thread>
#include <tuple>

using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

namespace {

std::string data(std::string const& name) { return std::string(SEXTANT_SOURCE_DIR) + "/tests/data/scaling/" + name; }

Arguments fit(std::string const& law, std::string const& file, Arguments const& more = {}) {
    Arguments out{"scaling", "fit", "--law", law, "--data", file, "--threads", "2"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
}

Json report(std::string const& law, std::string const& file, Arguments more) {
    more.insert(more.end(), {"--format", "json"});
    RunResult const result = run_sextant(fit(law, file, more));
    INFO(result.err);
    REQUIRE(result.code == 0);
    return Json::parse(result.out);
}

/// Losses of a law over a small grid, with a known wobble.
std::string grid_csv(double floor) {
    std::string out = "size,seen,val\n";
    for (int i = 0; i < 8; ++i)
        for (int k = 0; k < 8; ++k) {
            double const n = 3e7 * std::pow(2, i);
            double const d = 5e8 * std::pow(2, k);
            double const loss = floor + 400 * std::pow(n, -0.34) + 2000 * std::pow(d, -0.37);
            out += fmt::format("{},{},{:.8f}\n", n, d, loss * (1 + 1e-3 * ((i * 5 + k * 3) % 7 - 3)));
        }
    return out;
}

}  // namespace

TEST_CASE("scaling fit: the report has the parameters, objective, intervals and rows that other programs read") {
    Json const j =
        report("chinchilla", data("chinchilla_digitised.csv"),
               {"--where", "in_n240=1", "--n", "params", "--d", "tokens", "--loss", "loss", "--bootstrap", "60"});
    CHECK(j["format"] == "scaling-law");
    CHECK(j["version"] == 1);
    CHECK(j["rows_used"] == 240);
    CHECK(j["rows_left_out"] == 5);
    CHECK(j["objective"].get<double>() == Approx(0.0010182740178005998).epsilon(1e-9));
    CHECK(j["objective_function"] == "huber:0.001");
    CHECK(j["parameters"]["alpha"].get<double>() == Approx(0.347310498881754).epsilon(5e-5));
    CHECK(j["intervals"]["alpha"]["low_80"].get<double>() < j["parameters"]["alpha"].get<double>());
    CHECK(j["intervals"]["alpha"]["high_80"].get<double>() > j["parameters"]["alpha"].get<double>());
    CHECK(j["resamples"]["rows"].size() == 60);
    CHECK(j["sensitivity"].size() == 5);
}

TEST_CASE("scaling fit: its file answers for optimum and predict, with intervals") {
    ScratchFolder const scratch("scaling_fit");
    std::string const runs = scratch.file("runs.csv", grid_csv(1.8));
    std::string const law = scratch.path("law.json");
    RunResult const fitted = run_sextant(
        fit("chinchilla", runs,
            {"--n", "size", "--d", "seen", "--loss", "val", "--bootstrap", "50", "--format", "json", "--output", law}));
    INFO(fitted.err);
    REQUIRE(fitted.code == 0);
    RunResult const optimum = run_sextant({"scaling", "optimum", "--law", law, "--flops", "1e22", "--format", "json"});
    INFO(optimum.err);
    CHECK(optimum.code == 0);
    CHECK_THAT(optimum.out, contains("80"));
    RunResult const predict = run_sextant({"scaling", "predict", "--law", law, "--params", "1B", "--tokens", "20B"});
    INFO(predict.err);
    CHECK(predict.code == 0);
}

TEST_CASE("scaling fit: an interrupted report says how many resamples its intervals stand on", "[INV-26]") {
    ScratchFolder const scratch("scaling_interrupt");
    std::string const runs = scratch.file("runs.csv", grid_csv(1.8));
    std::signal(SIGINT, SIG_IGN);
    std::thread interrupt([] {
        struct sigaction now {};
        do {  // until the fit has taken the signal over
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            sigaction(SIGINT, nullptr, &now);
        } while (now.sa_handler == SIG_IGN);
        std::raise(SIGINT);
    });
    RunResult const result =
        run_sextant(fit("chinchilla", runs,
                        {"--n", "size", "--d", "seen", "--loss", "val", "--bootstrap", "100000", "--format", "json"}));
    interrupt.join();
    std::signal(SIGINT, SIG_DFL);
    INFO(result.err);
    CHECK(result.code == 130);
    Json const json = Json::parse(result.out);
    CHECK_THAT(json.at("warnings").back().get<std::string>(), contains("interrupted: ") && contains(" of 100000"));
}

TEST_CASE("scaling fit: every law runs on its table, in every format, and draws a picture") {
    ScratchFolder const scratch("scaling_laws");
    struct Case {
        char const* law;
        char const* file;
        Arguments more;
    };
    std::string tuning = "n,d,lr,batch,loss\n";
    for (double const n : {1e8, 4e8, 1.6e9})
        for (double const d : {2e9, 2e10})
            for (double const f : {0.5, 1.0, 2.0})
                tuning += fmt::format("{},{},{},{},{}\n", n, d, f * std::pow(n, -0.7) * std::pow(d, 0.3),
                                      f * std::pow(d, 0.5), 3 + std::abs(std::log(f)));
    std::ignore = scratch.file("tuning.csv", tuning);
    std::string precision = "n,d,p_w,loss\n";
    std::string granular = "n,d,g,loss\n";
    for (int i = 0; i < 40; ++i) {
        double const n = 3e7 * std::pow(1.7, i % 7);
        double const d = 1e9 * std::pow(1.9, (3 * i) % 8);
        int const bits = 3 + i % 5;
        int const g = 1 << (i % 4);
        precision +=
            fmt::format("{},{},{},{}\n", n, d, bits,
                        2.7 + 4000 * std::pow(n * (1 - std::exp(-bits / 2.6)), -0.49) + 18000 * std::pow(d, -0.58));
        granular += fmt::format("{},{},{},{}\n", n, d, g,
                                0.5 + (2.1 * std::pow(g, -0.58) + 18) * std::pow(n, -0.115) + 30 * std::pow(d, -0.147));
    }
    std::ignore = scratch.file("precision.csv", precision);
    std::ignore = scratch.file("granular.csv", granular);
    std::vector<Case> const cases{
        {"chinchilla", "chinchilla_digitised.csv", {}},
        {"compute", "chinchilla_digitised.csv", {}},
        {"isoflop", "chinchilla_digitised.csv", {}},
        {"envelope", "chinchilla_digitised.csv", {"--size-tolerance", "0.02"}},
        {"overtraining", "overtraining_c4_rpj.csv", {"--loss", "loss_c4_val", "--where", "train_dataset=rpj"}},
        {"data-constrained", "data_constrained_182.csv", {}},
        {"moe-routed", "routed_moe_final_sbase_rlr.csv", {"--where", "router_type=Dense|S-Base"}},
        {"moe-bilinear", "routed_moe_final_sbase_rlr.csv", {"--where", "router_type=Dense|S-Base"}},
        {"critical-batch", "critical_batch_steps.csv", {}},
        {"lr-batch", "tuning.csv", {}},
        {"precision", "precision.csv", {}},
        {"moe-granularity", "granular.csv", {}},
    };
    for (Case const& c : cases) {
        std::string const shared = data(c.file);
        std::string const file = std::filesystem::exists(shared) ? shared : scratch.path(c.file);
        for (char const* format : {"text", "json", "csv", "markdown"}) {
            CAPTURE(c.law, format);
            Arguments more = c.more;
            more.insert(more.end(),
                        {"--bootstrap", "25", "--quick", "--format", format, "--plot", scratch.path("p.svg")});
            RunResult const result = run_sextant(fit(c.law, file, more));
            INFO(result.err);
            REQUIRE(result.code == 0);
            CHECK(!result.out.empty());
            CHECK(result.out == run_sextant(fit(c.law, file, more)).out);
            CHECK_THAT(sextant::read_text_file(scratch.path("p.svg")), contains("</svg>"));
            if (std::string(format) != "json") continue;
            Json const j = Json::parse(result.out);
            CHECK(j["law"] == c.law);
            CHECK(j["parameters"].size() >= 2);
            CHECK(j["rows_used"].get<int>() > 5);
        }
    }
}

TEST_CASE("scaling fit: rows without a value are named, counting rules that do not agree are warned of") {
    ScratchFolder const scratch("scaling_rows");
    std::string text = grid_csv(1.8) + "1e9,,2.3\n1e9,2e10,NaN\n";
    RunResult const result =
        run_sextant(fit("chinchilla", scratch.file("runs.csv", text),
                        {"--n", "size", "--d", "seen", "--loss", "val", "--quick", "--bootstrap", "0"}));
    CHECK(result.code == 0);
    CHECK_THAT(result.out, contains("2 rows without a value left out, the first: line 66: seen is missing"));
    std::string counted = "n,d,c,loss\n";
    for (int i = 0; i < 12; ++i)
        counted += fmt::format("{},{},{},{}\n", 1e8 * (i + 1), 1e9 * (i % 5 + 1),
                               6e17 * (i + 1) * (i % 5 + 1) * (1 + 0.1 * i), 3 - 0.05 * i - 0.03 * (i % 5));
    RunResult const warned = run_sextant(fit("chinchilla", scratch.file("c.csv", counted), {"--c", "c", "--quick"}));
    CHECK_THAT(warned.out + warned.err, contains("mixed counting rules: C / (N D) runs from 6 to 12.6"));
}

TEST_CASE("scaling fit: sizes and tokens are in the unit that their column names, and odd ratios are warned of") {
    ScratchFolder const scratch("scaling_units");
    auto const rows = [](char const* header, double n_unit, double d_unit) {
        std::string text = std::string(header) + "\n";
        for (int i = 0; i < 6; ++i)
            for (int k = 0; k < 6; ++k) {
                double const n = 3e7 * std::pow(3, i), d = 1e9 * std::pow(3, k);
                text += fmt::format("{},{},{}\n", n / n_unit, d / d_unit,
                                    1.8 + 400 * std::pow(n, -0.34) + 2000 * std::pow(d, -0.37));
            }
        return text;
    };
    Arguments const quick{"--quick", "--bootstrap", "0"};
    Json const plain = report("chinchilla", scratch.file("a.csv", rows("params,tokens,loss", 1, 1)), quick);
    Json const named =
        report("chinchilla", scratch.file("b.csv", rows("model_params_millions,tokens_billions,loss", 1e6, 1e9)),
               {"--quick", "--bootstrap", "0", "--d", "tokens_billions"});
    for (char const* name : {"A", "B", "E", "alpha", "beta"})
        CHECK(named["parameters"][name].get<double>() == Approx(plain["parameters"][name].get<double>()).epsilon(1e-6));
    CHECK(named["ranges"] == plain["ranges"]);
    CHECK_THAT(named["assumptions"].dump(), contains("model_params_millions is in millions"));
    CHECK_THAT(plain["warnings"].dump(), !contains("tokens per parameter"));
    Json const odd = report("chinchilla", scratch.file("c.csv", rows("params,tokens,loss", 1, 1e9)), quick);
    CHECK_THAT(odd["warnings"].dump(),
               contains("tokens per parameter: one of the two columns is probably in millions"));
}

TEST_CASE("scaling fit: a compute column that the law does not read is checked, one that is no compute is left alone") {
    ScratchFolder const scratch("scaling_unread");
    std::string three = "params,tokens,flops,loss\n", words = "params,tokens,budget,loss\n";
    for (int i = 0; i < 6; ++i)
        for (int k = 0; k < 6; ++k) {
            double const n = 3e7 * std::pow(3, i), d = 1e9 * std::pow(3, k);
            double const loss = 1.8 + 400 * std::pow(n, -0.34) + 2000 * std::pow(d, -0.37);
            three += fmt::format("{},{},{},{}\n", n, d, 3 * n * d, loss);
            words += fmt::format("{},{},small,{}\n", n, d, loss);
        }
    Arguments const quick{"--quick", "--bootstrap", "0"};
    CHECK_THAT(report("chinchilla", scratch.file("three.csv", three), quick)["warnings"].dump(),
               contains("C / (N D) is 3 in the rows"));
    CHECK_THAT(report("chinchilla", scratch.file("words.csv", words), quick)["warnings"].dump(),
               !contains("C / (N D)"));
}

TEST_CASE("scaling fit envelope: whole curves are drawn, so the interval holds the truth, and its bias is shown") {
    // Nine sizes, each run with luck of its own (0.2 %).
    std::string text = "params,tokens,loss\n";
    double const luck[] = {0.3, -1.1, 0.8, -0.2, 1.4, -0.7, 0.1, -1.3, 0.6};
    for (int i = 0; i < 9; ++i)
        for (int k = 0; k < 30; ++k) {
            double const n = 3e7 * std::pow(2, i), d = n * 0.5 * std::pow(10, 0.11 * k);
            double const loss = 1.69 + 406.4 * std::pow(n, -0.34) + 410.7 * std::pow(d, -0.28);
            text += fmt::format("{},{},{}\n", n, d, loss * std::exp(0.002 * luck[i]));
        }
    ScratchFolder const scratch("scaling_curves");
    std::string const file = scratch.file("runs.csv", text);
    Json const j = report("envelope", file, {"--bootstrap", "300"});
    double const truth = 0.28 / (0.34 + 0.28);
    Json const interval = j["intervals"]["N_exponent"];
    CHECK(interval["low_80"].get<double>() < truth);
    CHECK(interval["high_80"].get<double>() > truth);
    CHECK(interval["high_80"].get<double>() - interval["low_80"].get<double>() < 0.2);
    CHECK(j["quantities"]["surface_exponent"]["value"].get<double>() == Approx(truth).epsilon(0.05));
    CHECK(j["quantities"]["surface_envelope_exponent"]["value"].get<double>() == Approx(truth).epsilon(0.1));
    RunResult const refused = run_sextant(fit("envelope", file, {"--bootstrap-by", "params"}));
    CHECK(refused.code == 2);
    CHECK_THAT(refused.err, contains("draws whole training curves already"));
}

TEST_CASE("scaling fit: wrong questions are refused in one line that says what to do") {
    ScratchFolder const scratch("scaling_bad");
    std::string const runs = data("chinchilla_digitised.csv");
    std::string few = "n,d,loss\n";
    std::string constant = "n,d,loss\n";
    for (int i = 0; i < 4; ++i)
        few += fmt::format("{},{},{}\n", 1e8 * (i + 1), 1e9 * (i * i + 1), 3 - 0.1 * i);
    for (int i = 0; i < 20; ++i)
        constant += fmt::format("1e9,{},{}\n", 1e9 * (i + 1), 3 - 0.01 * i);
    auto const bad_cell = [&](char const* cell) {
        return scratch.file("cell.csv", grid_csv(1.8) + "1e9," + std::string(cell) + ",2.2\n");
    };
    Arguments const named{"--n", "size", "--d", "seen", "--loss", "val"};
    std::vector<std::pair<Arguments, char const*>> const cases{
        {fit("chinchilla", "/no/such.csv"), "cannot be opened"},
        {fit("chinchilla", scratch.file("empty.csv", "")), "is empty"},
        {fit("chinchilla", scratch.file("few.csv", few)), "4 rows for 5 parameters"},
        {fit("chinchilla", scratch.file("constant.csv", constant)), "parameters is 1e+09 in every row"},
        {fit("isoflop", scratch.file("constant.csv", constant)), "compute level"},
        {fit("chinchilla", scratch.file("cut.csv", "n,d,loss\n1e8,\"2e")), "cut off"},
        {fit("chinchila", runs), "did you mean 'chinchilla'"},
        {fit("chinchilla", runs, {"--loss", "los"}), "did you mean 'loss'"},
        {fit("chinchilla", runs, {"--objective", "mse"}), "known: huber"},
        {fit("chinchilla", runs, {"--objective", "huber:0"}), "above 0"},
        {fit("chinchilla", runs, {"--fix", "alpha"}), "NAME=VALUE"},
        {fit("chinchilla", runs, {"--fix", "A=nan"}), "finite"},
        {fit("chinchilla", runs, {"--fix", "A=-1"}), "above zero"},
        {fit("chinchilla", runs, {"--fix", "E=3.5"}), "below the given E"},
        {fit("chinchilla", runs, {"--fix", "A=2", "--fix", "A=3"}), "given twice"},
        {fit("chinchilla", runs, {"--fix", "alpha=1e300"}), "up to 1e+40"},
        {fit("chinchilla", runs,
             {"--fix", "A=400", "--fix", "B=2000", "--fix", "E=1.8", "--fix", "alpha=0.34", "--fix", "beta=0.37"}),
         "nothing is left to fit"},
        {fit("chinchilla", runs, {"--tie", "alpha=A"}), "not coefficients"},
        {fit("chinchilla", runs, {"--batch", "row"}), "has no use for it"},
        {fit("chinchilla", runs, {"--where", "loss>9"}), "no usable rows"},
        {fit("chinchilla", runs, {"--bootstrap", "-1"}), "0 to 100000"},
        {fit("chinchilla", runs, {"--starts", "0"}), "1 to 100000"},
        {fit("isoflop", runs, {"--budgets", "1e18,abc"}), "not a number"},
        {fit("isoflop", runs, {"--budget-tolerance", "0"}), "decades"},
        {fit("isoflop", runs, {"--weight", "row"}), "takes no weights"},
        {fit("isoflop", runs, {"--fix", "A=1"}), "parameter by parameter"},
        {fit("data-constrained", data("data_constrained_182.csv"), {"--base", "nobody"}), "nobody"},
        {fit("chinchilla", runs, {"--window", "0.5"}), "has no use for it"},
        {fit("chinchilla", runs, {"--base", "free"}), "has no use for it"},
        {fit("chinchilla", runs, {"--sd", "loss"}), "has no use for it"},
        {fit("allocation", runs, {"--sd", "loss", "--weight", "loss"}), "--weight says already"},
    };
    for (auto const& [arguments, part] : cases) {
        RunResult const result = run_sextant(arguments);
        CAPTURE(arguments.back(), result.err);
        CHECK(result.code == 2);
        CHECK(result.out.empty());
        CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
        CHECK_THAT(result.err, contains(part));
    }
    for (char const* cell : {"abc", "-5", "0", "1e999", "1e308", "1e-300"}) {
        Arguments arguments = fit("chinchilla", bad_cell(cell), named);
        RunResult const result = run_sextant(arguments);
        CAPTURE(cell, result.err);
        CHECK(result.code == 2);
        CHECK_THAT(result.err, contains("line 66, column 'seen'"));
    }
}

TEST_CASE("scaling fit allocation: Porian's optima, by their standard deviations, give the published exponent") {
    std::string const tuned = "exp=rw_tuned_shortwarmup_constdecay_standardcount_val";
    Json const j = report("allocation", data("porian_optima_refinedweb.csv"),
                          {"--n", "n", "--sd", "n_star_std", "--where", tuned, "--bootstrap", "50"});
    CHECK(j["rows_used"] == 12);
    CHECK(j["parameters"]["N_exponent"].get<double>() == Approx(0.4968950781788519).epsilon(1e-8));
    CHECK(j["parameters"]["N_coef"].get<double>() == Approx(0.11892648397493887).epsilon(1e-7));
    Json const alike =
        report("allocation", data("porian_optima_refinedweb.csv"), {"--n", "n", "--where", tuned, "--bootstrap", "0"});
    CHECK(alike["parameters"]["N_exponent"].get<double>() == Approx(0.49702879549161844).epsilon(1e-8));

    ScratchFolder const scratch("scaling_allocation");
    RunResult const next = run_sextant(
        {"scaling", "optimum", "--law", scratch.file("law.json", j.dump()), "--flops", "5.88e23", "--format", "json"});
    INFO(next.err);
    REQUIRE(next.code == 0);
    CHECK(Json::parse(next.out)["tokens_per_parameter"].get<double>() == Approx(16.6).epsilon(0.005));
}

TEST_CASE("scaling fit: a parameter that is fixed leaves the others of the base law held") {
    Json const j = report("data-constrained", data("data_constrained_182.csv"),
                          {"--fix", "R_D=15.39", "--quick", "--bootstrap", "0"});
    CHECK(j["objective"].get<double>() == Approx(0.0158259345).epsilon(1e-8));  // of the profile in expected.json
    CHECK(j["parameters"]["R_D"].get<double>() == Approx(15.39));
    CHECK(j["parameters"]["alpha"].get<double>() == Approx(0.3526596));
    Json const free = report("data-constrained", data("data_constrained_182.csv"),
                             {"--fix", "R_D=15.39", "--base", "free", "--quick", "--bootstrap", "0"});
    CHECK(free["objective"].get<double>() < 0.5 * j["objective"].get<double>());
}

TEST_CASE("scaling fit: rows that no law describes end with code 1 and without parameters") {
    ScratchFolder const scratch("scaling_rising");
    std::string text = "n,d,loss\n";
    for (int i = 0; i < 40; ++i) {
        double const n = 1e7 * std::pow(1.3, i % 9);
        double const d = 1e8 * std::pow(1.4, (5 * i) % 11);
        text += fmt::format("{},{},{}\n", n, d, 1 + 1e-4 * std::pow(n, 0.4) + 1e-6 * std::pow(d, 0.3) + 1e-3 * (i % 3));
    }
    RunResult const result =
        run_sextant(fit("chinchilla", scratch.file("rising.csv", text), {"--quick", "--bootstrap", "0"}));
    CAPTURE(result.err);
    CHECK(result.code == 1);
    CHECK(result.out.empty());
    CHECK(!result.err.empty());
}

TEST_CASE("scaling fit: where an effect never saturates the interval is unbounded, not a number") {
    // Losses of a data-constrained law whose repetitions are all worth as much as new tokens.
    std::string csv = "n,d,unique,loss\n";
    for (int i = 0; i < 6; ++i)
        for (int k = 0; k < 6; ++k) {
            double const n = 1e8 * std::pow(2, i), d = 4e9 * std::pow(1.6, k);
            csv += fmt::format("{},{},{},{}\n", n, d, 4e9,
                               1.8691 + 520.82 * std::pow(n, -0.35266) + 1487.7 * std::pow(d, -0.35266) +
                                   0.002 * std::sin(3.0 * i + 5.0 * k));
        }
    ScratchFolder const scratch("scaling_endless");
    std::string const file = scratch.file("repeated.csv", csv);
    Arguments const more{"--quick", "--bootstrap", "60"};
    Json const j = report("data-constrained", file, more);
    CHECK(j.at("intervals").at("R_D").at("high_95").is_null());
    CHECK(j.at("parameters").at("R_D").is_number());  // a law file needs it
    RunResult const text = run_sextant(fit("data-constrained", file, more));
    auto const line = text.out.substr(text.out.find("\nR_D"));
    CHECK_THAT(line.substr(1, line.find('\n', 1)), contains("unbounded") && !contains("e+"));
}

TEST_CASE("scaling fit isoflop: several experiments in one table are warned of, one is not") {
    auto const rows = [](std::string& csv, double floor, char const* name) {
        for (double const flops : {1e18, 4e18, 1.6e19})
            for (int k = -3; k <= 3; ++k) {
                double const n = 3e7 * std::sqrt(flops / 1e18) * std::pow(1.6, k);
                csv += fmt::format("{},{},{},{},{}\n", name, flops, n, flops / (6 * n), floor + 0.05 * k * k);
            }
    };
    std::string one = "recipe,flops,params,tokens,loss\n";
    rows(one, 3, "a");
    std::string two = one;
    rows(two, 3.3, "b");
    ScratchFolder const scratch("scaling_mixed");
    auto const warnings = [&](std::string const& csv, Arguments const& more) {
        return report("isoflop", scratch.file("runs.csv", csv), more).at("warnings").dump();
    };
    Arguments const quick{"--quick", "--bootstrap", "0"};
    CHECK_THAT(warnings(one, quick), !contains("mixed experiments"));
    CHECK_THAT(warnings(two, quick), contains("mixed experiments: 42 rows") && contains("21 such groups"));
    Arguments filtered = quick;
    filtered.insert(filtered.end(), {"--where", "recipe=b"});
    CHECK_THAT(warnings(two, filtered), !contains("mixed experiments"));
}
