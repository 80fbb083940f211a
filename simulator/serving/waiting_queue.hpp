#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <unordered_map>

namespace sextant {

/// Who is served next.
enum class QueueOrder : std::uint8_t {
    arrival,
    priority,  ///< smaller first, then arrival
    tenant     ///< of the tenant that was served the fewest tokens so far, then arrival
};

/// Requests that wait at a replica. One that was put back goes before those of its rank.
class WaitingQueue {
public:
    explicit WaitingQueue(QueueOrder order) : order_(order) {}

    struct Entry {
        std::int32_t slot;
        std::int32_t priority;
        std::int32_t tenant;
        std::int64_t number;  ///< in order of arrival
    };
    void push(Entry const& entry);
    void put_back(Entry const& entry);
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] std::int64_t size() const { return size_; }
    /// @pre not empty.
    [[nodiscard]] std::int32_t front() const;
    void pop();
    /// The front leaves without having been served; `put_back` follows, in reverse order.
    void pass_over();
    /// Tokens were served to a tenant; of use to `QueueOrder::tenant` only.
    void charge(std::int32_t tenant, std::int64_t tokens);

private:
    struct Ranked {
        std::int64_t rank;
        std::int64_t number;
        std::int32_t slot;
        bool operator<(Ranked const& other) const {
            return rank != other.rank ? rank < other.rank : number < other.number;
        }
    };
    struct Tenant {
        std::int64_t served = 0;
        std::deque<Entry> waiting;
    };
    void enter(std::int32_t tenant, Tenant const& who) { turn_.insert({who.served, tenant}); }

    QueueOrder order_;
    std::int64_t size_ = 0;
    std::deque<Entry> line_;
    std::set<Ranked> ranked_;
    std::unordered_map<std::int32_t, Tenant> tenants_;
    std::set<std::pair<std::int64_t, std::int32_t>> turn_;  ///< (served, tenant) of those that wait
    std::int64_t level_ = 0;  ///< served tokens of the tenant whose turn was last: no credit for having been away
};

}  // namespace sextant
