#pragma once

#include "calibrate/collective_fit.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// Which of the two networks a calibration of the catalogue is for.
enum class NetworkPart : std::uint8_t { scale_up, scale_out };

/// One calibration that the program ships.
struct NetworkEntry {
    std::string name;
    std::string title;
    NetworkPart part = NetworkPart::scale_up;
    NetworkScope scope;
    /// Kind of network and generation of devices whose rows it is fitted to, where that is narrower than the scope.
    std::string rows_of{};
    std::string rows_generation{};
    std::string parent{};  ///< the class whose constants are its start and prior; empty: the tuner's own

    /// Whether a row is one that this entry is fitted to.
    [[nodiscard]] bool takes(CollectiveMeasurement const& row) const;
};

/// In the order in which they are fitted: parents before their children.
std::vector<NetworkEntry> const& network_entries();

/// Kind of network that an entry is for: its scope's, of named clusters that of their class ("switched", "*").
/// @throws InputError when there is no such entry.
std::string const& kind_of_entry(std::string const& name);

/// What to leave out of a fit.
using LeftOut = std::function<bool(CollectiveMeasurement const&)>;

/// Named clusters before classes, narrow classes before wide ones: the order in which a cluster takes the first that
/// fits.
void sort_for_choice(std::vector<NetworkCalibration>& calibrations);

/// Calibrations of these entries and of the classes above them, in the order of `network_entries()`, from the rows that
/// are not left out; entries without rows are missing. Entries of clusters see only classes as prior. `known`: the
/// scale-up constants that scale-out fits stand on where this call fits none.
std::vector<NetworkCalibration> fit_entries(std::vector<std::string> const& names, MeasurementList const& rows,
                                            LeftOut const& left_out, std::vector<NetworkCalibration> const& known,
                                            FitOptions const& options, std::string const& command);

/// One entry alone, with the constants of `above` (null: the tuner's) as start and prior.
/// @throws InputError when no row is left.
NetworkCalibration fit_one_entry(NetworkEntry const& entry, MeasurementList const& rows, LeftOut const& left_out,
                                 NetworkCalibration const* above, std::vector<NetworkCalibration> const& known,
                                 FitOptions const& options, std::string const& command);

}  // namespace sextant
