#include "planner/rl/rollout_replica.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sextant {
namespace {

constexpr std::int64_t longest_piece = 16;

}  // namespace

RolloutReplica::RolloutReplica(IterationModel const& model, RolloutPrompt prompt, RolloutLimits limits, double slowdown)
    : model_(model),
      prompt_(prompt),
      limits_(limits),
      slowdown_(slowdown),
      groups_(static_cast<double>(model.what().plan.attention_dp * model.what().plan.pp)),
      other_groups_(static_cast<double>(model.what().plan.attention_dp - 1)) {
    prompt_.fresh = std::clamp(prompt_.fresh, 1.0, std::max(1.0, prompt_.tokens));
    prompt_attention_ = model_.prefill_attention(std::max(0.0, prompt_.tokens - prompt_.fresh), prompt_.fresh);
}

double RolloutReplica::held_by(Rollout const& rollout) const {
    double const block = static_cast<double>(model_.what().plan.block_tokens);
    double const tokens = std::ceil((prompt_.fresh + static_cast<double>(rollout.tokens)) / block) * block;
    return model_.memory().shape.kept(tokens);
}

void RolloutReplica::submit(Rollout const& rollout) {
    // Alone it needs its whole prompt.
    double const alone = prompt_.tokens + static_cast<double>(rollout.tokens);
    if (model_.memory().shape.kept(alone) > limits_.cache_tokens)
        throw InputError("rollout: a response of {} tokens after {:.0f} does not fit the cache of {:.0f} tokens",
                         rollout.tokens, prompt_.tokens, limits_.cache_tokens);
    queue_.push_back(rollout);
}

void RolloutReplica::admit() {
    while (!queue_.empty() && running() < limits_.sequences) {
        double const held = held_by(queue_.front());
        if (running() > 0 && reserved_ + held > limits_.cache_tokens) return;
        reserved_ += held;
        starting_.push_back({.what = queue_.front(), .left = prompt_.fresh});
        queue_.pop_front();
        most_running_ = std::max(most_running_, running());
    }
}

void RolloutReplica::spend(Seconds time, double decoding) {
    now_ += time;
    busy_ += time;
    sequence_time_ += time * decoding;
}

void RolloutReplica::collect(std::vector<FinishedRollout>& finished) {
    while (!decoding_.empty() && decoding_.top().last <= iteration_) {
        Rollout const what = decoding_.top().what;
        finished.push_back({.at = now_, .what = what});
        context_ -= prompt_.tokens + static_cast<double>(what.tokens);
        reserved_ -= held_by(what);
        decoding_.pop();
    }
}

void RolloutReplica::prompt_iteration(std::vector<FinishedRollout>& finished) {
    double const decoding = static_cast<double>(decoding_.size());
    double const most = static_cast<double>(model_.what().plan.max_batched_tokens) * groups_;
    double room = std::max(1.0, most - decoding);
    double taken = 0;
    std::vector<Rollout> begun;
    while (!starting_.empty() && room > 0) {
        double const part = std::min(room, starting_.front().left);
        room -= part;
        taken += part;
        starting_.front().left -= part;
        if (starting_.front().left > 0) break;
        begun.push_back(starting_.front().what);
        starting_.pop_front();
    }
    Seconds const time = slowdown_ * model_({.prefill_tokens = taken / groups_,
                                             .prefill_attention = prompt_attention_ * (taken / prompt_.fresh / groups_),
                                             .decodes = decoding / groups_,
                                             .decode_context = context_ / groups_,
                                             .samples = (decoding + static_cast<double>(begun.size())) / groups_,
                                             .elsewhere = other_groups_ * (taken + decoding) / groups_})
                                         .total();
    spend(time, decoding);
    prefill_ += time;
    iteration_ += 1;
    context_ += decoding;
    tokens_ += decoding + static_cast<double>(begun.size());
    for (Rollout const& what : begun) {  // the prompt's iteration gives the first token
        decoding_.push({.last = iteration_ + what.tokens - 1, .order = order_++, .what = what});
        context_ += prompt_.tokens + 1;
    }
    collect(finished);
}

void RolloutReplica::decode_iterations(Seconds until, std::vector<FinishedRollout>& finished) {
    double const decoding = static_cast<double>(decoding_.size());
    while (iteration_ < decoding_.top().last && now_ < until) {
        std::int64_t count = std::min(longest_piece, decoding_.top().last - iteration_);
        auto const time_of = [&](std::int64_t iterations) {
            double const middle = context_ + decoding * (static_cast<double>(iterations) - 1) / 2;
            return slowdown_ * model_({.decodes = decoding / groups_,
                                       .decode_context = middle / groups_,
                                       .samples = decoding / groups_,
                                       .elsewhere = other_groups_ * decoding / groups_})
                                   .total();
        };
        Seconds each = time_of(count);
        if (now_ + static_cast<double>(count) * each > until) {
            count = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil((until - now_) / each)), 1, count);
            each = time_of(count);
        }
        spend(static_cast<double>(count) * each, decoding);
        iteration_ += count;
        context_ += decoding * static_cast<double>(count);
        tokens_ += decoding * static_cast<double>(count);
    }
    collect(finished);
}

void RolloutReplica::run(Seconds until, std::vector<FinishedRollout>& finished) {
    std::size_t const before = finished.size();
    while (finished.size() == before && now_ < until) {
        admit();
        if (!starting_.empty())
            prompt_iteration(finished);
        else if (!decoding_.empty())
            decode_iterations(until, finished);
        else
            break;
    }
    if (idle() && finished.size() == before && until < Seconds::from_base(std::numeric_limits<double>::infinity()))
        now_ = std::max(now_, until);
}

}  // namespace sextant
