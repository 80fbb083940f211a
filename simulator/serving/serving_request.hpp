#pragma once

#include "core/units.hpp"

#include <cstdint>

namespace sextant {

/// One request of a serving workload.
struct ServingRequest {
    Seconds arrival{};         ///< at the server
    std::int32_t prompt = 1;   ///< tokens
    std::int32_t output = 1;   ///< tokens to generate
    std::int32_t prefix = -1;  ///< number of the prefix that the prompt begins with, -1: none
    std::int32_t prefix_tokens = 0;
    std::int32_t tenant = 0;
    std::int32_t priority = 0;  ///< smaller is served first
    std::int32_t adapter = -1;  ///< number of the low-rank adapter, -1: the model itself
};

/// What became of a request.
struct FinishedRequest {
    std::int64_t number = 0;  ///< in order of arrival, from 0
    ServingRequest request;
    std::int32_t replica = 0;
    std::int32_t group = 0;  ///< of attention data parallelism, on that replica
    std::int32_t preemptions = 0;
    std::int32_t restarts = 0;       ///< after its replica, or its cache on the way, was lost
    std::int32_t tokens = 0;         ///< of its output that the client has so far
    std::int32_t cached_tokens = 0;  ///< of the prompt, found in the prefix cache
    Seconds scheduled{};             ///< first iteration begins
    Seconds first_token{};           ///< at the client
    Seconds finished{};              ///< until then its last token; `never` without one

    static constexpr Seconds never = -1 * units::s;  ///< `scheduled` of a request that has not begun
    [[nodiscard]] bool begun() const { return scheduled >= Seconds{}; }
    [[nodiscard]] Seconds ttft() const { return first_token - request.arrival; }
    [[nodiscard]] Seconds e2e() const { return finished - request.arrival; }
    /// Mean time per token after the first. @pre more than one token.
    [[nodiscard]] Seconds tpot() const { return (finished - first_token) / (request.output - 1); }
};

}  // namespace sextant
