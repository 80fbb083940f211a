#include "simulator/engine/simgrid/serving_platform.hpp"

#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/s4u.hpp>

#include <string>

namespace sextant {

namespace s4u = simgrid::s4u;

ServingPlatform::ServingPlatform(ServingActorsRun const& run) {
    s4u::NetZone* const star = s4u::create_star_zone("deployment");
    router_ = star->create_host("router", 1.0);
    for (std::int64_t i = 0; i < run.replicas; ++i)
        replicas_.push_back(star->create_host("replica" + std::to_string(i), 1.0));
    sink_ = star->create_host("sink", 1.0);
    star->add_route(nullptr, sink_->get_netpoint(), nullptr, nullptr, std::vector<s4u::LinkInRoute>{}, false);

    std::vector<s4u::Link*> links;
    for (double const bandwidth : run.bandwidths) {
        s4u::Link* const link = star->create_link("link" + std::to_string(links.size()), bandwidth * units_per_byte);
        link->set_latency(0.0);
        link->seal();
        links.push_back(link);
    }
    std::size_t made = 0;
    for (CacheRoute const& route : run.routes) {
        std::vector<s4u::Host*>& sources = sources_[{route.from, route.to}];
        for (std::vector<std::int32_t> const& flow : route.flows) {
            std::vector<s4u::LinkInRoute> way;
            for (std::int32_t const link : flow)
                way.emplace_back(links[static_cast<std::size_t>(link)]);
            s4u::Host* const host = star->create_host("source" + std::to_string(made++), 1.0);
            star->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, way, false);
            sources.push_back(host);
        }
    }
    star->seal();
}

}  // namespace sextant
