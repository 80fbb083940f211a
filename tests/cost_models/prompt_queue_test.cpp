#include "cost_models/serving/prompt_queue.hpp"

#include "tests/catch.hpp"
#include "tests/seeds.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>

using namespace sextant;

namespace {

double in_seconds(Seconds time) { return time / units::s; }

/// T(0) = plain, T(n) = first + (full - first) n / most.
struct Shape {
    double most;
    double plain;
    double first;
    double full;
    [[nodiscard]] double time(double n) const { return n <= 0 ? plain : first + (full - first) * n / most; }
    [[nodiscard]] PromptIterations table() const {
        PromptIterations out{.prompts = {0}, .seconds = {plain}};
        auto const add = [&](double n) {
            out.prompts.push_back(n);
            out.seconds.push_back(time(n));
        };
        double const rest = 1 - (std::ceil(1 / most - 1e-9) - 1) * most;
        if (rest < 0.999 * most) add(rest);
        for (double n = 1; n < most; n *= 2)
            add(n);
        add(most);
        return out;
    }
};

struct Walked {
    double mean = 0;   ///< iteration
    double ended = 0;  ///< from arrival to the end of the iteration that a prompt ends in
    double asleep = 0;
};

/// The chain itself, prompt by prompt. @param sleeps there is no iteration without prompts
Walked walk(Shape const& shape, double rate, bool sleeps, int count) {
    struct Prompt {
        double arrival;
        double left;
    };
    std::mt19937_64 draw(fixtures::seeded(5));
    std::exponential_distribution<double> interval(rate);
    std::deque<Prompt> queue;
    double now = 0;
    double next = interval(draw);
    double slept = 0;
    int iterations = 0;
    int ended = 0;
    Walked out;
    while (ended < count) {
        if (sleeps && queue.empty()) {
            slept += next - now;
            now = next;
            queue.push_back({next, 1});
            next += interval(draw);
        }
        double n = 0;
        double arrivals = 0;
        int through = 0;
        while (n < shape.most - 1e-12 && !queue.empty()) {
            Prompt& first = queue.front();
            double const part = std::min(shape.most - n, first.left);
            first.left -= part;
            n += part;
            if (first.left > 1e-12) break;
            arrivals += first.arrival;
            ++through;
            queue.pop_front();
        }
        double const time = shape.time(n);
        now += time;
        out.mean += time;
        out.ended += through * now - arrivals;
        ended += through;
        ++iterations;
        for (; next <= now; next += interval(draw))
            queue.push_back({next, 1});
    }
    out.mean /= iterations;
    out.ended /= ended;
    out.asleep = slept / now;
    return out;
}

double ended(PromptQueue const& queue, Shape const& shape) {
    return in_seconds(queue.wait) + queue.behind * shape.full + in_seconds(queue.own);
}

}  // namespace

TEST_CASE("prompt queue: one prompt an iteration, equal ones, is M/D/1 with and without something else to do") {
    for (double const use : {0.1, 0.5, 0.8, 0.95}) {
        CAPTURE(use);
        Shape const shape{.most = 1, .plain = 1, .first = 1, .full = 1};
        // With vacations as long as a service: half of one more.
        CHECK(in_seconds(prompt_queue(shape.table(), use, 0).wait) ==
              Approx(0.5 + use / (2 * (1 - use))).epsilon(1e-3));
        PromptQueue const sleeping = prompt_queue(shape.table(), use, 1);
        CHECK(in_seconds(sleeping.wait) == Approx(use / (2 * (1 - use))).epsilon(1e-3));
        CHECK(sleeping.asleep == Approx(1 - use).epsilon(1e-2));
    }
}

