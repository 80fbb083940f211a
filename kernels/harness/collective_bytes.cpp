#include "kernels/harness/collective_bytes.hpp"

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

}  // namespace sextant::bench
