#pragma once

#include "core/units.hpp"

namespace sextant {

/// Compute that a transfer runs beside, and waiting, where it hides for nothing.
struct Window {
    Seconds compute;
    Seconds wait;
};

/// What shows of a transfer that runs chunk by chunk: that of the chunk whose turn is the last one beside one pass and
/// what the others slow the passes `between`, or all of it beside that pass and those, or `least`: one call. Of the
/// time in which transfer and compute could run side by side, the share `overlap` is gained.
Seconds exposed_transfer(Seconds transfer, Window const& pass, Window const& between, double overlap, Seconds least,
                         double chunks = 1);

/// Layers of one kind of a stage: what each waits for before it begins, and how long it then takes.
struct LayersOfKind {
    double layers = 0;
    Seconds gathers;  ///< of one layer
    Seconds compute;  ///< of one layer, waiting left out
};

/// What shows of a pass in which each layer's weights are gathered beside the layer before it, no earlier, and its
/// gradients, `reductions` of all layers, are reduced behind it: gathers beside the layers that come before, pair by
/// pair, and reductions in what room these leave. `alternating`: of the layers with experts, the share that come after
/// one without. Where all layers are alike, and where none change, that is what `exposed_transfer` says of all traffic
/// beside all compute.
Seconds exposed_by_layer(LayersOfKind const& plain, LayersOfKind const& experts, double alternating, Seconds reductions,
                         double overlap);

}  // namespace sextant
