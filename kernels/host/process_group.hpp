#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sextant::bench {

/// Collectives between processes on one machine. Rank 0 is the calling process; the others are forked from it and
/// share, with every rank, one send and one receive buffer of floats:
///
/// - all_reduce: receive[i] = sum over ranks of send[i]. Each rank sums one part, then all copy the parts.
/// - all_gather: rank r contributes elements [r c, (r+1) c) of its send buffer, c = elements / ranks; all receive all.
/// - reduce_scatter: rank r receives elements [r c, (r+1) c) of the sum, at the same place of its receive buffer.
/// - all_to_all: part s of rank r's receive buffer is part r of rank s's send buffer.
/// - broadcast: everybody receives rank 0's send buffer. send_recv: rank r receives from rank r-1 (around the ring).
class ProcessGroup {
public:
    /// `elements` floats in each buffer, a multiple of `ranks`. `fill(rank, send)` runs in each process.
    /// @throws std::runtime_error when the memory or the processes cannot be had, or a process dies; none is left then.
    ProcessGroup(std::int64_t ranks, std::int64_t elements, std::function<void(std::int64_t, float*)> const& fill);
    ~ProcessGroup();
    ProcessGroup(ProcessGroup const&) = delete;
    ProcessGroup& operator=(ProcessGroup const&) = delete;

    /// Runs the collective once with everyone and returns the seconds from the common start until rank 0 is done and
    /// all others have said that they are. @throws std::runtime_error when a process has died.
    double run(std::string const& collective);

    float const* received(std::int64_t rank) const;
    std::int64_t ranks() const { return ranks_; }

private:
    struct Shared;
    ProcessGroup(std::int64_t ranks, std::int64_t elements);
    std::size_t buffer_bytes() const { return static_cast<std::size_t>(2 * ranks_ * elements_) * sizeof(float); }
    void set_up(std::int64_t rank, std::function<void(std::int64_t, float*)> const& fill);
    void serve(std::int64_t rank);
    void wait_for_all(std::int64_t rank);
    void perform(int collective, std::int64_t rank);
    void check_children();

    std::int64_t ranks_;
    std::int64_t elements_;
    Shared* shared_ = nullptr;
    float* buffers_ = nullptr;  ///< [2, ranks, elements]: send, receive
    std::vector<int> children_;
};

/// What rank `rank` should receive at `index`, given element `send(rank, index)` of every send buffer.
double expected_element(std::string const& collective, std::int64_t rank, std::int64_t ranks, std::int64_t elements,
                        std::int64_t index, std::function<double(std::int64_t, std::int64_t)> const& send);

/// The elements of the receive buffer that the collective defines for this rank: [first, last).
struct Part {
    std::int64_t first, last;
};
Part defined_part(std::string const& collective, std::int64_t rank, std::int64_t ranks, std::int64_t elements);

}  // namespace sextant::bench
