#include "cost_models/serving/ahead_steps.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

/// Steps of decodes of an engine that plans ahead: prompts that come while an iteration runs are in the one after the
/// next. Where they go first a step has all iterations with prompts before it: those that came in the one before last,
/// then those that came in the last, and so on until none did.
class AheadSteps {
public:
    AheadSteps(PromptIterations const& steps, PromptMix const& mix, double rate)
        : steps_(steps), rate_(rate), apart_(mix.apart) {}

    /// @param before, last seconds of the last two iterations, of which `last` becomes what is before the step
    /// @param waiting prompts that were left over; becomes what the step leaves
    double step(double before, double& last, double& waiting) const {
        double const plain = steps_.seconds.front();
        double some = rate_ * before + waiting;
        waiting = left_over(some);
        if (!apart_) return steps_.at_random(some);
        double sum = 0;
        double reached = 1;
        double ends = 0;  // mean of the last iteration before the step
        for (int i = 0; i < 20 && reached > 1e-6; ++i) {
            double const none = std::exp(-some);
            double const with = some > 1e-12 ? (steps_.at_random(some) - none * plain) / -std::expm1(-some) : plain;
            sum += reached * (1 - none) * with;
            ends += reached * none * last;
            reached *= 1 - none;
            some = rate_ * last + waiting / std::max(1e-9, 1 - none);
            waiting = left_over(some);
            last = with;
        }
        last = ends + reached * last;
        waiting = 0;
        return sum + plain;
    }
    /// Of requests that always decode, at most so long.
    double chain(double most) const {
        double span = steps_.seconds.front();
        for (int i = 0; i < 40; ++i)
            span = std::min(after(span), most);
        return span;
    }

private:
    /// Of a Poisson number of prompts, those that one iteration does not take.
    double left_over(double mean) const {
        if (steps_.most() > mean + 10 * std::sqrt(mean) + 20) return 0;  // hardly ever that many
        double weight = std::exp(-mean);
        double left = mean - steps_.most();
        for (double n = 0; n < steps_.most(); ++n) {
            left += weight * (steps_.most() - n);
            weight *= mean / (n + 1);
        }
        return std::max(0.0, left);
    }
    /// A step with what came in so many seconds.
    double after(double span) const {
        double const with = steps_.at_random(rate_ * span);
        return apart_ ? with - std::expm1(-rate_ * span) * steps_.seconds.front() : with;
    }
    PromptIterations const& steps_;
    double rate_;
    bool apart_;
};

}  // namespace

Seconds ahead_steps(PromptQueue const& queue, PromptIterations const& steps, PromptMix const& mix, double count,
                    double rate) {
    double const plain = steps.seconds.front();
    AheadSteps const ahead(steps, mix, rate);
    double const chain = ahead.chain(mix.mean / units::s);
    double const some = -std::expm1(-mix.decodes);
    double const far = chain + some * some * (mix.mean / units::s - chain);
    double before = (1 - queue.asleep) * std::min(chain, queue.mean / units::s);
    double last = queue.own / units::s;
    double waiting = std::max(0.0, queue.there - queue.prompts);
    double sum = 0;
    double done = 0;
    for (; done < count && done < 40; ++done) {
        double const time = ahead.step(before, last, waiting);
        before = last;
        last = mix.apart ? plain : time;
        sum += far + time - chain;
    }
    return (sum + (count - done) * far) * units::s - count * mix.mean;
}

double short_answer(double count) { return std::clamp(2 - count / 10, 0.0, 1.0); }

}  // namespace sextant
