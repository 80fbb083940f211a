#include "simulator/serving/host_prefixes.hpp"

namespace sextant {

void HostPrefixes::keep(std::int32_t prefix, std::int64_t blocks) {
    if (blocks > total_) return;
    if (auto const found = kept_.find(prefix); found != kept_.end()) {
        order_.splice(order_.end(), order_, found->second.place);
        return;
    }
    while (used_ + blocks > total_) {
        auto const oldest = kept_.find(order_.front());
        order_.pop_front();
        used_ -= oldest->second.blocks;
        kept_.erase(oldest);
    }
    used_ += blocks;
    kept_.emplace(prefix, Kept{.blocks = blocks, .place = order_.insert(order_.end(), prefix)});
}

std::int64_t HostPrefixes::find(std::int32_t prefix) const {
    auto const found = kept_.find(prefix);
    return found == kept_.end() ? 0 : found->second.blocks;
}

void HostPrefixes::clear() {
    kept_.clear();
    order_.clear();
    used_ = 0;
}

}  // namespace sextant
