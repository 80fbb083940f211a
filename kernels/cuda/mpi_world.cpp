// The world of a run under mpirun; compiled with SEXTANT_BENCH_MPI only.
#include <mpi.h>

#include <cmath>
#include <limits>
#include <thread>

#include "kernels/backend.hpp"
#include "kernels/harness/errors.hpp"
#include "kernels/harness/world.hpp"

namespace sextant::bench {
namespace {

class MpiWorld : public World {
public:
    MpiWorld() {
        int provided = MPI_THREAD_SINGLE;
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
        any_thread_ = provided == MPI_THREAD_MULTIPLE;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
        MPI_Comm machine;
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
        int rank_there = 0;
        MPI_Comm_rank(machine, &rank_there);
        MPI_Comm_size(machine, &on_machine_);
        MPI_Comm_free(&machine);
        int const first = rank_there == 0 ? 1 : 0;
        MPI_Allreduce(&first, &nodes_, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    ~MpiWorld() override { MPI_Finalize(); }
    int rank() const override { return rank_; }
    int size() const override { return size_; }
    int nodes() const override { return nodes_; }
    /// Whether as many processes run on every machine; the same in all of them.
    bool even() { return largest(on_machine_) * nodes_ == size_; }
    void share(void* data, std::size_t bytes) override {
        MPI_Bcast(data, static_cast<int>(bytes), MPI_BYTE, 0, MPI_COMM_WORLD);
    }
    double largest(double value) override {
        if (std::isnan(value)) value = std::numeric_limits<double>::infinity();  // MPI_MAX may pass over it
        double result = value;
        MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        return result;
    }
    /// A watchdog calls it beside the thread that is inside a call of MPI. Where MPI does not allow that, the caller's
    /// own end is left, of which mpirun ends the others.
    void abort(int exit_code) override {
        if (any_thread_ || std::this_thread::get_id() == main_) MPI_Abort(MPI_COMM_WORLD, exit_code);
    }

private:
    std::thread::id const main_ = std::this_thread::get_id();
    bool any_thread_ = false;
    int rank_ = 0, size_ = 1, nodes_ = 1, on_machine_ = 1;
};

}  // namespace

void join_world() {
    static MpiWorld all;
    set_world(all);
    if (!all.even())
        throw BadInput("the machines run different numbers of processes (start equally many on each: mpirun -N)");
}

}  // namespace sextant::bench
