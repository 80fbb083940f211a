#include "simulator/serving/even_decodes.hpp"

#include <algorithm>
#include <functional>

namespace sextant {

std::size_t EvenDecodes::phase(Member const& member) const {
    // At step i the cache holds context + i - joined tokens; a block is taken where that is a multiple of its size.
    auto const size = static_cast<std::int64_t>(wants_block_.size());
    return static_cast<std::size_t>(((member.joined - member.context) % size + size) % size);
}

void EvenDecodes::push(std::vector<End>& heap, End end) {
    heap.push_back(end);
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
}

EvenDecodes::End EvenDecodes::pop(std::vector<End>& heap) {
    End const end = heap.front();
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.pop_back();
    return end;
}

void EvenDecodes::join(std::int32_t slot, std::int64_t context, std::int64_t remaining) {
    if (static_cast<std::size_t>(slot) >= members_.size()) members_.resize(static_cast<std::size_t>(slot) + 1);
    Member& member = at(slot);
    member.joined = steps_;
    member.context = context;
    push(ends_, {steps_ + remaining, slot, member.stamp});
    ++wants_block_[phase(member)];
    std::int64_t const to_window = shape_.window_blocks * shape_.block_tokens - context;
    member.grows_window = shape_.window_groups > 0 && to_window > 0;
    if (member.grows_window) {
        ++grows_window_[phase(member)];
        push(full_windows_, {steps_ + to_window, slot, member.stamp});
    }
    ++count_;
    context_ += context;
}

Decodes::Progress EvenDecodes::leave(std::int32_t slot) {
    Member& member = at(slot);
    --wants_block_[phase(member)];
    if (member.grows_window) --grows_window_[phase(member)];
    --count_;
    ++member.stamp;
    std::int64_t const tokens = steps_ - member.joined;
    std::int64_t const context = member.context + tokens;
    context_ -= context;
    return {slot, tokens, shape_.blocks(context)};
}

std::int64_t EvenDecodes::step(std::vector<Progress>& ended) {
    std::int64_t const tokens = count_;
    ++steps_;
    context_ += count_;
    while (!ends_.empty() && ends_.front().step <= steps_) {
        End const end = pop(ends_);
        if (at(end.slot).stamp == end.stamp) ended.push_back(leave(end.slot));
    }
    while (!full_windows_.empty() && full_windows_.front().step <= steps_) {
        End const end = pop(full_windows_);
        Member& member = at(end.slot);
        if (member.stamp != end.stamp) continue;
        --grows_window_[phase(member)];
        member.grows_window = false;
    }
    return tokens;
}

}  // namespace sextant
