#include "cost_models/serving/prompt_queue.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace sextant {
namespace {

constexpr double countable = 24;     // prompts up to which they are counted one by one
constexpr double often_full = 0.05;  // of the iterations with prompts: what is left over then decides

/// Means over the iterations, of one distribution of X.
struct Moments {
    double weight = 0;
    double none = 0;
    double beyond = 0;
    double n = 0;
    double n_squared = 0;
    double t = 0;          // sleeps included
    double t_squared = 0;  // of iterations that prompts wait for
    double n_t = 0;
};

Moments mixture(double share, Moments const& a, Moments const& b) {
    auto const mixed = [&](double Moments::*what) { return share * a.*what + (1 - share) * b.*what; };
    return {.weight = mixed(&Moments::weight),
            .none = mixed(&Moments::none),
            .beyond = mixed(&Moments::beyond),
            .n = mixed(&Moments::n),
            .n_squared = mixed(&Moments::n_squared),
            .t = mixed(&Moments::t),
            .t_squared = mixed(&Moments::t_squared),
            .n_t = mixed(&Moments::n_t)};
}

class Chain {
public:
    Chain(PromptIterations const& iterations, double rate, double idle) : time_(iterations), rate_(rate), idle_(idle) {
        double const counted = std::min(time_.most(), 4 * countable);
        std::size_t right = 1;
        for (double n = 0; n <= counted; ++n) {
            while (time_.prompts[right] < n)
                ++right;
            at_count_.push_back(time_.between(right, n));
        }
    }

    /// The distribution in which as much is taken as comes in.
    [[nodiscard]] Moments balanced() const {
        double const plain = time_.seconds.front();
        bool const first_costs_most =
            time_.most() >= 2 && time_(1) - plain > 2 * (time_.seconds.back() - plain) / time_.most();
        if (!first_costs_most) return by_mean();
        Moments const kinds = by_kind();
        double const full = std::min(1.0, kinds.beyond / (kinds.weight - kinds.none) / often_full);
        return full > 0 ? mixture(full, by_mean(), kinds) : kinds;
    }

private:
    /// @param spread variance of X over its mean, at least 1
    [[nodiscard]] Moments at(double mean, double spread) const {
        Moments m = drawn(mean, spread);
        wake(m);
        return m;
    }

    /// The same before any sleep.
    [[nodiscard]] Moments drawn(double mean, double spread) const {
        Moments m;
        if (mean <= countable)
            count(m, mean, spread);
        else
            sample(m, mean, spread);
        return m;
    }

    /// How much more is taken than comes in: rises with the mean of X.
    [[nodiscard]] double surplus(Moments const& m) const { return m.n - rate_ * m.t; }

    /// X of one kind after iterations without prompts, Poisson, and of another after those with any, negative binomial.
    [[nodiscard]] Moments by_kind() const {
        double const plain = time_.seconds.front();
        double const longest = time_.seconds.back();
        double const alone = time_(1);
        Moments const after_plain = drawn(rate_ * plain, 1);
        double with = alone;
        double variance = 0;
        double left = 0;  // after one with prompts
        Moments m;
        for (int round = 0; round < 20; ++round) {
            Moments const after_with = drawn(rate_ * with + left, 1 + rate_ * variance / with);
            double const resume = 1 - (1 - idle_) * after_plain.none;
            double const share = resume / (resume + (1 - idle_) * after_with.none);
            m = mixture(share, after_with, after_plain);
            double const woken = idle_ * m.none;  // by one prompt
            double const resting = (1 - idle_) * m.none;
            double const carrying = 1 - m.none + woken;
            double const mean = (m.t - woken / rate_ - resting * plain + woken * alone) / carrying;
            double const square = (m.t_squared - resting * plain * plain + woken * alone * alone) / carrying;
            double const came = rate_ * m.t + rate_ * rate_ * m.t_squared;
            left = std::max(0.0, (came - m.n_squared) / (2 * (time_.most() - rate_ * longest))) / share;
            variance = std::max(0.0, square - mean * mean);
            bool const settled = std::abs(mean - with) < 1e-4 * with;
            with = mean;
            if (settled && round > 2) break;
        }
        wake(m);
        return m;
    }

    /// X of one kind after all of them, negative binomial.
    [[nodiscard]] Moments by_mean() const {
        Moments m;
        double spread = 1;
        double mean = rate_ * time_.seconds.front() + 1e-9;
        for (int round = 0; round < 4; ++round) {
            mean = root(0.9 * mean, 1.1 * mean, spread, m);
            double const awake = 1 - idle_ * m.none;
            double const t = (m.t - idle_ * m.none / rate_) / awake;
            double const next = 1 + rate_ * std::max(0.0, m.t_squared / awake / t - t);
            if (std::abs(next - spread) < 3e-3 * spread) break;
            spread = next;
        }
        return m;
    }

