#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>

namespace sextant {

/// Adapters that are resident in the memory of a replica. One that nobody uses stays until its slot is wanted, the one
/// unused for longest goes first.
class AdapterSlots {
public:
    explicit AdapterSlots(std::int64_t slots) : slots_(slots) {}

    /// Whether it is resident, or there is a slot for it that is free or unused.
    [[nodiscard]] bool can_hold(std::int32_t adapter) const;
    enum class Held : std::uint8_t { resident, loaded };
    /// In use once more. @pre can_hold(adapter).
    Held hold(std::int32_t adapter);
    /// @pre held.
    void release(std::int32_t adapter);
    /// All of them are gone. @pre none is in use.
    void clear();

private:
    struct Adapter {
        std::int64_t users = 0;
        std::list<std::int32_t>::iterator place{};  ///< in `unused_` when without users
    };
    std::int64_t slots_;
    std::unordered_map<std::int32_t, Adapter> resident_;
    std::list<std::int32_t> unused_;  ///< the longest unused first
};

/// How many sequences use which adapter, of those that take part in an iteration.
class AdapterUse {
public:
    void add(std::int32_t adapter) {
        if (adapter < 0) return;
        if (++users_[adapter] == 1) ++distinct_;
        ++sequences_;
    }
    void remove(std::int32_t adapter) {
        if (adapter < 0) return;
        if (--users_[adapter] == 0) --distinct_;
        --sequences_;
    }
    /// How many of its adapters the other uses, too.
    [[nodiscard]] std::int64_t shared_with(AdapterUse const& other) const;
    [[nodiscard]] std::int64_t distinct() const { return distinct_; }
    [[nodiscard]] std::int64_t sequences() const { return sequences_; }

private:
    std::unordered_map<std::int32_t, std::int64_t> users_;
    std::int64_t distinct_ = 0, sequences_ = 0;
};

}  // namespace sextant
