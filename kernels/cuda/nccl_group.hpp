#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/harness/watchdog.hpp"

namespace sextant::bench {

/// Collectives over `local` devices of this process, from the current one on and round to the first, and as many in
/// every other process of the world, with the same definitions as the host's ProcessGroup (fp32, one send and one
/// receive buffer per rank).
class NcclGroup {
public:
    /// Whether the program was built with NCCL.
    static bool built();
    static std::string version();

    /// Joins the devices, which takes about a second. @throws Unavailable without NCCL.
    /// @param stall_s of its watchdog, in whose watch all waiting belongs (0: none)
    NcclGroup(int local, double stall_s);
    ~NcclGroup();
    NcclGroup(NcclGroup const&) = delete;
    NcclGroup& operator=(NcclGroup const&) = delete;

    /// Gives every rank buffers of `elements` floats (a multiple of the number of ranks): rank r sends
    /// value_at(seed + r, i).
    void set_buffers(std::int64_t elements, std::uint64_t seed);
    /// Gives that memory back.
    void release_buffers();
    /// Ends the program where what comes until this goes away has not ended in time, or NCCL tells of an error.
    std::unique_ptr<Watchdog::Watch> watch(std::string const& what);
    /// What NCCL says has gone wrong since in its background threads; empty: nothing.
    std::string fault() const;
    /// Enqueues one collective on every local device, each on its own stream.
    void enqueue(std::string const& collective);
    /// Waits for all local devices.
    void wait();
    /// Whether all that was enqueued is done.
    bool idle() const;

    int ranks() const;
    int first_local_rank() const;
    /// A part of what the local rank `member` received.
    std::vector<float> received(int member, std::int64_t first, std::int64_t count) const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace sextant::bench
