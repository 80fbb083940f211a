#include "planner/validation/serving_machine.hpp"

#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/kernel_constants.hpp"
#include "core/text.hpp"
#include "core/words.hpp"
#include "planner/serving/usual_formats.hpp"
#include "planner/validation/own_machine.hpp"
#include "planner/validation/serving_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace sextant {
namespace {

/// TensorRT-LLM's kernels that share keys and values among heads (XQA) came as an option, from 0.8 on by default for
/// groups of eight heads of 128, and from 0.11 on for others. Source: decoderXQARunner.h of these releases ("nbHeads")
/// and docs/source/advanced/gpt-attention.md.
EngineProfile tensorrt_of(ServingRow const& row, EngineProfile engine) {
    if (!row.engine_version.starts_with("0.")) return engine;
    std::int64_t const minor = row.minor_version().value_or(11);
    if (minor < 11) engine.grouped_heads = minor < 8 ? GroupedHeads::apart : GroupedHeads::eights;
    return engine;
}

/// The profile of an engine by its name, or by the engine that a longer name has in it ("vLLM (transformers backend)",
/// "TensorRT-LLM (PyTorch backend)": whoever writes the layers, it schedules them), vLLM first: it serves inside
/// others. NIM runs TensorRT-LLM's kernels where nothing else is said. Null: none.
EngineProfile const* profile_in(std::string const& engine) {
    if (auto const* const known = known_engine(engine)) return known;
    struct Part {
        std::string_view word;
        std::string_view profile;
    };
    constexpr Part parts[] = {{"vllmv0", "vllm-v0"},        {"vllm", "vllm"},           {"sglang", "sglang"},
                              {"tensorrt", "tensorrt-llm"}, {"trt", "tensorrt-llm"},    {"lmdeploy", "lmdeploy"},
                              {"turbomind", "lmdeploy"},    {"deepspeed", "deepspeed"}, {"jetstream", "other"}};
    std::string const name = letters_and_digits(engine);
    for (Part const& part : parts)
        if (has(name, part.word)) return known_engine(part.profile);
    return has_word(lower_case(engine), "nim") ? known_engine("tensorrt-llm") : nullptr;
}

std::optional<ClusterSpec> cluster_called(std::string gpu) {
    if (auto found = cluster_for_device(gpu)) return found;
    // "A100-80GB 330W": what follows the device.
    auto const space = gpu.rfind(' ');
    if (space != std::string::npos && gpu.ends_with('W')) return cluster_for_device(gpu.substr(0, space));
    return std::nullopt;
}

/// By the name of the format, or of either of its kinds.
bool says_fp8(std::string_view text) {
    return has(text, "fp8") || has(text, "float8") || has(text, "e4m3") || has(text, "e5m2");
}

/// The "330W" behind a device.
std::optional<double> stated_watts(std::string_view gpu) {
    if (!gpu.ends_with('W')) return std::nullopt;
    gpu.remove_suffix(1);
    gpu.remove_prefix(gpu.rfind(' ') + 1);  // without a space the whole, which is no number
    double watts = 0;
    auto const [end, error] = std::from_chars(gpu.data(), gpu.data() + gpu.size(), watts);
    return error == std::errc{} && end == gpu.data() + gpu.size() ? std::optional(watts) : std::nullopt;
}

}  // namespace

void check_engine(ServingRow const& row) {
    std::string const name = lower_case(row.engine);
    for (std::string_view const word :
         {"flexgen", "accelerate", "zero-inference", "zero inference", "zeroinference", "powerinfer"})
        if (has_word(name, word))
            throw RowSkip(fmt::format("engine '{}' keeps weights outside the device's memory", row.engine));
    if (profile_in(row.engine) != nullptr) return;
    // Kernels of their own kind, or none that are fused.
    for (std::string_view const word : {"llama.cpp", "llamacpp", "ollama", "transformer", "pytorch", "exllama"})
        if (has(name, word)) throw RowSkip(fmt::format("no profile for engine '{}'", row.engine));
}

EngineProfile measured_engine(ServingRow const& row, std::vector<std::string>& assumptions) {
    check_engine(row);
    if (row.engine.empty()) throw RowSkip("engine is not stated");
    auto const* const known = profile_in(row.engine);
    bool const is_other = known != nullptr && known->name == "other" && known_engine(row.engine) == nullptr;
    if (known == nullptr || is_other) {
        assumptions.push_back(fmt::format("engine '{}' as any other", row.engine));
        return find_engine("other", "engine");
    }
    // vLLM's engine was written anew in 0.8.
    bool const before = (row.engine_version.starts_with("0.") && row.minor_version().value_or(8) < 8) ||
                        letters_and_digits(row.engine_version) == "v0";
    bool const of_2024 = row.engine_version.empty() && row.source_id.starts_with("argonne");
    if (known->name == "deepspeed" && has(lower_case(row.gpu), "gaudi")) {
        assumptions.emplace_back("DeepSpeed on Gaudi runs graphs: as any other engine");
        return find_engine("other", "engine");
    }
    if (known->name == "vllm" && of_2024) assumptions.emplace_back("vLLM before 0.8: the measurements are of 2024");
    if (known->name == "tensorrt-llm") return tensorrt_of(row, *known);
    return known->name == "vllm" && (before || of_2024) ? find_engine("vllm-v0", "engine") : *known;
}

