#pragma once

#include "core/csv.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// What a number format costs on generated values: a row of the `accuracy` benchmark (docs/kernels.md) about a matrix
/// product ("gemm") or attention over a cache ("attention").
struct FormatError {
    enum class Test : std::uint8_t { gemm, attention };
    Test test = Test::gemm;
    std::string inputs;   ///< "normal+outlier_channels": weights and activations; "normal": keys
    std::string scaling;  ///< "tile128+block128", "per_head"
    std::string formats;  ///< "e4m3+e4m3", "int4"
    double output = 0;    ///< rms error of the output over its rms
    double first = 0;     ///< of the weights, or of the keys
    double second = 0;    ///< of the activations, or of the values
    double flushed = 0;   ///< share of all elements that became zero
    double clipped = 0;   ///< share that saturated
};

/// The rows of the two tests; others are passed over. @throws InputError with the line: a note without its figures, a
/// share beyond 1; or when there is none of a test.
std::vector<FormatError> format_errors(CsvTable const& bench_rows);

/// The table that the program carries, hardware_profiles/measurements/number_formats.csv.
std::vector<FormatError> const& shipped_format_errors();

}  // namespace sextant
