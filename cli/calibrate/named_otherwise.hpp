#pragma once

#include "core/csv.hpp"
#include "core/spec/hardware_profile.hpp"
#include "planner/validation/score.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant::cli {

/// Rows by the device that they name, where that is not the one that they are taken for.
using NamedOtherwise = std::map<std::string, std::size_t>;

/// Counts a row whose device goes by no name or alias of this one, however it is written. A row may name none.
void count_named_otherwise(NamedOtherwise& counts, std::string const& named, AcceleratorProfile const& device);

/// A line for each name, and one more where rows of several devices are fitted as one; empty where there are none.
/// @param why the rows are taken: "as --device says"
std::string named_otherwise_text(NamedOtherwise const& counts, std::string const& device, std::string_view why);

/// Counts the rows that are scored as those of one device, and name another.
class ScoredAsOne {
public:
    /// @param device of all rows; nothing: each is of the one that it names
    ScoredAsOne(ValidationKind kind, std::optional<AcceleratorProfile> device)
        : kind_(kind), device_(std::move(device)) {}
    /// @pre a row of `scored` for each of the table
    void add(CsvTable const& table, std::vector<ScoredRow> const& scored);
    /// As `named_otherwise_text`.
    [[nodiscard]] std::string text(std::string_view why) const;

private:
    ValidationKind kind_;
    std::optional<AcceleratorProfile> device_;
    std::map<std::string, std::size_t> named_;  ///< as the rows have it
};

/// The accelerator that `profile`, of `option`, says all rows of kernels or collectives are of; nothing where it is
/// empty, or the constants of a network, which are of rows that name its devices.
/// @throws InputError for an accelerator or a cluster that is not known or has a fault.
std::optional<AcceleratorProfile> device_of_rows(ValidationKind kind, std::string const& profile,
                                                 std::string_view option);

}  // namespace sextant::cli
