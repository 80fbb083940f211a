#include "cli/command.hpp"
#include "cli/run.hpp"
#include "core/parallel_for.hpp"
#include "tests/catch.hpp"

#include <fmt/format.h>

#include <sstream>

using namespace sextant;

namespace {

std::string const data = SEXTANT_SOURCE_DIR "/tests/data/";

/// Of many kinds, so that what they read, keep and share meets.
std::vector<std::vector<std::string>> questions() {
    return {
        {"estimate", "-m", "llama-3.1-8b", "-c", "h100-sxm", "--dp", "8"},
        {"plan", "-m", "gpt2", "-c", "a100-sxm-80gb", "-n", "8", "--threads", "2"},
        {"validate", "train", data + "train_excerpt.csv"},
        {"validate", "serving", data + "serving/serving_excerpt.csv"},
        {"memory", "-m", "mixtral-8x7b", "-c", "h100-sxm", "-n", "16", "--tp", "8"},
        {"serve", "estimate", "-m", "llama-3.1-70b", "-c", "h200-sxm", "--tp", "4", "--rate", "2"},
        {"goodput", "--parameters", "8B", "-n", "64", "--trials", "5"},
        {"run-plan", "--dollars", "1e5", "-c", "h100-sxm"},
        {"collective", "-c", "h100-sxm", "-n", "16", "--algorithm", "ring"},
        {"scaling", "predict", "--params", "70B", "--tokens", "15T"},
        {"hardware", "show", "b200-sxm"},
        {"models", "show", "deepseek-v3"},
    };
}

std::string answer(std::vector<std::string> const& question) {
    std::ostringstream out;
    std::ostringstream err;
    cli::CommandContext context{out, err};
    std::atomic<bool> const never{false};
    context.stop = &never;
    cli::Ending const ending = cli::run_arguments(question, context);
    return fmt::format("{} {}\n{}{}", ending.exit_code, ending.error, out.str(), err.str());
}

}  // namespace

TEST_CASE("commands at work at the same time in one process answer as one after the other") {
    auto const asked = questions();
    constexpr std::size_t rounds = 2;
    std::vector<std::string> together(rounds * asked.size());
    parallel_for(static_cast<std::int64_t>(together.size()), 4, [&](std::int64_t i) {
        auto const at = static_cast<std::size_t>(i);
        together[at] = answer(asked[at % asked.size()]);
    });
    for (std::size_t i = 0; i < together.size(); ++i) {
        INFO(asked[i % asked.size()][0] << " " << asked[i % asked.size()][1]);
        CHECK(together[i] == answer(asked[i % asked.size()]));
        CHECK_THAT(together[i], Catch::Matchers::StartsWith("0 \n") || Catch::Matchers::StartsWith("1 \n"));
    }
}
