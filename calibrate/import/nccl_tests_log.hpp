#pragma once

#include "cost_models/collective_row.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// What a log of nccl-tests or rccl-tests says.
struct NcclTestsLog {
    std::string collective;       ///< nccl-tests' name: all_reduce, all_gather, ...
    std::string library_version;  ///< empty where the log does not say
    std::string device;           ///< as the driver names it
    std::int64_t ranks = 0;
    std::int64_t hosts = 0;
    std::vector<CollectiveRow> rows;
};

/// Reads the text that nccl-tests prints: lines that begin with '#' (parameters, the list of ranks with host and
/// device, column heads) and lines of a size each. Launcher prefixes such as "[1,0]<stdout>:" or "0: " before a line
/// are dropped; other lines that are neither are skipped. The collective is the program's name ("all_reduce_perf")
/// where one is printed, else told from the columns: `name` is looked at as well, so that a file called all_gather.log
/// is one. Times are the out-of-place and in-place columns in us, the lesser counts; sizes as printed.
/// @throws InputError: no line with a size; no list of ranks; a collective that is not known; a line with a size whose
/// other cells are no numbers, a time that is negative or not finite; ranks that do not divide over the hosts.
NcclTestsLog read_nccl_tests_log(std::string_view text, std::string const& name);

}  // namespace sextant
