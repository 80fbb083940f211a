#include "cli/sweep/worker_pool.hpp"

#include "cli/sweep/row_bytes.hpp"
#include "core/end_with_parent.hpp"
#include "core/error.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace sextant::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// All of `bytes` into a socket; false when the other end is gone.
bool send_all(int socket, std::string_view bytes) {
    while (!bytes.empty()) {
        ssize_t const sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

bool receive_point(int socket, std::int64_t& point) {
    std::size_t got = 0;
    while (got < sizeof point) {
        ssize_t const n = recv(socket, reinterpret_cast<char*>(&point) + got, sizeof point - got, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        got += static_cast<std::size_t>(n);
    }
    return true;
}

/// Standard input and output lead nowhere: a command writes to the streams it is given.
void silence() {
    int const nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere < 0) return;
    dup2(nowhere, STDIN_FILENO);
    dup2(nowhere, STDOUT_FILENO);
    close(nowhere);
}

/// A worker's life: a point comes in, its row goes out, until the other end closes.
[[noreturn]] void live(WorkerPool::Evaluate const& evaluate, int socket, pid_t parent) {
    end_with_parent(parent, 1);
    setpgid(0, 0);  // a terminal's Ctrl-C is the parent's business
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    rlimit const none{};
    setrlimit(RLIMIT_CORE, &none);
    silence();
    try {
        std::int64_t point = 0;
        while (receive_point(socket, point)) {
            std::string bytes;
            append_row(bytes, evaluate(point));
            if (!send_all(socket, bytes)) break;
        }
    } catch (...) {
        _exit(1);
    }
    _exit(0);
}

std::string death_of(int status) {
    if (WIFSIGNALED(status)) {
        char const* const name = sigabbrev_np(WTERMSIG(status));
        return fmt::format("the process was killed by SIG{}",
                           name != nullptr ? name : std::to_string(WTERMSIG(status)).c_str());
    }
    return fmt::format("the process ended with status {}", WEXITSTATUS(status));
}

/// Points that a worker has before it, in time: enough that it need not wait for us, little enough to share out evenly.
constexpr double seconds_ahead = 0.03;
constexpr std::size_t deepest = 128;

}  // namespace

WorkerPool::WorkerPool(Evaluate evaluate, unsigned workers, Seconds limit)
    : evaluate_(std::move(evaluate)), limit_(limit), workers_(workers) {
    for (Worker& worker : workers_)
        start(worker);
    last_measured_ = Clock::now();
}

WorkerPool::~WorkerPool() {
    for (Worker& worker : workers_)
        stop(worker);
}

void WorkerPool::start(Worker& worker) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        throw InputError("sweep: no connection to a worker ({})", std::strerror(errno));
    pid_t const parent = getpid();
    pid_t const child = fork();
    if (child < 0) {
        close(ends[0]);
        close(ends[1]);
        throw InputError("sweep: no worker could be started ({})", std::strerror(errno));
    }
    if (child == 0) {
        close(ends[0]);
        for (Worker const& other : workers_)
            if (other.socket >= 0) close(other.socket);
        live(evaluate_, ends[1], parent);
    }
    close(ends[1]);
    setpgid(child, child);
    worker.process = child;
    worker.socket = ends[0];
    worker.received.clear();
}

