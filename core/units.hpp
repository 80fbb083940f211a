#pragma once

#include <compare>
#include <concepts>

namespace sextant {

/// A number with a dimension: time^T * data^B * work^F * money^M, stored in SI base units
/// (seconds, bytes, floating-point operations, US dollars).
///
/// Products and quotients of quantities get their dimension from the compiler; a quotient of two
/// equal dimensions is a plain `double`.
template <int T, int B, int F, int M>
class Quantity {
public:
    constexpr Quantity() = default;
    static constexpr Quantity from_base(double base) { return Quantity(base); }

    /// The value in base units (s, B, FLOP, USD and their products).
    [[nodiscard]] constexpr double base() const { return base_; }

    /// The value counted in `unit`, e.g. `time.in(units::ms)`.
    [[nodiscard]] constexpr double in(Quantity unit) const { return base_ / unit.base_; }

    constexpr auto operator<=>(Quantity const&) const = default;

    constexpr Quantity operator-() const { return Quantity(-base_); }
    constexpr Quantity& operator+=(Quantity other) {
        base_ += other.base_;
        return *this;
    }
    constexpr Quantity& operator-=(Quantity other) {
        base_ -= other.base_;
        return *this;
    }
    constexpr Quantity& operator*=(double factor) {
        base_ *= factor;
        return *this;
    }
    constexpr Quantity& operator/=(double divisor) {
        base_ /= divisor;
        return *this;
    }

    friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.base_ + b.base_); }
    friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.base_ - b.base_); }

private:
    constexpr explicit Quantity(double base) : base_(base) {}
    double base_ = 0;
};

template <class Number>
concept Arithmetic = std::integral<Number> || std::floating_point<Number>;

template <int T, int B, int F, int M, Arithmetic Number>
constexpr Quantity<T, B, F, M> operator*(Quantity<T, B, F, M> q, Number factor) {
    return Quantity<T, B, F, M>::from_base(q.base() * static_cast<double>(factor));
}
template <int T, int B, int F, int M, Arithmetic Number>
constexpr Quantity<T, B, F, M> operator*(Number factor, Quantity<T, B, F, M> q) {
    return q * factor;
}
template <int T, int B, int F, int M, Arithmetic Number>
constexpr Quantity<T, B, F, M> operator/(Quantity<T, B, F, M> q, Number divisor) {
    return Quantity<T, B, F, M>::from_base(q.base() / static_cast<double>(divisor));
}

template <int T, int B, int F, int M, Arithmetic Number>
constexpr Quantity<-T, -B, -F, -M> operator/(Number dividend, Quantity<T, B, F, M> q) {
    return Quantity<-T, -B, -F, -M>::from_base(static_cast<double>(dividend) / q.base());
}

template <int T1, int B1, int F1, int M1, int T2, int B2, int F2, int M2>
constexpr auto operator*(Quantity<T1, B1, F1, M1> a, Quantity<T2, B2, F2, M2> b) {
    if constexpr (T1 + T2 == 0 && B1 + B2 == 0 && F1 + F2 == 0 && M1 + M2 == 0)
        return a.base() * b.base();
    else
        return Quantity<T1 + T2, B1 + B2, F1 + F2, M1 + M2>::from_base(a.base() * b.base());
}
template <int T1, int B1, int F1, int M1, int T2, int B2, int F2, int M2>
constexpr auto operator/(Quantity<T1, B1, F1, M1> a, Quantity<T2, B2, F2, M2> b) {
    if constexpr (T1 == T2 && B1 == B2 && F1 == F2 && M1 == M2)
        return a.base() / b.base();
    else
        return Quantity<T1 - T2, B1 - B2, F1 - F2, M1 - M2>::from_base(a.base() / b.base());
}

using Seconds = Quantity<1, 0, 0, 0>;
using Bytes = Quantity<0, 1, 0, 0>;
using Flops = Quantity<0, 0, 1, 0>;
using Dollars = Quantity<0, 0, 0, 1>;
using BytesPerSecond = Quantity<-1, 1, 0, 0>;
using FlopsPerSecond = Quantity<-1, 0, 1, 0>;
using DollarsPerSecond = Quantity<-1, 0, 0, 1>;
/// Slope of an affine transfer cost: the inverse of a bandwidth.
using SecondsPerByte = Quantity<1, -1, 0, 0>;

/// Unit constants: `3.35 * units::TB / units::s`. Decimal prefixes are powers of 1000, `KiB`, `MiB`,
/// `GiB`, `TiB` powers of 1024.
namespace units {

inline constexpr Seconds s = Seconds::from_base(1);
inline constexpr Seconds ms = Seconds::from_base(1e-3);
inline constexpr Seconds us = Seconds::from_base(1e-6);
inline constexpr Seconds ns = Seconds::from_base(1e-9);
inline constexpr Seconds minute = Seconds::from_base(60);
inline constexpr Seconds hour = Seconds::from_base(3600);
inline constexpr Seconds day = Seconds::from_base(86400);

inline constexpr Bytes B = Bytes::from_base(1);
inline constexpr Bytes KB = Bytes::from_base(1e3);
inline constexpr Bytes MB = Bytes::from_base(1e6);
inline constexpr Bytes GB = Bytes::from_base(1e9);
inline constexpr Bytes TB = Bytes::from_base(1e12);
inline constexpr Bytes KiB = Bytes::from_base(1024.0);
inline constexpr Bytes MiB = Bytes::from_base(1024.0 * 1024.0);
inline constexpr Bytes GiB = Bytes::from_base(1024.0 * 1024.0 * 1024.0);
inline constexpr Bytes TiB = Bytes::from_base(1024.0 * 1024.0 * 1024.0 * 1024.0);

inline constexpr Flops flop = Flops::from_base(1);
inline constexpr Flops MFLOP = Flops::from_base(1e6);
inline constexpr Flops GFLOP = Flops::from_base(1e9);
inline constexpr Flops TFLOP = Flops::from_base(1e12);
inline constexpr Flops PFLOP = Flops::from_base(1e15);

inline constexpr Dollars USD = Dollars::from_base(1);

}  // namespace units
}  // namespace sextant