ClusterSpec measured_cluster(ServingRow const& row, ClusterSpec const* own, std::vector<std::string>& assumptions) {
    std::string gpu = row.gpu;
    if (gpu.empty() && row.notes_have("figure caption: a100")) gpu = "A100";
    if (gpu.empty()) throw RowSkip("gpu is not stated");
    if (own != nullptr && has_device(*own, gpu)) return *own;
    if (has(lower_case(gpu), "pcap")) throw RowSkip("the device's power is capped");
    // Source: arXiv:2411.00136 table 2, the machines of that suite.
    if (row.source_id.starts_with("argonne") && has(gpu, "A100")) {
        gpu = "A100-SXM4-40GB";
        assumptions.emplace_back("A100 of 40 GB");
    }
    auto cluster = cluster_called(gpu);
    if (!cluster) throw RowSkip(fmt::format("no profile for device '{}'", gpu.substr(0, 60)));
    if (auto const watts = stated_watts(gpu); watts && *watts < cluster->accelerator.power_watts.value)
        assumptions.push_back(
            fmt::format("a device at {:g} W as one at {:g} W", *watts, cluster->accelerator.power_watts.value));
    if (cluster->name == "l40s-pcie" && std::max(row.num_gpus.value_or(1), row.tp.value_or(1)) > 1) {
        // Eight L40S of TensorRT-LLM's own tables sum at 18 to 26 GB/s, those of the measured log at 2 to 5.
        assumptions.emplace_back("L40S reach each other over PCIe switches");
        return find_cluster("l40s-p2p", "cluster");
    }
    return *std::move(cluster);
}

UsualWeights measured_weights(ServingRow const& row, AcceleratorProfile const& device, EngineProfile const& engine,
                              std::vector<std::string>& assumptions) {
    std::string const text = lower_case(row.weight_dtype);
    std::string const named = format_in_name(row.model);
    bool const is_fp8 = says_fp8(text);
    std::string format;
    if (text.empty() || text == "auto") {  // "auto": as the checkpoint is
        format = named.empty() ? "bf16" : named;
        assumptions.push_back("weights in " + format + " where none are stated");
    } else if (has(text, "w4a8") || has(text, "w4afp8") || has(text, "a8w4"))
        throw RowSkip("four-bit weights with activations in eight bits are not modelled");
    else if (has(text, "fp4"))
        format = "fp4";
    else if (is_fp8 && named == "fp4") {
        // gpt-oss is published in MXFP4 alone: tables say what its activations are in.
        format = "fp4";
        assumptions.emplace_back("weights in fp4 as the checkpoint is, where fp8 is stated");
    } else if (is_fp8 && (has(text, "block") || named == "fp8-block"))
        format = "fp8-block";
    else if (is_fp8)
        format = "fp8";
    else if (has(text, "int4") || has(text, "w4") || has(text, "awq") || has(text, "gptq") || has(text, "nf4") ||
             has(text, "4bit") || has(text, "4-bit") || has(text, "marlin"))
        format = "int4-weights";
    else if (has(text, "w8a8") || has(text, "a8w8") || has(text, "smooth"))
        format = "int8";
    else if (has(text, "int8") || has(text, "8bit") || has(text, "8-bit") || has(text, "w8a16"))
        format = "int8-weights";
    else if (has(text, "bf16") || has(text, "bfloat16") || has(text, "fp16") || has(text, "float16") ||
             has(text, "w16") || has(text, "16bit") || has(text, "16-bit") || text == "half")
        format = "bf16";
    else
        throw RowSkip(fmt::format("weights in '{}' are not known here", row.weight_dtype.substr(0, 40)));
    RunFormat run = run_format(format, device, engine);
    if (!run.note.empty()) assumptions.push_back(run.note);
    if (!run.runs && format != "bf16") throw RowSkip(fmt::format("{} has no {} products", device.name, run.weights));
    std::string stored = format == "fp4" && (has(text, "mxfp4") || is_mxfp4(row.model)) ? "mxfp4" : format;
    if (stored == run.weights) stored.clear();
    return {.weights = std::move(run.weights), .from = FormatOrigin::given, .stored = std::move(stored)};
}

CacheFormat measured_cache(ServingRow const& row) {
    std::string const text = lower_case(row.kv_dtype);
    if (text == "same") return says_fp8(lower_case(row.weight_dtype)) ? CacheFormat::fp8 : CacheFormat::bf16;
    if (text.empty() || has(text, "16") || text == "auto" || text == "default") return CacheFormat::bf16;
    if (says_fp8(text)) return CacheFormat::fp8;
    for (std::string_view const word : {"int8", "8-bit", "8bit", "kv8"})
        if (has(text, word)) return CacheFormat::int8;
    for (std::string_view const word : {"int4", "fp4", "4-bit", "4bit", "kv4"})
        if (has(text, word)) return CacheFormat::int4;
    throw RowSkip(fmt::format("a cache in '{}' is not known here", row.kv_dtype.substr(0, 40)));
}

}  // namespace sextant
