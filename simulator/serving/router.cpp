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

std::size_t Routing::route(std::vector<Replica> const& replicas) {
    std::size_t best = turn_;
    if (router_ == Router::least_loaded)
        for (std::size_t i = 1; i < count_; ++i) {
            std::size_t const other = (turn_ + i) % count_;
            if (replicas[first_ + other].outstanding() < replicas[first_ + best].outstanding()) best = other;
        }
    turn_ = (best + 1) % count_;
    return first_ + best;
}

}  // namespace sextant
