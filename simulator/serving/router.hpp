#pragma once

#include "simulator/serving/replica.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sextant {

/// Which replica gets a request.
enum class Router : std::uint8_t {
    round_robin,
    least_loaded  ///< fewest unfinished requests, in turn where equal
};
std::string_view name_of(Router router);
/// @throws InputError with the known names and the nearest one.
Router router_from(std::string_view name, std::string_view where);

/// Chooses among some of the replicas.
class Routing {
public:
    Routing(Router router, std::size_t first, std::size_t count) : router_(router), first_(first), count_(count) {}
    /// @param takes of each replica: whether it takes requests. Nothing when none does.
    std::optional<std::size_t> route(std::vector<Replica> const& replicas, std::vector<char> const& takes);

private:
    Router router_;
    std::size_t first_, count_, turn_ = 0;
};

}  // namespace sextant
