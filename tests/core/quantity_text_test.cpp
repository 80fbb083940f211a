#include "core/quantity_text.hpp"

#include "core/error.hpp"
#include "tests/catch.hpp"

#include <cmath>
#include <string>

using namespace sextant;
using namespace sextant::units;

TEST_CASE("parse_quantity reads every prefix and rate of the documentation") {
    CHECK(parse_quantity<BytesPerSecond>("3.35 TB/s", "x").base() == Approx(3.35e12));
    CHECK(parse_quantity<BytesPerSecond>("400 Gbit/s", "x").base() == Approx(50e9));
    CHECK(parse_quantity<BytesPerSecond>("400Gbps", "x").base() == Approx(50e9));
    CHECK(parse_quantity<BytesPerSecond>("400 Gb/s", "x").base() == Approx(50e9));
    CHECK(parse_quantity<BytesPerSecond>("0.4Tb/s", "x").base() == Approx(50e9));
    CHECK(parse_quantity<BytesPerSecond>("100 Mb/s", "x").base() == Approx(12.5e6));
    CHECK(parse_quantity<Bytes>("80 GiB", "x") == 80 * GiB);
    CHECK(parse_quantity<Bytes>("70GB", "x") == 70 * GB);
    CHECK(parse_quantity<FlopsPerSecond>("989.4 TFLOP/s", "x").base() == Approx(989.4e12));
    CHECK(parse_quantity<FlopsPerSecond>("989.4 TFLOPS", "x").base() == Approx(989.4e12));
    CHECK(parse_quantity<FlopsPerSecond>("4 POP/s", "x").base() == Approx(4e15));
    CHECK(parse_quantity<Seconds>("12.5 us", "x").base() == Approx(12.5e-6));
    CHECK(parse_quantity<Seconds>("2 days", "x") == 2 * day);
    CHECK(parse_quantity<Flops>("1e3 EFLOP", "x").base() == Approx(1e21));
    CHECK(parse_quantity<Dollars>("$12.50", "x").base() == Approx(12.5));
    CHECK(parse_quantity<DollarsPerSecond>("$3.60/h", "x").base() == Approx(1e-3));
    CHECK(parse_quantity<SecondsPerByte>("20 us/MB", "x").base() == Approx(20e-12));
}

TEST_CASE("parse_quantity of a size in bits is an eighth of the size in bytes") {
    auto const value = GENERATE(take(50, random(0.0, 1e6)));
    auto const number = fmt::format("{:.17g}", value);
    CHECK(parse_quantity<Bytes>(number + " Gbit", "x").base() ==
          Approx(parse_quantity<Bytes>(number + " GB", "x").base() / 8));
}

TEST_CASE("parse_quantity names the place, the text and what is allowed when it refuses") {
    auto const refused = [](std::string const& text, std::string const& part) {
        CHECK_THROWS_WITH(parse_quantity<BytesPerSecond>(text, "file: key"), contains("file: key") && contains(part));
    };
    refused("", "does not start with a number");
    refused("fast", "does not start with a number");
    refused("3", "has no unit");
    refused("3 GB", "an amount of data");
    refused("3 TFLOP/s", "a rate of work");
    refused("3 gb/s", "did you mean 'GB/s'");
    CHECK_THROWS_WITH(parse_quantity<Bytes>("16 Gb", "x"), contains("unknown unit 'Gb'"));  // GB of memory, or Gbit
    refused("3 GB/", "unknown unit");
    refused("50 GBps", "did you mean 'GB/s'?");  // not 'Gbps', an eighth of it
    refused("3 GB/s/s", "unknown unit");
    refused("-3 GB/s", "negative");
    refused("nan GB/s", "not finite");
    refused("inf GB/s", "not finite");
    refused("1e999 GB/s", "outside the range");
    refused("1e305 PB/s", "outside the range");
    refused("0x10 GB/s", "unknown unit");
    CHECK_THROWS_AS(parse_quantity<Bytes>(std::string(100'000, '9') + " GB", "x"), InputError);
}

TEST_CASE("human shows four digits and the prefix that leaves at least one") {
    CHECK(human(1.2344 * s) == "1.234 s");
    CHECK(human(12.3 * GB) == "12.3 GB");
    CHECK(human(989.4 * TFLOP / s) == "989.4 TFLOP/s");
    CHECK(human(1978.9 * TFLOP / s) == "1.979 PFLOP/s");
    CHECK(human(3.35 * TB / s) == "3.35 TB/s");
    CHECK(human(0 * s) == "0 s");
    CHECK(human(2.5 * us) == "2.5 us");
    CHECK(human(90 * s) == "90 s");
    CHECK(human(30 * minute) == "30 min");
    CHECK(human(36 * hour) == "36 h");
    CHECK(human(10 * day) == "10 days");
    CHECK(human(512 * B) == "512 B");
    CHECK(human(999.99 * GB) == "1 TB");
    CHECK(human(Flops::from_base(6e21)) == "6 ZFLOP");
    CHECK(human(12.5 * USD) == "$12.50");
    CHECK(human(0.0 * USD) == "$0.00");
    CHECK(human(9.36e-4 * USD) == "$0.00094");
    CHECK(human(-0.0346 * USD) == "-$0.035");
    CHECK(human(0.0996 * USD) == "$0.10");
    for (double amount = 1e-8; amount < 1e3; amount *= 1.37)  // at least two digits of any amount
        CHECK(std::stod(human(amount * USD).substr(1)) == Approx(amount).epsilon(0.051));
    CHECK(human(2.5e6 * USD) == "$2.5 M");
}

TEST_CASE("human text parses back to within its last digit") {
    auto const exponent = GENERATE(range(0, 15));
    auto const mantissa = GENERATE(take(10, random(1.0, 9.999)));
    auto const bytes = Bytes::from_base(mantissa * std::pow(10.0, exponent));
    CHECK(parse_quantity<Bytes>(human(bytes), "x").base() == Approx(bytes.base()).epsilon(1e-3));
}

TEST_CASE("human_count writes thousands, millions and billions with three digits") {
    CHECK(human_count(8030261248.0) == "8.03 B");
    CHECK(human_count(124439808.0) == "124 M");
    CHECK(human_count(46.7e9) == "46.7 B");
    CHECK(human_count(1e12) == "1.00 T");
    CHECK(human_count(999) == "999");
    CHECK(human_count(0) == "0");
    CHECK(human_count(0.5) == "0.5");
    CHECK(human_count(3.389e-5) == "3.39e-05");
}
