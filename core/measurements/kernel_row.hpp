#pragma once

#include "core/ops/op.hpp"
#include "core/measurements/row_cells.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sextant {

/// The three tables of kernel times, told apart by their headers.
enum class KernelTable : std::uint8_t {
    product,    ///< matrix products [m, k] x [k, n]
    attention,  ///< prefill (`context`) and decode (`generation`) of a serving engine
    published   ///< attention forward and backward as TFLOP/s
};
std::string_view name_of(KernelTable table);

/// Columns that a table of this kind has.
std::vector<std::string_view> kernel_columns(KernelTable table);

/// Which table this is. @throws InputError when the header lacks columns of the nearest kind.
KernelTable kernel_table_of(CsvTable const& table);

/// One decode step of attention: a query per sequence reads the keys and values before it.
struct DecodeAttention {
    std::int64_t batch = 0;
    std::int64_t heads = 0;
    std::int64_t kv_heads = 0;
    std::int64_t keys = 0;  ///< per sequence, in the cache
    std::int64_t head_dim = 0;
    double cache_bytes = 2;  ///< per element of the cache

    /// Keys and values read once, queries read and outputs written in two bytes.
    [[nodiscard]] Bytes moved() const;
};

/// One measured kernel in the words of the cost models.
struct KernelCase {
    std::variant<Gemm, Attention, DecodeAttention> what;
    bool with_backward = false;    ///< forward and backward together
    int quantisation_kernels = 0;  ///< launched before the product, see `kernel_validation.hpp`
    std::string kind;              ///< "product bf16", "prefill bf16", "decode, fp8 cache", ...
    std::string device;
    std::string source;
    std::optional<Seconds> measured;
    std::vector<std::string> assumptions;
};

/// @throws RowSkip when the row cannot be expressed, InputError for a cell that is no number, negative or not finite.
KernelCase kernel_case(KernelTable table, RowCells const& row);

}  // namespace sextant
