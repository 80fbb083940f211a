#include "kernels/cuda/nccl_group.hpp"

#include <nccl.h>

#include <stdexcept>
#include <string>

#include "kernels/cuda/kernels/fill.cuh"
#include "kernels/cuda/runtime.hpp"
#include "kernels/harness/errors.hpp"
#include "kernels/harness/world.hpp"
#include "kernels/simt/launch.cuh"

namespace sextant::bench {
namespace {

std::string error_text(ncclResult_t status) {
    std::string text = ncclGetErrorString(status);
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 13, 0)
    if (char const* const reason = ncclGetLastError(nullptr); reason != nullptr && *reason != '\0')
        text += std::string(" (") + reason + ")";  // such as that two processes have the same GPU
#endif
    return text;
}

void check_nccl(ncclResult_t status, char const* what) {
    if (status == ncclSuccess) return;
    cudaGetLastError();  // which NCCL may have left
    throw std::runtime_error(std::string(what) + ": " + error_text(status));
}

/// Calls of several ranks that NCCL takes together. Where one of them fails the group is ended all the same: an open
/// one would take in all that follows.
class GroupCall {
public:
    explicit GroupCall(char const* what) : what_(what) { check_nccl(ncclGroupStart(), what); }
    ~GroupCall() {
        if (open_) ncclGroupEnd();
    }
    GroupCall(GroupCall const&) = delete;
    GroupCall& operator=(GroupCall const&) = delete;
    void end() {
        open_ = false;
        check_nccl(ncclGroupEnd(), what_);
    }

private:
    char const* what_;
    bool open_ = true;
};

/// One device's part of the group.
struct Member {
    int device = 0;
    ncclComm_t comm = nullptr;
    std::unique_ptr<Stream> stream;
    DeviceArray<float> send, receive;
};

}  // namespace

constexpr double look_every_s = 0.5;

struct NcclGroup::State {
    explicit State(double stall_s) : dog(stall_s, look_every_s, end_stalled_program) {}

    std::vector<Member> members;
    int ranks = 0, first = 0, home = 0;
    std::int64_t elements = 0;
    Watchdog dog;

    std::size_t part() const { return static_cast<std::size_t>(elements / ranks); }
    std::size_t all() const { return static_cast<std::size_t>(elements); }

    void enqueue(Member const& member, int rank, std::string const& collective) const {
        float const* const send = member.send.data();
        float* const receive = member.receive.data();
        cudaStream_t const stream = member.stream->get();
        std::size_t const own = static_cast<std::size_t>(rank) * part();
        if (collective == "all_reduce")
            check_nccl(ncclAllReduce(send, receive, all(), ncclFloat, ncclSum, member.comm, stream), "all_reduce");
        else if (collective == "all_gather")
            check_nccl(ncclAllGather(send + own, receive, part(), ncclFloat, member.comm, stream), "all_gather");
        else if (collective == "reduce_scatter")
            check_nccl(ncclReduceScatter(send, receive + own, part(), ncclFloat, ncclSum, member.comm, stream),
                       "reduce_scatter");
        else if (collective == "broadcast")
            check_nccl(ncclBroadcast(send, receive, all(), ncclFloat, 0, member.comm, stream), "broadcast");
        else if (collective == "all_to_all")
            for (int peer = 0; peer < ranks; ++peer) {
                std::size_t const place = static_cast<std::size_t>(peer) * part();
                check_nccl(ncclSend(send + place, part(), ncclFloat, peer, member.comm, stream), "all_to_all");
                check_nccl(ncclRecv(receive + place, part(), ncclFloat, peer, member.comm, stream), "all_to_all");
            }
        else if (collective == "send_recv") {
            check_nccl(ncclSend(send, all(), ncclFloat, (rank + 1) % ranks, member.comm, stream), "send_recv");
            check_nccl(ncclRecv(receive, all(), ncclFloat, (rank + ranks - 1) % ranks, member.comm, stream),
                       "send_recv");
        } else
            throw BadInput("no collective \"" + collective + "\"");
    }
};

bool NcclGroup::built() { return true; }

std::string NcclGroup::version() {
    int version = 0;
    check_nccl(ncclGetVersion(&version), "asking for NCCL's version");
    return "NCCL " + std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
           std::to_string(version % 100);
}

