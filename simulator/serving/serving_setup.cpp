#include "simulator/serving/serving_setup.hpp"

#include "core/error.hpp"

#include <algorithm>

namespace sextant {

bool LatencyObjective::met_by(FinishedRequest const& request) const {
    if (ttft && request.ttft() > *ttft) return false;
    return !tpot || request.request.output <= 1 || request.tpot() <= *tpot;
}

namespace {

void check_limits(ReplicaLimits const& limits) {
    if (limits.max_batch < 1) throw InputError("--max-batch: {} (at least 1)", limits.max_batch);
    std::int64_t const batch = (limits.max_batch + limits.groups - 1) / limits.groups;
    if (limits.max_batched_tokens < batch * (1 + limits.speculation.tokens))
        throw InputError("--max-batched-tokens: {} are fewer than the {} sequences of a batch take ({} each)",
                         limits.max_batched_tokens, batch, 1 + limits.speculation.tokens);
    if (limits.blocks < 1) throw InputError("the cache of a replica holds no block");
}

void check_changes(ServingSetup const& setup) {
    Autoscale const& scale = setup.autoscale;
    if (scale.on() && (scale.least < 1 || scale.least > scale.most || scale.most != setup.replicas))
        throw InputError("--autoscale: {}..{} (at least 1, and the second not below the first)", scale.least,
                         scale.most);
    if (scale.on() && !(scale.target > 0 && scale.target <= 1e9))
        throw InputError("--scale-target: {} (above 0)", scale.target);
    if (scale.on() && !(scale.every >= 1 * units::ms && scale.every <= 1 * units::day))
        throw InputError("--scale-every: {} s (1 ms to a day)", scale.every.base());
    if (scale.on() && setup.prefill_replicas > 0)
        throw InputError(
            "--autoscale: replicas that share the work by phase do not come and go (no --prefill-replicas)");
    Outages const& outages = setup.outages;
    if (outages.mtbf > Seconds{} && !(outages.mtbf >= 1 * units::s && outages.repair > Seconds{}))
        throw InputError("--replica-mtbf: {} s with a repair of {} s (at least 1 s, and a repair that takes time)",
                         outages.mtbf.base(), outages.repair.base());
    for (PlannedDrain const& drain : outages.drains)
        if (drain.replica < 0 || drain.replica >= setup.replicas)
            throw InputError("--drain-at: there is no replica {} (0 to {})", drain.replica, setup.replicas - 1);
    if (!outages.drains.empty() && outages.drained_for <= Seconds{} && !scale.on() &&
        static_cast<std::int64_t>(outages.drains.size()) >=
            (setup.prefill_replicas > 0 ? std::min(setup.prefill_replicas, setup.replicas - setup.prefill_replicas)
                                        : setup.replicas))
        throw InputError("--drain-at: no replica is sure to stay (--drain-for TIME brings drained ones back)");
}

}  // namespace

std::int64_t ServingSetup::groups_before(std::int64_t replica) const {
    std::int64_t const for_prompts = std::min(replica, prefill_replicas);
    return for_prompts * limits_for_prompts().groups + (replica - for_prompts) * limits.groups;
}

void check_serving_setup(ServingSetup const& setup) {
    ReplicaLimits const& limits = setup.limits;
    if (setup.prefill_replicas < 0 || (setup.prefill_replicas > 0 && setup.prefill_replicas >= setup.replicas))
        throw InputError("--prefill-replicas: {} of {} replicas (at least one has to decode)", setup.prefill_replicas,
                         setup.replicas);
    if (setup.prefill_limits && setup.prefill_replicas == 0)
        throw InputError("--prefill-replicas: none, but they have limits of their own");
    if (setup.replicas < 1 || setup.replicas > 65536)
        throw InputError("--replicas: {} is out of range (1 to 65536)", setup.replicas);
    Speculation const& speculation = limits.speculation;
    if (speculation.tokens < 0 || speculation.tokens > 64)
        throw InputError("--speculate: {} is out of range (0 to 64 tokens)", speculation.tokens);
    if (!(speculation.acceptance >= 0 && speculation.acceptance <= 1))
        throw InputError("--acceptance: {} is out of range (0 to 1)", speculation.acceptance);
    if (!(speculation.draft_share >= 0 && speculation.draft_share <= 10))
        throw InputError("--draft-cost: {} is out of range (0 to 10 decode iterations)", speculation.draft_share);
    check_limits(limits);
    check_limits(setup.limits_for_prompts());
    check_changes(setup);
    if (!(setup.warmup_share >= 0 && setup.warmup_share <= 0.9))
        throw InputError("--warmup: {} is out of range (0 to 0.9 of the requests)", setup.warmup_share);
}

}  // namespace sextant
