// NCCL collectives in fp32 over 1..N devices of this process, or of all processes under mpirun. Sizes as in nccl-tests:
// `bytes` is the larger of a rank's send and receive buffers; gbps is the bus bandwidth. Out of place, by the clock of
// the host over 20 collectives in a row, or as many as take 50 ms; the slowest process counts.
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <numeric>

#include "kernels/cuda/busy_clocks.hpp"
#include "kernels/cuda/catalog.hpp"
#include "kernels/cuda/device_timer.hpp"
#include "kernels/cuda/nccl_group.hpp"
#include "kernels/cuda/runtime.hpp"
#include "kernels/harness/collective_bytes.hpp"
#include "kernels/harness/errors.hpp"
#include "kernels/harness/generated_values.hpp"
#include "kernels/harness/relative_error.hpp"
#include "kernels/harness/shapes.hpp"
#include "kernels/harness/world.hpp"
#include "kernels/host/process_group.hpp"

namespace sextant::bench {
namespace {

/// Bytes that are free on every device of every process.
std::int64_t least_free_bytes(int devices) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (int device = 0; device < devices; ++device)
        least = std::min(least, free_bytes_of_another(device));
    return static_cast<std::int64_t>(-world().largest(-static_cast<double>(least)));
}

/// @throws BadInput, in every process, where they have different numbers of devices: each would list other groups, and
/// wait for ranks that never come.
void require_equal_devices(int devices) {
    auto const most = static_cast<int>(world().largest(devices));
    auto const least = static_cast<int>(-world().largest(-devices));
    if (least != most)
        throw BadInput("--bench nccl: the processes have from " + std::to_string(least) + " to " +
                       std::to_string(most) + " devices (give each equally many by CUDA_VISIBLE_DEVICES)");
}

/// What rows of several devices in one process say: its thread launches on one after the other, and a short collective
/// takes as long as that does.
std::string launches_note(int local) {
    return local > 1 ? "; one thread launches on " + std::to_string(local) + " devices" : "";
}

/// Variables that tell NCCL what to do ("; NCCL_ALGO=Ring"), in alphabetical order: rows measured with them are others.
/// What it prints, and where it lies, is left out.
std::string settings_note() {
    std::vector<std::string> settings;
    for (char** one = environ; *one != nullptr; ++one) {
        std::string const setting = *one;
        bool const says_how = setting.starts_with("NCCL_") && !setting.starts_with("NCCL_DEBUG") &&
                              !setting.starts_with("NCCL_HOME=") && !setting.starts_with("NCCL_VERSION=");
        if (says_how) settings.push_back("; " + setting);
    }
    std::sort(settings.begin(), settings.end());
    return std::accumulate(settings.begin(), settings.end(), std::string());
}

std::vector<Problem> problems(Scope const& scope) {
    if (!NcclGroup::built()) throw Unavailable("built without NCCL");
    int const devices = device_facts(scope.device).devices, processes = world().size();
    require_equal_devices(devices);
    std::vector<std::int64_t> locals;
    if (processes > 1) {
        locals = {devices};
    } else {
        locals = shapes::rank_counts(devices);
        locals.insert(locals.begin(), 1);  // what a collective costs that moves nothing
    }
    bool const full = scope.effort == Effort::full;
    // Two buffers, and as much again for what the library takes (assumed).
    std::int64_t const most =
        std::min({scope.memory_limit / 4, least_free_bytes(devices) / 4, std::int64_t{full ? 4096 : 256} << 20});
    std::vector<Problem> all;
    for (char const* collective : collective_names)
        for (std::int64_t const local : locals) {
            std::int64_t const ranks = local * processes, least = std::max<std::int64_t>(1 << 10, ranks * aligned_part);
            for (std::int64_t const bytes : shapes::message_bytes(least, most, full ? 2 : 16)) {
                Problem problem;
                problem.kernel = collective;
                problem.dtype = "fp32";
                problem.shape.ranks = ranks;
                problem.shape.nodes = world().nodes();
                problem.shape.bytes = aligned_bytes(bytes, ranks);
                problem.bytes = bus_bytes(collective, problem.shape.bytes, ranks);
                double const one_s = 3e-5 + problem.bytes / 1e11;  // assumed
                problem.expected_s = one_s * collectives_in_a_row(one_s);
                all.push_back(problem);
            }
        }
    return all;
}

/// Where elements of [part.first, part.last) are compared: both ends of what is each rank's, of 16 ranks at most.
struct Stretch {
    std::int64_t first, count;
};
std::vector<Stretch> compared(Part part, std::int64_t of_rank, std::int64_t ranks) {
    std::vector<Stretch> all;
    std::int64_t const parts = (part.last - part.first) / of_rank, step = std::max<std::int64_t>(1, ranks / 16);
    std::int64_t const few = std::min<std::int64_t>(of_rank, 256);
    for (std::int64_t i = 0; i < parts + step - 1; i += step) {  // the last one too
        std::int64_t const first = part.first + std::min(i, parts - 1) * of_rank;
        all.push_back({first, few});
        all.push_back({first + of_rank - few, few});
    }
    return all;
}

double worst_error(NcclGroup const& group, Problem const& problem, std::uint64_t seed, int local) {
    std::int64_t const elements = problem.shape.bytes / 4, ranks = group.ranks();
    auto const sent = [&](std::int64_t rank, std::int64_t index) {
        return static_cast<double>(
            value_at(seed + static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(index)));
    };
    RelativeError error;
    for (int device = 0; device < local; ++device) {
        std::int64_t const rank = group.first_local_rank() + device;
        Part const part = defined_part(problem.kernel, rank, ranks, elements);
        for (auto const& [first, count] : compared(part, elements / ranks, ranks)) {
            auto const got = group.received(device, first, count);
            for (std::int64_t i = 0; i < count; ++i)
                error.add(static_cast<double>(got[static_cast<std::size_t>(i)]),
                          expected_element(problem.kernel, rank, ranks, elements, first + i, sent));
        }
    }
    return world().largest(error.largest());
}

/// Reads the clocks while the devices are busy for a millisecond or with one collective, which is not timed.
void read_while_busy(BusyClocks& clocks, NcclGroup& group, std::string const& collective, double seconds) {
    int const times = std::clamp(static_cast<int>(1e-3 / std::max(seconds, 1e-6)), 1, most_in_a_row);
    for (int i = 0; i < times; ++i)
        group.enqueue(collective);
    clocks.read();
    group.wait();
}

Timing measure(NcclGroup& group, std::string const& collective, StopRule const& rule) {
    BusyClocks clocks;
    auto const sample = [&](int in_a_row) {
        auto const watched = group.watch(collective);
        world().largest(0);  // all start together: the others would time how late one is
        double const start = steady_seconds();
        for (int i = 0; i < in_a_row; ++i)
            group.enqueue(collective);
        group.wait();
        double const seconds = world().largest((steady_seconds() - start) / in_a_row);
        read_while_busy(clocks, group, collective, seconds);
        return seconds;
    };
    int const in_a_row = collectives_in_a_row(sample(1));
    sample(in_a_row);
    clocks = {};
    Collected collected;
    double const start = steady_seconds();
    // Every process takes as many samples as the first one wants.
    do {
        collected.samples.push_back(sample(in_a_row));
        collected.ended = verdict(rule, collected.samples, steady_seconds() - start);
    } while (world().agree(collected.ended == Verdict::go_on));
    Timing timing;
    timing.seconds = summarise(collected.samples);
    timing.note = remark(rule, collected);
    clocks.describe(timing);
    return timing;
}

/// Groups are kept, since joining takes long, and never left: at the end of the process CUDA is gone before them. The
/// others give their buffers back.
std::shared_ptr<NcclGroup> group_of(int local, double stall_s) {
    static auto* const groups = new std::map<int, std::shared_ptr<NcclGroup>>;
    for (auto const& [ranks, other] : *groups)
        if (other && ranks != local) other->release_buffers();
    std::shared_ptr<NcclGroup>& group = (*groups)[local];
    if (!group) group = std::make_shared<NcclGroup>(local, stall_s);
    return group;
}

Prepared prepare(Problem const& problem, Scope const& scope) {
    int const local = static_cast<int>(problem.shape.ranks) / world().size();
    std::shared_ptr<NcclGroup> const group = group_of(local, scope.stall_s);
    group->set_buffers(problem.shape.bytes / 4, scope.seed);
    auto const watched = group->watch(problem.kernel);
    group->enqueue(problem.kernel);
    group->wait();
    Prepared prepared;
    prepared.max_rel_error = worst_error(*group, problem, scope.seed, local);
    prepared.tolerance = 1e-5;
    prepared.note = NcclGroup::version() + launches_note(local) + settings_note();
    prepared.measure = [group, collective = problem.kernel](Variant, StopRule const& rule) {
        return measure(*group, collective, rule);
    };
    return prepared;
}

}  // namespace

extern constinit Bench const cuda_nccl{
    .name = "nccl",
    .summary = "NCCL collectives over the GPUs of this machine, and of several under mpirun",
    .problems = problems,
    .prepare = prepare,
};

}  // namespace sextant::bench
