#include "simulator/pass_overlap.hpp"

#include <algorithm>
#include <utility>

namespace sextant {
namespace {

/// When the pass ends if no layer is slowed and transfers last as long as given.
double end_of_pass(std::span<double const> layers, std::span<PassTransfer const> transfers,
                   std::span<double const> durations, PassEnd of) {
    double end = 0;
    double stream = 0;
    std::size_t next = 0;
    std::vector<double> ends;
    auto const send = [&] {
        std::size_t const after = transfers[next].after;
        stream = std::max(stream, after == PassTransfer::none ? 0 : ends[after]) + durations[next];
    };
    for (std::size_t u = 0; u < layers.size(); ++u) {
        // Up to the last one that this layer waits for; those before it in the stream come first.
        std::size_t until = next;
        for (std::size_t t = next; t < transfers.size(); ++t)
            if (transfers[t].before == u) until = t + 1;
        for (; next < until; ++next) {
            send();
            if (transfers[next].before == u) end = std::max(end, stream);
        }
        end += layers[u];
        ends.push_back(end);
    }
    if (of == PassEnd::layers) return end;
    for (; next < transfers.size(); ++next)
        send();
    return std::max(end, stream);
}

}  // namespace

PassOverlap overlap_in_pass(std::span<double const> layers, std::span<PassTransfer const> transfers, PassEnd end) {
    PassOverlap out;
    out.transfers.resize(transfers.size());
    std::vector<std::size_t> waits(layers.size(), 0);  // transfers that have to be over, counted from the first
    for (std::size_t t = 0; t < transfers.size(); ++t)
        if (transfers[t].before < layers.size()) waits[transfers[t].before] = t + 1;
    double now = 0;
    double ended = 0;
    std::size_t layer = 0, transfer = 0;
    double of_layer = layers.empty() ? 0 : layers[0];
    double of_transfer = transfers.empty() ? 0 : transfers[0].time;
    double lasts = 0;  // the transfer that runs, so far
    while (layer < layers.size() || transfer < transfers.size()) {
        bool const computes = layer < layers.size() && waits[layer] <= transfer;
        bool const sends = transfer < transfers.size() &&
                           (transfers[transfer].after == PassTransfer::none || transfers[transfer].after < layer);
        if (!computes && !sends) break;  // a transfer after a layer that waits for it: none is given so
        double const slower = computes && sends ? 2 - transfers[transfer].overlap : 1;
        double const step = computes && sends ? std::min(of_layer, of_transfer) : computes ? of_layer : of_transfer;
        now += step * slower;
        if (computes) of_layer -= step;
        if (sends) {
            of_transfer -= step;
            lasts += step * slower;
        }
        if (computes && of_layer <= 0) {
            ended = now;
            if (++layer < layers.size()) of_layer = layers[layer];
        }
        if (sends && of_transfer <= 0) {
            out.transfers[transfer] = std::exchange(lasts, 0);
            if (++transfer < transfers.size()) of_transfer = transfers[transfer].time;
        }
    }
    if (end == PassEnd::transfers) ended = now;
    out.lost = std::max(0.0, ended - end_of_pass(layers, transfers, out.transfers, end));
    return out;
}

}  // namespace sextant
