#include "kernels/host/process_group.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <new>
#include <stdexcept>

#include "kernels/harness/collective_bytes.hpp"
#include "kernels/harness/errors.hpp"
#include "kernels/harness/stop_rule.hpp"

namespace sextant::bench {
namespace {

constexpr int stop_command = -1;

void* shared_memory(std::size_t bytes) {
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        throw std::runtime_error("no shared memory of " + std::to_string(bytes) + " bytes: " + std::strerror(errno));
    return memory;
}

int number_of(std::string const& collective) {
    for (std::size_t i = 0; i < std::size(collective_names); ++i)
        if (collective == collective_names[i]) return static_cast<int>(i);
    throw BadInput("no collective \"" + collective + "\"");
}

}  // namespace

/// Barrier and command, in memory that all processes see.
struct ProcessGroup::Shared {
    std::atomic<std::int64_t> arrived{0};
    std::atomic<std::int64_t> generation{0};
    std::atomic<int> command{0};
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free, "a lock would not work between processes");

ProcessGroup::ProcessGroup(std::int64_t ranks, std::int64_t elements) : ranks_(ranks), elements_(elements) {
    if (ranks < 1 || elements < ranks || elements % ranks != 0)
        throw BadInput("a process group needs a multiple of its " + std::to_string(ranks) + " ranks as elements, not " +
                       std::to_string(elements));
}

/// From the first line on the destructor runs, whatever is thrown.
ProcessGroup::ProcessGroup(std::int64_t ranks, std::int64_t elements,
                           std::function<void(std::int64_t, float*)> const& fill)
    : ProcessGroup(ranks, elements) {
    shared_ = new (shared_memory(sizeof(Shared))) Shared;
    buffers_ = static_cast<float*>(shared_memory(buffer_bytes()));
    children_.reserve(static_cast<std::size_t>(ranks));  // none may be lost between its start and the list
    pid_t const parent = getpid();
    for (std::int64_t rank = 1; rank < ranks; ++rank) {
        pid_t const child = fork();
        if (child < 0)
            throw std::runtime_error("no process for rank " + std::to_string(rank) + " of " + std::to_string(ranks) +
                                     ": " + std::strerror(errno));
        if (child > 0) {
            children_.push_back(child);
            continue;
        }
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);  // the parent died before the line above
        int status = 0;
        try {
            set_up(rank, fill);
            serve(rank);
        } catch (...) {  // which must not go on to what the parent does
            status = 1;
        }
        _exit(status);
    }
    set_up(0, fill);
    wait_for_all(0);
}

ProcessGroup::~ProcessGroup() {
    // A dead process would keep the others waiting for ever, so nobody is asked: all are ended and collected.
    for (int const child : children_)
        kill(child, SIGKILL);
    for (int const child : children_)
        waitpid(child, nullptr, 0);
    if (buffers_ != nullptr) munmap(buffers_, buffer_bytes());
    if (shared_ != nullptr) munmap(shared_, sizeof(Shared));
}

double ProcessGroup::run(std::string const& collective) {
    int const command = number_of(collective);
    shared_->command.store(command);
    wait_for_all(0);
    double const start = steady_seconds();
    perform(command, 0);
    wait_for_all(0);
    return steady_seconds() - start;
}

float const* ProcessGroup::received(std::int64_t rank) const { return buffers_ + (ranks_ + rank) * elements_; }

void ProcessGroup::set_up(std::int64_t rank, std::function<void(std::int64_t, float*)> const& fill) {
    fill(rank, buffers_ + rank * elements_);
    std::memset(buffers_ + (ranks_ + rank) * elements_, 0, static_cast<std::size_t>(elements_) * sizeof(float));
}

void ProcessGroup::serve(std::int64_t rank) {
    wait_for_all(rank);
    while (true) {
        wait_for_all(rank);
        int const command = shared_->command.load();
        if (command == stop_command) return;
        perform(command, rank);
        wait_for_all(rank);
    }
}

/// Spins for a while, then gives the processor away: there may be more ranks than processors.
void ProcessGroup::wait_for_all(std::int64_t rank) {
    std::int64_t const generation = shared_->generation.load();
    if (shared_->arrived.fetch_add(1) + 1 == ranks_) {
        shared_->arrived.store(0);
        shared_->generation.fetch_add(1);
        return;
    }
    for (std::int64_t turns = 1; shared_->generation.load() == generation; ++turns) {
        if (turns % 64 == 0) sched_yield();
        if (rank == 0 && turns % 65536 == 0) check_children();
    }
}

void ProcessGroup::check_children() {
    for (auto child = children_.begin(); child != children_.end(); ++child)
        if (waitpid(*child, nullptr, WNOHANG) != 0) {
            children_.erase(child);  // its number may be another process's now
            throw std::runtime_error("a process of the collective has died");
        }
}

void ProcessGroup::perform(int collective, std::int64_t rank) {
    std::int64_t const part = elements_ / ranks_;
    auto const send = [&](std::int64_t r) { return buffers_ + r * elements_; };
    auto const receive = [&](std::int64_t r) { return buffers_ + (ranks_ + r) * elements_; };
    auto const copy = [](float* to, float const* from, std::int64_t count) {
        std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
    };
    auto const sum_own_part = [&] {
        float* const to = receive(rank) + rank * part;
        copy(to, send(0) + rank * part, part);
        for (std::int64_t r = 1; r < ranks_; ++r) {
            float const* const from = send(r) + rank * part;
            for (std::int64_t i = 0; i < part; ++i)
                to[i] += from[i];
        }
    };
    std::string const name = collective_names[collective];
    if (name == "all_reduce") {
        sum_own_part();
        wait_for_all(rank);
        for (std::int64_t step = 1; step < ranks_; ++step) {
            std::int64_t const r = (rank + step) % ranks_;
            copy(receive(rank) + r * part, receive(r) + r * part, part);
        }
    } else if (name == "all_gather") {
        for (std::int64_t step = 0; step < ranks_; ++step) {
            std::int64_t const r = (rank + step) % ranks_;
            copy(receive(rank) + r * part, send(r) + r * part, part);
        }
    } else if (name == "reduce_scatter") {
        sum_own_part();
    } else if (name == "all_to_all") {
        for (std::int64_t step = 0; step < ranks_; ++step) {
            std::int64_t const r = (rank + step) % ranks_;
            copy(receive(rank) + r * part, send(r) + rank * part, part);
        }
    } else if (name == "broadcast") {
        copy(receive(rank), send(0), elements_);
    } else {
        copy(receive(rank), send((rank + ranks_ - 1) % ranks_), elements_);
    }
}

double expected_element(std::string const& collective, std::int64_t rank, std::int64_t ranks, std::int64_t elements,
                        std::int64_t index, std::function<double(std::int64_t, std::int64_t)> const& send) {
    std::int64_t const part = elements / ranks;
    if (collective == "all_gather") return send(index / part, index);
    if (collective == "all_to_all") return send(index / part, rank * part + index % part);
    if (collective == "broadcast") return send(0, index);
    if (collective == "send_recv") return send((rank + ranks - 1) % ranks, index);
    double sum = 0;
    for (std::int64_t r = 0; r < ranks; ++r)
        sum += send(r, index);
    return sum;
}

Part defined_part(std::string const& collective, std::int64_t rank, std::int64_t ranks, std::int64_t elements) {
    std::int64_t const part = elements / ranks;
    return collective == "reduce_scatter" ? Part{rank * part, (rank + 1) * part} : Part{0, elements};
}

}  // namespace sextant::bench
