#pragma once

#include "planner/validation/score.hpp"

#include <map>
#include <string>
#include <vector>

namespace sextant::cli {

/// The rows of a validation as points, for its page: of each figure that is compared, measured and predicted.
class ValidationPoints {
public:
    explicit ValidationPoints(ValidationKind kind) : kind_(kind) {}
    void add(ScoredRow const& row);

    struct Point {
        double measured = 0;
        double predicted = 0;
        std::string label{};
        [[nodiscard]] double error_pct() const { return 100 * (predicted - measured) / measured; }
    };
    /// Points of one figure by group: what its rows are, or whether a fit has seen them.
    struct Figure {
        std::string name;  ///< "time", "memory", "ttft", ...
        std::string unit;
        std::map<RowGroup, std::vector<Point>> groups{};
        [[nodiscard]] std::size_t size() const;
    };
    [[nodiscard]] std::vector<Figure> const& figures() const { return figures_; }

private:
    void add(char const* name, char const* unit, ScoredRow const& row, double measured, double predicted);
    ValidationKind kind_;
    std::vector<Figure> figures_;
};

/// Scores as a page: predicted against measured, how large the errors are, tables by source and group, what was left
/// out.
std::string validation_page(Validation const& validation, ValidationPoints const& points);

}  // namespace sextant::cli
