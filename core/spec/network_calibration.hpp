#pragma once

#include "core/json/object_reader.hpp"
#include "core/ops/op.hpp"
#include "core/spec/cluster_spec.hpp"
#include "core/spec/network_constants.hpp"
#include "core/spec/sourced.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// How a constant of a calibration came to be known.
struct ConstantNote {
    std::string key;
    Basis basis = Basis::assumed;    ///< assumed: the rows say nothing of it, it stands at its prior
    std::optional<double> spread{};  ///< one standard deviation of its logarithm, of the fit
};

/// Whose network it is: named clusters, or all of a class ("switched" and "hopper", "infiniband" and any; "*": any).
struct NetworkScope {
    std::vector<std::string> clusters;
    std::string kind;
    std::string generation = "*";
    /// Whose efficiencies a class has, where they are not those of all its machines: devices of this vendor (empty: of
    /// any), on PCIe only with peer access. Others of the class keep what their cluster file says that large
    /// collectives reach, and take latencies and protocols.
    std::string vendor{};
    bool with_peer_access = false;
    [[nodiscard]] bool is_class() const { return clusters.empty(); }
};

template <class Constants>
struct NetworkSection {
    NetworkScope scope;
    Constants constants;
    std::vector<ConstantNote> notes;
    /// Whether the rows say nothing of a constant. One without a note was stated by somebody.
    [[nodiscard]] bool is_assumed(std::string_view key) const {
        return std::any_of(notes.begin(), notes.end(),
                           [&](ConstantNote const& note) { return note.key == key && note.basis == Basis::assumed; });
    }
};

/// A size at which the library's choice of algorithm and protocol takes it off the smooth curve.
struct SizeJump {
    double log2_bytes = 0;
    double log_factor = 0;
};

/// What the structure leaves unexplained of one collective on one arrangement of ranks: the logarithm of a factor on
/// its time, linear in log2 of the bytes between knots, constant beyond them.
struct NetworkCorrection {
    CollectiveKind kind = CollectiveKind::all_reduce;
    std::int64_t ranks_per_domain = 1;
    std::int64_t domains = 1;
    std::vector<double> log2_bytes;  ///< ascending
    std::vector<double> log_factor;
    std::vector<SizeJump> jumps{};  ///< ascending
    [[nodiscard]] double at(double log2_of_bytes) const;
    /// Logarithm of a further factor, of the jumps: linear from one to the next where they are an octave apart or
    /// less, else falling to none within an octave.
    [[nodiscard]] double jump_at(double log2_of_bytes) const;
};

/// How far a prediction stands from what was measured.
enum class CalibrationRange : std::uint8_t {
    inside,   ///< this collective on this arrangement of ranks is among the rows of the fit
    outside,  ///< the platform is, this arrangement or collective is not
    by_class  ///< only other machines of the class are
};
std::string_view name_of(CalibrationRange range);

/// 80 % interval of a time as factors on it, for messages from a size on (up to that of the next band).
struct NetworkInterval {
    CalibrationRange range = CalibrationRange::inside;
    bool between_domains = false;
    Bytes from;
    double low = 1;
    double high = 1;
    std::int64_t rows = 0;  ///< held-out rows it comes from
};

/// Error of held-out rows in a band of sizes.
struct NetworkHeldOut {
    CalibrationRange range = CalibrationRange::inside;
    bool between_domains = false;
    Bytes from;
    std::int64_t rows = 0;
    double median_pct = 0;
    double p95_pct = 0;
    double bias_pct = 0;
};

struct NetworkProvenance {
    std::string command;
    std::vector<std::string> sources;
    std::vector<std::string> library_versions;
    std::int64_t runs = 0;
    std::int64_t rows = 0;
    std::string method;  ///< how rows were held out
    std::vector<NetworkHeldOut> held_out;
};

/// Constants of collectives fitted to measurements, beside the data sheets that they are relative to.
struct NetworkCalibration {
    std::string name;
    std::string title;
    std::optional<NetworkSection<ScaleUpConstants>> scale_up{};
    std::optional<NetworkSection<ScaleOutConstants>> scale_out{};
    std::vector<NetworkCorrection> corrections{};
    std::vector<NetworkInterval> intervals{};
    NetworkProvenance provenance{};
};

/// Reads format `network-calibration`, version 1.
/// @throws InputError: an unknown or missing key, a constant outside of its range, knots that do not ascend, an
/// interval that does not hold 1.
NetworkCalibration read_network_calibration(ObjectReader in);
/// The same from a file. @throws InputError also when it cannot be read.
NetworkCalibration read_network_calibration_file(std::string const& path);
/// The text that `read_network_calibration` reads back with equal values.
std::string network_calibration_json(NetworkCalibration const& calibration);

/// What is known of a cluster's collectives: its own constants where a calibration names it, else those of its class.
struct NetworkModel {
    struct Part {
        std::string calibration;  ///< name
        Basis basis = Basis::assumed;
        CalibrationRange range = CalibrationRange::by_class;
        bool changed = false;              ///< since: its rate or domain is another one, which nobody measured
        bool exchange_is_assumed = false;  ///< what large exchanges reach: neither the rows nor the cluster file say it
    };
    Part up_part;
    Part out_part;
    ScaleUpConstants up;
    std::optional<ScaleOutConstants> out;
    std::vector<NetworkCorrection> corrections;  ///< of the cluster's own calibrations
    std::vector<NetworkInterval> intervals;
};

/// Whether these name the cluster for its scale-up network and, where it has one, for its scale-out network: then no
/// class is taken.
bool name_each_network(std::span<NetworkCalibration const> calibrations, ClusterSpec const& cluster);

/// Gives `cluster` its network model: the first calibration that names it, else the first of its class, for each of its
/// two networks, and sets its efficiencies to what was fitted. A cluster whose scale-up network no calibration is for
/// (a torus) keeps the plain model. When only the class is known, efficiencies of a cluster file stay that it calls
/// measured or fitted (of exchanges also where the fit has no rows of them), and all those of a machine that is not one
/// of those whose efficiencies the class has.
void apply_network_calibrations(ClusterSpec& cluster, std::span<NetworkCalibration const> calibrations);

/// The same with one more that goes before all others, whatever it names.
/// @throws InputError when it has a section that the cluster has no network for.
void apply_network_calibration(ClusterSpec& cluster, NetworkCalibration const& own,
                               std::span<NetworkCalibration const> others);

}  // namespace sextant
