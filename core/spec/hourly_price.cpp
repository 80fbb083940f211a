#include "core/spec/hourly_price.hpp"

namespace sextant {

std::optional<Sourced<double>> hourly_price(ClusterSpec const& cluster) {
    return cluster.usd_per_accelerator_hour ? cluster.usd_per_accelerator_hour : cluster.accelerator.price_usd_per_hour;
}

}  // namespace sextant
