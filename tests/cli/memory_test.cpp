#include "tests/catch.hpp"
#include "tests/cli/report_checks.hpp"
#include "tests/cli/run_sextant.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

namespace {

Arguments operator+(Arguments first, Arguments const& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

Arguments const mixtral{"-m", "mixtral-8x7b", "-c",   "a100-sxm-80gb",  "-n", "32", "--tp", "2", "--pp", "4", "--ep",
                        "4",  "--seq",        "4096", "--global-batch", "64"};

RunResult run(char const* command, Arguments const& more = {}) {
    Arguments arguments{command};
    arguments.insert(arguments.end(), mixtral.begin(), mixtral.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_sextant(arguments);
}

}  // namespace

TEST_CASE("memory --format json has a budget for every stage whose parts add up", "[INV-21]") {
    Json const json = Json::parse(run("memory", {"--format", "json"}).out);
    CHECK(json.at("format") == "memory");
    CHECK(json.at("version") == 1);
    REQUIRE(json.at("stages").size() == 4);
    for (Json const& stage : json.at("stages")) {
        double sum = 0;
        for (char const* part : {"weights_bytes", "gradients_bytes", "optimizer_bytes", "reference_bytes",
                                 "activations_bytes", "buffers_bytes", "overhead_bytes"})
            sum += stage.at(part).get<double>();
        CHECK(sum == Approx(stage.at("peak_bytes").get<double>()).epsilon(1e-9));
    }
    // With one-forward-one-backward an earlier stage holds more microbatches.
    for (std::size_t i = 1; i < 3; ++i)
        CHECK(json.at("stages")[i - 1].at("activations_bytes") > json.at("stages")[i].at("activations_bytes"));
}

TEST_CASE("memory: JSON, CSV and text of a plan say the same") {
    Json const json = Json::parse(run("memory", {"--format", "json"}).out);
    auto const lines = lines_of(run("memory", {"--format", "csv"}).out);
    auto const header = csv_cells(lines.at(0));
    REQUIRE(lines.size() == json.at("stages").size() + 1);
    for (std::size_t stage = 0; stage + 1 < lines.size(); ++stage) {
        auto const cells = csv_cells(lines[stage + 1]);
        CHECK(cells[0] == json.at("model"));
        CHECK(cells[1] == json.at("cluster"));
        auto const first = static_cast<std::size_t>(std::find(header.begin(), header.end(), "stage") - header.begin());
        for (std::size_t c = first + 1; c < header.size(); ++c) {
            std::string key = header[c];
            if (key == "in_flight") key = "microbatches_in_flight";
            if (key == "reserved_bytes") key = "peak_bytes";
            CAPTURE(stage, key);
            CHECK(json.at("stages")[stage].at(key).get<double>() == Approx(std::stod(cells[c])).margin(0.5));
        }
    }
    std::string const text = run("memory").out;
    for (Json const& tensor : json.at("tensors_of_fullest_stage"))
        CHECK_THAT(text, contains(fmt::format("{:.0f}", tensor.at("bytes_per_layer").get<double>())));
    Json const& fullest = json.at("stages").at(json.at("fullest_stage").get<std::size_t>());
    for (Json const& variant : json.at("variants")) {
        CHECK_THAT(text, contains(variant.at("name").get<std::string>()));
        if (variant.at("name") == "zero " + std::to_string(json.at("plan").at("zero").get<int>()))
            CHECK(variant.at("peak_bytes") == fullest.at("peak_bytes"));
    }
}

TEST_CASE("memory: the tensors that are listed are all that the activations in flight are made of") {
    for (Arguments const& plan :
         {mixtral, mixtral + Arguments{"--framework", "fsdp"},
          mixtral + Arguments{"--framework", "deepspeed", "--cp", "2"},
          mixtral + Arguments{"--moe-dispatcher", "deduplicated"},
          mixtral + Arguments{"--micro-batch", "2", "--expert-tp", "2"}, mixtral + Arguments{"--schedule", "gpipe"},
          Arguments{"-m", "llama-2-7b", "-c", "h100-sxm", "-n", "8", "--tp", "2", "--framework", "fsdp"},
          Arguments{"-m", "deepseek-v2-lite", "-c", "h100-sxm", "-n", "8", "--framework", "torchtitan"}}) {
        CAPTURE(plan);
        Json const json = Json::parse(run_sextant(Arguments{"memory"} + plan + Arguments{"--format", "json"}).out);
        double kept = 0;
        for (Json const& tensor : json.at("tensors_of_fullest_stage"))
            kept += tensor.at("bytes_per_layer").get<double>() * tensor.at("layers").get<double>();
        Json const& fullest = json.at("stages").at(json.at("fullest_stage").get<std::size_t>());
        CHECK(kept * fullest.at("microbatches_in_flight").get<double>() ==
              Approx(fullest.at("layer_activations_bytes").get<double>()).epsilon(1e-9));
    }
}

TEST_CASE("memory: no policy drops what embedding and head keep, nor prediction modules where layers are counted") {
    auto const dropped = [](std::string const& block, Arguments const& more) {
        Json const json =
            Json::parse(run_sextant(Arguments{"memory", "-m", "deepseek-v3", "-c", "h100-sxm", "-n", "64", "--tp", "8",
                                              "--ep", "64", "--pp", "1", "--format", "json"} +
                                    more)
                            .out);
        std::set<std::string> policies;
        for (Json const& tensor : json.at("tensors_of_fullest_stage"))
            if (tensor.at("block") == block) policies.insert(tensor.at("dropped_by").get<std::string>());
        return policies;
    };
    std::set<std::string> const never{""};
    CHECK(dropped("head", {}) == never);
    CHECK(dropped("mtp", {}).count("full") == 1);
    CHECK(dropped("mtp", {"--recompute", "full", "--recompute-layers", "2"}) == never);
}

TEST_CASE("memory: the fullest stage is what estimate reports", "[INV-21]") {
    Json const memory = Json::parse(run("memory", {"--format", "json"}).out);
    Json const estimate = Json::parse(run("estimate", {"--format", "json"}).out);
    auto const fullest = estimate.at("fullest_stage").get<std::size_t>();
    for (auto const& [key, value] : estimate.at("memory").items())
        CHECK(memory.at("stages").at(fullest).at(key) == value);
    for (Json const& stage : memory.at("stages"))
        CHECK(stage.at("peak_bytes") <= estimate.at("memory").at("peak_bytes"));
    CHECK(run("memory").code == run("estimate").code);
}

TEST_CASE("memory: exact bytes of the state are parameters times bytes per parameter", "[INV-20]") {
    // GPT-2 small, one device, no sharding: 124,439,808 parameters, its tied output matrix held once.
    RunResult const result =
        run_sextant({"memory", "-m", "gpt2", "-c", "a100-sxm-80gb", "--zero", "0", "--format", "csv"});
    REQUIRE(result.code == 0);
    auto const lines = lines_of(result.out);
    REQUIRE(lines.size() == 2);
    auto const header = csv_cells(lines[0]);
    auto const cells = csv_cells(lines[1]);
    auto const weights =
        static_cast<std::size_t>(std::find(header.begin(), header.end(), "weights_bytes") - header.begin());
    REQUIRE(weights < cells.size());
    double const parameters = std::stod(cells[weights]) / 2;
    CHECK(parameters >= 124439808);
    CHECK(parameters < 1.001 * 124439808);  // the vocabulary is padded to a multiple of 128
}

TEST_CASE("memory: what would change has the loss in parts and fused, where the framework may") {
    auto const names = [](char const* framework) {
        return run_sextant({"memory", "-m", "llama-3.2-1b", "-c", "h100-sxm", "--framework", framework}).out;
    };
    CHECK_THAT(names("transformers"), contains("loss in 8 chunks") && contains("fused cross entropy"));
    CHECK_THAT(names("megatron"), !contains("loss in 8 chunks") && contains("fused cross entropy"));
    CHECK_THAT(names("deepspeed"), !contains("loss in 8 chunks") && !contains("fused cross entropy"));
}

TEST_CASE("memory: text says what would change, and tables are well formed", "[INV-21]") {
    RunResult const text = run("memory");
    CHECK_THAT(text.out, contains("what would change") && contains("recompute full") && contains("is the fullest"));
    CHECK(text.out.find(" \n") == std::string::npos);
    CHECK(run("memory").out == text.out);
    std::string const csv = run("memory", {"--format", "csv"}).out;
    CHECK(is_csv_table(csv));
    CHECK(lines_of(csv).size() == 5);
    CHECK(is_markdown_table(run("memory", {"--format", "markdown"}).out));
}
