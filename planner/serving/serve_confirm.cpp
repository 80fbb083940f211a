#include "planner/serving/serve_confirm.hpp"

#include "planner/serving/apart_trials.hpp"
#include "planner/serving/serve_trials.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sextant {
namespace {

constexpr std::size_t seeds = 3;             // of simulations of one length
constexpr std::int64_t times_longer = 4;     // the fourth
constexpr std::int64_t longest_run = 60000;  // requests, unless --requests asks for more
constexpr int most_raises = 8;
constexpr double least_growth = 0.03;  // of replicas at a time: fewer differ by nothing

struct Numbers {
    std::int64_t replicas = 0;
    std::int64_t for_prompts = 0;
};

/// Simulates one candidate with several seeds.
class Confirmer {
public:
    Confirmer(ServeQuestion const& q, ServeCandidate& c) : q_(q), c_(c), models_(q, c) {}

    /// Whether every simulation keeps the objectives. @param at the numbers; of those that `first` had
    bool keeps(Numbers at, std::optional<ServeTrial> const& first) {
        trials_ = {};
        trials_.front() = first;
        // Where one missed before, it is the one most likely to miss again.
        for (std::size_t i = 0; i < seeds; ++i)
            if (std::size_t const seed = (missing_ + i) % seeds; !trials_[seed] && !keeps(at, seed, q_.requests))
                return false;
        found_ = {};
        for (std::optional<ServeTrial> const& trial : trials_)
            add(*trial);
        if (!found_.is_unsteady(q_.ttft, q_.tpot)) return true;
        std::int64_t const usual = trials_.front()->requests;
        std::int64_t const longer = std::max(usual, std::min(times_longer * usual, std::max(longest_run, q_.requests)));
        if (!keeps(at, seeds, longer)) return false;
        add(last_);
        return true;
    }
    [[nodiscard]] ServeTrial const& first() const { return *trials_.front(); }
    [[nodiscard]] ServeTrial const& last() const { return last_; }
    [[nodiscard]] Confirmation const& found() const { return found_; }

private:
    bool keeps(Numbers at, std::size_t seed, std::int64_t requests) {
        ServeQuestion again = q_;
        again.seed = q_.seed + seed;
        again.requests = requests;
        last_ = simulate_candidate(again, c_, models_, at.replicas, at.for_prompts);
        if (last_.kept < q_.share) {
            missing_ = seed % seeds;
            return false;
        }
        if (seed < seeds) trials_[seed] = last_;
        return true;
    }
    void add(ServeTrial const& trial) {
        bool const first = found_.simulations++ == 0;
        found_.longest = std::max(found_.longest, trial.requests);
        found_.least_kept = std::min(found_.least_kept, trial.kept);
        found_.ttft_shortest = first ? trial.ttft_kept : std::min(found_.ttft_shortest, trial.ttft_kept);
        found_.tpot_shortest = first ? trial.tpot_kept : std::min(found_.tpot_shortest, trial.tpot_kept);
        found_.ttft_longest = std::max(found_.ttft_longest, trial.ttft_kept);
        found_.tpot_longest = std::max(found_.tpot_longest, trial.tpot_kept);
    }

    ServeQuestion const& q_;
    ServeCandidate& c_;
    CandidateModels models_;
    std::array<std::optional<ServeTrial>, seeds> trials_{};
    ServeTrial last_;
    Confirmation found_;
    std::size_t missing_ = 0;
};

/// More of what a simulation was short of.
Numbers raised(ServeQuestion const& q, ServeCandidate const& c, Numbers at, ServeTrial const& missed, int raises) {
    std::int64_t const step = raises < 2 ? 1 : std::int64_t{1} << (raises - 1);
    auto const more = [&](std::int64_t replicas) {
        return replicas + std::max(step, static_cast<std::int64_t>(least_growth * static_cast<double>(replicas)));
    };
    if (!c.prompts) return {.replicas = more(at.replicas)};
    Numbers out = at;
    if (lacks_decodes(q, c, missed)) out.replicas = more(at.replicas);
    if (lacks_prompts(q, c, missed)) out.for_prompts = more(at.for_prompts);
    return out;
}

bool is_affordable(ServeQuestion const& q, ServeCandidate c, Numbers at, double most) {
    if (c.prompts) {
        if (!has_room_for(q, c, at.replicas, at.for_prompts)) return false;
        c.prompts->replicas = at.for_prompts;
    }
    return c.accelerators(at.replicas) <= q.most_accelerators && cost_of(q, c, at.replicas) < most;
}

}  // namespace

bool can_be_confirmed(ServeQuestion const& q, ServeCandidate const& c) {
    return c.trial && !c.confirmed && q.trace.empty() && !is_stopped(q);
}

void confirm(ServeQuestion const& q, ServeCandidate& c, double most) {
    if (!can_be_confirmed(q, c)) return;
    Confirmer confirmer(q, c);
    Numbers at{.replicas = c.replicas, .for_prompts = c.prompts ? c.prompts->replicas : 0};
    std::int64_t const before = c.accelerators(c.replicas);
    std::optional<ServeTrial> first = c.trial;
    bool kept = false;
    for (int raises = 0; !kept; ++raises) {
        kept = confirmer.keeps(at, first);
        if (is_stopped(q)) return;  // the first requests of a simulation say nothing
        if (kept) break;
        first.reset();
        at = raised(q, c, at, confirmer.last(), raises);
        if (raises == most_raises || !is_affordable(q, c, at, most)) break;
    }
    if (c.prompts) c.prompts->replicas = at.for_prompts;
    if (kept) {
        c.trial = confirmer.first();
        c.replicas = at.replicas;
        c.confirmed = confirmer.found();
        c.confirmed->added = c.accelerators(c.replicas) - before;
        return;
    }
    c.missed = confirmer.last();
    c.trial.reset();
    c.replicas = 0;
    c.least_replicas = at.replicas;
}

}  // namespace sextant
