#include "simulator/engine/worker.hpp"

#include "core/end_with_parent.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>

namespace sextant {

SharedMemory::SharedMemory(std::size_t bytes) : bytes_(std::max<std::size_t>(bytes, 1)) {
    void* const memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    begin_ = static_cast<std::byte*>(memory);
}

SharedMemory::~SharedMemory() { munmap(begin_, bytes_); }

namespace {

constexpr int threw = 70;  // exit status of a worker whose work threw

/// A file without a name that takes what a worker prints.
class Output {
public:
    Output() : file_(memfd_create("sextant-worker", MFD_CLOEXEC)) {}
    ~Output() {
        if (file_ >= 0) close(file_);
    }
    Output(Output const&) = delete;
    Output& operator=(Output const&) = delete;
    [[nodiscard]] int file() const { return file_; }
    [[nodiscard]] std::string first_line() const {
        std::array<char, 400> text{};
        ssize_t const length = file_ >= 0 ? pread(file_, text.data(), text.size(), 0) : 0;
        char const* const end = std::find(text.data(), text.data() + std::max<ssize_t>(length, 0), '\n');
        return {text.data(), static_cast<std::size_t>(end - text.data())};
    }

private:
    int file_;
};

/// The worker's life. Between the fork and `work` only what may be called in a copy of one thread of several.
[[noreturn]] void live(std::function<void()> const& work, int output, pid_t parent) {
    end_with_parent(parent, threw);
    // A terminal's Ctrl-C reaches this process too; the one that started it decides.
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGTERM, SIG_DFL);
    rlimit const none{};
    setrlimit(RLIMIT_CORE, &none);
    if (output >= 0) {
        dup2(output, STDOUT_FILENO);
        dup2(output, STDERR_FILENO);
    }
    try {
        work();
    } catch (std::exception const& error) {
        ssize_t const written = write(STDERR_FILENO, error.what(), std::strlen(error.what()));
        _exit(written < 0 ? threw + 1 : threw);
    }
    _exit(0);
}

/// Waits until the process has ended, it has sent something, or some milliseconds have passed. Descriptors below zero
/// are not looked at.
void wait_a_while(int handle, int line, int milliseconds) {
    std::array<pollfd, 2> watched{pollfd{.fd = handle, .events = POLLIN, .revents = 0},
                                  pollfd{.fd = line, .events = POLLIN, .revents = 0}};
    poll(watched.data(), watched.size(), milliseconds);
}

/// Exit status if the process has ended. @param flags of waitpid.
bool reap(pid_t worker, int flags, int& status) {
    pid_t ended = 0;
    do
        ended = waitpid(worker, &status, flags);
    while (ended < 0 && errno == EINTR);
    return ended != 0;
}

std::string death_of(int status, Output const& output) {
    std::string text;
    if (WIFSIGNALED(status)) {
        char const* const name = sigabbrev_np(WTERMSIG(status));
        text = fmt::format("killed by SIG{}", name != nullptr ? name : std::to_string(WTERMSIG(status)).c_str());
    } else if (WEXITSTATUS(status) != threw) {
        text = fmt::format("ended with status {}", WEXITSTATUS(status));
    }
    std::string const line = output.first_line();
    if (line.empty()) return text;
    return text.empty() ? line : fmt::format("{}: {}", text, line);
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Whether a worker has had its time, by the clock or by an interrupt.
class Patience {
public:
    explicit Patience(WorkerLimits const& limits) : limits_(limits), started_(Clock::now()) {}
    [[nodiscard]] bool stopped() const { return limits_.stop != nullptr && limits_.stop->load(); }
    /// Why to end the worker, `done` if it may go on.
    WorkerEnd::How verdict() {
        if (stopped()) {
            if (limits_.ask == nullptr) return WorkerEnd::How::interrupted;
            if (!limits_.ask->exchange(true)) asked_ = Clock::now();
            if (seconds_since(asked_) > limits_.grace.base()) return WorkerEnd::How::interrupted;
        }
        return seconds_since(started_) > limits_.time.base() ? WorkerEnd::How::timed_out : WorkerEnd::How::done;
    }

private:
    WorkerLimits const& limits_;
    Clock::time_point started_;
    Clock::time_point asked_{};
};

/// A worker process, which is gone at the end of this.
class Worker {
public:
    explicit Worker(pid_t process)
        : process_(process), handle_(static_cast<int>(syscall(SYS_pidfd_open, process, 0))) {}
    Worker(Worker const&) = delete;
    Worker& operator=(Worker const&) = delete;
    ~Worker() {
        if (!gone_) end();
        if (handle_ >= 0) close(handle_);
    }
    [[nodiscard]] bool gone() { return gone_ = gone_ || reap(process_, WNOHANG, status_); }
    void end() {
        kill(process_, SIGKILL);
        reap(process_, 0, status_);
        gone_ = true;
    }
    /// Without a handle the waits are just short.
    void wait(int line) const { wait_a_while(handle_, line, handle_ >= 0 ? 10 : 1); }
    [[nodiscard]] int status() const { return status_; }

private:
    pid_t process_;
    int handle_;
    int status_ = 0;
    bool gone_ = false;
};

/// A pipe from a worker, or none.
class Line {
public:
    enum class Wanted : std::uint8_t { no, yes };
    explicit Line(Wanted wanted) {
        if (wanted == Wanted::no) return;
        if (pipe2(ends_.data(), O_CLOEXEC) != 0) throw std::bad_alloc();
        fcntl(ends_[0], F_SETFL, O_NONBLOCK);
    }
    ~Line() {
        close_writer();
        if (ends_[0] >= 0) close(ends_[0]);
    }
    Line(Line const&) = delete;
    Line& operator=(Line const&) = delete;
    [[nodiscard]] int reader() const { return ends_[0]; }
    [[nodiscard]] int writer() const { return ends_[1]; }
    void close_writer() {
        if (ends_[1] >= 0) close(ends_[1]);
        ends_[1] = -1;
    }
    /// All that is there.
    void drain(std::function<void(std::span<std::byte const>)> const& receive) {
        std::array<std::byte, 65536> bytes;
        while (ends_[0] >= 0) {
            ssize_t const length = read(ends_[0], bytes.data(), bytes.size());
            if (length < 0 && errno == EINTR) continue;
            if (length < 0) return;
            if (length == 0) {  // closed by the worker: nothing to poll for any more
                close(ends_[0]);
                ends_[0] = -1;
                return;
            }
            receive(std::span(bytes).first(static_cast<std::size_t>(length)));
        }
    }

private:
    std::array<int, 2> ends_{-1, -1};
};

WorkerEnd run(std::function<void(int)> const& work, WorkerLimits const& limits, Line& line,
              std::function<void(std::span<std::byte const>)> const& receive) {
    Patience patience(limits);
    if (patience.stopped()) return {.how = WorkerEnd::How::interrupted};
    Output const output;
    pid_t const self = getpid();
    pid_t const process = fork();
    if (process < 0)
        return {.how = WorkerEnd::How::crashed,
                .message = fmt::format("no process could be started: {}", std::strerror(errno))};
    if (process == 0) live([&] { work(line.writer()); }, output.file(), self);

    Worker worker(process);
    line.close_writer();
    WorkerEnd end;
    while (!worker.gone()) {
        end.how = patience.verdict();
        if (end.how != WorkerEnd::How::done) {
            worker.end();
            break;
        }
        worker.wait(line.reader());
        line.drain(receive);
    }
    line.drain(receive);
    if (end.how == WorkerEnd::How::done && worker.status() != 0)
        end = {.how = WorkerEnd::How::crashed, .message = death_of(worker.status(), output)};
    return end;
}

}  // namespace

void WorkerLine::send(std::span<std::byte const> bytes) {
    constexpr std::size_t enough = 1 << 15;
    collected_.insert(collected_.end(), bytes.begin(), bytes.end());
    if (collected_.size() >= enough) flush();
}

void WorkerLine::flush() {
    for (std::span<std::byte const> left = collected_; !left.empty();) {
        ssize_t const written = write(file_, left.data(), left.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) throw std::runtime_error(fmt::format("nobody listens: {}", std::strerror(errno)));
        left = left.subspan(static_cast<std::size_t>(written));
    }
    collected_.clear();
}

WorkerEnd run_in_worker(std::function<void()> const& work, WorkerLimits const& limits) {
    Line none(Line::Wanted::no);
    return run([&](int) { work(); }, limits, none, {});
}

WorkerEnd run_in_worker(std::function<void(WorkerLine&)> const& work, WorkerLimits const& limits,
                        std::function<void(std::span<std::byte const>)> const& receive) {
    Line pipe(Line::Wanted::yes);
    auto const send_all = [&](int writer) {
        WorkerLine line(writer);
        work(line);
        line.flush();
    };
    return run(send_all, limits, pipe, receive);
}

}  // namespace sextant
