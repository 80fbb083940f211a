#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/harness/row.hpp"
#include "kernels/harness/statistics.hpp"
#include "kernels/harness/stop_rule.hpp"

namespace sextant::bench {

enum class Cache { hot, cold };
enum class Launch { stream, graph };

/// One way of measuring a problem; each is a row of its own.
struct Variant {
    Cache cache = Cache::hot;
    Launch launch = Launch::stream;
};
char const* name_of(Cache cache);
char const* name_of(Launch launch);

enum class Effort { quick, full };

/// What a benchmark may know when it lists its problems.
struct Scope {
    Effort effort = Effort::quick;
    std::uint64_t seed = 1;
    int device = 0;                       ///< CUDA device
    std::int64_t memory_limit = 4 << 20;  ///< bytes that one problem may hold
    double stall_s = 300;                 ///< after which a collective that has not ended ends the program; 0: never
    std::int64_t processes = 2;           ///< host: processors; the collectives run with up to twice as many processes
};

/// One shape of one kernel.
struct Problem {
    std::string kernel;
    std::string dtype;
    Shape shape;
    double flops = 0;          ///< useful operations, multiply and add counted apart; 0: not a compute kernel
    double bytes = 0;          ///< bytes moved once to and from memory, or over the bus for a collective; 0: none
    double expected_s = 1e-3;  ///< a guess from assumed rates, for the estimate of time only
    std::vector<Variant> variants{{}};
};

/// What one measurement yields besides the row's names.
struct Timing {
    Summary seconds;  ///< repeats = 0: the row has no time
    double sm_clock_mhz = Row::unset;
    double mem_clock_mhz = Row::unset;
    std::string throttle;
    std::string note;
};

/// A problem set up in memory and compared with its reference.
struct Prepared {
    double max_rel_error = Row::unset;  ///< against the reference in double precision
    double tolerance = 0;               ///< a larger error (or NaN) is a wrong result
    std::string note;
    std::function<Timing(Variant, StopRule const&)> measure;
};

/// A benchmark: one file, one of these, one line in a catalog.
struct Bench {
    char const* name;
    char const* summary;
    std::vector<Problem> (*problems)(Scope const&);
    Prepared (*prepare)(Problem const&, Scope const&);
};

/// The usual pair: hot and cold cache.
std::vector<Variant> hot_and_cold();

}  // namespace sextant::bench
