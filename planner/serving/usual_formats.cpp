#include "planner/serving/usual_formats.hpp"

#include "core/spec/kernel_constants.hpp"
#include "cost_models/kernel_estimate.hpp"

#include <fmt/format.h>

#include <utility>

namespace sextant {

RunFormat run_format(std::string_view stored, AcceleratorProfile const& device, EngineProfile const& engine) {
    auto const has = [&](Precision precision) { return device.peak.contains(precision); };
    bool const widens = is_vllm_or_sglang(engine.program);  // Marlin's kernels
    RunFormat out{.weights = std::string(stored)};
    if (stored == "fp4" && !has(Precision::fp4) && has(Precision::bf16)) {
        out = {.weights = "int4-weights", .note = "four-bit weights, products in bf16"};
    } else if (stored.starts_with("fp8") && widens && device.vendor == "NVIDIA" && !has(Precision::fp8) &&
               has(Precision::bf16)) {
        out = {.weights = "int8-weights", .note = "fp8 weights widened for products in bf16, on devices without fp8"};
    } else if (stored == "bf16" && !has(Precision::bf16) && has(Precision::fp16)) {
        out.weights = "fp16";  // V100, T4
    }
    GemmFormat const* const format = find_gemm_format(out.weights);
    out.runs = format != nullptr && device.multiplies(*format);
    return out;
}

UsualWeights usual_weights(CheckpointFormat const& checkpoint, AcceleratorProfile const& device,
                           EngineProfile const& engine) {
    UsualWeights out{.weights = std::string(name_of(two_byte_precision(device)))};
    if (checkpoint.method.empty()) return out;
    if (checkpoint.weights.empty()) {
        out.note = fmt::format("weights in {}, though the checkpoint is quantised: {} (--weights)", out.weights,
                               checkpoint.unknown);
        return out;
    }
    RunFormat run = run_format(checkpoint.weights, device, engine);
    if (!run.runs) {
        out.note = fmt::format("weights in {}, as {} has no products for the checkpoint's {} under {} (--weights)",
                               out.weights, device.name, checkpoint.weights, engine.name);
        return out;
    }
    if (!run.note.empty()) run.note = fmt::format("the checkpoint is in {}: {}", checkpoint.weights, run.note);
    if (checkpoint.exclusions == Exclusions::unknown) {
        if (!run.note.empty()) run.note += "; ";
        run.note +=
            "the format is known by the checkpoint's name alone: what it leaves in two bytes, and the format of its "
            "cache, are not (the path of its config.json says both)";
    }
    UsualWeights own{.weights = std::move(run.weights),
                     .from = FormatOrigin::checkpoint,
                     .note = std::move(run.note),
                     .stored = stored_format(checkpoint),
                     .released = true};
    if (own.stored == own.weights) own.stored.clear();
    return own;
}

UsualWeights chosen_weights(std::string_view asked, CheckpointFormat const& checkpoint,
                            AcceleratorProfile const& device, EngineProfile const& engine) {
    GemmFormat const* const format = find_gemm_format(asked);
    UsualWeights out{.weights = std::string(format != nullptr ? format->name : asked), .from = FormatOrigin::given};
    UsualWeights const own = usual_weights(checkpoint, device, engine);
    if (own.released && (out.weights == checkpoint.weights || out.weights == own.weights)) {
        out.note = own.note;
        out.stored = own.stored;
        out.weights = own.weights;
        out.released = true;
        return out;
    }
    RunFormat run = run_format(out.weights, device, engine);
    if (run.note.empty() || !run.runs) return out;
    out.note = fmt::format("--weights {}: {}", out.weights, run.note);
    out.stored = std::exchange(out.weights, std::move(run.weights));
    return out;
}

void UsualWeights::put_into(ServingPlan& plan) const {
    plan.weights = weights;
    plan.weights_origin = from;
    plan.stored = stored;
    plan.released = released;
}

}  // namespace sextant
