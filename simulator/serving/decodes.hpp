#pragma once

#include "cost_models/serving/cache_shape.hpp"

#include <cstdint>
#include <vector>

namespace sextant {

/// The sequences of a lane that produce tokens in each iteration.
class Decodes {
public:
    /// What a sequence has done since it joined.
    struct Progress {
        std::int32_t slot = -1;
        std::int64_t tokens = 0;  ///< produced
        std::int64_t blocks = 0;  ///< of the cache, those of a shared prefix included
    };
    Decodes() = default;
    Decodes(Decodes const&) = delete;
    Decodes& operator=(Decodes const&) = delete;
    virtual ~Decodes() = default;

    /// @param context tokens in the cache; the sequence ends when it has produced `remaining` >= 1 more.
    virtual void join(std::int32_t slot, std::int64_t context, std::int64_t remaining) = 0;
    virtual Progress leave(std::int32_t slot) = 0;
    /// Blocks that the next step takes beyond those held.
    [[nodiscard]] virtual std::int64_t blocks_wanted() const = 0;
    /// They were taken.
    virtual void take_blocks() = 0;
    /// One step of all; those that are through leave. Returns the tokens produced.
    virtual std::int64_t step(std::vector<Progress>& ended) = 0;
    [[nodiscard]] virtual std::int64_t count() const = 0;
    [[nodiscard]] virtual std::int64_t context() const = 0;  ///< tokens in the cache, of all
};

}  // namespace sextant
