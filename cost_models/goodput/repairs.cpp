#include "cost_models/goodput/repairs.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {

Repairs repairs_of(GoodputCase const& run) {
    Repairs repairs;
    Replacement const& r = run.replacement;
    if (!r.spares) return repairs;
    double rate = 0;
    for (FailureProcess const& process : run.failures)
        if (takes_a_node(process.scope)) rate += process.rate_per_s();
    double const mean = rate * r.repair.base();
    if (!(mean > 0)) return repairs;
    auto const spares = static_cast<double>(*r.spares);
    auto const dp = static_cast<double>(r.dp);
    std::int64_t const nodes = r.gpus > 0 ? (r.gpus + r.gpus_per_node - 1) / r.gpus_per_node : r.dp;
    double const most = mean + spares + static_cast<double>(nodes) + 12 * std::sqrt(mean + 1) + 40;
    double missing = 0, running = 0, above = 0;
    for (double j = 0; j <= most; ++j) {
        double const p = std::exp(j * std::log(mean) - mean - std::lgamma(j + 1));
        auto const lacking = static_cast<std::int64_t>(std::max(0.0, j - spares));
        std::int64_t const left = r.replicas_without(lacking);
        // The node that leaves this state takes a replica with it; one that comes back to it brings as many.
        if (j >= spares && r.replicas_without(lacking + 1) < left) above += p;
        bool const stands = r.shortage == Shortage::wait ? lacking > 0 : left == 0;
        if (stands)
            repairs.waiting += p;
        else {
            running += p;
            missing += p * (dp - static_cast<double>(left)) / dp;
        }
    }
    if (r.shortage == Shortage::shrink) {
        repairs.shrink = running > 0 ? missing / running : 0;
        repairs.rejoin_per_s = rate * above;
    }
    repairs.waiting = std::min(1.0, repairs.waiting);
    return repairs;
}

}  // namespace sextant
