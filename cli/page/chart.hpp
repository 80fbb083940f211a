#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace sextant::cli {

/// One axis of a chart. The values are already in the unit that the title names.
struct ChartAxis {
    enum class Scale : std::uint8_t { linear, logarithmic };
    std::string title{};
    Scale scale = Scale::linear;
    bool from_zero = false;
};

/// A straight line over the whole chart, with a word beside it.
struct ChartMark {
    enum class Across : std::uint8_t { x, y };  ///< stands at this value of that axis
    Across across = Across::x;
    double at = 0;
    std::string label{};
};

/// Values of one colour, one per category. Series of the same `role` have the same colour in every chart of a page.
struct BarSeries {
    std::string name;
    std::string role;
    std::vector<double> values;
};

/// Stacked horizontal bars, one per category from the top down.
struct BarChart {
    std::vector<std::string> categories;
    std::vector<BarSeries> series;
    ChartAxis x;
    std::vector<ChartMark> marks{};
};

enum class Draw : std::uint8_t { markers, line, both, dashed, dotted, steps };

/// Points or a line. Not finite values are gaps.
struct PointSeries {
    std::string name;
    Draw draw = Draw::markers;
    std::vector<double> x;
    std::vector<double> y;
    std::vector<std::string> labels{};  ///< shown at a point when it is pointed at; none, or one each
    std::vector<double> low{};          ///< interval of y; none, or one each
    std::vector<double> high{};
    std::vector<double> left{};  ///< interval of x; none, or one each
    std::vector<double> right{};
    std::string role{};  ///< empty: the next colour
    bool large = false;
};

/// Points and lines over two axes.
struct PointChart {
    std::vector<PointSeries> series;
    ChartAxis x;
    ChartAxis y;
    std::vector<ChartMark> marks{};
    bool same_scale = false;  ///< both axes over the same range
};

/// Heights over two logarithmic axes as lines of equal height, with points and lines on top.
struct SurfaceChart {
    std::vector<double> x;
    std::vector<double> y;
    std::vector<std::vector<double>> z;  ///< [y][x]
    std::string z_title;
    std::vector<PointSeries> series;
    ChartAxis x_axis;
    ChartAxis y_axis;
};

/// What a row is busy with for a while.
struct TimelineSlot {
    std::size_t row = 0;
    double start = 0;
    double length = 0;
    std::string label{};
};

/// Slots of one colour, which fill their rows or lie as a thin line within other slots.
struct TimelineSeries {
    enum class Lane : std::uint8_t { whole, within };
    std::string name{};
    std::string role{};
    std::vector<TimelineSlot> slots{};
    Lane lane = Lane::whole;
};

/// Rows over time, the first one at the top. One can zoom into it.
struct TimelineChart {
    std::vector<std::string> rows;
    std::vector<TimelineSeries> series;
    ChartAxis x;
};

/// A chart with its title and a sentence on how to read it.
struct Chart {
    std::string title;
    std::string note;
    std::variant<BarChart, PointChart, SurfaceChart, TimelineChart> body;
    bool wide = false;  ///< takes the whole width of a wide window; else two charts stand side by side
};

/// The chart as JSON in ASCII: what page_charts.js draws.
std::string chart_json(Chart const& chart);

}  // namespace sextant::cli
