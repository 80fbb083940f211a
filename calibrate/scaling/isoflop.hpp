#pragma once

#include "calibrate/scaling/loss_table.hpp"
#include "calibrate/scaling/power_law.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sextant {

/// One run of an IsoFLOP study.
struct IsoflopRow {
    double parameters = 0;
    double tokens = 0;
    double flops = 0;
    double loss = 0;
};

/// The rows of a table that has the columns parameters, tokens, flops and loss.
std::vector<IsoflopRow> isoflop_rows(LossTable const& table);

/// What the parabola is fitted to, over the logarithm of the size.
enum class ParabolaOf : std::uint8_t { loss, log_loss };

struct IsoflopOptions {
    std::vector<double> budgets{};  ///< FLOPs; empty: found in the rows
    double tolerance = 0.05;        ///< a row belongs to a budget within this many decades
    /// Rows within this many decades of the size with the lowest loss count; nothing: all of the budget.
    std::optional<double> window{};
    ParabolaOf of = ParabolaOf::loss;
};

/// The parabola of one budget.
struct IsoflopVertex {
    double flops = 0;
    double parameters = 0;  ///< where the parabola over ln N is lowest
    double tokens = 0;      ///< where that over ln D is
    double loss = 0;
    double curvature = 0;  ///< of the loss (or its logarithm) over ln N: it rises by this times the squared distance
    std::size_t rows = 0;
    std::string dropped{};  ///< why the budget does not count; empty: it does
};

/// Approach 2: N* = N_coef C^N_exponent, D* = D_coef C^D_exponent.
struct IsoflopFit {
    std::vector<IsoflopVertex> vertices;  ///< by budget, the dropped ones among them
    std::size_t rows = 0;                 ///< in the budgets that count
    PowerLaw size;
    PowerLaw data;
    ParabolaOf of = ParabolaOf::loss;
};

/// Budgets that rows gather around: repeatedly the median of the window of twice the tolerance that holds most rows,
/// three different sizes at least and, unless their compute is the same, five rows and a quarter of the fullest
/// level's; rows within twice the tolerance of one belong to no other.
std::vector<double> find_budgets(std::vector<IsoflopRow> const& rows, double tolerance);

/// Runs of one size and one compute whose losses differ: several experiments in one table.
struct MixedRuns {
    std::size_t rows = 0;    ///< that share their size and compute (within 0.1 %) with another
    std::size_t groups = 0;  ///< of such rows whose losses differ by more than `mixed_loss_spread`
    double spread = 0;       ///< largest difference in a group, over its lowest loss
};
/// Runs that differ in the seed alone end within 0.3 % of each other (assumed), so three times that is another recipe.
constexpr double mixed_loss_spread = 0.01;
MixedRuns mixed_runs(std::vector<IsoflopRow> const& rows);

/// Least-squares parabolas of the loss over log N (and over log D) at each budget, and power laws through their
/// vertices. A budget with fewer than three different sizes, a parabola that opens downwards or a vertex outside the
/// sampled sizes is dropped, and says so.
/// @throws InputError: fewer than two budgets count. @param where names the rows in messages.
/// Source: Hoffmann et al., arXiv:2203.15556, section 3.2.
IsoflopFit fit_isoflop(std::vector<IsoflopRow> const& rows, IsoflopOptions const& options, std::string const& where);

}  // namespace sextant
