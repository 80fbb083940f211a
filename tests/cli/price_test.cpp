#include "planner/price_words.hpp"

#include "cli/view/table.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/hourly_price.hpp"
#include "tests/cli/questions.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

using namespace sextant;

namespace {

Arguments const indicative{"indicative: Nebius H100, on-demand, 2025", "set your own (--price)"};

/// Questions whose reports have dollars, of an H100.
std::vector<Arguments> const& priced_questions() {
    static std::vector<Arguments> const all{
        {"estimate", "-m", "llama-3.1-8b", "-c", "h100-sxm", "--dp", "8", "--zero", "1"},
        {"plan", "-m", "llama-3.1-8b", "-c", "h100-sxm", "-n", "8"},
        {"run-plan", "-m", "llama-3.1-8b", "--tokens", "10B", "-c", "h100-sxm", "-n", "8"},
        {"serve", "estimate", "-m", "llama-3.1-8b", "-c", "h100-sxm"},
        {"serve", "simulate", "-m", "llama-3.1-8b", "-c", "h100-sxm", "--rate", "1", "--count", "60"},
        {"serve", "plan", "-m", "llama-3.1-8b", "-c", "h100-sxm", "--rate", "1", "--pp", "1", "--tpot", "40ms",
         "--requests", "500"},
        {"serve", "quality", "-m", "llama-3.1-8b", "-c", "h100-sxm"},
        {"scaling", "predict", "--params", "1B", "--tokens", "10B", "-c", "h100-sxm", "--mfu", "0.4"},
    };
    return all;
}

/// The lines about prices among the assumptions of a report, wherever they stand.
std::vector<std::string> price_lines(Json const& json) {
    std::vector<std::string> out;
    if (json.is_object())
        for (auto const& [key, value] : json.items()) {
            if (key == "assumptions") {
                for (Json const& line : value)
                    if (line.get<std::string>().find("price = ") != std::string::npos) out.push_back(line);
                continue;
            }
            for (std::string& line : price_lines(value))
                out.push_back(std::move(line));
        }
    if (json.is_array())
        for (Json const& value : json)
            for (std::string& line : price_lines(value))
                out.push_back(std::move(line));
    return out;
}

}  // namespace

TEST_CASE("price_words: provider and date of what ships, that the user gave it, or that it is assumed") {
    auto const shipped = [](char const* source) { return Sourced<double>{2.5, Basis::datasheet, source}; };
    CHECK(price_words(shipped("indicative: Lambda gpu_1x_gh200, on-demand (promotional), 2025 (a page; seen); set your "
                              "own")) ==
          "$2.5 per GPU-hour (indicative: Lambda gpu_1x_gh200, on-demand (promotional), "
          "2025)");
    CHECK(price_words(shipped("indicative: AWS p5, on-demand, 2025-06 (cut (44 percent); recalled); set your own")) ==
          "$2.5 per GPU-hour (indicative: AWS p5, on-demand, 2025-06)");
    CHECK(price_words(shipped("a contract")) == "$2.5 per GPU-hour (a contract)");
    CHECK(price_words(given_price(2)) == "$2 per GPU-hour (--price)");
    CHECK(price_words({2, Basis::assumed, "set to x2"}) == "$2 per GPU-hour (assumed)");
    CHECK(price_assumption(given_price(2)) == "price = $2 per GPU-hour, as given (--price)");
    CHECK(price_assumption({2, Basis::assumed, "set to x2"}) == "price = $2 per GPU-hour, assumed: set to x2");
    CHECK(price_assumption(shipped("a contract")) == "price = $2.5 per GPU-hour: a contract");
}

TEST_CASE("price_words: every price that ships says who asks it, and when") {
    for (ClusterSpec const& cluster : all_clusters())
        if (auto const price = hourly_price(cluster)) {
            INFO(cluster.name);
            std::string const words = price_words(*price);
            CHECK_THAT(words, contains("(indicative: ") && contains(", 20"));
            CHECK(words.size() < 100);
        }
}

TEST_CASE("dollars: JSON, text and Markdown say whose price they stand on, once; --price is the user's",
          "[price][long]") {
    for (Arguments const& question : priced_questions()) {
        CAPTURE(question);
        std::vector<std::string> const lines = price_lines(answer(question));
        REQUIRE_FALSE(lines.empty());
        for (std::string const& part : indicative)
            CHECK_THAT(lines.front(), contains(part));
        CHECK_THAT(unwrapped(run_sextant(question).out), contains("$2.95 per GPU-hour") && contains(indicative[0]));
        std::vector<std::string> const given = price_lines(answer(question + Arguments{"--price", "2"}));
        REQUIRE_FALSE(given.empty());
        for (std::string const& line : given)
            CHECK_THAT(line, contains("price = $2 per GPU-hour, as given (--price)"));
        CHECK_THAT(unwrapped(run_sextant(question + Arguments{"--price", "2"}).out), contains("--price)"));
    }
    for (std::size_t const with_dollars_in_a_table : {0u, 1u, 2u, 3u, 4u, 5u, 6u}) {
        Arguments const& question = priced_questions()[with_dollars_in_a_table];
        CAPTURE(question);
        CHECK_THAT(run_sextant(question + Arguments{"--format", "markdown"}).out,
                   contains("- ") && contains(indicative[0]));
    }
    for (std::size_t const one_report : {0u, 2u, 3u, 4u})
        CHECK(price_lines(answer(priced_questions()[one_report])).size() == 1);
}

