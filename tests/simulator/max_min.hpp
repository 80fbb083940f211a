#pragma once

#include "simulator/network/fabric.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace sextant::fixtures {

/// Max-min rates of flows by filling: all rates grow alike until a link is full or a flow has its own rate.
inline std::vector<double> max_min_rates(std::vector<double> const& bandwidths, std::vector<Flow> const& flows,
                                         std::vector<char> const& active) {
    std::vector<double> rates(flows.size(), 0);
    std::vector<double> left = bandwidths;
    std::vector<char> growing = active;
    for (;;) {
        std::vector<int> users(left.size(), 0);
        double step = INFINITY;
        for (std::size_t i = 0; i < flows.size(); ++i) {
            if (growing[i] == 0) continue;
            for (auto const link : flows[i].links)
                ++users[static_cast<std::size_t>(link)];
            step = std::min(step, flows[i].rate.in(units::GB / units::s) - rates[i]);
        }
        if (std::isinf(step)) return rates;
        for (std::size_t link = 0; link < left.size(); ++link)
            if (users[link] > 0) step = std::min(step, left[link] / users[link]);
        for (std::size_t link = 0; link < left.size(); ++link)
            left[link] -= step * users[link];
        for (std::size_t i = 0; i < flows.size(); ++i) {
            if (growing[i] == 0) continue;
            rates[i] += step;
            bool full = rates[i] >= flows[i].rate.in(units::GB / units::s) * (1 - 1e-13);
            for (auto const link : flows[i].links)
                full =
                    full || left[static_cast<std::size_t>(link)] <= 1e-13 * bandwidths[static_cast<std::size_t>(link)];
            if (full) growing[i] = 0;
        }
    }
}

/// When flows end that start together, each of `seconds` at its own rate.
inline std::vector<double> max_min_ends(std::vector<double> const& bandwidths, std::vector<Flow> const& flows,
                                        double seconds) {
    std::vector<double> left;
    for (Flow const& flow : flows)
        left.push_back(flow.rate.in(units::GB / units::s) * seconds);
    std::vector<double> const sizes = left;
    std::vector<char> active(flows.size(), 1);
    std::vector<double> ends(flows.size(), 0);
    double now = 0;
    while (std::count(active.begin(), active.end(), 1) > 0) {
        std::vector<double> const rates = max_min_rates(bandwidths, flows, active);
        double step = INFINITY;
        for (std::size_t i = 0; i < flows.size(); ++i)
            if (active[i] != 0) step = std::min(step, left[i] / rates[i]);
        now += step;
        for (std::size_t i = 0; i < flows.size(); ++i) {
            if (active[i] == 0) continue;
            left[i] -= step * rates[i];
            if (left[i] <= 1e-12 * sizes[i]) {
                active[i] = 0;
                ends[i] = now;
            }
        }
    }
    return ends;
}

}  // namespace sextant::fixtures
