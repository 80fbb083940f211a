#pragma once

#include "core/units.hpp"

#include <string>
#include <vector>

namespace sextant {

/// A row whose time was predicted badly, and what may be the cause.
struct WorstRow {
    std::string source;
    std::string where;  ///< "FILE line N"
    std::string what;   ///< its shape in words
    Seconds measured;
    Seconds predicted;
    std::string split;  ///< how it stands to the fit; empty: not known
    std::vector<std::string> assumptions;
    std::string reason;  ///< empty until all rows are known
    [[nodiscard]] double error_pct() const { return 100 * (predicted / measured - 1); }
};

/// Keeps the rows that are off by the largest factors.
class WorstRows {
public:
    explicit WorstRows(std::size_t most) : most_(most) {}
    void add(WorstRow row);
    /// From the worst on.
    [[nodiscard]] std::vector<WorstRow> const& rows() const { return rows_; }

private:
    std::size_t most_;
    std::vector<WorstRow> rows_;
};

}  // namespace sextant