    /// Root of the surplus: bracketed from two guesses, then by regula falsi (Illinois).
    double root(double low, double high, double spread, Moments& m) const {
        double below = surplus(m = at(low, spread));
        for (int i = 0; i < 30 && below > 0; ++i) {
            high = low;
            below = surplus(m = at(low *= 0.6, spread));
        }
        double above = surplus(m = at(high, spread));
        for (int i = 0; i < 40 && above < 0; ++i) {
            low = high;
            below = above;
            above = surplus(m = at(high *= 1.6, spread));
        }
        double mean = high;
        for (int i = 0; i < 12 && below < 0 && above > 0; ++i) {
            mean = low + (high - low) * (below / (below - above));
            double const off = surplus(m = at(mean, spread));
            if (std::abs(off) < 1e-4 * m.n) break;
            if (off < 0) {
                low = mean;
                below = off;
                above *= 0.5;
            } else {
                high = mean;
                above = off;
                below *= 0.5;
            }
        }
        return mean;
    }

    /// @param t of an iteration with min(x, most)
    void add(Moments& m, double x, double t, double weight) const {
        double const n = std::min(x, time_.most());
        m.weight += weight;
        if (x > time_.most()) m.beyond += weight;
        m.n += weight * n;
        m.n_squared += weight * n * n;
        if (x <= 0) {
            m.none += weight;
            m.t += weight * idle_ / rate_;
            weight *= 1 - idle_;
        }
        m.t += weight * t;
        m.t_squared += weight * t * t;
        m.n_t += weight * n * t;
    }

    [[nodiscard]] static double none_of(double mean, double spread) {
        double const over = std::max(1e-6, spread - 1);
        return std::exp(-mean / over * std::log1p(over));
    }

    /// Negative binomial: p(x + 1) = p(x) (k + x) / (x + 1) (1 - 1 / spread), k = mean / (spread - 1).
    void count(Moments& m, double mean, double spread) const {
        double const over = std::max(1e-6, spread - 1);
        double const k = mean / over;
        double weight = none_of(mean, spread);
        double const factor = over / (1 + over);
        double left = 1;
        double x = 0;
        for (double const t : at_count_) {
            add(m, x, t, weight);
            left -= weight;
            weight *= (k + x) / (x + 1) * factor;
            ++x;
            if (left < 1e-7 && x > mean) break;
        }
        if (left > 0) add(m, x, time_(x), left);
    }

    /// The same of many, as a normal distribution.
    void sample(Moments& m, double mean, double spread) const {
        constexpr int points = 14;  // a quarter of a deviation apart
        static std::array<double, 2 * points + 1> const weights = [] {
            std::array<double, 2 * points + 1> out{};
            double all = 0;
            for (int i = -points; i <= points; ++i)
                all += out[static_cast<std::size_t>(i + points)] = std::exp(-i * i / 32.0);
            for (double& w : out)
                w /= all;
            return out;
        }();
        double const deviation = std::sqrt(mean * spread);
        for (int i = -points; i <= points; ++i) {
            double const x = std::max(1e-9, mean + 0.25 * i * deviation);
            add(m, x, time_(x), weights[static_cast<std::size_t>(i + points)]);
        }
        m.none = none_of(mean, spread);
    }

    /// After a sleep there is one prompt.
    void wake(Moments& m) const {
        double const asleep = idle_ * m.none / (m.weight + idle_ * m.none);
        Moments one;
        add(one, 1, time_(1), asleep);
        double const kept = 1 - asleep;
        m.none = kept * m.none;
        m.beyond = kept * m.beyond + one.beyond;
        m.n = kept * m.n + one.n;
        m.n_squared = kept * m.n_squared + one.n_squared;
        m.t = kept * m.t + one.t;
        m.t_squared = kept * m.t_squared + one.t_squared;
        m.n_t = kept * m.n_t + one.n_t;
    }

