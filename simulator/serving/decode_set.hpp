#pragma once

#include <cstdint>
#include <vector>

namespace sextant {

/// The sequences of a replica that produce a token in each iteration, without visiting them: sums, the steps at which
/// they end, and how many of them cross into a new cache block at which step. A step costs O(1), joining O(log n).
class DecodeSet {
public:
    explicit DecodeSet(std::int64_t block_tokens) : wants_block_(static_cast<std::size_t>(block_tokens), 0) {}

    struct Due {
        std::int64_t step;
        std::int32_t slot;
        std::uint32_t stamp;  ///< of the slot when it joined: an older one has left
    };

    /// @param context tokens in the cache; the sequence ends after `remaining` >= 1 more steps.
    void join(std::int32_t slot, std::uint32_t stamp, std::int64_t context, std::int64_t remaining);
    /// @param context tokens in the cache when it joined, at step `joined`.
    void leave(std::int64_t joined, std::int64_t context);
    /// One token for each.
    void step() {
        ++steps_;
        context_ += count_;
    }
    /// Next sequence whose last step is done, if any; may name one that left.
    [[nodiscard]] Due const* due() const {
        return !ends_.empty() && ends_.front().step <= steps_ ? &ends_.front() : nullptr;
    }
    void drop_due();

    [[nodiscard]] std::int64_t count() const { return count_; }
    [[nodiscard]] std::int64_t context() const { return context_; }  ///< tokens in the cache, of all
    [[nodiscard]] std::int64_t steps() const { return steps_; }
    /// Blocks that the next step takes.
    [[nodiscard]] std::int64_t blocks_wanted() const {
        return wants_block_[static_cast<std::size_t>(steps_) % wants_block_.size()];
    }

private:
    [[nodiscard]] std::size_t phase(std::int64_t joined, std::int64_t context) const;

    std::vector<std::int64_t> wants_block_;  ///< by step modulo the size of a block
    std::vector<Due> ends_;                  ///< heap, the earliest first
    std::int64_t steps_ = 0;
    std::int64_t count_ = 0;
    std::int64_t context_ = 0;
};

}  // namespace sextant
