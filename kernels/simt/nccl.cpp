// NCCL between the emulated devices of this process, sums of floats. Every rank of a group must take part in a
// collective between one pair of ncclGroupStart and ncclGroupEnd, and all with the same sizes: what would hang on a
// real machine is ncclInvalidUsage here. Source: NCCL documentation, "Group Calls" and "Collective Operations".
#include <nccl.h>

#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "kernels/simt/device.hpp"

namespace simt = sextant::bench::simt;

namespace {

enum class Kind { all_reduce, all_gather, reduce_scatter, broadcast, send, receive };

struct Call {
    Kind kind;
    int peer;  ///< root, or the other side
    float const* from;
    float* to;
    std::size_t count;
    cudaStream_t stream;
};

struct Group {
    std::vector<ncclComm*> ranks;  ///< null: not yet joined
};

}  // namespace

struct ncclComm {
    std::shared_ptr<Group> group;
    int rank = 0, device = 0;
    std::vector<Call> calls;  ///< of the group call that is open
};

namespace {

int depth = 0;
std::map<int, std::shared_ptr<Group>> groups;  ///< by the number in their unique id
std::vector<std::shared_ptr<Group>> touched;   ///< by the group call that is open

bool reads_all(Kind kind) { return kind != Kind::all_gather && kind != Kind::reduce_scatter; }

/// Whether the call's memory is its device's and large enough.
bool held(Call const& call, std::size_t ranks) {
    std::size_t const bytes = call.count * sizeof(float);
    std::size_t const from = call.kind == Kind::reduce_scatter ? ranks * bytes : bytes;
    std::size_t const to = call.kind == Kind::all_gather ? ranks * bytes : bytes;
    return (call.kind == Kind::receive || simt::on_device(call.from, from)) &&
           (call.kind == Kind::send || simt::on_device(call.to, to));
}

/// One collective of every rank. Sums are taken before anything is written: send and receive buffers may be the same.
void run_collective(std::vector<Call> const& calls) {
    Call const& first = calls.front();
    std::size_t const ranks = calls.size(), whole = reads_all(first.kind) ? first.count : ranks * first.count;
    std::vector<float> result(whole, 0.0f);
    if (first.kind == Kind::all_reduce || first.kind == Kind::reduce_scatter) {
        for (Call const& call : calls)
            for (std::size_t i = 0; i < whole; ++i)
                result[i] += call.from[i];
    } else if (first.kind == Kind::all_gather) {
        for (std::size_t rank = 0; rank < ranks; ++rank)
            std::copy_n(calls[rank].from, first.count,
                        result.begin() + static_cast<std::ptrdiff_t>(rank * first.count));
    } else {
        std::copy_n(calls[static_cast<std::size_t>(first.peer)].from, whole, result.begin());
    }
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        std::size_t const begin = first.kind == Kind::reduce_scatter ? rank * first.count : 0;
        std::size_t const count = first.kind == Kind::reduce_scatter ? first.count : whole;
        std::copy_n(result.begin() + static_cast<std::ptrdiff_t>(begin), count, calls[rank].to);
    }
}

/// The n-th send of one rank to another meets the n-th receive of that one from the first.
bool pair_up(std::vector<std::vector<Call>> const& of_rank, std::vector<std::pair<Call, Call>>& pairs) {
    std::map<std::pair<int, int>, std::vector<Call>> sent, received;
    for (int rank = 0; rank < static_cast<int>(of_rank.size()); ++rank)
        for (Call const& call : of_rank[static_cast<std::size_t>(rank)])
            call.kind == Kind::send ? sent[{rank, call.peer}].push_back(call)
                                    : received[{call.peer, rank}].push_back(call);
    if (sent.size() != received.size()) return false;
    for (auto const& [way, calls] : sent) {
        auto const& others = received[way];
        if (others.size() != calls.size()) return false;
        for (std::size_t i = 0; i < calls.size(); ++i) {
            if (calls[i].count != others[i].count) return false;
            pairs.emplace_back(calls[i], others[i]);
        }
    }
    return true;
}

