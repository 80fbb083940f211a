#include "simulator/serving/decode_set.hpp"

#include <algorithm>
#include <tuple>

namespace sextant {
namespace {

constexpr auto later = [](DecodeSet::Due const& a, DecodeSet::Due const& b) {
    return std::tie(a.step, a.slot, a.stamp) > std::tie(b.step, b.slot, b.stamp);
};

}  // namespace

std::size_t DecodeSet::phase(std::int64_t joined, std::int64_t context) const {
    // At step i the cache holds context + i - joined tokens; a block is taken where that is a multiple of its size.
    auto const size = static_cast<std::int64_t>(wants_block_.size());
    return static_cast<std::size_t>(((joined - context) % size + size) % size);
}

void DecodeSet::join(std::int32_t slot, std::uint32_t stamp, std::int64_t context, std::int64_t remaining) {
    ends_.push_back({steps_ + remaining, slot, stamp});
    std::push_heap(ends_.begin(), ends_.end(), later);
    ++wants_block_[phase(steps_, context)];
    ++count_;
    context_ += context;
}

void DecodeSet::leave(std::int64_t joined, std::int64_t context) {
    --wants_block_[phase(joined, context)];
    --count_;
    context_ -= context + steps_ - joined;
}

void DecodeSet::drop_due() {
    std::pop_heap(ends_.begin(), ends_.end(), later);
    ends_.pop_back();
}

}  // namespace sextant
