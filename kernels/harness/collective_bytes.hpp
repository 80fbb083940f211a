#pragma once

#include <cstdint>
#include <string>

namespace sextant::bench {

/// The collectives that every backend measures.
inline constexpr char const* collective_names[] = {"all_reduce", "all_gather", "reduce_scatter",
                                                   "all_to_all", "broadcast",  "send_recv"};

/// Bytes that the slowest link direction of a perfect ring carries for a message of `bytes`: the numerator of "bus
/// bandwidth", 2 (n-1)/n for all_reduce, (n-1)/n for all_gather, reduce_scatter and all_to_all, 1 for the others.
/// `bytes` is the larger of one rank's send and receive buffers.
/// Source: the definitions in nccl-tests, doc/PERFORMANCE.md.
double bus_bytes(std::string const& collective, std::int64_t bytes, std::int64_t ranks);

/// Bytes that one instruction of a collective moves at the most; where the part of a rank does not begin at a multiple
/// of it, NCCL moves fewer at a time.
inline constexpr std::int64_t aligned_part = 16;
/// The least size of at least `bytes` that all ranks have equal parts of, each a multiple of `aligned_part`.
std::int64_t aligned_bytes(std::int64_t bytes, std::int64_t ranks);

/// How many collectives of so many seconds follow each other in a sample: 20, so that the launch of the first and the
/// wait for the last are little, or as many as take 50 ms, of which they are a thousandth. More would leave one sample
/// in the time of a row.
inline constexpr int most_in_a_row = 20;
int collectives_in_a_row(double seconds);

}  // namespace sextant::bench
