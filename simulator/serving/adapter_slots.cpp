#include "simulator/serving/adapter_slots.hpp"

#include <cassert>

namespace sextant {

bool AdapterSlots::can_hold(std::int32_t adapter) const {
    return !unused_.empty() || static_cast<std::int64_t>(resident_.size()) < slots_ || resident_.count(adapter) > 0;
}

AdapterSlots::Held AdapterSlots::hold(std::int32_t adapter) {
    auto const found = resident_.find(adapter);
    if (found != resident_.end()) {
        if (found->second.users++ == 0) unused_.erase(found->second.place);
        return Held::resident;
    }
    if (static_cast<std::int64_t>(resident_.size()) == slots_) {
        assert(!unused_.empty());
        resident_.erase(unused_.front());
        unused_.pop_front();
    }
    resident_[adapter].users = 1;
    return Held::loaded;
}

void AdapterSlots::release(std::int32_t adapter) {
    Adapter& entry = resident_.at(adapter);
    assert(entry.users > 0);
    if (--entry.users == 0) entry.place = unused_.insert(unused_.end(), adapter);
}

void AdapterSlots::clear() {
    assert(unused_.size() == resident_.size());
    resident_.clear();
    unused_.clear();
}

std::int64_t AdapterUse::shared_with(AdapterUse const& other) const {
    std::int64_t shared = 0;
    for (auto const& [adapter, users] : users_) {
        auto const found = other.users_.find(adapter);
        if (users > 0 && found != other.users_.end() && found->second > 0) ++shared;
    }
    return shared;
}

}  // namespace sextant
