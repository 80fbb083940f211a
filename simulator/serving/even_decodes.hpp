#pragma once

#include "simulator/serving/decodes.hpp"

namespace sextant {

/// One token for each sequence in each step, without visiting them: sums, the steps at which they end, and how many of
/// them cross into a new cache block at which step, within the window of layers that have one and beyond. A step costs
/// O(1), joining O(log n).
class EvenDecodes : public Decodes {
public:
    explicit EvenDecodes(CacheShape const& shape)
        : shape_(shape),
          wants_block_(static_cast<std::size_t>(shape.block_tokens), 0),
          grows_window_(static_cast<std::size_t>(shape.block_tokens), 0) {}

    void join(std::int32_t slot, std::int64_t context, std::int64_t remaining) override;
    Progress leave(std::int32_t slot) override;
    [[nodiscard]] std::int64_t blocks_wanted() const override {
        std::size_t const now = static_cast<std::size_t>(steps_) % wants_block_.size();
        return shape_.whole_groups * wants_block_[now] + shape_.window_groups * grows_window_[now];
    }
    void take_blocks() override {}
    std::int64_t step(std::vector<Progress>& ended) override;
    [[nodiscard]] std::int64_t count() const override { return count_; }
    [[nodiscard]] std::int64_t context() const override { return context_; }

private:
    struct Member {
        std::int64_t joined = 0;   ///< step
        std::int64_t context = 0;  ///< when it joined
        std::uint32_t stamp = 0;   ///< raised when it leaves: older entries of the heaps are void
        bool grows_window = false;
    };
    struct End {
        std::int64_t step;
        std::int32_t slot;
        std::uint32_t stamp;
        bool operator>(End const& other) const { return step != other.step ? step > other.step : slot > other.slot; }
    };
    [[nodiscard]] std::size_t phase(Member const& member) const;
    static void push(std::vector<End>& heap, End end);
    static End pop(std::vector<End>& heap);
    [[nodiscard]] Member& at(std::int32_t slot) { return members_[static_cast<std::size_t>(slot)]; }

    CacheShape shape_;
    std::vector<std::int64_t> wants_block_;   ///< sequences by step modulo the size of a block
    std::vector<std::int64_t> grows_window_;  ///< those of them that are shorter than the window's blocks
    std::vector<Member> members_;             ///< by slot
    std::vector<End> ends_;                   ///< heap, the earliest first
    std::vector<End> full_windows_;           ///< the same: when the window's blocks are all there
    std::int64_t steps_ = 0;
    std::int64_t count_ = 0;
    std::int64_t context_ = 0;
};

}  // namespace sextant
