#include "cli/command.hpp"
#include "cli/run.hpp"
#include "core/parallel_for.hpp"
#include "tests/catch.hpp"

#include <fmt/format.h>

#include <sstream>

using namespace sextant;

namespace {

std::string const data = SEXTANT_SOURCE_DIR "/tests/data/";

/// Of many kinds, so that what they read, keep and share meets. None starts a process: under ASan only one thread may
/// (worker_threads); what does so is put at once in tests/python.
std::vector<std::vector<std::string>> questions() {
    return {
        {"estimate", "-m", "gpt2", "-c", "h100-sxm", "--dp", "8"},
        {"plan", "-m", "gpt2", "-c", "a100-sxm-80gb", "-n", "8", "--threads", "2"},
        {"validate", "train", data + "train_excerpt.csv"},
        {"validate", "serving", data + "serving/serving_excerpt.csv"},
        {"memory", "-m", "gpt2", "-c", "h100-sxm", "-n", "16"},
        {"serve", "estimate", "-m", "llama-3.1-70b", "-c", "h200-sxm", "--tp", "4", "--rate", "2"},
        {"goodput", "--parameters", "8B", "-n", "64", "--trials", "5"},
        {"run-plan", "--dollars", "1e5", "-c", "h100-sxm"},
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
    for (std::size_t i = 0; i < asked.size(); ++i) {
        INFO(asked[i][0] << " " << asked[i][1]);
        std::string const alone = answer(asked[i]);
        CHECK_THAT(alone, Catch::Matchers::StartsWith("0 \n"));
        for (std::size_t round = 0; round < rounds; ++round)
            CHECK(together[round * asked.size() + i] == alone);
    }
}
