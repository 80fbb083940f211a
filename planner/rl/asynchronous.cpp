#include "planner/rl/asynchronous.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <vector>

namespace sextant {
namespace {

/// Steps come in rounds of as many as versions may be in use: whole ones, eight steps or more.
std::int64_t measured_steps(std::int64_t staleness) {
    std::int64_t const round = staleness + 1;
    return (8 + round - 1) / round * round;
}

/// So much above the least that it can take, a step is as short as it gets.
constexpr double as_good = 1e-3;

Seconds const never = Seconds::from_base(std::numeric_limits<double>::infinity());

/// What bounds the steps behind the engines: the rules and the trainer at the same time, or one after the other where
/// no response may be behind.
Seconds after_generation(Asynchrony const& how) {
    return how.staleness > 0 ? std::max(how.rules, how.train) : how.rules + how.train;
}

class AsynchronousRun {
public:
    AsynchronousRun(RolloutFleet const& fleet, std::vector<std::int64_t> const& lengths, Asynchrony const& how,
                    Seconds resolution)
        : lengths_(lengths), how_(how), resolution_(resolution) {
        how_.train = after_generation(how);
        std::int64_t const followed = std::min(how.replicas, fleet.replicas);
        auto const n = static_cast<std::int64_t>(lengths.size());
        batch_ = std::max<std::int64_t>(1, (n * followed + fleet.replicas - 1) / fleet.replicas);
        slots_ = fleet.limits.sequences;
        for (std::int64_t r = 0; r < followed; ++r)
            replicas_.emplace_back(fleet.model, fleet.prompt, fleet.limits, fleet.slowdown);
    }

    AsynchronousStep result() {
        std::int64_t const warm = 2 * std::min<std::int64_t>(how_.staleness, 64) + 4;
        while (version_ < warm)
            advance();
        Seconds const from = trained_until_;
        Seconds const busy = busy_engines();
        ages_.clear();
        std::int64_t const measured = measured_steps(how_.staleness);
        while (version_ < warm + measured)
            advance();
        AsynchronousStep out;
        out.followed = static_cast<std::int64_t>(replicas_.size());
        Seconds const whole = trained_until_ - from;
        out.step = whole / static_cast<double>(measured);
        out.generating = std::min(1.0, (busy_engines() - busy) / (whole * static_cast<double>(replicas_.size())));
        double total = 0;
        for (auto const& [age, count] : ages_)
            total += count;
        for (auto const& [age, count] : ages_) {
            out.age.resize(static_cast<std::size_t>(age) + 1);
            out.age.back() = count / total;
        }
        return out;
    }

private:
    struct Group {
        std::int64_t missing = 0;  ///< responses
        std::int64_t oldest = 0;   ///< version of its first
        Seconds at{};              ///< end of the last that ended
        std::vector<FinishedRollout> ended{};
    };
    struct Complete {
        Seconds at;
        std::int64_t oldest;
        Rollout what;
    };

    [[nodiscard]] Seconds busy_engines() const {
        Seconds busy;
        for (RolloutReplica const& replica : replicas_)
            busy += replica.busy();
        return busy;
    }

    RolloutReplica& earliest() {
        return *std::min_element(replicas_.begin(), replicas_.end(),
                                 [](auto const& a, auto const& b) { return a.now() < b.now(); });
    }

    void begin_responses() {
        while (begun_ < (version_ + how_.staleness + 1) * batch_) {
            auto const loaded = std::min_element(replicas_.begin(), replicas_.end(), [](auto const& a, auto const& b) {
                return a.running() + a.waiting() < b.running() + b.waiting();
            });
            if (loaded->running() + loaded->waiting() >= slots_) return;
            loaded->submit({.tokens = lengths_[static_cast<std::size_t>(begun_) % lengths_.size()],
                            .version = version_,
                            .group = join_group()});
            ++outstanding_[version_];
            ++begun_;
        }
    }

    /// Of the response that is begun next.
    std::int64_t join_group() {
        std::int64_t const of_step = begun_ % batch_;
        std::int64_t const first = of_step / how_.group * how_.group;
        std::int64_t const number = begun_ - of_step + first;
        if (of_step == first) groups_[number] = {.missing = std::min(how_.group, batch_ - first), .oldest = version_};
        return number;
    }

    /// What ended is complete with the last of its group.
    void sort_into_groups(std::vector<FinishedRollout>& ended) {
        for (FinishedRollout const& one : ended) {
            auto const found = groups_.find(one.what.group);
            Group& group = found->second;
            group.ended.push_back(one);
            group.at = std::max(group.at, one.at);
            if (--group.missing > 0) continue;
            // Its members are together in every order of age, and there when the last of them is.
            for (FinishedRollout const& member : group.ended) {
                complete_.push_back({.at = group.at, .oldest = group.oldest, .what = member.what});
                --outstanding_[member.what.version];
            }
            groups_.erase(found);
        }
        ended.clear();
    }

