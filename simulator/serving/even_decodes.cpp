#include "simulator/serving/even_decodes.hpp"

#include <algorithm>
#include <functional>

namespace sextant {

std::size_t EvenDecodes::phase(Member const& member) const {
    // At step i the cache holds context + i - joined tokens; a block is taken where that is a multiple of its size.
    auto const size = static_cast<std::int64_t>(wants_block_.size());
    return static_cast<std::size_t>(((member.joined - member.context) % size + size) % size);
}

void EvenDecodes::join(std::int32_t slot, std::int64_t context, std::int64_t remaining) {
    if (static_cast<std::size_t>(slot) >= members_.size()) members_.resize(static_cast<std::size_t>(slot) + 1);
    Member& member = at(slot);
    member.joined = steps_;
    member.context = context;
    ends_.push_back({steps_ + remaining, slot, member.stamp});
    std::push_heap(ends_.begin(), ends_.end(), std::greater<>());
    ++wants_block_[phase(member)];
    ++count_;
    context_ += context;
}

Decodes::Progress EvenDecodes::leave(std::int32_t slot) {
    Member& member = at(slot);
    --wants_block_[phase(member)];
    --count_;
    ++member.stamp;
    std::int64_t const tokens = steps_ - member.joined;
    std::int64_t const context = member.context + tokens;
    context_ -= context;
    auto const size = static_cast<std::int64_t>(wants_block_.size());
    return {slot, tokens, (context + size - 1) / size};
}

std::int64_t EvenDecodes::step(std::vector<Progress>& ended) {
    std::int64_t const tokens = count_;
    ++steps_;
    context_ += count_;
    while (!ends_.empty() && ends_.front().step <= steps_) {
        End const end = ends_.front();
        std::pop_heap(ends_.begin(), ends_.end(), std::greater<>());
        ends_.pop_back();
        if (at(end.slot).stamp == end.stamp) ended.push_back(leave(end.slot));
    }
    return tokens;
}

}  // namespace sextant
