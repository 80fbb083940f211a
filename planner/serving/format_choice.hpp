#pragma once

#include "cost_models/serving/format_quality.hpp"
#include "cost_models/serving/steady_state.hpp"
#include "planner/serving/usual_formats.hpp"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace sextant {

/// One pair of formats on a replica: what it needs, how fast it is, and what it costs in accuracy.
struct FormatChoice {
    std::string weights;  ///< as asked for
    CacheFormat cache = CacheFormat::bf16;
    std::string products_in;  ///< format of `gemm_formats` that they are multiplied in
    bool released = false;    ///< the checkpoint's own: nobody quantises them
    std::string note;         ///< `UsualWeights::note`
    std::string activations;  ///< "e4m3": how the products take them
    std::string refused;      ///< why there are no times: no hardware path, does not fit
    ServingMemory memory;
    double cache_bytes_per_token = 0;  ///< of the model, all ranks of a replica together
    double largest = 0;                ///< batch of requests at their full length
    ServingEstimate estimate;          ///< @pre `refused` is empty
    std::optional<FormatQuality> products;
    std::optional<FormatQuality> attention;
    std::optional<double> error;  ///< `format_error_of` the pair
    [[nodiscard]] bool timed() const { return refused.empty(); }
    [[nodiscard]] bool high_error() const { return error.value_or(0) > high_format_error; }
};

/// How a replica is loaded: `closed_loop` or `open_loop` at some load.
using LoadedReplica = std::function<ServingEstimate(IterationModel const&, RequestShape const&)>;

/// Every pair of `weights` and `caches` on the replica of `base`, in their order, run as the device and the engine do
/// (`chosen_weights`). Everything else of the plan stays.
/// @throws InputError for an unknown format of weights.
std::vector<FormatChoice> compare_formats(ServingCase const& base, CheckpointFormat const& checkpoint,
                                          RequestShape const& request, LoadedReplica const& load,
                                          std::span<std::string const> weights, std::span<CacheFormat const> caches,
                                          std::span<FormatError const> errors);

/// "the device has no fp8 products" when the accelerator's profile states no rate for them, else empty.
std::string missing_hardware(AcceleratorProfile const& device, std::string_view weights);

}  // namespace sextant
