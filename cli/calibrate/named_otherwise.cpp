#include "cli/calibrate/named_otherwise.hpp"

#include "core/json/object_reader.hpp"
#include "core/measurements/kernel_row.hpp"
#include "core/spec/device_name.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/profile_change.hpp"

#include <fmt/format.h>

namespace sextant::cli {

void count_named_otherwise(NamedOtherwise& counts, std::string const& named, AcceleratorProfile const& device) {
    if (named.empty() || is_named(device, device_name(named))) return;
    AcceleratorProfile const* const known = known_accelerator(named);
    if (known != nullptr && known->name == device.name) return;
    ++counts[known != nullptr ? known->name : named];
}

std::string named_otherwise_text(NamedOtherwise const& counts, std::string const& device, std::string_view why) {
    std::string out;
    for (auto const& [name, count] : counts)
        out +=
            fmt::format("{} rows that name {} are taken as those of {}, {}\n", count, name.substr(0, 60), device, why);
    if (counts.size() > 1)
        out += fmt::format("warning: rows of {} devices that are not {} are taken as one (one calibration is of one)\n",
                           counts.size(), device);
    return out;
}

void ScoredAsOne::add(CsvTable const& table, std::vector<ScoredRow> const& scored) {
    if (!device_) return;
    bool const of_kernels = kind_ == ValidationKind::kernels;
    KernelTable const columns = of_kernels ? kernel_table_of(table) : KernelTable::product;
    for (std::size_t i = 0; i < scored.size(); ++i) {
        if (!scored[i].prediction.skip_reason.empty()) continue;
        RowCells const cells(table, table.records[i]);
        ++named_[of_kernels ? device_named(columns, cells) : cells.text("gpu")];
    }
}

std::string ScoredAsOne::text(std::string_view why) const {
    if (!device_) return "";
    NamedOtherwise counts;
    for (auto const& [name, rows] : named_) {
        NamedOtherwise one;
        if (!is_blank_cell(name)) count_named_otherwise(one, name, *device_);
        for (auto const& [known, count] : one)
            counts[known] += count * rows;
    }
    return named_otherwise_text(counts, device_->name, why);
}

std::optional<AcceleratorProfile> device_of_rows(ValidationKind kind, std::string const& profile,
                                                 std::string_view option) {
    if (profile.empty()) return std::nullopt;
    if (kind == ValidationKind::kernels) return find_accelerator(profile, option);
    if (kind != ValidationKind::collectives) return std::nullopt;
    if (profile.ends_with(".json") && split_changes(profile, option).changes.empty()) {
        auto const document = JsonDocument::from_file(profile);
        if (ObjectReader(document).text("format", "") == "network-calibration") return std::nullopt;
    }
    return find_cluster(profile, option).accelerator;
}

}  // namespace sextant::cli