NcclGroup::NcclGroup(int local, double stall_s) : state_(std::make_unique<State>(stall_s)) {
    State& state = *state_;
    state.ranks = local * world().size();
    state.first = local * world().rank();
    int devices = 0;
    check(cudaGetDevice(&state.home), "asking for the device");
    check(cudaGetDeviceCount(&devices), "counting devices");
    ncclUniqueId id{};
    if (world().rank() == 0) check_nccl(ncclGetUniqueId(&id), "starting NCCL");
    world().share(&id, sizeof id);
    state.members.resize(static_cast<std::size_t>(local));
    for (int i = 0; i < local; ++i) {  // what can fail comes before the others are waited for
        Member& member = state.members[static_cast<std::size_t>(i)];
        member.device = (state.home + i) % devices;
        CurrentDevice const current(member.device);
        member.stream = std::make_unique<Stream>();
    }
    // Until all have joined there is nothing that could be asked for errors.
    Watchdog::Watch const watched(state.dog, "joining " + std::to_string(state.ranks) + " ranks", nullptr);
    GroupCall joining("joining a group");
    for (int i = 0; i < local; ++i) {
        Member& member = state.members[static_cast<std::size_t>(i)];
        CurrentDevice const current(member.device);
        check_nccl(ncclCommInitRank(&member.comm, state.ranks, id, state.first + i), "joining a group");
    }
    joining.end();
}

void NcclGroup::set_buffers(std::int64_t elements, std::uint64_t seed) {
    State& state = *state_;
    state.elements = elements;
    for (std::size_t i = 0; i < state.members.size(); ++i) {
        Member& member = state.members[i];
        CurrentDevice const current(member.device);
        member.send = {};  // both go before new ones come
        member.receive = {};
        member.send = DeviceArray<float>(elements);
        member.receive = DeviceArray<float>(elements);
        member.receive.clear();
        auto const from = seed + static_cast<std::uint64_t>(state.first) + i;
        launch({1024, 256, member.stream->get()}, device::fill_values<float>, elements, from, 1.0f, member.send.data());
        member.stream->wait();
    }
}

void NcclGroup::release_buffers() {
    for (Member& member : state_->members) {
        member.send = {};
        member.receive = {};
    }
}

NcclGroup::~NcclGroup() {
    for (Member& member : state_->members) {
        cudaSetDevice(member.device);
        if (member.stream) cudaStreamSynchronize(member.stream->get());
        if (member.comm != nullptr) ncclCommDestroy(member.comm);
        member.stream.reset();
        member.send = {};
        member.receive = {};
    }
    cudaSetDevice(state_->home);
}

std::unique_ptr<Watchdog::Watch> NcclGroup::watch(std::string const& what) {
    return std::make_unique<Watchdog::Watch>(state_->dog, what + " of " + std::to_string(state_->ranks) + " ranks",
                                             [this] { return fault(); });
}

std::string NcclGroup::fault() const {
    for (Member const& member : state_->members) {
        ncclResult_t status = ncclSuccess;
        if (ncclCommGetAsyncError(member.comm, &status) == ncclSuccess && status != ncclSuccess &&
            status != ncclInProgress)
            return error_text(status);
    }
    return {};
}

void NcclGroup::enqueue(std::string const& collective) {
    GroupCall together("starting a collective");
    for (std::size_t i = 0; i < state_->members.size(); ++i)
        state_->enqueue(state_->members[i], state_->first + static_cast<int>(i), collective);
    together.end();
}

void NcclGroup::wait() {
    for (Member& member : state_->members)
        member.stream->wait();
}

bool NcclGroup::idle() const {
    for (Member const& member : state_->members)
        if (!member.stream->idle()) return false;
    return true;
}

int NcclGroup::ranks() const { return state_->ranks; }
int NcclGroup::first_local_rank() const { return state_->first; }

std::vector<float> NcclGroup::received(int member, std::int64_t first, std::int64_t count) const {
    Member const& one = state_->members.at(static_cast<std::size_t>(member));
    CurrentDevice const current(one.device);
    return one.receive.read(first, count);
}

}  // namespace sextant::bench
