#pragma once

#include "core/spec/sourced.hpp"
#include "core/units.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sextant {

/// 80 % interval of a measured time, as factors on the predicted one, from rows of groups that a fit had not seen.
struct EngineInterval {
    double low = 0.7;  ///< assumed, until a fit says otherwise
    double high = 1.5;
    std::int64_t rows = 0;  ///< it comes from; 0: assumed
};

/// What a serving engine makes of the hardware and adds to it.
struct EngineProfile {
    std::string name;  ///< "vllm"
    std::string title;
    std::vector<std::string> aliases;  ///< other spellings, as measurement files write it
    Sourced<double> gemm_scale;        ///< time of matrix products over what the kernel models say
    Sourced<double> prefill_scale;     ///< the same for attention over prompts
    Sourced<double> decode_scale;      ///< the same for attention over the cache
    Sourced<double> communication_scale;
    Sourced<Seconds> kernel_gap;          ///< per kernel, within a captured graph
    Sourced<Seconds> host_per_iteration;  ///< scheduler, input preparation, sampling, output: what the device waits for
    Sourced<Seconds> host_per_sequence;   ///< the same for each sequence of the batch
    Sourced<Seconds> request_overhead;  ///< client, server and queue hand-over of a request, before its first iteration
    Sourced<Seconds> tokenise_per_token;
    /// Of the requests of equal length in a closed loop, the share whose prompts come all at once: all where prompts go
    /// before decodes and everybody ends together, those of the first round where they are mixed.
    Sourced<double> wave_share;
    Sourced<double> memory_utilisation;  ///< share of device memory taken when the user does not say
    Sourced<Bytes> memory_overhead;      ///< context, communication buffers and captured graphs of one rank
    EngineInterval interval{};
};

}  // namespace sextant
