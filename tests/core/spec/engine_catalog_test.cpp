#include "core/spec/engine_catalog.hpp"
#include "core/embedded_text.hpp"
#include "core/error.hpp"
#include "core/spec/engine_fields.hpp"
#include "tests/catch.hpp"

#include <set>

using namespace sextant;

namespace {

EngineProfile read_text(std::string const& text) {
    auto const document = JsonDocument::from_text(text, "engine.json");
    return read_engine(ObjectReader(document));
}

std::string replaced(std::string text, std::string const& what, std::string const& by) {
    auto const at = text.find(what);
    REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), by);
}

}  // namespace

TEST_CASE("each engine's file is named as its profile, and says where each value comes from") {
    REQUIRE(all_engines().size() == embedded_engines().size());
    std::set<std::string> seen;
    for (std::size_t i = 0; i < all_engines().size(); ++i) {
        EngineProfile const& engine = all_engines()[i];
        INFO(engine.name);
        CHECK(engine.name == embedded_engines()[i].name);
        CHECK(seen.insert(engine.name).second);
        for (std::string const& alias : engine.aliases)
            CHECK(seen.insert(alias).second);
        for (auto const& field : engine_numbers)
            CHECK_FALSE((engine.*field.member).source.empty());
        for (auto const& field : engine_times)
            CHECK_FALSE((engine.*field.member).source.empty());
        CHECK_FALSE(engine.memory_overhead.source.empty());
        CHECK(engine.interval.low < 1);
        CHECK(engine.interval.high > 1);
    }
}

TEST_CASE("an engine is found under the names that measurements give it") {
    for (auto const& [spelling, name] : {std::pair{"vLLM", "vllm"},
                                         {"sglang", "sglang"},
                                         {"TensorRT-LLM", "tensorrt-llm"},
                                         {"trtllm", "tensorrt-llm"},
                                         {"LMDeploy TurboMind", "lmdeploy"},
                                         {"gpt-fast", "other"}}) {
        INFO(spelling);
        REQUIRE(known_engine(spelling) != nullptr);
        CHECK(known_engine(spelling)->name == name);
        CHECK(find_engine(spelling, "--engine").name == name);
    }
    CHECK(known_engine("") == nullptr);
    CHECK(known_engine("llama.cpp") == nullptr);
    CHECK_THROWS_WITH(find_engine("sglan", "--engine"),
                      contains("did you mean 'sglang'") &&
                          contains("known: vllm, vllm-v0, vllm-v0-rocm, vllm-v0-rocm-cdna2, sglang, tensorrt-llm"));
    CHECK_THROWS_AS(find_engine("missing-engine.json", "--engine"), InputError);
}

TEST_CASE("an engine's file from before launches and windows were told says nothing of them") {
    std::string text = engine_json(find_engine("vllm", "test"));
    auto const drop_line = [&](char const* key) {
        std::size_t const begin = text.find(key);
        REQUIRE(begin != std::string::npos);
        text.erase(begin, text.find('\n', begin) + 1 - begin);
    };
    drop_line("  \"prompt_launch\"");
    drop_line("  \"expert_launch\"");
    drop_line("  \"memory_share\"");
    drop_line("  \"window_cache\"");
    drop_line("  \"grouped_heads\"");
    drop_line("  \"longer_stages\"");
    drop_line("  \"vendor\"");
    drop_line("  \"planning\"");
    drop_line("  \"admission\"");
    drop_line("  \"program\"");
    EngineProfile const engine = read_text(text);
    CHECK(engine.prompt_launch.value == Seconds{});
    CHECK(engine.prompt_launch.basis == Basis::assumed);
    CHECK(engine.expert_launch.value == Seconds{});
    CHECK(engine.memory_share == MemoryShare::device);
    CHECK(engine.window_cache == WindowCache::window);
    CHECK(engine.grouped_heads == GroupedHeads::shared);
    CHECK(engine.longer_stages == LongerStages::first);
    CHECK(engine.vendor.empty());
    CHECK(engine.planning == IterationPlanning::in_turn);
    CHECK(engine.admission == Admission::prompt);
    CHECK(engine.program == EngineProgram::vllm);  // by its name
    drop_line("  \"kernel_gap\"");
    CHECK_THROWS_WITH(read_text(text), contains("kernel_gap"));
}

TEST_CASE("which program a profile describes is stated, or told from the beginning of its name") {
    for (EngineProfile const& engine : all_engines())
        CHECK(is_vllm(engine.program) == engine.name.starts_with("vllm"));
    CHECK(find_engine("vllm-v0-rocm", "test").program == EngineProgram::vllm_v0);
    EngineProfile engine = find_engine("sglang", "test");
    engine.name = "ours";
    std::string text = engine_json(engine);
    CHECK(read_text(text).program == EngineProgram::sglang);
    std::string const stated = "  \"program\": \"sglang\",\n";
    std::size_t const at = text.find(stated);
    REQUIRE(at != std::string::npos);
    CHECK(read_text(text.substr(0, at) + text.substr(at + stated.size())).program == EngineProgram::other);
    std::string unstated = engine_json(find_engine("vllm-v0-rocm", "test"));
    std::string const line = "  \"program\": \"vllm-v0\",\n";
    unstated.erase(unstated.find(line), line.size());
    CHECK(read_text(unstated).program == EngineProgram::vllm_v0);
    text.replace(at, stated.size(), "  \"program\": \"vlm\",\n");
    CHECK_THROWS_WITH(read_text(text), contains("unknown 'vlm'") && contains("tensorrt-llm"));
}

