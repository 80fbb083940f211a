// Groups of responses in asynchronous steps, against order statistics and against a simulation in a few lines.
#include "planner/rl/asynchronous.hpp"
#include "planner/rl/output_lengths.hpp"
#include "tests/catch.hpp"
#include "tests/planner/rl/rl_case.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

using namespace sextant;

namespace {

using Lengths = std::vector<std::int64_t>;

IterationModel const& group_engine() {
    static IterationModel const model(small_engine(1024));
    return model;
}

/// Prompts are short beside the responses, so that what an iteration takes goes by the number of responses.
RolloutFleet group_fleet(std::int64_t slots, std::int64_t replicas = 1) {
    return {.model = group_engine(),
            .replicas = replicas,
            .prompt = {.tokens = 8, .fresh = 1},
            .limits = {.sequences = slots, .cache_tokens = 1e9}};
}

double mean_of(Lengths const& lengths) {
    return static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0})) /
           static_cast<double>(lengths.size());
}

Lengths lognormal_lengths(std::int64_t count) {
    return draw_lengths({.kind = LengthKind::lognormal, .mean = 200, .variation = 0.8, .maximum = 2000}, count,
                        Drawing::strata, 11);
}

Lengths uniform_lengths(std::int64_t count) {
    return draw_lengths({.kind = LengthKind::uniform, .mean = 2000, .variation = 0.5, .maximum = 4000}, count,
                        Drawing::strata, 11);
}

/// Seconds a token with `n` responses under way: a line through what the engine takes for few, and for as many as it
/// can have while it never runs dry.
struct TokenTime {
    double base;
    double each;
    TokenTime(std::int64_t many, Lengths const& lengths) {
        constexpr std::int64_t few = 8;
        double const of_few = generate_batch(group_fleet(few), Lengths(few, 2000)).time.base() / 2000;
        double const total = mean_of(lengths) * static_cast<double>(lengths.size());
        double const of_many =
            saturated_generation(group_fleet(many), lengths).base() * static_cast<double>(many) / total;
        each = (of_many - of_few) / static_cast<double>(many - few);
        base = of_few - each * static_cast<double>(few);
    }
    [[nodiscard]] double operator()(std::int64_t n) const { return base + each * static_cast<double>(n); }
};

/// Steps with a bound on staleness where every response has a slot of its own and all get a token at a time: the mean
/// time of a step, and the mean age of a response.
struct SlotSimulation {
    Lengths const& lengths;
    std::int64_t slots;
    TokenTime token;
    double train;
    std::int64_t bound;
    std::int64_t group;

    [[nodiscard]] std::pair<double, double> run() const {
        constexpr double never = std::numeric_limits<double>::infinity();
        struct Begun {
            std::int64_t version, left;
            std::int64_t versions = 0;  ///< sum over its responses
        };
        auto const batch = static_cast<std::int64_t>(lengths.size());
        std::priority_queue<std::pair<double, std::int64_t>, std::vector<std::pair<double, std::int64_t>>,
                            std::greater<>>
            running;
        std::map<std::int64_t, Begun> under_way;
        std::map<std::pair<std::int64_t, std::int64_t>, Begun> ready;  // oldest first
        std::int64_t begun = 0, version = 0;
        double now = 0, tokens = 0, trained = never, from = 0, ages = 0;
        std::int64_t const warm = 4 * (bound + 2), all = warm + 24 * (bound + 1);
        while (version < all) {
            while (static_cast<std::int64_t>(running.size()) < slots && begun < (version + bound + 1) * batch) {
                std::int64_t const prompt = begun / group;
                under_way.try_emplace(prompt, Begun{version, group}).first->second.versions += version;
                running.emplace(tokens + static_cast<double>(lengths[static_cast<std::size_t>(begun++ % batch)]),
                                prompt);
            }
            bool const awaited = !under_way.empty() && under_way.begin()->second.version <= version - bound;
            if (trained == never && !awaited && static_cast<std::int64_t>(ready.size()) * group >= batch) {
                for (std::int64_t i = 0; i < batch / group; ++i) {
                    if (version >= warm) ages += static_cast<double>(version * group - ready.begin()->second.versions);
                    ready.erase(ready.begin());
                }
                trained = now + train;
            }
            double const each = token(static_cast<std::int64_t>(running.size()));
            double const next = running.empty() ? never : now + each * (running.top().first - tokens);
            if (!running.empty() && next <= trained) {
                now = next;
                tokens = running.top().first;
                std::int64_t const prompt = running.top().second;
                running.pop();
                Begun& of = under_way.at(prompt);
                if (--of.left > 0) continue;
                ready.emplace(std::pair(of.version, prompt), of);
                under_way.erase(prompt);
                continue;
            }
            if (!running.empty()) tokens += (trained - now) / each;
            now = trained;
            trained = never;
            if (++version == warm) from = now;
        }
        auto const measured = static_cast<double>(all - warm);
        return {(now - from) / measured, ages / (measured * static_cast<double>(batch))};
    }
};

}  // namespace

