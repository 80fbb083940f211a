#include "python/call.hpp"

#include "cli/command.hpp"
#include "cli/interrupt.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <sstream>

namespace sextant::python {
namespace {

/// Of all calls of a process.
struct Calls {
    std::atomic<int> at_work{0};
    std::shared_timed_mutex copying;  ///< a call that copies the process has it alone, all others share it
};

std::atomic<Calls*>& calls_of_this_process() {
    static std::atomic<Calls*> calls{new Calls};  // never taken down: threads may outlive the end of `main`
    return calls;
}

constexpr std::chrono::milliseconds look_around{20};

}  // namespace

struct Call::State {
    std::vector<std::string> arguments;
    Progress heard = Progress::unheard;
    Calls& calls = *calls_of_this_process();
    std::atomic<bool> stop{false};
    std::mutex guard;
    std::condition_variable changed;
    std::vector<std::string> progress;
    bool ended = false;
    Answer answer;

    void tell(std::string const& text) {
        std::lock_guard const lock(guard);
        progress.push_back(text);
    }

    void ask() {
        std::ostringstream out;
        std::ostringstream err;
        cli::CommandContext context{out, err, &stop};
        if (heard == Progress::heard) context.progress = [this](std::string const& text) { tell(text); };
        answer.ending = cli::run_arguments(std::move(arguments), context);
        answer.report = std::move(out).str();
        answer.notes = std::move(err).str();
    }

    template <typename Lock>
    void ask_with(Lock lock) {
        while (!lock.try_lock_for(look_around))
            if (stop) {
                answer.ending.exit_code = cli::interrupted_exit;
                return;
            }
        ask();
    }

    void live() {
        if (!arguments.empty() && arguments.front() == "sweep")
            ask_with(std::unique_lock(calls.copying, std::defer_lock));
        else
            ask_with(std::shared_lock(calls.copying, std::defer_lock));
        --calls.at_work;
        std::lock_guard const lock(guard);
        ended = true;
        changed.notify_one();
    }
};

Call::Call(std::vector<std::string> arguments, Progress progress) : state_(std::make_shared<State>()) {
    state_->arguments = std::move(arguments);
    state_->heard = progress;
    ++state_->calls.at_work;
    try {
        thread_ = std::thread([state = state_] { state->live(); });
    } catch (...) {
        --state_->calls.at_work;
        throw;
    }
}

Call::~Call() {
    stop();
    std::unique_lock lock(state_->guard);
    bool const ended = state_->ended;
    lock.unlock();
    if (ended)
        thread_.join();
    else
        thread_.detach();
}

bool Call::wait(std::chrono::milliseconds time, std::vector<std::string>& progress) {
    std::unique_lock lock(state_->guard);
    state_->changed.wait_for(lock, time, [this] { return state_->ended; });
    progress.insert(progress.end(), state_->progress.begin(), state_->progress.end());
    state_->progress.clear();
    return state_->ended;
}

void Call::stop() { state_->stop = true; }

Answer const& Call::answer() const { return state_->answer; }

int Call::at_work() { return calls_of_this_process().load()->at_work; }

void Call::forget_all() { calls_of_this_process() = new Calls; }

}  // namespace sextant::python
