#pragma once

#include <cstdint>
#include <initializer_list>

namespace sextant {

/// A set of enumerators with values 0 to 31.
template <class Enum>
class EnumSet {
public:
    constexpr EnumSet() = default;
    constexpr EnumSet(std::initializer_list<Enum> list) {
        for (Enum const value : list)
            add(value);
    }
    [[nodiscard]] constexpr bool has(Enum value) const { return (bits_ & bit(value)) != 0; }
    constexpr void add(Enum value) { bits_ |= bit(value); }
    constexpr EnumSet& operator|=(EnumSet other) {
        bits_ |= other.bits_;
        return *this;
    }
    friend constexpr EnumSet operator&(EnumSet a, EnumSet b) {
        a.bits_ &= b.bits_;
        return a;
    }
    [[nodiscard]] constexpr EnumSet without(EnumSet other) const {
        EnumSet rest = *this;
        rest.bits_ &= ~other.bits_;
        return rest;
    }
    [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
    [[nodiscard]] constexpr std::int64_t bits() const { return bits_; }
    friend constexpr bool operator==(EnumSet, EnumSet) = default;

private:
    static constexpr std::uint32_t bit(Enum value) { return 1U << static_cast<unsigned>(value); }
    std::uint32_t bits_ = 0;
};

}  // namespace sextant
