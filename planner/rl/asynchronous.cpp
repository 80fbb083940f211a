#include "planner/rl/asynchronous.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

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

/// Replicas that are followed, and the groups of a step that are theirs.
struct FollowedShare {
    std::int64_t replicas;
    std::int64_t groups;
};

FollowedShare followed_share(std::int64_t replicas, std::int64_t groups, Asynchrony const& how) {
    std::int64_t const few = std::min(how.replicas, replicas);
    auto const share_of = [&](std::int64_t followed) {
        return static_cast<double>(groups) * static_cast<double>(followed) / static_cast<double>(replicas);
    };
    if (how.group == 1) return {few, std::max<std::int64_t>(1, (groups * few + replicas - 1) / replicas)};
    constexpr double close = 0.01;
    // Of fewer groups than one for two replicas in sight, those that have one.
    FollowedShare best{.replicas = std::max(few, (replicas + groups - 1) / groups), .groups = 1};
    double least = std::abs(1 / share_of(best.replicas) - 1);
    for (std::int64_t n = few; n <= std::min(replicas, 2 * few); ++n) {
        std::int64_t const whole = std::llround(share_of(n));
        if (whole < 1) continue;
        double const error = std::abs(static_cast<double>(whole) / share_of(n) - 1);
        if (error < least || n == few) best = {n, whole}, least = error;
        if (least < close) break;
    }
    return best;
}

/// Responses to one prompt, of which the first is begun.
struct RolloutGroup {
    std::int64_t oldest = 0;  ///< version of its first response
    Seconds at;               ///< the end of its last one so far
    std::vector<FinishedRollout> members{};
};

class AsynchronousRun {
public:
    AsynchronousRun(RolloutFleet const& fleet, std::vector<std::int64_t> const& lengths, Asynchrony const& how,
                    Seconds resolution)
        : lengths_(lengths), how_(how), resolution_(resolution) {
        how_.train = after_generation(how);
        auto const [followed, groups] =
            followed_share(fleet.replicas, static_cast<std::int64_t>(lengths.size()) / how.group, how);
        batch_groups_ = groups;
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
        group_waits_ = {};
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
        out.group_wait = group_waits_ / total;
        for (auto const& [age, count] : ages_) {
            out.age.resize(static_cast<std::size_t>(age) + 1);
            out.age.back() = count / total;
        }
        return out;
    }

private:
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
        while (begun_ < (version_ + how_.staleness + 1) * batch_groups_ * how_.group) {
            auto const loaded = std::min_element(replicas_.begin(), replicas_.end(), [](auto const& a, auto const& b) {
                return a.running() + a.waiting() < b.running() + b.waiting();
            });
            if (loaded->running() + loaded->waiting() >= slots_) return;
            std::int64_t const prompt = begun_ / how_.group;
            loaded->submit({.tokens = lengths_[static_cast<std::size_t>(begun_) % lengths_.size()],
                            .version = version_,
                            .prompt = prompt});
            begun_groups_.try_emplace(prompt, RolloutGroup{.oldest = version_, .at = {}});
            ++begun_;
        }
    }

    /// Puts responses into their groups, and complete groups with those to be trained on.
    void collect(std::vector<FinishedRollout> const& finished) {
        for (FinishedRollout const& response : finished) {
            auto const found = begun_groups_.find(response.what.prompt);
            RolloutGroup& group = found->second;
            group.at = std::max(group.at, response.at);
            group.members.push_back(response);
            if (static_cast<std::int64_t>(group.members.size()) < how_.group) continue;
            complete_.push_back(std::move(group));
            begun_groups_.erase(found);
        }
    }

    [[nodiscard]] bool has_batch() const { return static_cast<std::int64_t>(complete_.size()) >= batch_groups_; }

    void take(RolloutGroup const& group) {
        for (FinishedRollout const& response : group.members) {
            ages_[version_ - response.what.version] += 1;
            group_waits_ += group.at - response.at;
        }
    }

    /// Begins an update when enough is complete by now, and nothing is awaited that would get too old.
    void begin_training(Seconds now) {
        if (training_until_ || !has_batch()) return;
        // Begun in order: the first that is not complete is the oldest.
        if (!begun_groups_.empty() && begun_groups_.begin()->second.oldest <= version_ - how_.staleness) return;
        auto const older = [](RolloutGroup const& a, RolloutGroup const& b) {
            return a.oldest != b.oldest ? a.oldest < b.oldest : a.at < b.at;
        };
        std::sort(complete_.begin(), complete_.end(), older);
        Seconds last = trained_until_;
        for (std::int64_t i = 0; i < batch_groups_; ++i) {
            RolloutGroup const& taken = complete_[static_cast<std::size_t>(i)];
            last = std::max(last, taken.at);
            take(taken);
        }
        complete_.erase(complete_.begin(), complete_.begin() + batch_groups_);
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
        std::vector<FinishedRollout> finished;
        replica.run(until, finished);
        collect(finished);
        bool const enough = has_batch();
        begin_training(replica.now());
        waited_ = enough && !training_until_;
    }

    std::vector<std::int64_t> const& lengths_;
    Asynchrony how_;
    Seconds resolution_;
    std::int64_t batch_groups_ = 1;  ///< of a step
    std::int64_t slots_ = 1;
    std::vector<RolloutReplica> replicas_;
    std::vector<RolloutGroup> complete_;
    std::map<std::int64_t, RolloutGroup> begun_groups_;  ///< and not complete, by prompt
    std::map<std::int64_t, double> ages_;
    Seconds group_waits_;  ///< of all responses that were trained on
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
            .group_wait = {},
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
