#pragma once

#include "core/measurements/row_cells.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace sextant {

/// What a column of a table, or an axis of a benchmark, counts where one time is of several products.
enum class SeveralProducts : std::uint8_t {
    batch,  ///< of one shape [m, k] x [k, n]
    groups  ///< experts, or groups of rows
};

struct ProductCount {
    std::string_view name;  ///< in lower case
    SeveralProducts of = SeveralProducts::batch;
};

/// What benchmarks call them: columns in small letters, axes in any ("L" is CUTLASS's word).
inline constexpr std::array product_counts{ProductCount{"batch"},
                                           ProductCount{"b"},
                                           ProductCount{"l"},
                                           ProductCount{"bs"},
                                           ProductCount{"batches"},
                                           ProductCount{"num_batches"},
                                           ProductCount{"nbatch"},
                                           ProductCount{"batch_count"},
                                           ProductCount{"batchcount"},
                                           ProductCount{"batch_size"},
                                           ProductCount{"batchsize"},
                                           ProductCount{"g", SeveralProducts::groups},
                                           ProductCount{"groups", SeveralProducts::groups},
                                           ProductCount{"num_groups", SeveralProducts::groups},
                                           ProductCount{"group_count", SeveralProducts::groups},
                                           ProductCount{"experts", SeveralProducts::groups},
                                           ProductCount{"num_experts", SeveralProducts::groups}};

/// How many products of its shape a row's time has in it, 1 where it does not say.
/// @throws RowSkip for groups: no table says whether their rows are those of one or of all.
std::int64_t products_in(RowCells const& row);

}  // namespace sextant
