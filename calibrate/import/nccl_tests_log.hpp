#pragma once

#include "cost_models/collective_row.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// What a log says of one run of nccl-tests or rccl-tests.
struct NcclTestsLog {
    std::string collective;       ///< nccl-tests' name: all_reduce, all_gather, ...
    std::string library_version;  ///< empty where the log does not say
    std::string device;           ///< as the driver names it
    std::int64_t ranks = 0;       ///< of one group, where a run was split
    std::int64_t hosts = 0;
    bool aggregated = false;    ///< several collectives in one launch (-m): a time is a share of theirs together
    bool blocking = false;      ///< each collective is waited for (-z), which its time has in it
    bool without_nvls = false;  ///< NCCL_NVLS_ENABLE=0, or an NCCL_ALGO that leaves NVLS out
    std::vector<CollectiveRow> rows;
    std::map<std::string, std::size_t> skipped;  ///< lines that were left out, by the reason
};

/// Another program's measurements of a network that no model here can take, with what to do instead; empty when it is
/// none of those known.
std::string_view foreign_benchmark(std::string_view text);

/// Reads the text that nccl-tests prints, run by run: lines that begin with '#' (parameters, the list of ranks with
/// host and device, column heads) and lines of a size each. A run begins with its parameters, its list of ranks or the
/// name of its program; a list of ranks that another follows is of a start that failed. What stands before a line
/// ("[1,0]<stdout>:", "0: ", a time, a pod, a logger's name) and colours are dropped: a line of a size is known by the
/// type of its elements; other lines that are neither are skipped, as are what NCCL and other processes print into one:
/// that size is left out, unless all its times stand before. The collective is the program's name
/// ("all_reduce_perf") where one is printed; else that of a title before its head ("=== all_gather ==="), which behind
/// the sizes of a run is the next one's; else the file's: one called all_gather.log is one. Rows of a run that NCCL's
/// environment keeps from NVLS say so in their intra_link. Times are the
/// out-of-place and in-place columns in us, the lesser counts; sizes as printed. The last line of a run may be cut off.
/// Left out with the reason are runs of separate processes, of one rank, of groups or devices that differ, with the
/// processor's times, and with a wait after each collective, and sizes whose time and algbw contradict each other.
/// @throws InputError: no line with a size; no list of ranks; a collective that is not said, or whose bus bandwidth is
/// not that of the columns; a line with a size whose other cells are no numbers, a time that is negative or not finite;
/// hosts with more ranks than others.
/// @param unsaid the collective of runs that do not say it; empty: by the name of the file
std::vector<NcclTestsLog> read_nccl_tests_log(std::string_view text, std::string const& name,
                                              std::string const& unsaid = "");

}  // namespace sextant
