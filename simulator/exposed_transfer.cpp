#include "simulator/exposed_transfer.hpp"

#include <algorithm>

namespace sextant {
namespace {

/// What remains of a transfer.
Seconds remaining(Seconds transfer, Window const& beside, double overlap) {
    return transfer - overlap * std::min(transfer, beside.compute) - beside.wait;
}

}  // namespace

Seconds exposed_transfer(Seconds transfer, Window const& pass, Window const& between, double overlap, Seconds least,
                         double chunks) {
    Window const all{.compute = pass.compute + between.compute, .wait = pass.wait + between.wait};
    Seconds const last = transfer / chunks;
    Seconds const slowed = (1 - overlap) * std::min(transfer - last, between.compute) - between.wait;
    return std::max(
        {remaining(last, pass, overlap) + std::max(Seconds{}, slowed), remaining(transfer, all, overlap), least});
}

Seconds exposed_by_layer(LayersOfKind const& plain, LayersOfKind const& experts, double alternating, Seconds reductions,
                         double overlap) {
    // As many layers come after one of the other kind as the other way round.
    double const changes = std::min(alternating * experts.layers, plain.layers);
    Seconds shown, room;
    auto const pairs = [&](double count, LayersOfKind const& before, LayersOfKind const& next) {
        shown += count * (next.gathers - overlap * std::min(next.gathers, before.compute));
        room += count * std::max(Seconds{}, before.compute - next.gathers);
    };
    pairs(changes, plain, experts);
    pairs(changes, experts, plain);
    pairs(plain.layers - changes, plain, plain);
    pairs(experts.layers - changes, experts, experts);
    return shown + reductions - overlap * std::min(reductions, room);
}

}  // namespace sextant
