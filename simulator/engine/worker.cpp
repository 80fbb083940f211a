#include "simulator/engine/worker.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>

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
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(threw);  // it died before the line above
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

/// Waits until the process has ended or some milliseconds have passed.
void wait_a_while(int handle, int milliseconds) {
    pollfd watched{.fd = handle, .events = POLLIN, .revents = 0};
    poll(&watched, handle >= 0 ? 1 : 0, milliseconds);
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

}  // namespace

WorkerEnd run_in_worker(std::function<void()> const& work, WorkerLimits const& limits) {
    using Clock = std::chrono::steady_clock;
    auto const stopped = [&] { return limits.stop != nullptr && limits.stop->load(); };
    if (stopped()) return {.how = WorkerEnd::How::interrupted};

    Output const output;
    pid_t const self = getpid();
    auto const started = Clock::now();
    pid_t const worker = fork();
    if (worker < 0)
        return {.how = WorkerEnd::How::crashed,
                .message = fmt::format("no process could be started: {}", std::strerror(errno))};
    if (worker == 0) live(work, output.file(), self);

    auto const handle = static_cast<int>(syscall(SYS_pidfd_open, worker, 0));  // below zero: the waits are just short
    WorkerEnd end;
    int status = 0;
    while (!reap(worker, WNOHANG, status)) {
        bool const late = std::chrono::duration<double>(Clock::now() - started).count() > limits.time.base();
        if (stopped() || late) {
            end.how = stopped() ? WorkerEnd::How::interrupted : WorkerEnd::How::timed_out;
            kill(worker, SIGKILL);
            reap(worker, 0, status);
            break;
        }
        wait_a_while(handle, handle >= 0 ? 10 : 1);
    }
    if (handle >= 0) close(handle);
    if (end.how == WorkerEnd::How::done && status != 0)
        end = {.how = WorkerEnd::How::crashed, .message = death_of(status, output)};
    return end;
}

}  // namespace sextant
