#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace sextant::cli {

/// A place among the processes that mpirun started.
struct LaunchedRank {
    int rank = 0;
    int size = 1;
};

/// What the launcher's environment says (Open MPI, or PMI as MPICH and Slurm set it); nothing when there is no
/// launcher.
std::optional<LaunchedRank> launched_rank();

/// The processes of one sweep on one or many machines. Rank 0 hands out and writes. Messages of one sender come in the
/// order they were sent; sending never waits.
class Ranks {
public:
    virtual ~Ranks() = default;
    [[nodiscard]] virtual int rank() const = 0;
    [[nodiscard]] virtual int size() const = 0;
    virtual void send(int to, std::string message) = 0;
    /// A message that is there: its sender and itself.
    virtual std::optional<std::pair<int, std::string>> receive() = 0;
    /// Ends every process of the sweep.
    virtual void abort(int exit_code) = 0;
};

/// Joins the other processes that mpirun started. Null in a build without MPI.
std::unique_ptr<Ranks> join_ranks();

/// "Open MPI 4.1.4", or empty in a build without.
std::string mpi_version();

}  // namespace sextant::cli
