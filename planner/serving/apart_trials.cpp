#include "planner/serving/apart_trials.hpp"

#include "planner/serving/serve_trials.hpp"

#include <algorithm>
#include <utility>

namespace sextant {
namespace {

constexpr int most_simulations = 24;  // of one candidate
constexpr double shrinking = 0.03;    // of replicas: fewer differ by nothing

/// Numbers of replicas, and what has been tried of them.
class ApartSearch {
public:
    ApartSearch(ServeQuestion const& q, ServeCandidate& c, double most) : q_(q), c_(c), most_(most), models_(q, c) {}

    /// @return whether the objectives are kept; false also where it is too dear to be tried
    bool keeps(std::int64_t for_prompts, std::int64_t replicas) {
        if (simulations_ == most_simulations || is_stopped(q_) || !affordable(for_prompts, replicas)) return false;
        ++simulations_;
        last_ = simulate_candidate(q_, c_, models_, replicas, for_prompts);
        tried_ = !is_stopped(q_);  // the first requests of a simulation say nothing
        if (!tried_) return false;
        if (last_.kept < q_.share) {
            if (!c_.trial) c_.missed = last_;
            return false;
        }
        c_.trial = last_;
        c_.replicas = replicas;
        c_.prompts->replicas = for_prompts;
        c_.missed.reset();
        return true;
    }
    /// The last one was simulated, and missed.
    [[nodiscard]] bool tells() const { return tried_ && simulations_ < most_simulations; }
    [[nodiscard]] bool affordable(std::int64_t for_prompts, std::int64_t replicas) const {
        ServeCandidate at = c_;
        at.prompts->replicas = for_prompts;
        return has_room_for(q_, c_, replicas, for_prompts) && cost_of(q_, at, replicas) < most_;
    }
    [[nodiscard]] bool wants_decodes() const { return lacks_decodes(q_, c_, last_); }
    [[nodiscard]] bool wants_prompts() const { return lacks_prompts(q_, c_, last_); }

private:
    ServeQuestion const& q_;
    ServeCandidate& c_;
    double most_;
    CandidateModels models_;
    ServeTrial last_;
    bool tried_ = false;
    int simulations_ = 0;
};

/// The fewest above `too_few` that `keep`, to a few per cent, with `enough` known to.
template <class Keeps>
void shrink(std::int64_t too_few, std::int64_t enough, Keeps const& keeps) {
    while (enough - too_few > 1 && static_cast<double>(enough - too_few) > shrinking * static_cast<double>(enough)) {
        std::int64_t const middle = too_few + (enough - too_few) / 2;
        (keeps(middle) ? enough : too_few) = middle;
    }
}

}  // namespace

bool has_room_for(ServeQuestion const& q, ServeCandidate const& c, std::int64_t replicas, std::int64_t for_prompts) {
    std::int64_t const all = replicas * c.plan.accelerators() + for_prompts * c.prompts->plan.accelerators();
    ClusterSpec const& cluster = q.machines[c.machine].cluster;
    return all <= q.most_accelerators && (cluster.scale_out || all <= cluster.domain_size);
}

bool lacks_decodes(ServeQuestion const& q, ServeCandidate const& c, ServeTrial const& trial) {
    bool const full = trial.peaks.short_of_cache || trial.peaks.batch >= c.plan.max_batch;
    return full || (q.tpot > Seconds{} && trial.tpot_kept > q.tpot);
}

bool lacks_prompts(ServeQuestion const& q, ServeCandidate const& c, ServeTrial const& trial) {
    return trial.overloaded || (q.ttft > Seconds{} && trial.ttft_kept > q.ttft) || !lacks_decodes(q, c, trial);
}

void settle_apart(ServeQuestion const& q, ServeCandidate& c, double most) {
    ApartSearch search(q, c, most);
    std::int64_t const least_prompts = c.prompts->replicas;
    std::int64_t prompts = c.prompts->likely;
    std::int64_t decodes = c.likely_replicas;
    if (!search.affordable(prompts, decodes)) {  // fewer may do
        prompts = least_prompts;
        decodes = c.least_replicas;
    }
    std::int64_t more_prompts = 1;
    std::int64_t more_decodes = 1;
    while (!search.keeps(prompts, decodes)) {
        if (!search.tells() || !search.affordable(prompts, decodes)) return;
        bool const for_prompts = search.wants_prompts();
        if (search.wants_decodes()) decodes += std::exchange(more_decodes, 2 * more_decodes);
        if (for_prompts) prompts += std::exchange(more_prompts, 2 * more_prompts);
    }
    shrink(c.least_replicas - 1, decodes, [&](std::int64_t fewer) { return search.keeps(prompts, fewer); });
    decodes = c.replicas;
    shrink(least_prompts - 1, prompts, [&](std::int64_t fewer) { return search.keeps(fewer, decodes); });
}

}  // namespace sextant
