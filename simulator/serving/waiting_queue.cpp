#include "simulator/serving/waiting_queue.hpp"

#include <algorithm>

namespace sextant {

void WaitingQueue::push(Entry const& entry) {
    ++size_;
    switch (order_) {
        case QueueOrder::arrival: line_.push_back(entry); break;
        case QueueOrder::priority: ranked_.insert({entry.priority, entry.number, entry.slot}); break;
        case QueueOrder::tenant: {
            Tenant& who = tenants_[entry.tenant];
            if (who.waiting.empty()) {
                who.served = std::max(who.served, level_);
                enter(entry.tenant, who);
            }
            who.waiting.push_back(entry);
            break;
        }
    }
}

void WaitingQueue::put_back(Entry const& entry) {
    switch (order_) {
        case QueueOrder::arrival:
            ++size_;
            line_.push_front(entry);
            break;
        case QueueOrder::priority: push(entry); break;
        case QueueOrder::tenant: {
            Tenant& who = tenants_[entry.tenant];
            if (who.waiting.empty()) enter(entry.tenant, who);
            who.waiting.push_front(entry);
            ++size_;
            break;
        }
    }
}

std::int32_t WaitingQueue::front() const {
    switch (order_) {
        case QueueOrder::arrival: break;
        case QueueOrder::priority: return ranked_.begin()->slot;
        case QueueOrder::tenant: return tenants_.at(turn_.begin()->second).waiting.front().slot;
    }
    return line_.front().slot;
}

void WaitingQueue::pop() {
    if (order_ == QueueOrder::tenant) level_ = std::max(level_, turn_.begin()->first);
    pass_over();
}

void WaitingQueue::pass_over() {
    --size_;
    switch (order_) {
        case QueueOrder::arrival: line_.pop_front(); break;
        case QueueOrder::priority: ranked_.erase(ranked_.begin()); break;
        case QueueOrder::tenant: {
            auto const first = turn_.begin();
            Tenant& who = tenants_.at(first->second);
            who.waiting.pop_front();
            if (who.waiting.empty()) turn_.erase(first);
            break;
        }
    }
}

void WaitingQueue::charge(std::int32_t tenant, std::int64_t tokens) {
    if (order_ != QueueOrder::tenant) return;
    Tenant& who = tenants_[tenant];
    bool const waits = !who.waiting.empty();
    if (waits) turn_.erase({who.served, tenant});
    who.served += tokens;
    if (waits) enter(tenant, who);
}

}  // namespace sextant
