// In a build without MPI.
#include "cli/sweep/ranks.hpp"

namespace sextant::cli {

std::unique_ptr<Ranks> join_ranks() { return nullptr; }

std::string mpi_version() { return ""; }

}  // namespace sextant::cli
