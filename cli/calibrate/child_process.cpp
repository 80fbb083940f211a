#include "cli/calibrate/child_process.hpp"

#include "core/error.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>

extern char** environ;

namespace sextant::cli {
namespace {

pid_t start(std::string const& program, std::vector<std::string> const& arguments,
            posix_spawn_file_actions_t const* actions) {
    std::vector<std::string> words{program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_t child = 0;
    if (int const fault = posix_spawn(&child, program.c_str(), actions, nullptr, argv.data(), environ); fault != 0)
        throw InputError("{}: cannot be started ({})", program, std::strerror(fault));
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
    pid_t const child = start(program, arguments, nullptr);
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
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw InputError("{}: no pipe to it ({})", program, std::strerror(errno));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    pid_t child = 0;
    try {
        child = start(program, arguments, &actions);
    } catch (...) {
        posix_spawn_file_actions_destroy(&actions);
        close(ends[0]);
        close(ends[1]);
        throw;
    }
    posix_spawn_file_actions_destroy(&actions);
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
