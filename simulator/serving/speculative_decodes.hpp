#pragma once

#include "core/random_stream.hpp"
#include "simulator/serving/decodes.hpp"

namespace sextant {

/// Decoding with drafts: each step checks `tokens` guessed ones of every sequence.
struct Speculation {
    std::int64_t tokens = 0;  ///< guessed per step, k; 0: no speculation
    double acceptance = 0;    ///< probability that a guess is right when those before it are
    double draft_share = 0;   ///< time of one guess over that of a plain decode iteration
    std::uint64_t seed = 1;

    /// Tokens a step brings on average, (1 - a^(k+1)) / (1 - a). Source: Leviathan et al., ICML 2023, equation 1.
    [[nodiscard]] double tokens_per_step() const;
};

/// Between one and k + 1 tokens for each sequence in each step: guesses up to the first wrong one, and one more. Blocks
/// are held for all that a step may bring. A step visits every sequence.
class SpeculativeDecodes : public Decodes {
public:
    SpeculativeDecodes(CacheShape const& shape, Speculation const& speculation, std::uint64_t stream);

    void join(std::int32_t slot, std::int64_t context, std::int64_t remaining) override;
    Progress leave(std::int32_t slot) override;
    [[nodiscard]] std::int64_t blocks_wanted() const override;
    void take_blocks() override;
    std::int64_t step(std::vector<Progress>& ended) override;
    [[nodiscard]] std::int64_t count() const override { return static_cast<std::int64_t>(members_.size()); }
    [[nodiscard]] std::int64_t context() const override { return context_; }

private:
    struct Member {
        std::int32_t slot;
        std::int64_t context;    ///< tokens in the cache now
        std::int64_t remaining;  ///< tokens to come
        Progress progress;
    };
    [[nodiscard]] std::int64_t needed(Member const& member) const;

    CacheShape shape_;
    Speculation speculation_;
    RandomStream random_;
    std::vector<Member> members_;
    std::vector<std::size_t> places_;  ///< in `members_`, by slot
    std::int64_t context_ = 0;
};

}  // namespace sextant