    PromptIterations const& time_;
    std::vector<double> at_count_;  // of 0, 1, 2, ... prompts
    double rate_;
    double idle_;
};

/// What the exact equations make of the means over the iterations.
PromptQueue from_moments(Moments const& m, PromptIterations const& iterations, double rate, double idle) {
    double const longest = iterations.seconds.back();
    double const came = rate * m.t + rate * rate * m.t_squared;  // mean square of A, which is one for a sleep
    double const left = std::max(0.0, (came - m.n_squared) / (2 * (iterations.most() - rate * longest)));
    double const asleep = idle * m.none;
    PromptQueue out;
    out.asleep = asleep / rate / m.t;
    out.prompts = m.n / (1 - asleep);
    out.carrying = (1 - m.none) / (1 - asleep);
    out.there = (m.n + left) / (1 - asleep);
    out.mean = (m.t - asleep / rate) / (1 - asleep) * units::s;
    out.next = m.t_squared / (m.t - asleep / rate) * units::s;
    out.wait = (left * longest + 0.5 * rate * m.t_squared) / m.n * units::s;
    return out;
}

/// @param beside of those that came after it, in its last iteration
double left_behind(PromptQueue const& queue, double rate, double longest, double beside) {
    double const stay = queue.wait / units::s + queue.behind * longest + queue.own / units::s;
    return std::max(0.0, rate * stay - beside);
}

PromptQueue of_whole_prompts(PromptIterations const& iterations, double rate, double idle) {
    Chain const chain(iterations, rate, idle);
    Moments const m = chain.balanced();
    PromptQueue out = from_moments(m, iterations, rate, idle);
    out.own = m.n_t / m.n * units::s;
    out.behind = m.beyond / (2 * iterations.most());
    out.left = left_behind(out, rate, iterations.seconds.back(), 0.5 * std::max(0.0, m.n_squared / m.n - 1));
    return out;
}

PromptQueue of_cut_prompts(PromptIterations const& iterations, double rate, double idle) {
    double const most = iterations.most();
    double const longest = iterations.seconds.back();
    double const parts = std::ceil(1 / most - 1e-9);
    double const rest = 1 - (parts - 1) * most;
    double const awake = (1 - idle) * iterations.seconds.front();
    double const plain = awake + idle / rate;
    double const unfollowed = std::exp(-rate * longest * (parts - 1));
    double carrying = rate * longest / most;
    double followed = carrying;  // of the prompts, those that another one waits behind
    double chunks = parts;
    double last = 1;  // of the prompts, that have the rest of their last iteration for themselves
    for (int i = 0; i < 12; ++i) {
        last = (1 - followed) * unfollowed;
        chunks = (1 - last) / most + last * parts;
        double const mean = iterations(1 / chunks);
        // c / chunks = rate ((1 - c) T(0) + c T); each sleep ends with a prompt.
        double const spare = 1 / chunks - rate * (mean - plain);
        carrying = spare > 0 ? std::clamp(rate * plain / spare, 1e-9, 0.9999) : 0.9999;
        double const working = carrying * mean / ((1 - carrying) * plain + carrying * mean);
        followed = working * (1 - last / chunks);  // what comes in a last iteration shares none with it
    }
    double const mean = iterations(1 / chunks);
    Moments m;
    m.none = 1 - carrying;
    m.n = carrying / chunks;
    m.n_squared = m.n * ((1 - last) * most + last * ((parts - 1) * most * most + rest * rest));
    m.t = m.none * plain + carrying * mean;
    m.t_squared = m.none * awake * iterations.seconds.front() + carrying * mean * mean;
    m.n_t = m.n * mean;
    PromptQueue out = from_moments(m, iterations, rate, idle);
    out.chunks = chunks;
    out.behind = (1 - followed) * parts * (parts - 1) * most / 2 + followed / (2 * most);
    out.own = ((1 - followed) * iterations(rest) + followed * longest) * units::s;
    out.left = left_behind(out, rate, longest, 0.5 * followed * most);
    return out;
}

}  // namespace

double PromptIterations::between(std::size_t right, double n) const {
    double const share = (n - prompts[right - 1]) / (prompts[right] - prompts[right - 1]);
    return seconds[right - 1] + share * (seconds[right] - seconds[right - 1]);
}

double PromptIterations::operator()(double n) const {
    if (n >= prompts.back()) return seconds.back();
    return between(
        static_cast<std::size_t>(std::upper_bound(prompts.begin() + 1, prompts.end() - 1, n) - prompts.begin()), n);
}

double PromptIterations::at_random(double mean) const {
    if (mean > countable) return (*this)(mean);
    double sum = 0;
    double left = 1;
    double weight = std::exp(-mean);
    for (double n = 0; left > 1e-9 && n < 4 * countable; ++n) {
        sum += weight * (*this)(n);
        left -= weight;
        weight *= mean / (n + 1);
    }
    return sum + std::max(0.0, left) * (*this)(4 * countable);
}

PromptQueue prompt_queue(PromptIterations const& iterations, double rate, double idle) {
    return iterations.most() < 1 ? of_cut_prompts(iterations, rate, idle) : of_whole_prompts(iterations, rate, idle);
}

}  // namespace sextant
