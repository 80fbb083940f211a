#include "cli/calibrate/child_process.hpp"

#include "core/end_with_parent.hpp"
#include "core/error.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>

namespace sextant::cli {
namespace {

/// Both ends of a pipe, which no program inherits.
std::array<int, 2> make_pipe(std::string const& program) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw InputError("{}: no pipe to it ({})", program, std::strerror(errno));
    return ends;
}

/// The child's part: what happens between fork and exec. @param output its standard output; -1: ours
[[noreturn]] void become(char* const* argv, int output, int fault, pid_t parent) {
    end_with_parent(parent, 1);  // a benchmark that nobody waits for would spoil the next one's times
    if (output >= 0) dup2(output, STDOUT_FILENO);
    execv(argv[0], argv);
    int const why = errno;
    static_cast<void>(!write(fault, &why, sizeof why));
    _exit(127);
}

/// Starts a program that ends with this process, however that ends. @param output as above
pid_t start(std::string const& program, std::vector<std::string> const& arguments, int output) {
    std::vector<std::string> words{program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    std::array<int, 2> const fault = make_pipe(program);
    pid_t const parent = getpid();
    pid_t const child = fork();
    if (child == 0) become(argv.data(), output, fault[1], parent);
    int why = child < 0 ? errno : 0;
    close(fault[1]);
    ssize_t got = 0;
    while (child > 0 && (got = read(fault[0], &why, sizeof why)) < 0 && errno == EINTR) {
    }
    close(fault[0]);
    if (child < 0 || got > 0) {
        if (child > 0) waitpid(child, nullptr, 0);
        throw InputError("{}: cannot be started ({})", program, std::strerror(why));
    }
    return child;
}

ChildEnd end_of(int status) {
    if (WIFSIGNALED(status)) {
        int const signal = WTERMSIG(status);
        return {.code = 128 + signal, .interrupted = signal == SIGINT || signal == SIGTERM};
    }
    return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128, .interrupted = false};
}

}  // namespace

ChildEnd run_child(std::string const& program, std::vector<std::string> const& arguments, std::atomic<bool> const& stop,
                   Seconds limit) {
    using Clock = std::chrono::steady_clock;
    pid_t const child = start(program, arguments, -1);
    auto const started = Clock::now();
    bool told = false;
    bool late = false;
    int waits_since = 0;
    // A handler set by std::signal restarts waitpid, so a wait without end would not see `stop`.
    constexpr timespec pause{.tv_sec = 0, .tv_nsec = 20'000'000};
    constexpr int patience = 35;  // waits: 0.7 s
    for (int status = 0;;) {
        pid_t const done = waitpid(child, &status, WNOHANG);
        if (done == child) {
            ChildEnd end = end_of(status);
            end.late = late;
            end.interrupted = (end.interrupted || told) && !late;
            return end;
        }
        if (done < 0 && errno != EINTR)
            throw InputError("{}: cannot be waited for ({})", program, std::strerror(errno));
        late = late || (!told && std::chrono::duration<double>(Clock::now() - started).count() > limit.base());
        if ((late || stop.load(std::memory_order_relaxed)) && !told) {
            kill(child, SIGTERM);
            told = true;
        }
        if (told && ++waits_since == patience) kill(child, SIGKILL);  // it hangs
        nanosleep(&pause, nullptr);
    }
}

ChildEnd child_output(std::string const& program, std::vector<std::string> const& arguments, std::string& output) {
    std::array<int, 2> const ends = make_pipe(program);
    pid_t child = 0;
    try {
        child = start(program, arguments, ends[1]);
    } catch (...) {
        close(ends[0]);
        close(ends[1]);
        throw;
    }
    close(ends[1]);
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0; (got = read(ends[0], buffer.data(), buffer.size())) != 0;) {
        if (got > 0)
            output.append(buffer.data(), static_cast<std::size_t>(got));
        else if (errno != EINTR)
            break;
    }
    close(ends[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return end_of(status);
}

}  // namespace sextant::cli
