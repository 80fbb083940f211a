#pragma once

#include "cli/command.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sextant::cli {

enum class BenchEffort { quick, full };
enum class BenchFile { fresh, resume };

/// What `calibrate run` was asked to do.
struct BenchRequest {
    std::string program;  ///< sextant-bench; empty: looked for
    std::string backend = "auto";
    std::vector<std::string> benches;   ///< empty: all that this machine has
    std::optional<BenchEffort> effort;  ///< nothing: quick
    BenchFile file = BenchFile::fresh;
    std::string out;
    std::optional<double> max_seconds, row_seconds, stall_seconds;
    std::string time_limit;  ///< of wall-clock time, after which the benchmarks are ended; empty: none
    std::optional<int> gpu;
    std::string describe_host;     ///< file of an accelerator profile of this machine's processor; empty: none
    std::string describe_cluster;  ///< the same of a cluster of its processes
};

/// The benchmark program: the one given, else beside our own program, else in the folder `kernels` of the same build,
/// else on PATH; empty when there is none. @throws InputError when the one given is no program.
std::string find_bench_program(std::string const& given);

/// Runs the benchmarks into `out`, with their progress on standard error, and prints what the file then holds. An
/// interrupt leaves whole rows; the same call with `BenchFile::resume` goes on.
int run_benchmarks(BenchRequest const& request, CommandContext& context);

}  // namespace sextant::cli
