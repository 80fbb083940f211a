#include "core/spec/kernel_calibration.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {

bool KernelCalibration::grids_hold(std::int64_t multiprocessors) const {
    constexpr double about = 0.05;  // B200 and GB200 have 148 and 152 of the same chip's, H100 SXM and PCIe 132 and 114
    auto const own = static_cast<double>(grid_multiprocessors);
    return !is_class() || std::abs(static_cast<double>(multiprocessors) - own) <= about * own;
}

namespace {

constexpr std::uint32_t bits_of_octave = 6;
constexpr double most_octave = (1U << bits_of_octave) - 1;

/// Rows in the cells around `at`, of the axes from the second on those that `cell` already has.
std::ptrdiff_t rows_around(std::vector<std::uint32_t> const& cells, std::span<double const> at, std::uint32_t cell) {
    if (at.empty()) {
        auto const [first, last] = std::equal_range(cells.begin(), cells.end(), cell);
        return last - first;
    }
    std::ptrdiff_t rows = 0;
    for (double const step : {-1.0, 0.0, 1.0}) {
        double const octave = std::round(at.front()) + step;
        if (octave >= 0 && octave <= most_octave)
            rows += rows_around(cells, at.subspan(1), (cell << bits_of_octave) | static_cast<std::uint32_t>(octave));
    }
    return rows;
}

}  // namespace

std::uint32_t shape_cell(std::span<double const> at) {
    std::uint32_t cell = 0;
    for (double const coordinate : at)
        cell =
            (cell << bits_of_octave) | static_cast<std::uint32_t>(std::clamp(std::round(coordinate), 0.0, most_octave));
    return cell;
}

bool KernelFit::is_near_rows(std::span<double const> at) const {
    constexpr std::ptrdiff_t fewest = 2;
    return cells.empty() || rows_around(cells, at, 0) >= fewest;
}

KernelFit const* KernelCalibration::find(KernelKind kind, std::string_view variant) const {
    for (KernelFit const& fit : fits)
        if (fit.kind == kind && fit.variant == variant) return &fit;
    return nullptr;
}

std::string_view training_library(std::string_view variant) {
    auto const at = variant.find(" sdpa_");
    if (at == std::string_view::npos) return {};
    variant.remove_prefix(at + 1);
    return variant.substr(0, variant.find('/'));
}

KernelCalibration read_kernel_calibration_file(std::string const& path) {
    return read_kernel_calibration(ObjectReader(JsonDocument::from_file(path)));
}

}  // namespace sextant
