#pragma once

#include "core/csv.hpp"

#include <string>

namespace sextant::cli {

/// What the machine says of itself; zero where it does not.
struct HostFacts {
    double memory_bytes = 0;
    double cache_bytes = 0;  ///< of the last level
};
HostFacts host_facts();

/// A profile (format accelerator, generation "cpu") of one core of the processor that the rows of sextant-bench's host
/// backend were measured on: peak and memory bandwidth are the best that a row reached, memory and cache what the
/// machine says; what neither tells is `assumed`.
/// @throws InputError when the rows are of several processors, or of none, or hold no product or no memory-bound
/// kernel.
std::string host_profile_json(CsvTable const& rows, HostFacts const& facts);

/// A cluster (format cluster) of processes of that machine, with the profile above as its accelerator: one domain of as
/// many ranks as the rows of the benchmark `collectives` have, joined at the best rate that a send between two of them
/// reached. @throws InputError as above, and when the rows hold no collective.
std::string host_cluster_json(CsvTable const& rows, HostFacts const& facts);

/// "amd-epyc-7b13": what a device of this name is called in profiles.
std::string profile_name_of(std::string const& device);

}  // namespace sextant::cli
