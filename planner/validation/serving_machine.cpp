#include "planner/validation/serving_machine.hpp"

#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/kernel_constants.hpp"
#include "core/text.hpp"
#include "core/words.hpp"
#include "planner/serving/usual_formats.hpp"
#include "planner/validation/serving_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

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

std::optional<ClusterSpec> cluster_called(std::string gpu) {
    if (auto found = cluster_for_device(gpu)) return found;
    // "A100-80GB 330W": what follows the device.
    auto const space = gpu.rfind(' ');
    if (space != std::string::npos && gpu.ends_with('W')) return cluster_for_device(gpu.substr(0, space));
    return std::nullopt;
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
    // Kernels of their own kind, or none that are fused.
    for (std::string_view const word : {"llama.cpp", "llamacpp", "ollama", "transformer", "pytorch", "exllama"})
        if (has(lower_case(row.engine), word)) throw RowSkip(fmt::format("no profile for engine '{}'", row.engine));
}

EngineProfile measured_engine(ServingRow const& row, std::vector<std::string>& assumptions) {
    if (auto const* known = known_engine(row.engine)) {
        // vLLM's engine was written anew in 0.8.
        bool const before = row.engine_version.starts_with("0.") && row.minor_version().value_or(8) < 8;
        bool const of_2024 = row.engine_version.empty() && row.source_id.starts_with("argonne");
        if (known->name == "deepspeed" && has(lower_case(row.gpu), "gaudi")) {
            assumptions.emplace_back("DeepSpeed on Gaudi runs graphs: as any other engine");
            return find_engine("other", "engine");
        }
        if (known->name == "vllm" && of_2024) assumptions.emplace_back("vLLM before 0.8: the measurements are of 2024");
        if (known->name == "tensorrt-llm") return tensorrt_of(row, *known);
        return known->name == "vllm" && (before || of_2024) ? find_engine("vllm-v0", "engine") : *known;
    }
    check_engine(row);
    if (row.engine.empty()) throw RowSkip("engine is not stated");
    for (char const* name : {"vllm", "sglang", "tensorrt", "trt"})
        if (has(lower_case(row.engine), name)) return find_engine(name[0] == 't' ? "tensorrt-llm" : name, "engine");
    assumptions.push_back(fmt::format("engine '{}' as any other", row.engine));
    return find_engine("other", "engine");
}

ClusterSpec measured_cluster(ServingRow const& row, std::vector<std::string>& assumptions) {
    std::string gpu = row.gpu;
    if (gpu.empty() && row.notes_have("figure caption: a100")) gpu = "A100";
    if (gpu.empty()) throw RowSkip("gpu is not stated");
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
    std::string format;
    if (text.empty() || text == "auto") {  // "auto": as the checkpoint is
        format = named.empty() ? "bf16" : named;
        assumptions.push_back("weights in " + format + " where none are stated");
    } else if (has(text, "w4a8"))
        throw RowSkip("four-bit weights with activations in eight bits are not modelled");
    else if (has(text, "fp4"))
        format = "fp4";
    else if (has(text, "fp8") && named == "fp4") {
        // gpt-oss is published in MXFP4 alone: tables say what its activations are in.
        format = "fp4";
        assumptions.emplace_back("weights in fp4 as the checkpoint is, where fp8 is stated");
    } else if (has(text, "fp8") && (has(text, "block") || named == "fp8-block"))
        format = "fp8-block";
    else if (has(text, "fp8"))
        format = "fp8";
    else if (has(text, "int4") || has(text, "w4") || has(text, "awq") || has(text, "gptq") || has(text, "nf4") ||
             has(text, "4bit") || has(text, "4-bit"))
        format = "int4-weights";
    else if (has(text, "w8a8") || has(text, "smooth"))
        format = "int8";
    else if (has(text, "int8") || has(text, "8bit") || has(text, "8-bit"))
        format = "int8-weights";
    else if (has(text, "bf16") || has(text, "bfloat16") || has(text, "fp16") || has(text, "float16") ||
             has(text, "w16") || text == "half")
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
    if (text.empty() || has(text, "16") || text == "auto") return CacheFormat::bf16;
    if (has(text, "fp8") || has(text, "e4m3") || has(text, "e5m2")) return CacheFormat::fp8;
    if (has(text, "int8")) return CacheFormat::int8;
    if (has(text, "int4") || has(text, "fp4")) return CacheFormat::int4;
    throw RowSkip(fmt::format("a cache in '{}' is not known here", row.kv_dtype.substr(0, 40)));
}

}  // namespace sextant
