#pragma once

#include "core/units.hpp"

#include <string>
#include <string_view>

namespace sextant {

/// Reads a number with a unit, e.g. `parse_quantity<BytesPerSecond>("400 Gbit/s")`.
///
/// Units: data `B KB MB GB TB PB KiB MiB GiB TiB bit Kbit Mbit Gbit Tbit`; time `s ms us ns min h day`; work
/// `FLOP ... PFLOP EFLOP` (and `OP`); money `USD` or `$`; a rate is `<unit>/<time unit>`, and
/// `GFLOPS`/`TFLOPS`/`PFLOPS` (and `TOPS`, `Gbps`) read as per second, `Gb/s` as bits; `$2.50/h` is `2.50 USD/h`.
/// Units are case-sensitive (`GB` and `Gbit` differ by eight). Instantiated for the named quantities of
/// `core/units.hpp`.
/// @throws InputError naming `where`, the text and the units that are allowed: no number, no unit, a
/// unit of another dimension, not finite, negative.
template <class Q>
Q parse_quantity(std::string_view text, std::string_view where);

/// Short human text with 3-4 digits and a fitting prefix: "1.234 s", "12.3 GB", "989.4 TFLOP/s".
std::string human(Seconds time);
std::string human(Bytes bytes);
std::string human(Flops flops);
std::string human(BytesPerSecond rate);
std::string human(FlopsPerSecond rate);
std::string human(Dollars money);

/// A count with a K/M/B/T suffix: 8030261248 -> "8.03 B".
std::string human_count(double count);

}  // namespace sextant
