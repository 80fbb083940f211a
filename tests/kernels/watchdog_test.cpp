#include "kernels/harness/watchdog.hpp"

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/catch.hpp"

namespace sextant::bench {
namespace {

void sleep_s(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// What a watchdog that looks every millisecond said at its end.
struct Heard {
    std::mutex guard;
    std::vector<std::string> why;
    Watchdog::End end() {
        return [this](std::string const& text) {
            std::lock_guard const lock(guard);
            why.push_back(text);
        };
    }
    /// Waits until something was said, or half a minute.
    std::vector<std::string> wait() {
        for (int i = 0; i < 30000; ++i) {
            {
                std::lock_guard const lock(guard);
                if (!why.empty()) return why;
            }
            sleep_s(1e-3);
        }
        return {};
    }
};

}  // namespace

TEST_CASE("watchdog: what has not ended in time is named, once", "[watchdog]") {
    Heard heard;
    {
        Watchdog dog(0.01, 1e-3, heard.end());
        Watchdog::Watch const watch(dog, "all_reduce", nullptr);
        CHECK(heard.wait() == std::vector<std::string>{"all_reduce: has not ended after 0 s"});
        sleep_s(0.05);
    }
    CHECK(heard.why.size() == 1);
}

TEST_CASE("watchdog: a fault is told at once, and by the outermost watch", "[watchdog]") {
    Heard heard;
    Watchdog dog(0, 1e-3, heard.end());
    std::atomic<bool> faulty = false;
    Watchdog::Watch const outer(dog, "outer", [&] { return std::string(faulty ? "broken" : ""); });
    {
        Watchdog::Watch const inner(dog, "inner", [] { return std::string("not asked"); });
    }
    sleep_s(0.02);
    {
        std::lock_guard const lock(heard.guard);
        CHECK(heard.why.empty());
    }
    faulty = true;
    CHECK(heard.wait() == std::vector<std::string>{"outer: broken"});
}

TEST_CASE("watchdog: what ends in time, and what nobody watches, is left alone", "[watchdog]") {
    Heard heard;
    {
        Watchdog dog(3600, 1e-3, heard.end());
        for (int i = 0; i < 20; ++i) {
            Watchdog::Watch const watch(dog, "quick", [] { return std::string(); });
            sleep_s(1e-3);
        }
        sleep_s(0.02);
    }
    CHECK(heard.why.empty());
    {
        Watchdog dog(1e-3, 1e-3, heard.end());
        sleep_s(0.02);
    }
    CHECK(heard.why.empty());
}

}  // namespace sextant::bench