TEST_CASE("optional constants of an engine that do nothing stay out of its file") {
    EngineProfile engine = find_engine("sglang", "test");
    auto const written = [&](char const* key) { return engine_json(engine).find(key) != std::string::npos; };
    for (char const* const key : {"gemm_compute_scale", "rounding_overhead", "fp8_widening"})
        CHECK_FALSE(written(key));
    engine.gemm_compute_scale.value = 20;
    engine.rounding_overhead.value = 200 * units::us;
    engine.fp8_widening.value = 100;
    EngineProfile const again = read_text(engine_json(engine));
    CHECK(again.gemm_compute_scale.value == 20);
    CHECK(again.rounding_overhead.value.in(units::us) == Approx(200));
    CHECK(again.fp8_widening.value == 100);
    engine.gemm_compute_scale.value = 0.5;
    CHECK_THROWS_WITH(read_text(engine_json(engine)), contains("gemm_compute_scale"));
}

TEST_CASE("an engine without a share of memory is one that reserves by device and plan") {
    EngineProfile engine = find_engine("sglang", "test");
    CHECK(engine.memory_utilisation.value == 0);
    CHECK(engine_json(engine).find("memory_utilisation") == std::string::npos);
    CHECK(read_text(engine_json(engine)).memory_share == MemoryShare::weights_and_cache);
    engine.memory_share = MemoryShare::device;
    CHECK_THROWS_WITH(read_text(engine_json(engine)), contains("memory_utilisation") && contains("weights-and-cache"));
}

TEST_CASE("an engine that runs on devices of one vendor is refused on others, and taken where none is said") {
    for (char const* vendor : {"AMD", "Google", "Intel"})
        CHECK_THROWS_WITH(check_engine_vendor(find_engine("tensorrt-llm", "test"), vendor, "--engine"),
                          contains("devices of NVIDIA alone, not of " + std::string(vendor)));
    CHECK_NOTHROW(check_engine_vendor(find_engine("tensorrt-llm", "test"), "NVIDIA", "--engine"));
    CHECK_NOTHROW(check_engine_vendor(find_engine("tensorrt-llm", "test"), "", "--engine"));
    for (char const* engine : {"vllm", "sglang", "lmdeploy", "other"})
        CHECK_NOTHROW(check_engine_vendor(find_engine(engine, "test"), "AMD", "--engine"));
}

TEST_CASE("an engine that is written reads back with equal values") {
    EngineProfile engine = find_engine("vllm", "test");
    engine.gemm_scale = {.value = 1.234, .basis = Basis::fitted, .source = "a \"quoted\" source"};
    engine.kernel_gap.value = 2.5 * units::us;
    engine.prompts = PromptOrder::first;
    engine.window_cache = WindowCache::whole;
    engine.memory_share = MemoryShare::left_by_activations;
    engine.grouped_heads = GroupedHeads::eights;
    engine.longer_stages = LongerStages::last;
    engine.admission = Admission::whole;
    engine.vendor = "AMD";
    engine.planning = IterationPlanning::ahead;
    engine.interval = {.low = 0.8, .high = 1.3, .rows = 70};
    engine.first_token_interval = {.low = 0.7, .high = 1.6, .rows = 60};
    EngineProfile const again = read_text(engine_json(engine));
    CHECK(again.gemm_scale.value == 1.234);
    CHECK(again.gemm_scale.basis == Basis::fitted);
    CHECK(again.gemm_scale.source == engine.gemm_scale.source);
    CHECK(again.kernel_gap.value.in(units::us) == Approx(2.5));
    CHECK(again.window_cache == WindowCache::whole);
    CHECK(again.memory_share == MemoryShare::left_by_activations);
    CHECK(again.grouped_heads == GroupedHeads::eights);
    CHECK(again.longer_stages == LongerStages::last);
    CHECK(again.admission == Admission::whole);
    CHECK(again.vendor == "AMD");
    CHECK_NOTHROW(check_engine_vendor(again, "AMD", "--engine"));
    CHECK_THROWS_WITH(check_engine_vendor(again, "NVIDIA", "--engine"), contains("devices of AMD alone"));
    CHECK(again.planning == IterationPlanning::ahead);
    CHECK(again.memory_overhead.value.base() == engine.memory_overhead.value.base());
    CHECK(again.interval.rows == 70);
    CHECK(again.first_token_interval.high == 1.6);
    CHECK(again.prompts == engine.prompts);
    CHECK(engine_json(again) == engine_json(engine));
}

TEST_CASE("an engine's file with a fault is refused and the fault is named") {
    std::string const good = engine_json(find_engine("sglang", "test"));
    auto const refused = [&](std::string const& what, std::string const& by, char const* message) {
        INFO(by);
        CHECK_THROWS_WITH(read_text(replaced(good, what, by)), contains(message));
    };
    refused("\"version\": 2", "\"version\": 1", "version");
    refused("\"prompts\": \"first\"", "\"prompts\": \"later\"", "mixed, first");
    refused("\"grouped_heads\": \"shared\"", "\"grouped_heads\": \"pairs\"", "shared, narrow, eights, apart");
    refused("\"gemm_scale\"", "\"gem_scale\"", "gemm_scale");
    refused("\"memory_share\": \"weights-and-cache\"", "\"memory_share\": \"half\"",
            "weights-and-cache, left-by-weights");
    std::string const shared = engine_json(find_engine("tensorrt-llm", "test"));
    CHECK_THROWS_WITH(read_text(replaced(shared, "\"memory_utilisation\": {\"value\": 0.9",
                                         "\"memory_utilisation\": {\"value\": 1.9")),
                      contains("memory_utilisation"));
    refused(" us\"", " GB\"", "GB");
    refused("\"low\": ", "\"low\": -", "interval");
    CHECK_THROWS_AS(read_text("{}"), InputError);
    CHECK_THROWS_AS(read_text(good.substr(0, good.size() / 2)), InputError);
}
