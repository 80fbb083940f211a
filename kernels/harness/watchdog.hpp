#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace sextant::bench {

/// Ends what would wait for ever: a thread of its own that looks now and then whether what is watched has a fault, or
/// has not ended in time. What it watches is never slowed: begin and end of a watch are a lock that nobody else holds,
/// outside of what is timed.
class Watchdog {
public:
    /// What is wrong with the work; empty: nothing that is known. Called by the watching thread, while the watch lives.
    using Fault = std::function<std::string()>;
    /// Called once, by the watching thread, with "all_reduce: reason".
    using End = std::function<void(std::string const& why)>;

    /// @param limit_s longest time of what is watched; 0: any
    Watchdog(double limit_s, double every_s, End end);
    ~Watchdog();
    Watchdog(Watchdog const&) = delete;
    Watchdog& operator=(Watchdog const&) = delete;

    /// As long as this lives its work is watched. One at a time; of nested ones the outermost counts.
    class Watch {
    public:
        Watch(Watchdog& dog, std::string what, Fault fault);
        ~Watch();
        Watch(Watch const&) = delete;
        Watch& operator=(Watch const&) = delete;

    private:
        Watchdog* dog_;  ///< null: another one watches
    };

private:
    void look();

    double limit_s_, every_s_;
    End end_;
    std::mutex guard_;
    bool over_ = false, watching_ = false;
    double since_ = 0;
    std::string what_;
    Fault fault_;
    std::condition_variable ends_;
    std::thread thread_;
};

/// What is still to be done before a watchdog ends the program, as long as this lives: the row of what has stalled. One
/// at a time.
class LastWords {
public:
    using Words = std::function<void(std::string const& why)>;
    explicit LastWords(Words words);
    ~LastWords();
    LastWords(LastWords const&) = delete;
    LastWords& operator=(LastWords const&) = delete;
};

/// Ends all processes with exit code 3, after the last words, and says why on standard error.
[[noreturn]] void end_stalled_program(std::string const& why);

}  // namespace sextant::bench
