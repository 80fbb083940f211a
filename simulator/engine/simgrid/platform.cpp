#include "simulator/engine/simgrid/platform.hpp"

#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

namespace sextant {
namespace {

namespace s4u = simgrid::s4u;

/// Largest power of two that keeps every flow's size below 2^60.
double scale_of(EngineRun const& run) {
    double largest = 1;
    for (Task const& task : run.graph.tasks) {
        if (task.demand < 0) continue;
        for (Flow const& flow : run.fabric.flows_of(static_cast<std::size_t>(task.demand)))
            largest = std::max(largest, flow.rate.base() * (task.duration - task.latency));
    }
    return std::exp2(std::floor(60 - std::log2(largest)));
}

/// Ranks whose compute a collective may slow down.
std::vector<char> slowed_ranks(EngineRun const& run) {
    std::vector<char> slowed(run.graph.ranks.size(), 0);
    for (Task const& task : run.graph.tasks)
        if (holds_compute(run, task))
            for (std::int32_t const rank : run.graph.demands[static_cast<std::size_t>(task.demand)].members)
                slowed[static_cast<std::size_t>(rank)] = 1;
    return slowed;
}

/// Makes sources, one for all flows that are alike.
class SourceMaker {
public:
    SourceMaker(EngineRun const& run, std::vector<s4u::Link*> const& links, s4u::NetZone& star, double units_per_byte)
        : run_(run), links_(links), star_(star), units_per_byte_(units_per_byte) {}

    s4u::Host* source(Flow const& flow) {
        auto const [found, is_new] = made_.try_emplace({flow.links, flow.rate.base()}, nullptr);
        if (is_new) found->second = make(flow);
        return found->second;
    }

private:
    s4u::Host* make(Flow const& flow) {
        std::string const name = "flow" + std::to_string(made_.size());
        std::vector<s4u::LinkInRoute> route;
        double narrowest = INFINITY;
        for (std::int32_t const link : flow.links) {
            route.emplace_back(links_[static_cast<std::size_t>(link)]);
            narrowest = std::min(narrowest, run_.bandwidths[static_cast<std::size_t>(link)]);
        }
        if (flow.rate.base() < narrowest) {  // a host-to-host transfer has no rate of its own in SimGrid
            s4u::Link* const cap = star_.create_link(name + ".cap", flow.rate.base() * units_per_byte_);
            cap->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE);
            cap->set_latency(0.0);
            cap->seal();
            route.emplace_back(cap);
        }
        s4u::Host* const host = star_.create_host(name, 1.0);
        star_.add_route(host->get_netpoint(), nullptr, nullptr, nullptr, route, false);
        return host;
    }

    EngineRun const& run_;
    std::vector<s4u::Link*> const& links_;
    s4u::NetZone& star_;
    double units_per_byte_;
    std::map<std::pair<std::vector<std::int32_t>, double>, s4u::Host*> made_;
};

}  // namespace

bool holds_compute(EngineRun const& run, Task const& task) {
    if (run.communication_sms <= 0 || task.demand < 0 || task.duration <= 0) return false;
    return run.graph.demands[static_cast<std::size_t>(task.demand)].kind != CollectiveKind::send_receive;
}

Platform::Platform(EngineRun const& run) {
    s4u::NetZone* const star = s4u::create_star_zone("cluster");
    compute_.resize(run.graph.ranks.size(), nullptr);
    std::vector<char> const slowed = slowed_ranks(run);
    for (std::size_t rank = 0; rank < slowed.size(); ++rank)
        if (slowed[rank] != 0)
            compute_[rank] = star->create_host("rank" + std::to_string(rank),
                                               std::vector<double>{speed, speed * (1 - run.communication_sms)});
    sink_ = star->create_host("sink", 1.0);
    star->add_route(nullptr, sink_->get_netpoint(), nullptr, nullptr, std::vector<s4u::LinkInRoute>{}, false);

    sources_.resize(run.graph.demands.size());
    if (run.network == NetworkMode::fair) {
        units_per_byte_ = scale_of(run);
        for (std::size_t i = 0; i < run.bandwidths.size(); ++i) {
            s4u::Link* const link = star->create_link("link" + std::to_string(i), run.bandwidths[i] * units_per_byte_);
            link->set_latency(0.0);
            link->seal();
            links_.push_back(link);
        }
        SourceMaker maker(run, links_, *star, units_per_byte_);
        for (std::size_t demand = 0; demand < sources_.size(); ++demand)
            for (Flow const& flow : run.fabric.flows_of(demand))
                sources_[demand].push_back({maker.source(flow), &flow.links, flow.rate.base()});
    }
    star->seal();
}

}  // namespace sextant
