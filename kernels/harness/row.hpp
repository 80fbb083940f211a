#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sextant::bench {

/// Sizes of one problem; a size that does not apply is `unset` and an empty cell.
struct Shape {
    static constexpr std::int64_t unset = -1;
    std::int64_t m = unset, n = unset, k = unset, groups = unset;
    std::int64_t batch = unset, seq_q = unset, seq_kv = unset;
    std::int64_t heads = unset, kv_heads = unset, head_dim = unset, causal = unset;
    std::int64_t bytes = unset, ranks = unset, nodes = unset;
    bool operator==(Shape const&) const = default;
};

/// One measurement, one line of output:
///
///     gemm,host,AMD EPYC,Linux 6.1,2026-01-31T12:00:00Z,eigen,fp32,256,256,256,,,...,hot,stream,1200,1180,1260,...
///
/// Times in microseconds, clocks in MHz, tflops in 1e12/s, gbps in 1e9 bytes/s.
struct Row {
    static constexpr double unset = std::numeric_limits<double>::quiet_NaN();
    std::string bench, backend, device, driver, date, kernel, dtype;
    Shape shape;
    std::string cache, launch;
    double median_us = unset, p10_us = unset, p90_us = unset;
    std::int64_t repeats = Shape::unset;
    double sm_clock_mhz = unset, mem_clock_mhz = unset;
    std::string throttle;
    double max_rel_error = unset, tflops = unset, gbps = unset;
    std::string note;
};

/// A column: its name and the place of its value. The order is that of the file.
struct Column {
    char const* name;
    std::variant<std::string Row::*, double Row::*, std::int64_t Row::*, std::int64_t Shape::*> field;
};
std::vector<Column> const& columns();

/// The sizes of a shape that are set, " m=4096 n=4096".
std::string sizes_text(Shape const& shape);

/// The cell as text; empty when the value is not set. Numbers are the shortest text that reads back the same.
std::string cell(Row const& row, Column const& column);
/// @throws BadInput when the text is not a value of the column.
void set_cell(Row& row, Column const& column, std::string_view text);

/// What makes two rows the same measurement: everything but the result, the date and the driver.
std::string resume_key(Row const& row);

/// How the CUDA backend measures, at the end of `driver` in its rows. With another number the times, or the stated
/// bytes, of one and the same kernel are others. Rows without were measured in November 2026: cold after a flush that
/// wrote, algorithms of products compared launch by launch, twenty samples whatever the device's power limit did, and
/// norms' gradients without their partial sums.
inline constexpr char const* cuda_method = "method 2";
/// "method 2" of a row's driver; empty where it has none.
std::string_view method_in(std::string_view driver);

/// A row that says its kernel failed or was wrong; such a row is measured again on resume.
bool failed(Row const& row);
inline constexpr char const* failed_mark = "FAILED";
/// Begins the note of a row without a time whose kernel the device or a library does not support; it is no failure, and
/// is not measured again.
inline constexpr char const* unsupported_mark = "unsupported";

}  // namespace sextant::bench
