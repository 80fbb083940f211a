#include "simulator/serving/serving_setup.hpp"

#include "core/error.hpp"

namespace sextant {

bool LatencyObjective::met_by(FinishedRequest const& request) const {
    if (ttft && request.ttft() > *ttft) return false;
    return !tpot || request.request.output <= 1 || request.tpot() <= *tpot;
}

void check_serving_setup(ServingSetup const& setup) {
    ReplicaLimits const& limits = setup.limits;
    if (setup.prefill_replicas < 0 || (setup.prefill_replicas > 0 && setup.prefill_replicas >= setup.replicas))
        throw InputError("--prefill-replicas: {} of {} replicas (at least one has to decode)", setup.prefill_replicas,
                         setup.replicas);
    if (setup.replicas < 1 || setup.replicas > 65536)
        throw InputError("--replicas: {} is out of range (1 to 65536)", setup.replicas);
    if (limits.max_batch < 1) throw InputError("--max-batch: {} (at least 1)", limits.max_batch);
    Speculation const& speculation = limits.speculation;
    if (speculation.tokens < 0 || speculation.tokens > 64)
        throw InputError("--speculate: {} is out of range (0 to 64 tokens)", speculation.tokens);
    if (!(speculation.acceptance >= 0 && speculation.acceptance <= 1))
        throw InputError("--acceptance: {} is out of range (0 to 1)", speculation.acceptance);
    if (!(speculation.draft_share >= 0 && speculation.draft_share <= 10))
        throw InputError("--draft-cost: {} is out of range (0 to 10 decode iterations)", speculation.draft_share);
    if (limits.max_batched_tokens < limits.max_batch * (1 + speculation.tokens))
        throw InputError("--max-batched-tokens: {} are fewer than the {} sequences of a batch take ({} each)",
                         limits.max_batched_tokens, limits.max_batch, 1 + speculation.tokens);
    if (limits.blocks < 1) throw InputError("the cache of a replica holds no block");
    if (!(setup.warmup_share >= 0 && setup.warmup_share <= 0.9))
        throw InputError("--warmup: {} is out of range (0 to 0.9 of the requests)", setup.warmup_share);
}

}  // namespace sextant
