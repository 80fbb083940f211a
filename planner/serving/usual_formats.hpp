#pragma once

#include "core/spec/checkpoint_format.hpp"
#include "core/spec/engine_profile.hpp"
#include "core/spec/hardware_profile.hpp"
#include "core/spec/serving_plan.hpp"

#include <string>
#include <string_view>

namespace sextant {

/// What a device multiplies weights in that are stored in some format.
struct RunFormat {
    std::string weights;  ///< a format of `gemm_formats`
    std::string note{};   ///< where that is another than the stored one: a clause
    bool runs = true;     ///< the device has such products
};

/// Four-bit floats become four-bit weights of products in two bytes where the device has no products in four bits, as
/// one-byte floats do under engines with kernels for that (Marlin's: vLLM, SGLang) where it has none in fp8; two bytes
/// are what the device has.
RunFormat run_format(std::string_view stored, AcceleratorProfile const& device, EngineProfile const& engine);

/// Weights as a plan has them.
struct UsualWeights {
    std::string weights;
    FormatOrigin from = FormatOrigin::usual;
    std::string note{};     ///< a sentence where it is not simply what was asked for, or that of an unquantised one
    std::string stored{};   ///< `ServingPlan::stored`
    bool released = false;  ///< `ServingPlan::released`
    void put_into(ServingPlan& plan) const;
};

/// Weights as the checkpoint is: two bytes where it is not quantised, and, with a note that says so, where its format
/// is not known or the device has no products for it.
UsualWeights usual_weights(CheckpointFormat const& checkpoint, AcceleratorProfile const& device,
                           EngineProfile const& engine);

/// Weights in a format that was asked for, run as the device and the engine do (`run_format`), with a note where that
/// is another. The checkpoint's own format is no rounding of anybody's.
UsualWeights chosen_weights(std::string_view asked, CheckpointFormat const& checkpoint,
                            AcceleratorProfile const& device, EngineProfile const& engine);

}  // namespace sextant
