#pragma once

#include "cli/run.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace sextant::python {

/// What came of a question.
struct Answer {
    cli::Ending ending;  ///< as of the program
    std::string report;  ///< what the program would print
    std::string notes;   ///< warnings, and why an answer is no
};

/// One command of the program, at work on a thread of its own, so that the thread that asked may wait for other things
/// (signals, progress) too. Several may be at work at a time; 'sweep', which copies the process for its workers, waits
/// until it is alone: what a thread of another call holds locked then would be locked in the copy for good.
class Call {
public:
    enum class Progress : std::uint8_t { unheard, heard };

    /// @param arguments as of the program, the command first.
    Call(std::vector<std::string> arguments, Progress progress);
    /// Of a call that is still at work: leaves it to end by itself, its answer lost.
    ~Call();
    Call(Call const&) = delete;
    Call& operator=(Call const&) = delete;

    /// Waits until the call has ended or this time is over. Returns whether it has ended; appends what it told to
    /// `progress`.
    bool wait(std::chrono::milliseconds time, std::vector<std::string>& progress);
    /// Asks the command to end early, with what it has.
    void stop();
    /// @pre the call has ended.
    [[nodiscard]] Answer const& answer() const;

    /// Calls at work in this process, those left to end by themselves among them.
    static int at_work();
    /// In a copy of the process (fork), where no thread of a call lives on.
    static void forget_all();

private:
    struct State;
    std::shared_ptr<State> state_;
    std::thread thread_;
};

}  // namespace sextant::python