ncclResult_t finish_group(Group& group) {
    std::vector<std::vector<Call>> of_rank;
    std::vector<cudaStream_t> streams;
    for (ncclComm* const comm : group.ranks) {
        if (comm == nullptr) return ncclInvalidUsage;  // a rank that never joined: a hang
        of_rank.push_back(std::exchange(comm->calls, {}));
    }
    if (of_rank.front().empty()) return ncclSuccess;
    for (auto const& calls : of_rank) {
        if (calls.empty()) return ncclInvalidUsage;
        for (Call const& call : calls)
            if (call.stream != calls.front().stream || !held(call, of_rank.size())) return ncclInvalidArgument;
        streams.push_back(calls.front().stream);
    }
    Kind const kind = of_rank.front().front().kind;
    if (kind == Kind::send || kind == Kind::receive) {
        std::vector<std::pair<Call, Call>> pairs;
        if (!pair_up(of_rank, pairs)) return ncclInvalidUsage;
        simt::enqueue_together(streams, [pairs] {
            for (auto const& [from, to] : pairs)
                std::memmove(to.to, from.from, from.count * sizeof(float));
        });
        return ncclSuccess;
    }
    std::vector<Call> calls;
    for (auto const& of : of_rank) {
        if (of.size() != 1 || of[0].kind != kind || of[0].count != of_rank[0][0].count ||
            of[0].peer != of_rank[0][0].peer)
            return ncclInvalidUsage;
        calls.push_back(of[0]);
    }
    simt::enqueue_together(streams, [calls] { run_collective(calls); });
    return ncclSuccess;
}

ncclResult_t add(ncclComm_t comm, Call const& call, ncclDataType_t type) {
    if (type != ncclFloat || simt::device_of(call.stream) != comm->device) return ncclInvalidArgument;
    ncclGroupStart();
    comm->calls.push_back(call);
    touched.push_back(comm->group);
    return ncclGroupEnd();
}

}  // namespace

extern "C" {

char const* ncclGetErrorString(ncclResult_t result) {
    if (result == ncclSuccess) return "no error";
    if (result == ncclRemoteError) return "remote process exited or there was a network error";
    return result == ncclInvalidUsage ? "invalid usage" : "invalid argument";
}
char const* ncclGetLastError(ncclComm_t) { return "of the emulated device"; }
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* status) {
    *status = simt::collectives_fail() ? ncclRemoteError : ncclSuccess;
    return ncclSuccess;
}
ncclResult_t ncclGetVersion(int* version) {
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
    static int next = 0;
    std::memcpy(id->internal, &++next, sizeof next);
    return ncclSuccess;
}
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
    int number = 0;
    std::memcpy(&number, id.internal, sizeof number);
    auto& group = groups[number];
    if (!group) group = std::make_shared<Group>(Group{std::vector<ncclComm*>(static_cast<std::size_t>(ranks))});
    if (number == 0 || rank < 0 || rank >= ranks || group->ranks.size() != static_cast<std::size_t>(ranks) ||
        group->ranks[static_cast<std::size_t>(rank)] != nullptr)
        return ncclInvalidArgument;
    auto* const joined = new ncclComm{group, rank, 0, {}};
    cudaGetDevice(&joined->device);
    group->ranks[static_cast<std::size_t>(rank)] = *comm = joined;
    ncclGroupStart();
    touched.push_back(group);
    return ncclGroupEnd();
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
    comm->group->ranks[static_cast<std::size_t>(comm->rank)] = nullptr;
    delete comm;
    return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
    ++depth;
    return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
    if (depth == 0) return ncclInvalidUsage;
    if (--depth > 0) return ncclSuccess;
    ncclResult_t result = ncclSuccess;
    for (auto const& group : std::exchange(touched, {}))
        if (ncclResult_t const one = finish_group(*group); one != ncclSuccess) result = one;
    return result;
}

ncclResult_t ncclAllReduce(void const* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t operation,
                           ncclComm_t comm, cudaStream_t stream) {
    if (operation != ncclSum) return ncclInvalidArgument;
    return add(comm, {Kind::all_reduce, 0, static_cast<float const*>(from), static_cast<float*>(to), count, stream},
               type);
}
ncclResult_t ncclAllGather(void const* from, void* to, std::size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
    return add(comm, {Kind::all_gather, 0, static_cast<float const*>(from), static_cast<float*>(to), count, stream},
               type);
}
ncclResult_t ncclReduceScatter(void const* from, void* to, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
    if (operation != ncclSum) return ncclInvalidArgument;
    return add(comm, {Kind::reduce_scatter, 0, static_cast<float const*>(from), static_cast<float*>(to), count, stream},
               type);
}
ncclResult_t ncclBroadcast(void const* from, void* to, std::size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
    return add(comm, {Kind::broadcast, root, static_cast<float const*>(from), static_cast<float*>(to), count, stream},
               type);
}
ncclResult_t ncclSend(void const* from, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
    return add(comm, {Kind::send, peer, static_cast<float const*>(from), nullptr, count, stream}, type);
}
ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
    return add(comm, {Kind::receive, peer, nullptr, static_cast<float*>(to), count, stream}, type);
}

}  // extern "C"
