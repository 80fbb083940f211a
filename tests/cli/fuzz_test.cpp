#include "tests/catch.hpp"
#include "tests/cli/report_checks.hpp"
#include "tests/cli/run_sextant.hpp"
#include "tests/fixtures.hpp"
#include "tests/sanitized.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

/// Random options, most of them valid alone: whatever comes together, a run answers, says no, or refuses with one
/// sentence.
namespace {

using Random = std::mt19937_64;
using Texts = std::vector<std::string>;

struct Option {
    char const* flag;
    Texts values;
    bool only_single = false;   ///< not an option of `plan`
    bool only_machine = false;  ///< not an option of `flops`
};

std::vector<Option> const& options() {
    static std::vector<Option> const list{
        {"--tp", {"1", "2", "4", "8", "3", "12", "16", "0", "4294967296", "2147483648"}},
        {"--pp", {"1", "2", "3", "4", "6", "12", "13", "1048576"}},
        {"--cp", {"1", "2", "4", "8", "5", "1000000000"}},
        {"--dp", {"1", "2", "4", "8", "7", "2147483648"}},
        {"--ep", {"1", "2", "4", "8", "64", "3"}},
        {"--vpp", {"1", "2", "3", "6", "12", "100"}},
        {"--micro-batch", {"1", "2", "4", "8", "16", "7", "1000000"}},
        {"--loss-chunks", {"1", "8", "64", "0", "-1", "99999999999"}},
        {"--zero", {"0", "1", "2", "3", "4"}},
        {"--schedule",
         {"1f1b", "gpipe", "interleaved", "breadth-first", "zb-h1", "zb-h2", "zb-v", "dualpipe", "dualpipe-v", "none"}},
        {"--recompute", {"none", "selective", "full", "Full"}},
        {"--recompute-layers", {"0", "1", "2", "5", "100"}},
        {"--keep-activations",
         {"qkv", "context,attention_out", "mlp_up+mlp_act", "norm_out", "expert_in", "other", ""}},
        {"--offload-activations", {"layer_input", "qkv,context", "other", "expert_in", "all"}},
        {"--recompute-modules", {"core_attn", "layernorm,mlp_act", "mlp", "moe,moe_act", "op", "mla_up_proj", ""}},
        {"--gradients", {"usual", "bf16"}},
        {"--offload", {"none", "optimizer", "activations", "optimizer+activations", "parameters"}},
        {"--cp-mode", {"ring", "all-gather", "ulysses"}},
        {"--expert-tp", {"1", "2", "8", "1000000000000"}},
        {"--shard-group", {"0", "1", "2", "4", "3"}},
        {"--precision", {"bf16", "fp16", "fp8", "fp32", "tf32", "fp4"}},
        {"--optimizer",
         {"adamw", "adamw-bf16", "adamw-8bit", "adamw-pure-bf16", "sgd", "muon", "lion", "lion-8bit", "adafactor"}},
        {"--seq", {"1", "7", "512", "1024", "4096", "131072", "2147483648", "2147483647"}},
        {"--global-batch", {"1", "3", "8", "64", "512", "1000003", "2147483648"}},
        {"--gpus", {"1", "2", "8", "16", "48", "64", "7", "1048576"}},
        {"--stage-layers", {"12", "6,6", "5,7", "3,3,3,3", "0,12", "1"}, true},
        {"--framework", {"megatron", "fsdp", "deepspeed", "nanotron", "generic"}, false, true},
        {"--max-memory", {"90%", "1%", "10 GB", "1 B", "200%"}, false, true},
        {"--price", {"0", "2.5", "1e6", "-0", "1e-300"}, false, true},
        {"--format", {"text", "json", "csv", "markdown"}},
    };
    return list;
}

template <class T>
T const& one_of(Random& random, std::vector<T> const& list) {
    return list[random() % list.size()];
}

Texts random_arguments(Random& random, std::string const& command) {
    static Texts const models{"gpt2", "llama-3.2-1b", "mixtral-8x7b", "deepseek-v2-lite", "opt-125m"};
    static Texts const clusters{"a100-sxm-80gb", "h100-sxm",  "l4-pcie", "gb200-nvl72",
                                "tpu-v5p",       "v100-16gb", "mi300x"};
    Texts arguments{command, "-m", one_of(random, models)};
    if (command != "flops") {
        arguments.emplace_back("-c");
        arguments.push_back(one_of(random, clusters));
    }
    bool const search = command == "plan";
    if (search) {
        arguments.emplace_back("--gpus");
        arguments.emplace_back(sextant::fixtures::pick<char const*>(random, {"1", "4", "8", "12", "4,8"}));
        arguments.emplace_back("--top");
        arguments.emplace_back("3");
    }
    std::size_t const count = random() % 7;
    for (std::size_t i = 0; i < count; ++i) {
        Option const& option = one_of(random, options());
        bool const given = std::find(arguments.begin(), arguments.end(), option.flag) != arguments.end();
        if (given || (search && option.only_single) || (command == "flops" && option.only_machine)) continue;
        arguments.emplace_back(option.flag);
        arguments.push_back(one_of(random, option.values));
    }
    for (char const* flag : {"--no-sequence-parallel", "--sequence-parallel", "--no-flash-attention", "--dropout",
                             "--fused-cross-entropy"})
        if (random() % 12 == 0) arguments.emplace_back(flag);
    return arguments;
}

void check_outcome(Texts const& arguments) {
    std::string shown;
    for (std::string const& a : arguments)
        shown += " " + a;
    INFO("sextant" << shown);
    RunResult const result = run_sextant(arguments);
    INFO(result.err);
    REQUIRE(result.code >= 0);
    REQUIRE(result.code <= 2);
    REQUIRE(result.out.empty() == (result.code == 2));
    if (result.code != 1) REQUIRE(result.err.empty() == (result.code != 2));  // beside CSV, a no says why there
    if (result.code == 2) REQUIRE(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    for (char const* word : {"nan", "inf"})
        REQUIRE_FALSE(has_word(result.out, word));
    REQUIRE(result.err.size() < 2000);
    // Infinity and NaN are written as null, so a report that has numbers only has none of them.
    if (result.code != 2 && result.out.starts_with("{")) {
        auto const json = nlohmann::json::parse(result.out);
        REQUIRE(all_finite(json));
        if (json.contains("iteration_time_s")) REQUIRE(json["iteration_time_s"].is_number());
    }
}

}  // namespace

TEST_CASE("random options end in an answer, a no, or one sentence of refusal", "[INV-11]") {
    constexpr int rounds = sextant::fixtures::cases(300, 40);
    Random random(20240607);
    for (int i = 0; i < 2 * rounds; ++i)
        for (char const* command : {"estimate", "memory", "flops"})
            check_outcome(random_arguments(random, command));
    for (int i = 0; i < rounds; ++i)
        check_outcome(random_arguments(random, "plan"));
}

TEST_CASE("random bytes as values end in a refusal or an answer", "[INV-11]") {
    Random random(7);
    std::string const alphabet = "0123456789-+.,<>=%eE xGB\t\"'{}[]/\\\x01\xc3\xa9";
    for (int i = 0; i < sextant::fixtures::cases(800, 200); ++i) {
        std::string value;
        std::size_t const length = random() % 12;
        for (std::size_t k = 0; k < length; ++k)
            value += alphabet[random() % alphabet.size()];
        Option const& option = one_of(random, options());
        std::string const command = sextant::fixtures::pick<char const*>(random, {"estimate", "plan"});
        Texts arguments{command, "-m", "gpt2", "-c", "l4-pcie"};
        if (command == "plan" && std::string(option.flag) != "--gpus") {
            arguments.emplace_back("--gpus");
            arguments.emplace_back("4");
        }
        arguments.emplace_back(option.flag);
        arguments.push_back(value);
        std::string shown;
        for (std::string const& a : arguments)
            shown += " " + a;
        INFO("sextant" << shown);
        RunResult const result = run_sextant(arguments);
        INFO(result.err);
        REQUIRE(result.code >= 0);
        REQUIRE(result.code <= 2);
        REQUIRE(result.out.empty() == (result.code == 2));
    }
}
