#pragma once

#include "core/measurements/row_cells.hpp"
#include "core/ops/op.hpp"
#include "core/spec/kernel_constants.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sextant {

/// The tables of kernel times, told apart by their headers.
enum class KernelTable : std::uint8_t {
    product,    ///< matrix products [m, k] x [k, n]
    attention,  ///< prefill (`context`) and decode (`generation`) of a serving engine
    published,  ///< attention forward and backward as TFLOP/s
    memory,     ///< kernels bound by the memory they touch
    bench       ///< rows of sextant-bench, any of the above
};
std::string_view name_of(KernelTable table);

/// Columns that a table of this kind has. Where rows come from and whose kernels they time may be missing, and the
/// device where it is said otherwise.
std::vector<std::string_view> kernel_columns(KernelTable table);

/// Which table this is. @throws InputError when the header lacks columns of the nearest kind.
KernelTable kernel_table_of(CsvTable const& table);

/// A kernel bound by the memory it touches; its name is the case's variant.
struct MemoryKernel {
    Bytes moved;  ///< read and written, every operand once
};

/// Whether the time of a product in a format that quantises its activations has that in it.
enum class Quantised : std::uint8_t { with_product, before };

/// The passes that one time of attention has in it.
enum class TimedPasses : std::uint8_t { forward, backward, both };
/// The products of fused attention that a time has in it, against those of the forward pass.
double timed_work(TimedPasses passes);

/// One measured kernel in the words of the cost models.
struct KernelCase {
    std::variant<Gemm, Attention, DecodeAttention, MemoryKernel> what;
    CacheState cache = CacheState::hot;
    Quantised quantised = Quantised::with_product;
    /// Bytes of an element that a product wrote; absent: as many as its format has. Products of integers in libraries
    /// leave their sums in int32, where engines scale them to two bytes.
    std::optional<std::int64_t> result_bytes;
    bool latent = false;        ///< a decode whose heads read one latent, whose values are among its keys
    std::int64_t products = 1;  ///< of the shape of a product, in one launch, each with operands of its own
    TimedPasses passes = TimedPasses::forward;
    std::string
        library;  ///< of attention as a training step runs it: whose kernel, as `training_library`; empty: the fastest
    std::string
        variant;  ///< of a product its `GemmFormat`, of attention "bf16/fp8" (compute/cache), else the kernel's name
    std::string kind;  ///< "product bf16", "prefill bf16/fp8", "decode bf16/bf16 grouped", ...
    std::string device;
    std::string source;
    std::optional<Seconds> measured;
    std::vector<std::string> assumptions;
};

/// Of the sums of integers.
inline constexpr std::int64_t int32_bytes = 4;

/// The format of a measured product, with results as wide as it wrote them.
GemmFormat product_format(KernelCase const& product);

/// FlashAttention-3 as `KernelCase::library`: no fit is of it.
inline constexpr std::string_view flash_attention_3 = "flash_3";

/// A cold kernel is timed alone between two events, and the time has its start in it: kernels of less than 3 us in a
/// graph took that much longer so, whatever their kind (86 of them on an H200, median by benchmark 2.8 to 3.9 us; some
/// of it is data that had to come from memory).
inline constexpr Seconds start_between_events = 3 * units::us;
/// Such a time without its start. @throws RowSkip for one that is hardly more than that.
Seconds without_start(Seconds cold);

/// @param device of a row that states none
/// @throws RowSkip when the row cannot be expressed, or a cell of it cannot be read.
KernelCase kernel_case(KernelTable table, RowCells const& row, std::string_view device = "");

/// The device that a row names, as it is written; empty where it names none.
std::string device_named(KernelTable table, RowCells const& row);

/// The same of a row of sextant-bench.
KernelCase bench_case(RowCells const& row);

}  // namespace sextant
