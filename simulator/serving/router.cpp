#include "simulator/serving/router.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"

#include <array>

namespace sextant {
namespace {

constexpr std::array routers{Router::round_robin, Router::least_loaded};

}  // namespace

std::string_view name_of(Router router) { return router == Router::round_robin ? "round-robin" : "least-loaded"; }

Router router_from(std::string_view name, std::string_view where) {
    std::vector<std::string> known;
    for (Router const router : routers) {
        if (name == name_of(router)) return router;
        known.emplace_back(name_of(router));
    }
    throw InputError("{}: unknown router '{}'{} (known: {})", where, name, did_you_mean(name, known), join(known));
}

std::optional<std::size_t> Routing::route(std::vector<Replica> const& replicas, std::vector<char> const& takes) {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < count_; ++i) {
        std::size_t const other = first_ + (turn_ + i) % count_;
        if (takes[other] == 0) continue;
        if (!best || replicas[other].outstanding() < replicas[*best].outstanding()) best = other;
        if (router_ == Router::round_robin) break;
    }
    if (best) turn_ = (*best - first_ + 1) % count_;
    return best;
}

}  // namespace sextant
