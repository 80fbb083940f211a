#pragma once

#include "cost_models/serving/iteration_model.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <vector>

namespace sextant {

/// A response that is asked for: its tokens, the version of the weights when it was, and the prompt that it answers.
struct Rollout {
    std::int64_t tokens = 1;
    std::int64_t version = 0;
    std::int64_t prompt = 0;
};

/// A response that is complete.
struct FinishedRollout {
    Seconds at;
    Rollout what;
};

/// Prompts of a step, and what of each is computed: the responses to one prompt share its cache.
struct RolloutPrompt {
    double tokens = 0;
    double fresh = 0;  ///< of each response, on average; the rest is found in the prefix cache
};

/// What a replica may hold at a time.
struct RolloutLimits {
    std::int64_t sequences = 1;
    double cache_tokens = 0;  ///< kept by all layers, of all its attention data-parallel groups
};

/// One engine that generates: a queue, prompts in chunks, decode iterations whose batch shrinks as responses end and is
/// refilled from the queue.
///
/// A response is admitted when the cache can hold it to its end, so nothing is ever preempted: an engine that admits by
/// what is free now starts more and preempts some. Iterations are those of `IterationModel`, up to 16 at a time by
/// their middle one (their time is nearly linear in the growing cache).
class RolloutReplica {
public:
    RolloutReplica(IterationModel const& model, RolloutPrompt prompt, RolloutLimits limits, double slowdown = 1);

    /// @throws InputError when the cache cannot hold this response even alone.
    void submit(Rollout const& rollout);
    /// Runs until a response is complete, there is nothing to do, or `until` (which the last iteration may overrun).
    /// Without work the clock goes to `until`, if that is given.
    void run(Seconds until, std::vector<FinishedRollout>& finished);
    /// Nothing is generated for so long: new weights are loaded.
    void pause(Seconds time) { now_ += time; }

    [[nodiscard]] Seconds now() const { return now_; }
    [[nodiscard]] bool idle() const { return queue_.empty() && starting_.empty() && decoding_.empty(); }
    [[nodiscard]] std::int64_t waiting() const { return static_cast<std::int64_t>(queue_.size()); }
    [[nodiscard]] std::int64_t running() const {
        return static_cast<std::int64_t>(starting_.size() + decoding_.size());
    }
    [[nodiscard]] std::int64_t most_running() const { return most_running_; }  ///< at once, so far
    [[nodiscard]] Seconds busy() const { return busy_; }
    [[nodiscard]] Seconds prefill() const { return prefill_; }  ///< iterations that carried prompts
    [[nodiscard]] double tokens() const { return tokens_; }     ///< generated so far, of responses under way as well
    /// Sequences decoding, integrated over time.
    [[nodiscard]] Seconds sequence_time() const { return sequence_time_; }

private:
    struct Decoding {
        std::int64_t last;  ///< the iteration that ends it
        std::int64_t order;
        Rollout what;
        bool operator>(Decoding const& other) const {
            return last != other.last ? last > other.last : order > other.order;
        }
    };
    struct Starting {
        Rollout what;
        double left;  ///< prompt tokens still to be computed
    };
    void admit();
    void prompt_iteration(std::vector<FinishedRollout>& finished);
    void decode_iterations(Seconds until, std::vector<FinishedRollout>& finished);
    void spend(Seconds time, double decoding);
    void collect(std::vector<FinishedRollout>& finished);
    [[nodiscard]] double held_by(Rollout const& rollout) const;

    IterationModel const& model_;
    RolloutPrompt prompt_;
    RolloutLimits limits_;
    double slowdown_;
    double groups_;             ///< of attention data parallelism, in every stage
    double other_groups_;       ///< than one of a stage
    Seconds prompt_attention_;  ///< of one prompt
    std::deque<Rollout> queue_;
    std::deque<Starting> starting_;
    std::priority_queue<Decoding, std::vector<Decoding>, std::greater<>> decoding_;
    std::int64_t iteration_ = 0;
    std::int64_t order_ = 0;
    std::int64_t most_running_ = 0;
    double context_ = 0;   ///< tokens in the cache of what decodes
    double reserved_ = 0;  ///< tokens that are kept for what runs
    Seconds now_, busy_, prefill_, sequence_time_;
    double tokens_ = 0;
};

}  // namespace sextant
