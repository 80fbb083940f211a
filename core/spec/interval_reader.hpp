#pragma once

#include "core/error.hpp"
#include "core/json/object_reader.hpp"

namespace sextant {

/// Reads the optional object `key` of a profile into an interval with `low`, `high` and `rows`; without it, the
/// interval stays as it is. @throws InputError where 1 does not lie in it.
template <class Interval>
void read_interval(ObjectReader& in, char const* key, Interval& interval) {
    auto given = in.optional_object(key);
    if (!given) return;
    interval = {.low = given->number("low"), .high = given->number("high"), .rows = given->integer("rows")};
    if (!(interval.low > 0 && interval.low <= 1 && interval.high >= 1 && interval.high < 100 && interval.rows >= 0))
        throw InputError("{}: is no interval around 1 (low above 0 up to 1, high from 1 to below 100, rows from 0)",
                         given->where());
    given->finish();
}

}  // namespace sextant