void WorkerPool::stop(Worker& worker) noexcept {
    if (worker.socket >= 0) close(worker.socket);
    if (worker.process > 0) {
        kill(-worker.process, SIGKILL);
        kill(worker.process, SIGKILL);
        while (waitpid(worker.process, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
    worker.socket = -1;
    worker.process = -1;
}

std::size_t WorkerPool::depth() const {
    double const points = seconds_ahead / std::max(seconds_per_point_, 1e-6);
    return std::clamp<std::size_t>(static_cast<std::size_t>(points), 1, deepest);
}

std::int64_t WorkerPool::wanted() const {
    auto const capacity = static_cast<std::int64_t>(depth() * workers_.size());
    return std::max<std::int64_t>(0, capacity - pending_);
}

void WorkerPool::submit(std::int64_t point) {
    waiting_.push_back(point);
    ++pending_;
}

void WorkerPool::hand_out() {
    while (!waiting_.empty()) {
        auto const least = std::min_element(workers_.begin(), workers_.end(), [](Worker const& a, Worker const& b) {
            return a.given.size() < b.given.size();
        });
        if (least->given.size() >= depth()) return;
        std::int64_t const point = waiting_.front();
        std::string_view const bytes(reinterpret_cast<char const*>(&point), sizeof point);
        if (least->given.empty()) least->begun = Clock::now();
        least->given.push_back(point);
        waiting_.pop_front();
        if (!send_all(least->socket, bytes)) return;  // it is dead: `receive` will see it
    }
}

void WorkerPool::bury(Worker& worker, std::vector<SweepRow>& rows) {
    int status = 0;
    while (waitpid(worker.process, &status, 0) < 0 && errno == EINTR) {
    }
    kill(-worker.process, SIGKILL);  // what it started
    worker.process = -1;
    if (++deaths_in_a_row_ > 100) throw InputError("sweep: workers keep dying ({})", death_of(status));
    if (!worker.given.empty()) fail_first(worker, rows, death_of(status));
    waiting_.insert(waiting_.begin(), worker.given.begin(), worker.given.end());
    worker.given.clear();
    close(worker.socket);
    worker.socket = -1;
    start(worker);
}

void WorkerPool::fail_first(Worker& worker, std::vector<SweepRow>& rows, std::string reason) {
    rows.push_back(
        {.point = worker.given.front(), .status = PointStatus::failed, .cells = {}, .reason = std::move(reason)});
    --pending_;
    worker.given.pop_front();
}

/// Replaces the workers whose first point has had its time; the points behind it go to others.
void WorkerPool::end_late(std::vector<SweepRow>& rows) {
    auto const now = Clock::now();
    for (Worker& worker : workers_) {
        if (worker.given.empty() || std::chrono::duration<double>(now - worker.begun).count() <= limit_.base())
            continue;
        stop(worker);
        fail_first(worker, rows, fmt::format("not finished within {:g} s", limit_.base()));
        waiting_.insert(waiting_.begin(), worker.given.begin(), worker.given.end());
        worker.given.clear();
        start(worker);
    }
}

void WorkerPool::receive(Worker& worker, std::vector<SweepRow>& rows) {
    std::array<char, 65536> buffer{};
    bool ended = false;
    for (;;) {
        ssize_t const n = recv(worker.socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (n > 0) {
            worker.received.append(buffer.data(), static_cast<std::size_t>(n));
            continue;
        }
        if (n < 0 && errno == EINTR) continue;
        ended = n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
        break;
    }
    std::string_view rest = worker.received;
    for (SweepRow row; take_row(rest, row);) {
        worker.given.pop_front();
        worker.begun = Clock::now();
        --pending_;
        ++since_measured_;
        deaths_in_a_row_ = 0;
        rows.push_back(std::move(row));
    }
    worker.received.erase(0, worker.received.size() - rest.size());
    if (ended) bury(worker, rows);
}

std::vector<SweepRow> WorkerPool::collect(std::chrono::milliseconds patience) {
    hand_out();
    std::vector<pollfd> watched;
    for (Worker const& worker : workers_)
        watched.push_back({.fd = worker.socket, .events = POLLIN, .revents = 0});
    std::vector<SweepRow> rows;
    int const ready = poll(watched.data(), watched.size(), static_cast<int>(patience.count()));
    for (std::size_t i = 0; i < workers_.size() && ready > 0; ++i)
        if (watched[i].revents != 0) receive(workers_[i], rows);
    end_late(rows);
    if (ready <= 0) {
        hand_out();
        return rows;
    }
    auto const now = Clock::now();
    double const elapsed = std::chrono::duration<double>(now - last_measured_).count();
    if (since_measured_ > 0 && (elapsed > 0.02 || since_measured_ >= static_cast<std::int64_t>(workers_.size()))) {
        double const measured = elapsed * static_cast<double>(workers_.size()) / static_cast<double>(since_measured_);
        seconds_per_point_ = 0.5 * seconds_per_point_ + 0.5 * measured;
        last_measured_ = now;
        since_measured_ = 0;
    }
    hand_out();
    return rows;
}

}  // namespace sextant::cli
