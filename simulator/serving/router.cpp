#include "simulator/serving/router.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"

#include <algorithm>
#include <array>

namespace sextant {
namespace {

constexpr std::array routers{Router::round_robin, Router::least_loaded, Router::prefix_aware};

}  // namespace

std::string_view name_of(Router router) {
    switch (router) {
        case Router::round_robin: return "round-robin";
        case Router::least_loaded: return "least-loaded";
        case Router::prefix_aware: break;
    }
    return "prefix-aware";
}

Router router_from(std::string_view name, std::string_view where) {
    std::vector<std::string> known;
    for (Router const router : routers) {
        if (name == name_of(router)) return router;
        known.emplace_back(name_of(router));
    }
    throw InputError("{}: unknown router '{}'{} (known: {})", where, name, did_you_mean(name, known), join(known));
}

std::optional<std::size_t> Routing::route(std::vector<Replica> const& replicas, std::vector<char> const& takes,
                                          ServingRequest const& request) {
    if (router_ != Router::prefix_aware || request.prefix < 0) return next(replicas, takes);
    std::optional<std::size_t> chosen;
    bool const matches = request.prefix_tokens > matching_share * request.prompt;
    if (matches && !uneven(replicas, takes)) chosen = holder(replicas, takes, request);
    if (!chosen) chosen = next(replicas, takes);
    if (!chosen) return chosen;
    std::vector<std::size_t>& had = had_[request.prefix];
    if (std::find(had.begin(), had.end(), *chosen) == had.end()) had.push_back(*chosen);
    return chosen;
}

bool Routing::uneven(std::vector<Replica> const& replicas, std::vector<char> const& takes) const {
    std::optional<std::int64_t> least, most;
    for (std::size_t i = first_; i < first_ + count_; ++i) {
        if (takes[i] == 0) continue;
        std::int64_t const load = replicas[i].outstanding();
        least = std::min(load, least.value_or(load));
        most = std::max(load, most.value_or(load));
    }
    return most && *most - *least > uneven_by &&
           static_cast<double>(*most) > uneven_times * static_cast<double>(*least);
}

std::optional<std::size_t> Routing::holder(std::vector<Replica> const& replicas, std::vector<char> const& takes,
                                           ServingRequest const& request) {
    auto const found = had_.find(request.prefix);
    if (found == had_.end()) return std::nullopt;
    std::vector<std::size_t>& had = found->second;
    // What failed or went has lost it.
    had.erase(std::remove_if(had.begin(), had.end(), [&](std::size_t i) { return takes[i] == 0; }), had.end());
    auto const best = std::min_element(had.begin(), had.end(), [&](std::size_t a, std::size_t b) {
        return replicas[a].outstanding() < replicas[b].outstanding();
    });
    return best == had.end() ? std::nullopt : std::optional(*best);
}

std::optional<std::size_t> Routing::next(std::vector<Replica> const& replicas, std::vector<char> const& takes) {
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
