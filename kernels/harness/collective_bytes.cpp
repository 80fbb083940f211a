#include "kernels/harness/collective_bytes.hpp"

#include <algorithm>

#include "kernels/harness/errors.hpp"

namespace sextant::bench {

double bus_bytes(std::string const& collective, std::int64_t bytes, std::int64_t ranks) {
    double const size = static_cast<double>(bytes);
    double const others = static_cast<double>(ranks - 1) / static_cast<double>(ranks);
    if (collective == "all_reduce") return 2 * others * size;
    if (collective == "all_gather" || collective == "reduce_scatter" || collective == "all_to_all")
        return others * size;
    if (collective == "broadcast" || collective == "send_recv") return size;
    throw BadInput("no collective \"" + collective + "\"");
}

std::int64_t aligned_bytes(std::int64_t bytes, std::int64_t ranks) {
    std::int64_t const step = ranks * aligned_part;
    return (bytes + step - 1) / step * step;
}

int collectives_in_a_row(double seconds) {
    constexpr double long_enough_s = 0.05;
    return static_cast<int>(std::clamp<double>(long_enough_s / std::max(seconds, 1e-9), 1, most_in_a_row));
}

}  // namespace sextant::bench
