#include "planner/left_out.hpp"

#include "core/spec/model_catalog.hpp"
#include "tests/cli/questions.hpp"

#include <string>
#include <vector>

using namespace sextant;

TEST_CASE("left out: reports of a multimodal model say in their first line that its encoders are, others do not",
          "[long]") {
    struct Case {
        Arguments before, after;
    };
    std::vector<Case> const cases{
        {{"estimate"}, {"-c", "h100-sxm", "--dp", "8", "--zero", "1"}},
        {{"plan"}, {"-c", "h100-sxm", "-n", "8"}},
        {{"memory"}, {"-c", "h100-sxm", "--dp", "8", "--zero", "1"}},
        {{"flops"}, {}},
        {{"simulate"}, {"-c", "h100-sxm", "--dp", "8", "--zero", "1"}},
        {{"run-plan"}, {"-c", "h100-sxm", "-n", "8", "--tokens", "1B"}},
        {{"rl"}, {"-c", "h100-sxm", "-n", "8", "--prompts", "32", "--prompt-tokens", "200", "--output-tokens", "600"}},
        {{"serve", "estimate"}, {"-c", "h100-sxm"}},
        {{"serve", "simulate"}, {"-c", "h100-sxm", "--rate", "1", "--count", "60"}},
        {{"serve", "plan"}, {"-c", "h100-sxm", "--rate", "1", "--tpot", "40ms", "--requests", "500"}},
        {{"serve", "quality"}, {"-c", "h100-sxm"}},
    };
    for (Case const& c : cases)
        for (auto const& [model, multimodal] : {std::pair{"gemma-3-4b", true}, {"llama-3.2-3b", false}}) {
            RunResult const run = run_sextant(c.before + Arguments{"-m", model} + c.after);
            CAPTURE(c.before, model, run.err);
            REQUIRE((run.code == 0 || run.code == 1));
            std::string const first = run.out.substr(0, run.out.find('\n'));
            bool const said = first.find("gemma-3-4b (encoders left out)") != std::string::npos;
            CHECK(said == multimodal);
        }
}

TEST_CASE(
    "left out: exported files and their reports name the encoders of a multimodal model, those of others do not") {
    std::vector<Arguments> exports;
    for (char const* engine : {"vllm", "sglang", "tensorrt-llm"})
        exports.push_back({"export", "serve", "--engine", engine});
    for (char const* format : {"megatron,slurm,kubernetes", "torchtitan", "fsdp2", "nemo", "maxtext"})
        exports.push_back({"export", "--dp", "8", "--zero", "1", "--format", format});
    for (Arguments const& command : exports)
        for (auto const& [model, multimodal] : {std::pair{"gemma-3-4b", true}, {"llama-3.2-3b", false}}) {
            RunResult const run = run_sextant(command + Arguments{"-m", model, "-c", "h100-sxm", "--report", "json"});
            CAPTURE(command, model, run.err);
            REQUIRE(run.code <= 1);
            Json const exported = Json::parse(run.out);
            auto const said = [](std::string const& text) {
                return text.find("(encoders left out)") != std::string::npos;
            };
            CHECK(said(exported.at("plan").get<std::string>()) == multimodal);
            for (Json const& file : exported.at("files"))
                if (std::string const text = file.at("text"); file.at("name") != "tensorrt_llm.yml")
                    CHECK(said(text) == multimodal);
            if (command[1] == "serve")
                CHECK((exported.at("not_expressed").dump().find("the engine loads them too") != std::string::npos) ==
                      multimodal);
        }
}

TEST_CASE("left out: JSON of what has no assumptions says it under left_out") {
    for (Arguments const& question : {Arguments{"flops", "-m"}, Arguments{"memory", "-c", "h100-sxm", "-m"}}) {
        CHECK_THAT(answer(question + Arguments{"gemma-3-4b"}).at("left_out").get<std::string>(), contains("encoders"));
        CHECK(answer(question + Arguments{"gpt2"}).at("left_out") == "");
    }
    CHECK(left_out_remark(find_model("gpt2")).empty());
    CHECK_THAT(left_out_remark(sextant::find_model("gemma-3-4b")), contains("gemma-3-4b without its encoders"));
}
