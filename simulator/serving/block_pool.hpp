#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>

namespace sextant {

/// Blocks of a paged key-value cache, and the prefixes that stay in it for others. A prefix nobody uses is kept until
/// its blocks are wanted, the one unused for longest first.
class BlockPool {
public:
    explicit BlockPool(std::int64_t blocks) : total_(blocks) {}

    [[nodiscard]] std::int64_t total() const { return total_; }
    /// Blocks of sequences and of prefixes in use.
    [[nodiscard]] std::int64_t in_use() const { return used_ - idle_; }
    /// Blocks that can be taken: the free ones and those of unused prefixes.
    [[nodiscard]] std::int64_t available() const { return total_ - used_ + idle_; }

    /// @pre n <= available().
    void take(std::int64_t n);
    void give_back(std::int64_t n);

    /// Blocks of the prefix if it is resident, which is then in use once more; else 0.
    std::int64_t hold(std::int32_t prefix);
    /// Makes blocks that a sequence has taken those of a prefix, in use once. False: it is resident already.
    bool share(std::int32_t prefix, std::int64_t blocks);
    void release(std::int32_t prefix);
    /// Drops every unused prefix.
    void drop_idle();

    [[nodiscard]] std::int64_t taken() const { return taken_; }  ///< blocks ever taken
    [[nodiscard]] std::int64_t given() const { return given_; }  ///< blocks ever given back or dropped

private:
    struct Prefix {
        std::int64_t blocks = 0;
        std::int64_t users = 0;
        std::list<std::int32_t>::iterator place{};  ///< in `unused_` when without users
    };
    void drop_oldest();

    std::int64_t total_;
    std::int64_t used_ = 0;  ///< idle prefixes included
    std::int64_t idle_ = 0;
    std::int64_t taken_ = 0;
    std::int64_t given_ = 0;
    std::unordered_map<std::int32_t, Prefix> prefixes_;
    std::list<std::int32_t> unused_;  ///< the longest unused first
};

}  // namespace sextant
