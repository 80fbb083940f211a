#pragma once

#include "core/units.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sextant {

/// Output tokens per second of a served row.
struct WorstRates {
    double measured = 0;
    double predicted = 0;
};

/// A row whose time was predicted badly, and what may be the cause.
struct WorstRow {
    std::string source;
    std::string where;  ///< "FILE line N"
    std::string what;   ///< its shape in words
    Seconds measured;
    Seconds predicted;
    std::optional<WorstRates> tokens_per_s{};  ///< of a served row, which is scored on them; its times are of a token
    std::string split;                         ///< how it stands to the fit; empty: not known
    std::vector<std::string> assumptions;
    std::string reason;  ///< empty until all rows are known
    /// Of the throughput where there is one, else of the time.
    [[nodiscard]] double error_pct() const {
        return 100 * ((tokens_per_s ? tokens_per_s->predicted / tokens_per_s->measured : predicted / measured) - 1);
    }
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
