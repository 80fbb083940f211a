#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sextant::cli {

/// A line through points, or steps between them.
struct ChartLine {
    std::string name;
    std::vector<std::pair<double, double>> points;  ///< in order of x
};

enum class ChartScale : std::uint8_t { linear, logarithmic };

/// One panel of a picture: lines over a common horizontal axis, the vertical one from zero.
struct ChartPanel {
    std::string title;
    std::vector<ChartLine> lines;
    double top = 0;  ///< of the vertical axis; 0: by the largest value
};

/// Panels below each other as one stand-alone SVG.
struct LineChart {
    std::string title;
    std::string horizontal;  ///< what the horizontal axis shows, with its unit
    ChartScale scale = ChartScale::linear;
    std::vector<ChartPanel> panels;
};

std::string line_chart_svg(LineChart const& chart);

}  // namespace sextant::cli
