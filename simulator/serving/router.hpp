#pragma once

#include "simulator/serving/replica.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sextant {

/// Which replica gets a request.
enum class Router : std::uint8_t {
    round_robin,
    least_loaded,  ///< fewest unfinished requests, in turn where equal
    prefix_aware   ///< the least loaded of those that had the request's prefix before
};
std::string_view name_of(Router router);
/// @throws InputError with the known names and the nearest one.
Router router_from(std::string_view name, std::string_view where);

/// Chooses among some of the replicas.
///
/// The prefix-aware router sends a request whose prefix is more than `matching_share` of its prompt to a replica that
/// it sent that prefix to before. It knows where prefixes went, not which of them are still there. Where the largest
/// load is above the smallest by more than `uneven_by` requests and by more than `uneven_times` as well, and where no
/// replica had the prefix, the least loaded one gets the request. Source: SGLang's model gateway, policy cache_aware,
/// and the defaults of its arguments (cache_threshold, balance_abs_threshold, balance_rel_threshold).
class Routing {
public:
    static constexpr double matching_share = 0.3;
    static constexpr std::int64_t uneven_by = 64;
    static constexpr double uneven_times = 1.5;

    Routing(Router router, std::size_t first, std::size_t count) : router_(router), first_(first), count_(count) {}
    /// @param takes of each replica: whether it takes requests. Nothing when none does.
    /// @param request of which prefix-aware routers look at the prefix
    std::optional<std::size_t> route(std::vector<Replica> const& replicas, std::vector<char> const& takes,
                                     ServingRequest const& request);

private:
    [[nodiscard]] std::optional<std::size_t> next(std::vector<Replica> const& replicas, std::vector<char> const& takes);
    [[nodiscard]] bool uneven(std::vector<Replica> const& replicas, std::vector<char> const& takes) const;
    [[nodiscard]] std::optional<std::size_t> holder(std::vector<Replica> const& replicas,
                                                    std::vector<char> const& takes, ServingRequest const& request);

    Router router_;
    std::size_t first_, count_, turn_ = 0;
    std::unordered_map<std::int32_t, std::vector<std::size_t>> had_;  ///< prefix -> replicas
};

}  // namespace sextant
