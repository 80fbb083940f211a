#include "simulator/serving/block_pool.hpp"

#include <cassert>

namespace sextant {

void BlockPool::drop_oldest() {
    auto const found = prefixes_.find(unused_.front());
    unused_.pop_front();
    used_ -= found->second.blocks;
    idle_ -= found->second.blocks;
    given_ += found->second.blocks;
    prefixes_.erase(found);
}

void BlockPool::take(std::int64_t n) {
    assert(n <= available());
    while (total_ - used_ < n)
        drop_oldest();
    used_ += n;
    taken_ += n;
}

void BlockPool::give_back(std::int64_t n) {
    assert(n <= in_use());
    used_ -= n;
    given_ += n;
}

std::int64_t BlockPool::hold(std::int32_t prefix) {
    auto const found = prefixes_.find(prefix);
    if (found == prefixes_.end()) return 0;
    Prefix& entry = found->second;
    if (entry.users++ == 0) {
        unused_.erase(entry.place);
        idle_ -= entry.blocks;
    }
    return entry.blocks;
}

bool BlockPool::share(std::int32_t prefix, std::int64_t blocks) {
    return prefixes_.try_emplace(prefix, Prefix{.blocks = blocks, .users = 1}).second;
}

void BlockPool::release(std::int32_t prefix) {
    Prefix& entry = prefixes_.at(prefix);
    assert(entry.users > 0);
    if (--entry.users > 0) return;
    entry.place = unused_.insert(unused_.end(), prefix);
    idle_ += entry.blocks;
}

void BlockPool::drop_idle() {
    while (!unused_.empty())
        drop_oldest();
}

}  // namespace sextant