    /// Begins an update when enough is complete by now, and nothing is awaited that would get too old.
    void begin_training(Seconds now) {
        if (training_until_ || static_cast<std::int64_t>(complete_.size()) < batch_) return;
        for (auto const& [version, count] : outstanding_)
            if (count > 0 && version <= version_ - how_.staleness) return;
        auto const older = [](Complete const& a, Complete const& b) {
            if (a.oldest != b.oldest) return a.oldest < b.oldest;
            return a.at != b.at ? a.at < b.at : a.what.group < b.what.group;
        };
        std::stable_sort(complete_.begin(), complete_.end(), older);
        Seconds last = trained_until_;
        for (std::int64_t i = 0; i < batch_; ++i) {
            Complete const& taken = complete_[static_cast<std::size_t>(i)];
            last = std::max(last, taken.at);
            ages_[version_ - taken.what.version] += 1;
        }
        complete_.erase(complete_.begin(), complete_.begin() + batch_);
        // Where it waited for a straggler, that one's end counts.
        training_until_ = std::max(last, waited_ ? now : last) + std::max(Seconds{}, how_.train - how_.pause);
        waited_ = false;
    }

    /// The update is done: its weights are sent, while the engines pause and the trainer has nothing else to do.
    void end_training() {
        Seconds const updated = *training_until_;
        trained_until_ = updated + how_.pause;
        training_until_.reset();
        ++version_;
        std::erase_if(outstanding_, [](auto const& entry) { return entry.second == 0; });
        for (RolloutReplica& replica : replicas_) {
            std::vector<FinishedRollout> none;
            if (replica.idle()) replica.run(updated, none);
            replica.pause(how_.pause);
        }
    }

    void advance() {
        begin_responses();
        RolloutReplica& replica = earliest();
        if (training_until_ && replica.now() >= *training_until_) {
            end_training();
            begin_training(trained_until_);
            return;
        }
        Seconds const until = std::min(training_until_.value_or(never), replica.now() + resolution_);
        replica.run(until, ended_);
        sort_into_groups(ended_);
        bool const enough = static_cast<std::int64_t>(complete_.size()) >= batch_;
        begin_training(replica.now());
        waited_ = enough && !training_until_;
    }

    std::vector<std::int64_t> const& lengths_;
    Asynchrony how_;
    Seconds resolution_;
    std::int64_t batch_ = 1;
    std::int64_t slots_ = 1;
    std::vector<RolloutReplica> replicas_;
    std::vector<FinishedRollout> ended_;
    std::map<std::int64_t, Group> groups_;  ///< under way, by number
    std::vector<Complete> complete_;
    std::map<std::int64_t, std::int64_t> outstanding_;  ///< responses under way, by version
    std::map<std::int64_t, double> ages_;
    std::int64_t version_ = 0;
    std::int64_t begun_ = 0;
    std::optional<Seconds> training_until_;  ///< without sending the weights
    Seconds trained_until_;
    bool waited_ = false;
};

/// One step off: a batch is generated by engines that begin together while the one before is trained on, and both wait
/// for each other.
AsynchronousStep step_with_barrier(RolloutFleet const& fleet, std::vector<std::int64_t> const& lengths,
                                   Asynchrony const& how) {
    BatchGeneration const batch = generate_batch(fleet, lengths);
    Seconds const step = std::max(batch.time, after_generation(how) - how.pause) + how.pause;
    return {.step = step,
            .generating = batch.mean_busy / step,
            .followed = std::min(how.replicas, fleet.replicas),
            .age = {0, 1}};
}

}  // namespace

double AsynchronousStep::mean_age() const {
    double mean = 0;
    for (std::size_t i = 0; i < age.size(); ++i)
        mean += static_cast<double>(i) * age[i];
    return mean;
}

double AsynchronousStep::worth(double penalty) const {
    double sum = 0;
    for (std::size_t i = 0; i < age.size(); ++i)
        sum += age[i] * std::max(0.0, 1 - penalty * static_cast<double>(i));
    return sum;
}

AsynchronousStep run_asynchronously(RolloutFleet const& fleet, std::vector<std::int64_t> const& lengths,
                                    Asynchrony const& how) {
    Seconds const saturated = saturated_generation(fleet, lengths);
    // What completes in the steps that are measured may be a little more than what was generated in them.
    Seconds const least = std::max(after_generation(how), saturated + how.pause);
    Seconds const resolution = std::max(after_generation(how) / 4, saturated / 64);
    AsynchronousStep best;
    auto const offer = [&](AsynchronousStep step) {
        step.step = std::max(step.step, least);
        step.training = std::min(1.0, how.train / step.step);
        // Less time for the same worth, or about as little with younger responses; products, since nothing may be left
        // of the worth.
        Seconds const own = step.step * best.worth(how.penalty);
        Seconds const least_yet = best.step * step.worth(how.penalty);
        bool const younger = step.mean_age() < best.mean_age();
        if (best.followed == 0 || own * (1 + as_good) < least_yet || (younger && own <= least_yet * (1 + as_good)))
            best = std::move(step);
    };
    auto const with_bound = [&](std::int64_t staleness) {
        Asynchrony tighter = how;
        tighter.staleness = staleness;
        AsynchronousStep const step = AsynchronousRun(fleet, lengths, tighter, resolution).result();
        offer(step);
        return step.step <= least * (1 + as_good);
    };
    if (how.staleness > 0) offer(step_with_barrier(fleet, lengths, how));
    // Younger first: beyond the first bound at which nothing is waited for, responses only get older.
    for (std::int64_t k = 0; k <= how.staleness; ++k)
        if (with_bound(k)) break;
    return best;
}

}  // namespace sextant
