// What an iteration of a replica takes.
#include "simulator/serving/replica.hpp"

#include <algorithm>

namespace sextant {

double Replica::tokens_of(IterationLoad const& load) const {
    return load.prefill_tokens + load.decodes * static_cast<double>(1 + limits_.speculation.tokens);
}

ServiceModel::Times Replica::times_of(Lane const& lane) const {
    double all = 0;
    for (Batch const& batch : lane.batches)
        all += tokens_of(batch.load);
    ServiceModel::Times longest{};
    for (Batch const& batch : lane.batches) {
        double const own = tokens_of(batch.load);
        if (own <= 0) continue;
        IterationLoad load = batch.load;
        load.elsewhere = all - own;
        ServiceModel::Times times = times_of(load);
        if (limits_.adapter_slots > 0) {
            ServiceModel::Times const more = adapter_times(batch);
            times.latency += more.latency;
            times.interval += more.interval;
        }
        longest.latency = std::max(longest.latency, times.latency);
        longest.interval = std::max(longest.interval, times.interval);
    }
    return longest;
}

ServiceModel::Times Replica::times_of(IterationLoad const& load) const {
    Speculation const& speculation = limits_.speculation;
    if (speculation.tokens == 0 || load.decodes <= 0) return service_.iteration(load);
    // The cache is read once for all guesses of a sequence. They are as many every time, so that engines check them in
    // the graph that they recorded of such a step, as they do for plain decodes (SGLang's target_verify, vLLM's uniform
    // decode length); prompts are launched kernel by kernel.
    auto const guesses = static_cast<double>(speculation.tokens);
    IterationLoad checking = load;
    checking.guesses += guesses * load.decodes;
    checking.samples += guesses * load.decodes;
    ServiceModel::Times times = service_.iteration(checking);
    ServiceModel::Times const plain =
        service_.iteration({.decodes = load.decodes,
                            .decode_context = load.decode_context,
                            .samples = load.decodes,
                            .elsewhere = load.elsewhere / static_cast<double>(1 + speculation.tokens)});
    times.latency += plain.latency * (guesses * speculation.draft_share);
    times.interval += plain.interval * (guesses * speculation.draft_share);
    return times;
}

ServiceModel::Times Replica::adapter_times(Batch const& batch) const {
    std::int64_t different = batch.prompt_adapters.distinct();
    std::int64_t tokens = batch.prompt_adapter_tokens;
    if (batch.steps) {
        different += batch.decoding_adapters.distinct() - batch.prompt_adapters.shared_with(batch.decoding_adapters);
        tokens += batch.decoding_adapters.sequences() * (1 + limits_.speculation.tokens);
    }
    if (different == 0) return {};
    return service_.adapters(static_cast<double>(different), static_cast<double>(tokens));
}

}  // namespace sextant
