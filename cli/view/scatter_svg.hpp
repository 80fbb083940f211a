#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sextant::cli {

/// Points of one colour.
struct ScatterSeries {
    std::string name;
    std::vector<std::pair<double, double>> points;  ///< measured and predicted, seconds, above zero
};

struct Scatter {
    std::string title;
    std::string subtitle;
    std::vector<ScatterSeries> series;
};

/// Predicted against measured times as a stand-alone SVG: both axes logarithmic and alike, the diagonal, and lines at
/// a quarter above and below it. Points that fall on the same half pixel are drawn once.
std::string scatter_svg(Scatter const& scatter);

/// A text as a file name: letters, digits, '-', '_' and '.', the middle of a long one left out.
std::string file_name_of(std::string const& text);

}  // namespace sextant::cli
