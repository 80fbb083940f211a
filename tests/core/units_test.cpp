#include "core/units.hpp"

#include "tests/catch.hpp"

#include <type_traits>

using namespace sextant;
using namespace sextant::units;

static_assert(std::is_same_v<decltype(Flops{} / Seconds{}), FlopsPerSecond>);
static_assert(std::is_same_v<decltype(Bytes{} / BytesPerSecond{}), Seconds>);
static_assert(std::is_same_v<decltype(Bytes{} * SecondsPerByte{}), Seconds>);
static_assert(std::is_same_v<decltype(1 / BytesPerSecond{}), SecondsPerByte>);
static_assert(std::is_same_v<decltype(Bytes{} / Bytes{}), double>);
static_assert(std::is_same_v<decltype(BytesPerSecond{} * SecondsPerByte{}), double>);
static_assert(std::is_same_v<decltype(Dollars{} / hour), DollarsPerSecond>);
static_assert(!std::is_convertible_v<double, Seconds>, "a bare number has no dimension");
static_assert(!std::is_convertible_v<Seconds, double>, "a dimension is not dropped silently");

template <class A, class B>
concept Addable = requires(A a, B b) {
    a + b;
};
static_assert(Addable<Seconds, Seconds>);
static_assert(!Addable<Seconds, Bytes>, "seconds and bytes do not add up");
static_assert(!Addable<Flops, double>);

TEST_CASE("units: prefixes are powers of 1000, binary prefixes powers of 1024", "[INV-2]") {
    CHECK(s / ms == Approx(1e3).epsilon(1e-15));
    CHECK(ms / us == Approx(1e3).epsilon(1e-15));
    CHECK(us / ns == Approx(1e3).epsilon(1e-15));
    CHECK(day / hour == 24);
    CHECK(hour / minute == 60);
    CHECK(TB / GB == 1000);
    CHECK(TiB / GiB == 1024);
    CHECK(GiB / B == 1073741824.0);
    CHECK(PFLOP / TFLOP == 1000);
}

TEST_CASE("units: a transfer takes its bytes over its bandwidth", "[INV-2]") {
    auto const bytes = GENERATE(take(20, random(1.0, 1e12)));
    auto const rate = GENERATE(take(5, random(1e6, 1e13)));
    Seconds const time = bytes * B / (rate * B / s);
    CHECK(time.base() == Approx(bytes / rate));
    CHECK((time * (rate * B / s)).in(B) == Approx(bytes));
    CHECK((bytes * B * (1 / (rate * B / s))).in(s) == Approx(time.in(s)));
}

TEST_CASE("units: in() counts in the unit it is given", "[INV-2]") {
    CHECK((3.35 * TB / s).in(GB / s) == Approx(3350));
    CHECK((90 * minute).in(hour) == Approx(1.5));
    CHECK((80 * GB).in(GiB) == Approx(74.505806));
}

TEST_CASE("units: sums, differences and comparisons are those of the base values", "[INV-2]") {
    Bytes sum = 3 * GB + 500 * MB;
    sum -= 1 * GB;
    sum *= 2;
    sum /= 5;
    CHECK(sum.in(GB) == Approx(1.0));
    CHECK(-sum < Bytes{});
    CHECK(1 * GiB > 1 * GB);
    CHECK(Seconds{} == 0 * s);
    CHECK((2 * GB - 3 * GB).base() == -1e9);
}
