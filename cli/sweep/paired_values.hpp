#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sextant::cli {

/// What the values of one axis do to a figure, from points that differ in that axis alone.
///
/// Points of a line share everything else. Its figures are y(line, value) = line + effect(value) by least squares, so
/// that a point is compared with the others of its line and with no other: on a whole grid effects are the means at
/// the values less the mean of all, on one with holes those of other axes stay out. Values that no chain of lines
/// connects are not compared.
class PairedValues {
public:
    explicit PairedValues(std::size_t values);

    /// @param figures of the points of a line, one for each value; where a point has none, no finite number.
    void add_line(std::span<double const> figures);

    struct Effects {
        std::int64_t pairs = 0;
        /// Sum of squares within lines, all of it, and what the effects explain.
        double within = 0;
        double explained = 0;
        /// Mean figure at each value, over lines alike; of the values that most pairs connect.
        std::vector<std::optional<double>> means;
    };
    [[nodiscard]] Effects effects() const;

private:
    [[nodiscard]] double& normal(std::size_t i, std::size_t j) { return normal_[i * sums_.size() + j]; }
    /// Effects that solve the normal equations; of values that are connected one is zero.
    [[nodiscard]] std::vector<double> solution() const;
    /// The values that are connected to most points of pairs.
    [[nodiscard]] std::vector<bool> compared() const;

    std::vector<double> normal_;
    std::vector<double> right_;
    std::vector<double> points_;  ///< in pairs, at each value
    std::vector<double> sums_;    ///< of the figures of these
    double within_ = 0;
    std::int64_t pairs_ = 0;
};

}  // namespace sextant::cli