TEST_CASE("prompt queue: without a limit iterations have the mean and the variance of a + b N") {
    double const plain = 0.01;
    double const each = 0.004;
    for (double const rate : {1.0, 50.0, 150.0, 200.0}) {
        CAPTURE(rate);
        double const most = 4096;
        Shape const shape{.most = most, .plain = plain, .first = plain, .full = plain + most * each};
        PromptQueue const queue = prompt_queue(shape.table(), rate, 0);
        double const gain = rate * each;
        double const mean = plain / (1 - gain);
        double const seen = mean + rate * each * each / (1 - gain * gain);  // of the one that runs at a random time
        CHECK(in_seconds(queue.mean) == Approx(mean).epsilon(1e-3));
        CHECK(in_seconds(queue.next) == Approx(seen).epsilon(0.04));
        CHECK(in_seconds(queue.wait) == Approx(0.5 * seen).epsilon(0.04));
    }
}

TEST_CASE("prompt queue: times are those of the chain, prompt by prompt") {
    double off = 0;
    int compared = 0;
    for (double const most : {0.15, 0.45, 0.84, 1.4, 3.3, 6.4, 20.0, 80.0})
        for (Shape shape : {Shape{most, 0.1, 0.2, 1}, Shape{most, 0.48, 0.98, 1}, Shape{most, 0.5, 0.5, 1},
                            Shape{most, 0.04, 0.1, 1}, Shape{most, 0.04, 0.9, 1}})
            for (double const use : {0.3, 0.8, 0.9})
                for (bool const sleeps : {false, true}) {
                    double const rate = use * most / shape.full;
                    Walked const there = walk(shape, rate, sleeps, 60000);
                    PromptQueue const queue = prompt_queue(shape.table(), rate, sleeps ? 1 : 0);
                    CAPTURE(most, shape.plain, shape.first, use, sleeps);
                    double const ratio = ended(queue, shape) / there.ended;
                    CAPTURE(ratio, there.mean, in_seconds(queue.mean));
                    CHECK(ratio > 0.75);
                    CHECK(ratio < 1.33);
                    // A few prompts that each cost what twenty plain iterations do: X is not of one kind.
                    bool const in_kinds = shape.first > 20 * shape.plain && most > 1 && most < 4;
                    CHECK(in_seconds(queue.mean) == Approx(there.mean).epsilon(in_kinds ? 0.8 : 0.2));
                    CHECK(queue.asleep == Approx(there.asleep).margin(0.1));
                    off += std::abs(std::log(ratio));
                    ++compared;
                }
    CAPTURE(off / compared);
    CHECK(off / compared < 0.03);
}

TEST_CASE("prompt queue: prompts that are hardly slower together than one alone come as in the chain") {
    for (double const most : {6.4, 16.0, 20.0, 80.0})
        for (double const first : {0.7, 0.9})
            for (double const use : {0.05, 0.1, 0.2, 0.3, 0.6, 0.9})
                for (bool const sleeps : {false, true}) {
                    Shape const shape{.most = most, .plain = 0.04, .first = first, .full = 1};
                    double const rate = use * most / shape.full;
                    Walked const there = walk(shape, rate, sleeps, 60000);
                    PromptQueue const queue = prompt_queue(shape.table(), rate, sleeps ? 1 : 0);
                    CAPTURE(most, first, use, sleeps);
                    // Between few full iterations and many it is neither one distribution nor the other.
                    CHECK(in_seconds(queue.mean) == Approx(there.mean).epsilon(most < 10 && use > 0.5 ? 0.25 : 0.06));
                    CHECK(ended(queue, shape) == Approx(there.ended).epsilon(0.06));
                }
}

TEST_CASE("prompt queue: a higher rate never makes a wait shorter, nor an iteration") {
    for (double const most : {0.3, 0.9, 1.7, 12.0, 300.0})
        for (double const first : {0.2, 0.9}) {
            Shape const shape{.most = most, .plain = 0.15, .first = first, .full = 1};
            PromptQueue last;
            for (double use = 0.02; use < 0.99; use += 0.04) {
                PromptQueue const queue = prompt_queue(shape.table(), use * most, 0);
                CAPTURE(most, first, use);
                CHECK(queue.wait >= 0.99 * last.wait);
                CHECK(queue.mean >= 0.999 * last.mean);
                CHECK(queue.prompts >= last.prompts);
                last = queue;
            }
        }
}
