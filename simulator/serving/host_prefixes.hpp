#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>

namespace sextant {

/// Prefixes of prompts that are kept in host memory as well: each is written there when it is made, and stays when it
/// gives way in the cache. Where there is no room, the ones wanted longest ago go.
class HostPrefixes {
public:
    explicit HostPrefixes(std::int64_t blocks) : total_(blocks) {}

    /// Writes a prefix, or notes that it was wanted again. One larger than all of the room is left out.
    void keep(std::int32_t prefix, std::int64_t blocks);
    /// Blocks of the prefix; 0: it is not there.
    [[nodiscard]] std::int64_t find(std::int32_t prefix) const;
    [[nodiscard]] std::int64_t in_use() const { return used_; }
    void clear();

private:
    struct Kept {
        std::int64_t blocks = 0;
        std::list<std::int32_t>::iterator place{};
    };

    std::int64_t total_;
    std::int64_t used_ = 0;
    std::unordered_map<std::int32_t, Kept> kept_;
    std::list<std::int32_t> order_;  ///< the one wanted longest ago first
};

}  // namespace sextant