TEST_CASE("groups: the longest of a group is the order statistic of draws without replacement") {
    // Of 1 .. n it is G (n + 1) / (G + 1).
    std::int64_t const n = GENERATE(1, 2, 7, 256);
    Lengths lengths(static_cast<std::size_t>(n));
    std::iota(lengths.rbegin(), lengths.rend(), 1);
    for (std::int64_t group = 1; group <= n; group = 2 * group + 1) {
        auto const size = static_cast<double>(group);
        CAPTURE(n, group);
        CHECK(longest_of_group(lengths, group) == Approx(size * static_cast<double>(n + 1) / (size + 1)));
    }
    CHECK(longest_of_group(lengths, n) == Approx(static_cast<double>(n)));
}

TEST_CASE("groups: in a fleet that is never idle a response waits for the longest of its group, by order statistics") {
    std::int64_t const group = GENERATE(2, 8, 32);
    Lengths const lengths = lognormal_lengths(512);
    std::int64_t const slots = 512;
    AsynchronousStep const step = run_asynchronously(
        group_fleet(slots), lengths, {.staleness = 24, .train = 1 * units::us, .pause = {}, .group = group});
    // The fleet is full: by Little's law a token takes slots step / tokens.
    double const token = static_cast<double>(slots) * step.step.base() / (mean_of(lengths) * 512);
    double const expected = token * (longest_of_group(lengths, group) - mean_of(lengths));
    CAPTURE(group, step.step.base(), token, step.mean_age());
    CHECK(step.group_wait.base() / expected == Approx(1).epsilon(0.12));
}

TEST_CASE("groups: a step and its ages are those of a simulation of slots") {
    std::int64_t const group = GENERATE(1, 8, 32);
    std::int64_t const bound = GENERATE(1, 2, 4);
    double const ratio = GENERATE(0.05, 0.3, 0.5);
    Lengths const lengths = uniform_lengths(64);
    std::int64_t const slots = 96;
    TokenTime const token(slots, lengths);
    double const train = ratio * token(slots) * mean_of(lengths);
    AsynchronousStep const step =
        run_asynchronously(group_fleet(slots), lengths,
                           {.staleness = bound, .train = Seconds::from_base(train), .pause = {}, .group = group});
    std::vector<std::pair<double, double>> simulated;  // for each bound
    for (std::int64_t k = 0; k <= bound; ++k) {
        SlotSimulation const simulation{
            .lengths = lengths, .slots = slots, .token = token, .train = train, .bound = k, .group = group};
        simulated.push_back(simulation.run());
    }
    double const least = std::min_element(simulated.begin(), simulated.end())->first;
    CAPTURE(group, bound, ratio, step.step.base(), least, step.mean_age());
    CHECK(step.step.base() / least == Approx(1).epsilon(0.05));
    // Of bounds that are as good, any may have been taken.
    CHECK(std::any_of(simulated.begin(), simulated.end(), [&](std::pair<double, double> const& with_bound) {
        return with_bound.first < 1.01 * least && std::abs(step.mean_age() - with_bound.second) < 0.25;
    }));
}

TEST_CASE("groups: waiting for the longest of a group makes responses older, by what order statistics say at most") {
    Lengths const lengths = uniform_lengths(64);
    std::int64_t const slots = 96;
    TokenTime const token(slots, lengths);
    auto const run = [&](std::int64_t group) {
        return run_asynchronously(group_fleet(slots), lengths,
                                  {.staleness = 4, .train = 1 * units::ms, .pause = {}, .group = group});
    };
    AsynchronousStep const alone = run(1);
    CHECK(alone.group_wait == Seconds{});
    for (std::int64_t const group : {2, 8, 32}) {
        AsynchronousStep const some = run(group);
        double const wait = token(slots) * (longest_of_group(lengths, group) - mean_of(lengths));
        double const older = some.mean_age() - alone.mean_age();
        CAPTURE(group, some.mean_age(), alone.mean_age(), some.group_wait.base(), wait);
        CHECK(some.group_wait > Seconds{});
        CHECK(some.step >= alone.step * 0.999);
        CHECK(older > 0.4 * wait / some.step.base());
        CHECK(older < 1.2 * wait / some.step.base());
    }
}

TEST_CASE("groups: a share of a fleet that is never idle has whole groups, and takes as long as all of it") {
    std::int64_t const group = GENERATE(8, 32);
    std::int64_t const replicas = GENERATE(20, 24, 64);
    Lengths const lengths = uniform_lengths(512);
    auto const run = [&](std::int64_t followed) {
        return run_asynchronously(
            group_fleet(8, replicas), lengths,
            {.staleness = 16, .train = 1 * units::ms, .pause = {}, .replicas = followed, .group = group});
    };
    AsynchronousStep const whole = run(replicas);
    AsynchronousStep const part = run(8);
    CAPTURE(group, replicas, part.followed);
    CHECK(whole.followed == replicas);
    CHECK(part.followed >= 8);
    CHECK(part.followed < replicas);
    CHECK(part.step / whole.step == Approx(1).epsilon(0.04));
}
