#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sextant::cli {

/// Something the program was built with or without, or finds on this machine or not.
struct Finding {
    std::string name;     ///< "mpi", for --require and JSON
    std::string kind;     ///< "build", "machine" or "data"
    std::string what;     ///< "Open MPI, for sweeps over machines"
    std::string version;  ///< or what was found; empty if nothing
    bool present = false;
    std::string remedy;  ///< how to get it; empty if nothing is to be done
};

struct DoctorReport {
    std::string version;
    std::string compiler;
    std::int64_t cores = 0;
    double memory_bytes = 0;  ///< of the machine; 0: unknown
    std::vector<Finding> findings;
};

/// Looks at this build, at the programs in `search_path` (PATH), and at folders named by the environment.
/// Starts no other program but reads files; needs no network.
DoctorReport examine();

std::string doctor_text(DoctorReport const& report);
std::string doctor_json(DoctorReport const& report);

}  // namespace sextant::cli
