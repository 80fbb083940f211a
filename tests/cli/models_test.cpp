#include "core/json/text_file.hpp"
#include "core/spec/model_catalog.hpp"
#include "tests/catch.hpp"
#include "tests/cli/run_sextant.hpp"

#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

using Json = nlohmann::json;

TEST_CASE("models lists every preset in every format, the same each time") {
    auto const names = sextant::model_names();
    for (auto const* format : {"text", "json", "csv", "markdown"}) {
        auto const result = run_sextant({"models", "--format", format});
        REQUIRE(result.code == 0);
        for (auto const& name : names)
            CHECK(result.out.find(name) != std::string::npos);
        CHECK(result.out.find(" \n") == std::string::npos);
        CHECK(run_sextant({"models", "--format", format}).out == result.out);
    }
    auto const json = Json::parse(run_sextant({"models", "--format", "json"}).out);
    CHECK(json.at("format") == "models");
    CHECK(json.at("version") == 1);
    CHECK(json.at("models").size() == names.size());
}

TEST_CASE("models show --format json keeps the keys that other programs read") {
    auto const result = run_sextant({"models", "show", "mixtral-8x7b", "--seq", "2048", "--format", "json"});
    REQUIRE(result.code == 0);
    auto const json = Json::parse(result.out);
    CHECK(json.at("format") == "model");
    CHECK(json.at("version") == 1);
    CHECK(json.at("parameters_total") == 46702792704);
    CHECK(json.at("parameters_active") == 12879925248);
    CHECK(json.at("sequence") == 2048);
    CHECK(json.at("kv_cache_bytes_per_token") == 131072);
    // Twice the matrix parameters that a token meets (norms and the embedding are no products) plus the scores 4 s a d
    // of 32 layers.
    double const matrices = 12879925248.0 - 65 * 4096 - 32000.0 * 4096;
    CHECK(json.at("forward_flops_per_token").get<double>() ==
          Approx(2 * matrices + 32 * 4.0 * 2048 * 4096).epsilon(1e-9));
    CHECK(json.at("forward_flops_per_token_causal") < json.at("forward_flops_per_token"));
    std::int64_t layers = 0;
    for (auto const& kind : json.at("layer_kinds"))
        layers += kind.at("layers").get<std::int64_t>();
    CHECK(layers == 32);
}

TEST_CASE("models show counts at 4096 tokens, or at the longest sequence of a shorter model") {
    auto const sequence = [](char const* name) {
        return Json::parse(run_sextant({"models", "show", name, "--format", "json"}).out).at("sequence");
    };
    CHECK(sequence("gpt2") == 1024);
    CHECK(sequence("llama-3.1-8b") == 4096);
}

TEST_CASE("models show works for every preset, and its exact counts add up to the total") {
    for (auto const& name : sextant::model_names()) {
        INFO(name);
        auto const result = run_sextant({"models", "show", name, "--format", "json"});
        REQUIRE(result.code == 0);
        auto const json = Json::parse(result.out);
        CHECK(json.at("name") == name);
        CHECK(json.at("forward_flops_per_token") > json.at("parameters_without_embedding").get<double>() * 0.02);
        std::int64_t weights = 0;
        for (Json const& weight : json.at("weights"))
            if (weight.at("part") != "prediction")
                weights += weight.at("copies").get<std::int64_t>() * weight.at("parameters").get<std::int64_t>();
        CHECK(weights == json.at("parameters_total").get<std::int64_t>());
        // Keys that are chosen are scored first, and attended to in the space of the latent, of 512 + 64 and of 512.
        double scores = 4.0 * 4096 * json.at("heads").get<double>() * json.at("head_dim").get<double>();
        if (json.contains("key_index")) {
            auto const& index = json.at("key_index");
            scores = 2.0 * 4096 * index.at("heads").get<double>() * index.at("head_dim").get<double>() +
                     2.0 * index.at("chosen").get<double>() * json.at("heads").get<double>() * (512 + 64 + 512);
        }
        CHECK(json.at("forward_flops_per_token").get<double>() <
              2.0 * json.at("parameters_active").get<double>() +
                  2.0 * json.at("vocab").get<double>() * json.at("hidden").get<double>() +
                  json.at("layers").get<double>() * scores);
    }
}

TEST_CASE("models show reads a config file, and its folder") {
    auto const folder = std::filesystem::temp_directory_path() / ("sextant_models_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    auto const file = (folder / "config.json").string();
    sextant::write_text_file(file, sextant::model_config("gpt2"));
    auto const by_file = run_sextant({"models", "show", file, "--format", "json"});
    auto const by_folder = run_sextant({"models", "show", folder.string(), "--format", "json"});
    std::filesystem::remove_all(folder);
    REQUIRE(by_file.code == 0);
    CHECK(by_file.out == by_folder.out);
    CHECK(Json::parse(by_file.out).at("parameters_total") == 124439808);
}

TEST_CASE("models show refuses what it cannot use with exit code 2 and an empty report") {
    auto const check = [](std::vector<std::string> const& arguments, std::string const& part) {
        auto const result = run_sextant(arguments);
        INFO(result.err);
        CHECK(result.code == 2);
        CHECK(result.out.empty());
        CHECK(result.err.find(part) != std::string::npos);
        CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    };
    check({"models", "show", "lama-3-8b"}, "did you mean 'llama-3-8b'");
    check({"models", "show", "absent/config.json"}, "absent/config.json");
    check({"models", "show"}, "name");
    check({"models", "show", "gpt2", "--seq", "2048"}, "1 to 1024");
    check({"models", "show", "gpt2", "--seq", "0"}, "--seq");
    check({"models", "show", "llama-3-8b", "--seq", "-5"}, "--seq");
    check({"models", "show", "gpt2", "--seq", "many"}, "--seq");
    check({"models", "show", "gpt2", "--format", "yaml"}, "yaml");
}