TEST_CASE("plan and estimate: Markdown has the dollars of JSON, and none without a price", "[price]") {
    Arguments const& estimate = priced_questions()[0];
    Json const step = answer(estimate);
    for (char const* format : {"markdown", "csv"})
        for (char const* key : {"step_cost_usd", "million_tokens_cost_usd"}) {
            std::string const value = fmt::format("{}", step.at(key).get<double>());
            CHECK_THAT(run_sextant(estimate + Arguments{"--format", format}).out,
                       contains(fmt::format("{} | {} |", key, value)) || contains(fmt::format("{},{}", key, value)));
        }
    Arguments const& plan = priced_questions()[1];
    std::string const ranked = run_sextant(plan + Arguments{"--format", "markdown"}).out;
    CHECK_THAT(ranked, contains("| USD per M tokens |"));
    Json const candidates = answer(plan).at("candidates");
    CHECK(candidates.size() > 1);
    for (Json const& candidate : candidates)
        CHECK_THAT(ranked, contains(fmt::format("| {:.4g} |",
                                                candidate.at("report").at("million_tokens_cost_usd").get<double>())));

    Arguments const unpriced{"-m", "gpt2", "-c", "a100-pcie-40gb"};
    for (Arguments const& question : {Arguments{"plan", "-n", "8"}, Arguments{"estimate", "--dp", "8", "--zero", "1"}})
        CHECK_THAT(run_sextant(question + unpriced + Arguments{"--format", "markdown"}).out,
                   !contains("USD") && !contains("usd"));
}

TEST_CASE("plan: Markdown of nothing that fits says what would") {
    RunResult const none =
        run_sextant({"plan", "-m", "llama-3.1-405b", "-c", "h100-sxm", "-n", "8", "--format", "markdown"});
    CHECK(none.code == 1);
    CHECK_THAT(none.out, contains("no plan fits") && contains("--gpus 128"));
}

TEST_CASE("sweep: columns of dollars say whose prices they stand on, one line per cluster", "[price]") {
    Arguments const question{"sweep", "estimate", "-m", "gpt2", "--gpus", "1"};
    Arguments const both{"--axis", "cluster=h100-sxm,a100-sxm-80gb"};
    for (char const* format : {"text", "json", "markdown"}) {
        CAPTURE(format);
        RunResult const run = run_sextant(Arguments{"sweep", "--format", format} + both +
                                          Arguments{"estimate", "-m", "gpt2", "--gpus", "1"});
        CHECK_THAT(unwrapped(run.out), contains("h100-sxm: price = $2.95") && contains("a100-sxm-80gb: price = $3.43"));
    }
    RunResult const given = run_sextant(
        Arguments{"sweep", "--axis", "gpus=1,2", "estimate", "-m", "gpt2", "-c", "h100-sxm", "--price", "2"});
    CHECK_THAT(given.out, contains("price = $2 per GPU-hour, as given (--price)"));
    RunResult const varied =
        run_sextant(Arguments{"sweep", "--axis", "price=1,2", "estimate", "-m", "gpt2", "-c", "h100-sxm"});
    CHECK_THAT(varied.out, contains("prices as the axis says (--price)"));
    // A name with a space, the short option without one, a list, a change of the value behind the name.
    for (Arguments const& cluster : {Arguments{"-ch100-sxm"}, {"--cluster=h100-sxm"}, {"-c", "h100-sxm:peak=x0.5"}}) {
        RunResult const spelt =
            run_sextant(Arguments{"sweep", "--axis", "gpus=1,2", "estimate", "-m", "gpt2"} + cluster);
        CAPTURE(cluster, spelt.err);
        CHECK_THAT(unwrapped(spelt.out), contains("price = $2.95 per GPU-hour, indicative: Nebius H100"));
    }
    RunResult const scaled =
        run_sextant({"sweep", "--axis", "price=x0.5,x2", "estimate", "-m", "gpt2", "-c", "h100-sxm"});
    CHECK_THAT(unwrapped(scaled.out),
               contains("prices as the axis says, of those") && contains("h100-sxm: price = $2.95"));
    RunResult const unpriced =
        run_sextant({"sweep", "--axis", "gpus=1,2", "estimate", "-m", "gpt2", "-c", "a100-pcie-40gb"});
    CHECK_THAT(unpriced.out, contains("a100-pcie-40gb: no price is known (--price)") && !contains("price ="));
    RunResult const without = run_sextant(
        Arguments{"sweep", "--axis", "gpus=1,2", "--columns", "mfu", "estimate", "-m", "gpt2", "-c", "h100-sxm"});
    CHECK_THAT(without.out, !contains("price"));
}
