#include "simulator/link_series.hpp"

#include <algorithm>
#include <numeric>

namespace sextant {
namespace {

/// Calls `visit(link, start, end, bytes)` for every link of every transfer that took place.
template <class Visit>
void visit_transfers(TaskGraph const& graph, TaskTimes const& times, Fabric const& fabric, Visit const& visit) {
    for (std::size_t id = 0; id < graph.tasks.size(); ++id) {
        Task const& task = graph.tasks[id];
        double const start = times.start[id] + task.latency;
        if (task.demand < 0 || times.start[id] < 0 || times.end[id] <= start) continue;
        for (Flow const& flow : fabric.flows_of(static_cast<std::size_t>(task.demand)))
            for (std::int32_t const link : flow.links)
                visit(static_cast<std::size_t>(link), start, times.end[id],
                      flow.rate.base() * (task.duration - task.latency));
    }
}

struct RateChange {
    double time = 0;
    double rate = 0;
};

std::vector<LinkStep> steps_of(std::vector<RateChange>& changes, BytesPerSecond bandwidth) {
    std::stable_sort(changes.begin(), changes.end(),
                     [](RateChange const& a, RateChange const& b) { return a.time < b.time; });
    std::vector<LinkStep> steps;
    double rate = 0;
    double largest = 0;
    for (std::size_t i = 0; i < changes.size();) {
        double const time = changes[i].time;
        for (; i < changes.size() && changes[i].time == time; ++i)
            rate += changes[i].rate;
        largest = std::max(largest, rate);
        // Sums and differences of rates leave a rounding error where nothing is left.
        double const shown = rate > 1e-9 * largest ? std::min(rate, bandwidth.base()) : 0;
        if (steps.empty() || steps.back().rate.base() != shown)
            steps.push_back({time, BytesPerSecond::from_base(shown)});
    }
    return steps;
}

}  // namespace

std::vector<LinkSeries> link_series(TaskGraph const& graph, TaskTimes const& times, Fabric const& fabric,
                                    std::size_t most) {
    auto const links = fabric.links();
    std::vector<double> carried(links.size());
    visit_transfers(graph, times, fabric,
                    [&](std::size_t link, double, double, double bytes) { carried[link] += bytes; });
    auto const fullness = [&](std::size_t link) { return carried[link] / links[link].bandwidth.base(); };
    std::vector<std::size_t> order(links.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::erase_if(order, [&](std::size_t link) { return carried[link] <= 0; });
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return fullness(a) > fullness(b); });
    order.resize(std::min(order.size(), most));

    std::vector<std::size_t> place(links.size(), order.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        place[order[i]] = i;
    std::vector<std::vector<RateChange>> changes(order.size());
    visit_transfers(graph, times, fabric, [&](std::size_t link, double start, double end, double bytes) {
        if (place[link] == order.size()) return;
        double const rate = bytes / (end - start);
        changes[place[link]].push_back({start, rate});
        changes[place[link]].push_back({end, -rate});
    });
    std::vector<LinkSeries> series;
    for (std::size_t i = 0; i < order.size(); ++i)
        series.push_back(
            {links[order[i]].name, links[order[i]].bandwidth, steps_of(changes[i], links[order[i]].bandwidth)});
    return series;
}

}  // namespace sextant
