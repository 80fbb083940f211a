#include "calibrate/collective_score.hpp"

#include "core/error.hpp"
#include "core/quantile.hpp"
#include "cost_models/network_correction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

namespace sextant {
namespace {

/// Of rows on either side of an interval. An 80 % interval would leave 10 %; platforms differ more among each other
/// than rows of one: with 6 % the intervals of all other platforms hold 80 % of the rows of one (docs/collectives.md).
constexpr double tail = 0.06;

/// Fewer platforms of a kind say too little of yet another (assumed): then those of all kinds do.
constexpr std::size_t enough_platforms = 5;

/// Predicts rows by calibrations, one network model per machine.
class Judge {
public:
    Judge(std::vector<NetworkCalibration> calibrations, std::string entry)
        : calibrations_(std::move(calibrations)), entry_(std::move(entry)) {
        sort_for_choice(calibrations_);
    }

    HeldOutRow predict(CollectiveMeasurement const& row) {
        auto const [found, is_new] = clusters_.try_emplace(row.machine.get(), row.machine->cluster);
        ClusterSpec& cluster = found->second;
        if (is_new) {
            // The efficiencies of the catalogue may be fitted to the very row: only calibrations given here count.
            for (Sourced<double>* value : {&cluster.scale_up.ring_efficiency, &cluster.scale_up.all_to_all_efficiency})
                value->basis = Basis::assumed;
            if (cluster.scale_out)
                for (Sourced<double>* value :
                     {&cluster.scale_out->ring_efficiency, &cluster.scale_out->all_to_all_efficiency})
                    value->basis = Basis::assumed;
            apply_network_calibrations(cluster, calibrations_);
            if (!cluster.network_model || (row.between_domains() && !cluster.network_model->out))
                throw InputError("{}: no calibration is for {} (a class for any network is expected)", entry_,
                                 cluster.name);
            // Where a class leaves the cluster's own efficiencies, those would be what the rows say.
            if (!row.between_domains() && cluster.network_model->up_part.range == CalibrationRange::by_class) {
                cluster.scale_up.ring_efficiency.value = cluster.network_model->up.ring;
                cluster.scale_up.all_to_all_efficiency.value = cluster.network_model->up.exchange;
            }
        }
        return {.row = &row,
                .entry = entry_,
                .range = range_of(*cluster.network_model, row.kind, row.group()),
                .predicted = collective_curve(cluster, row.kind, row.group()).time(row.bytes)};
    }

private:
    std::vector<NetworkCalibration> calibrations_;
    std::string entry_;
    std::map<CollectiveMachine const*, ClusterSpec> clusters_;
};

std::vector<NetworkCalibration> joined(std::vector<NetworkCalibration> first,
                                       std::vector<NetworkCalibration> const& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

/// Scale-up calibrations that a scale-out one stands on: of classes only, or also of named clusters.
enum class Known { classes, all };
std::vector<NetworkCalibration> scale_ups(std::vector<NetworkCalibration> const& all, Known known) {
    std::vector<NetworkCalibration> out;
    std::copy_if(all.begin(), all.end(), std::back_inserter(out), [&](NetworkCalibration const& c) {
        return c.scale_up && (known == Known::all || c.scale_up->scope.is_class());
    });
    return out;
}

std::size_t band_of(Bytes bytes) {
    auto const& bands = size_bands();
    return static_cast<std::size_t>(std::upper_bound(bands.begin(), bands.end(), bytes) - bands.begin()) - 1;
}

using Cell = std::tuple<CalibrationRange, bool, std::size_t>;

std::map<Cell, std::vector<double>> by_cell(std::vector<HeldOutRow> const& rows, std::string const& entry) {
    std::map<Cell, std::vector<double>> out;
    for (HeldOutRow const& row : rows)
        if ((entry.empty() || row.entry == entry) && row.row->role == RowRole::accuracy)
            out[{row.range, row.row->between_domains(), band_of(row.row->bytes)}].push_back(row.log_ratio());
    for (auto& [cell, values] : out)
        std::sort(values.begin(), values.end());
    return out;
}

/// Errors of all platforms, where one with many runs says no more than another.
class PlatformErrors {
public:
    void add(std::string const& entry, double log_ratio) { of_entry_[entry].push_back(log_ratio); }

    /// The least error that this share of the weight does not exceed.
    [[nodiscard]] double at(double share) const {
        std::vector<std::pair<double, double>> weighted;
        for (auto const& [entry, log_ratios] : of_entry_)
            for (double const log_ratio : log_ratios)
                weighted.emplace_back(log_ratio, 1 / static_cast<double>(log_ratios.size() * of_entry_.size()));
        std::sort(weighted.begin(), weighted.end());
        double below = 0;
        for (auto const& [log_ratio, weight] : weighted)
            if ((below += weight) >= share) return log_ratio;
        return weighted.back().first;
    }

    [[nodiscard]] std::size_t platforms() const { return of_entry_.size(); }

    [[nodiscard]] std::size_t rows() const {
        std::size_t count = 0;
        for (auto const& [entry, log_ratios] : of_entry_)
            count += log_ratios.size();
        return count;
    }

private:
    std::map<std::string, std::vector<double>> of_entry_;
};

/// Range, network and sizes of `like`, limits by what was held out.
NetworkInterval interval_of(PlatformErrors const& errors, NetworkInterval like) {
    like.low = four_decimals(std::min(1.0, std::exp(errors.at(tail))));
    like.high = four_decimals(std::max(1.0, std::exp(errors.at(1 - tail))));
    like.rows = static_cast<std::int64_t>(errors.rows());
    return like;
}

/// What one entry is scored with: its rows, the classes fitted without it, and the scale-up constants it stands on.
class EntryScore {
public:
    EntryScore(NetworkEntry const& entry, MeasurementList const& rows, std::vector<NetworkCalibration> const& known,
               FitOptions const& options)
        : entry_(entry), rows_(rows), options_(options) {
        bool const is_out = entry.part == NetworkPart::scale_out;
        if (is_out) known_ = scale_ups(known, Known::all);
        for (CollectiveMeasurement const* row : rows)
            if (entry.takes(*row)) own_.push_back(row);
        if (own_.empty()) return;
        classes_ = fit_entries(
            {entry.parent}, rows, [&](auto const& row) { return entry.takes(row); }, known_, options, "");
        if (is_out) class_ups_ = scale_ups(known, Known::classes);
    }

    [[nodiscard]] MeasurementList const& rows() const { return own_; }

    void by_class(std::vector<HeldOutRow>& out) const {
        Judge judge(joined(classes_, class_ups_), entry_.name);
        for (CollectiveMeasurement const* row : own_)
            out.push_back(judge.predict(*row));
    }

    /// Rows for which `judged` holds, by a fit to those for which `seen` does.
    void by_rest(LeftOut const& seen, LeftOut const& judged, std::vector<HeldOutRow>& out) const {
        if (std::none_of(own_.begin(), own_.end(), [&](auto const* row) { return seen(*row); })) return;
        NetworkCalibration const* above = nullptr;
        for (NetworkCalibration const& c : classes_)
            if (c.name == entry_.parent || above == nullptr) above = &c;
        auto const own = fit_one_entry(
            entry_, rows_, [&](auto const& row) { return !seen(row); }, above, known_, options_, "");
        Judge judge(joined(joined({own}, classes_), known_), entry_.name);
        for (CollectiveMeasurement const* row : own_)
            if (judged(*row)) out.push_back(judge.predict(*row));
    }

private:
    NetworkEntry const& entry_;
    MeasurementList const& rows_;
    FitOptions const& options_;
    MeasurementList own_;
    std::vector<NetworkCalibration> known_;
    std::vector<NetworkCalibration> classes_;
    std::vector<NetworkCalibration> class_ups_;
};

}  // namespace

double HeldOutRow::log_ratio() const { return std::log(row->measured / predicted); }

std::vector<Bytes> const& size_bands() {
    static std::vector<Bytes> const bands{0 * units::B, 64 * units::KiB, 1 * units::MiB, 64 * units::MiB,
                                          256 * units::MiB};
    return bands;
}

std::vector<HeldOutRow> score_entries(MeasurementList const& rows, std::vector<NetworkCalibration> const& known,
                                      FitOptions const& options,
                                      std::function<void(std::string const&)> const& report) {
    std::vector<HeldOutRow> out;
    for (NetworkEntry const& entry : network_entries()) {
        if (entry.scope.is_class()) continue;
        report(entry.name);
        EntryScore const score(entry, rows, known, options);
        if (score.rows().empty()) continue;
        score.by_class(out);
        std::set<std::string> runs;
        for (CollectiveMeasurement const* row : score.rows())
            runs.insert(row->run);
        for (std::string const& run : runs)
            score.by_rest([&](auto const& row) { return row.run != run; },
                          [&](auto const& row) { return row.run == run; }, out);
    }
    return out;
}

std::vector<HeldOutRow> score_growth(MeasurementList const& rows, std::vector<NetworkCalibration> const& known,
                                     FitOptions const& options) {
    std::vector<HeldOutRow> out;
    for (NetworkEntry const& entry : network_entries()) {
        if (entry.scope.is_class()) continue;
        EntryScore const score(entry, rows, known, options);
        if (score.rows().empty()) continue;
        bool const is_out = entry.part == NetworkPart::scale_out;
        auto const scale = [&](CollectiveMeasurement const& row) {
            return is_out ? row.group().domains : row.group().size;
        };
        std::int64_t const most_seen = is_out ? 2 : 4;
        score.by_rest([&](auto const& row) { return scale(row) <= most_seen; },
                      [&](auto const& row) { return scale(row) > most_seen && scale(row) <= 8; }, out);
    }
    return out;
}

std::vector<HeldOutRow> score_rows(MeasurementList const& rows, std::vector<NetworkCalibration> const& known,
                                   FitOptions const& options) {
    constexpr std::uint64_t folds = 5;
    // Other runs of the same are left out with it.
    auto const fold_of = [](CollectiveMeasurement const& row) {
        return name_hash(fmt::format("{} {} {} {}", name_of(row.kind), row.group().ranks_per_domain,
                                     row.group().domains, row.bytes.base())) %
               folds;
    };
    std::vector<HeldOutRow> out;
    for (NetworkEntry const& entry : network_entries()) {
        if (entry.scope.is_class()) continue;
        EntryScore const score(entry, rows, known, options);
        for (std::uint64_t fold = 0; fold < folds && !score.rows().empty(); ++fold)
            score.by_rest([&](auto const& row) { return fold_of(row) != fold; },
                          [&](auto const& row) { return fold_of(row) == fold; }, out);
    }
    return out;
}

std::vector<NetworkInterval> intervals_from(std::vector<HeldOutRow> const& rows, std::string const& entry,
                                            NetworkPart part) {
    bool const between = part == NetworkPart::scale_out;
    std::string const kind = kind_of_entry(entry);
    std::map<Cell, PlatformErrors> pooled;
    std::map<Cell, PlatformErrors> of_kind;
    std::map<Cell, PlatformErrors> own;
    for (HeldOutRow const& row : rows) {
        if (row.row->role != RowRole::accuracy || row.row->between_domains() != between) continue;
        Cell const cell{row.range, between, band_of(row.row->bytes)};
        pooled[cell].add(row.entry, row.log_ratio());
        if (kind_of_entry(row.entry) == kind) of_kind[cell].add(row.entry, row.log_ratio());
        if (row.entry == entry) own[cell].add(row.entry, row.log_ratio());
    }
    std::vector<NetworkInterval> out;
    for (auto const& [cell, all] : pooled) {
        auto const [range, between_domains, band] = cell;
        PlatformErrors const& alike = of_kind[cell].platforms() >= enough_platforms ? of_kind[cell] : all;
        PlatformErrors const& errors = own[cell].rows() >= enough_for_interval ? own[cell] : alike;
        out.push_back(
            interval_of(errors, {.range = range, .between_domains = between_domains, .from = size_bands()[band]}));
    }
    return out;
}

std::optional<NetworkInterval> own_interval(NetworkInterval const& like, std::vector<HeldOutRow> const& rows) {
    std::size_t const band = band_of(like.from);
    std::size_t const furthest = like.range == CalibrationRange::inside ? size_bands().size() - 1 : 0;
    for (std::size_t reach = 0; reach <= furthest; ++reach) {
        PlatformErrors errors;
        std::set<std::string> runs;
        for (HeldOutRow const& row : rows) {
            std::size_t const other = band_of(row.row->bytes);
            bool const counts = row.row->role == RowRole::accuracy && row.range == like.range &&
                                row.row->between_domains() == like.between_domains;
            if (!counts || std::max(band, other) - std::min(band, other) > reach) continue;
            errors.add("", row.log_ratio());
            runs.insert(row.row->run);
        }
        if (errors.rows() >= enough_for_interval && runs.size() >= enough_runs) return interval_of(errors, like);
    }
    return std::nullopt;
}

void widen_to(NetworkInterval& interval, std::vector<HeldOutRow> const& rows) {
    constexpr std::size_t few = 8;
    constexpr double widest = 1e3;  // the most that a file holds: it says no more than that nothing is known
    std::vector<double> of_sizes;
    std::vector<double> of_all;
    for (HeldOutRow const& row : rows) {
        if (row.row->role != RowRole::accuracy || row.row->between_domains() != interval.between_domains) continue;
        of_all.push_back(row.log_ratio());
        if (size_bands()[band_of(row.row->bytes)] == interval.from) of_sizes.push_back(row.log_ratio());
    }
    std::vector<double>& errors = of_sizes.size() >= few ? of_sizes : of_all;
    if (errors.empty()) return;
    std::sort(errors.begin(), errors.end());
    auto const factor = [&](double share) {
        return four_decimals(std::clamp(std::exp(quantile(errors, share)), 1 / widest, widest));
    };
    interval.low = std::min(interval.low, factor(tail));
    interval.high = std::max(interval.high, factor(1 - tail));
}

std::vector<NetworkHeldOut> errors_from(std::vector<HeldOutRow> const& rows, std::string const& entry) {
    std::vector<NetworkHeldOut> out;
    for (auto const& [cell, log_ratios] : by_cell(rows, entry)) {
        auto const [range, between_domains, band] = cell;
        std::vector<double> errors;
        std::vector<double> absolute;
        for (double const ratio : log_ratios) {
            errors.push_back(std::exp(-ratio) - 1);
            absolute.push_back(std::abs(errors.back()));
        }
        std::sort(errors.begin(), errors.end());
        std::sort(absolute.begin(), absolute.end());
        out.push_back({.range = range,
                       .between_domains = between_domains,
                       .from = size_bands()[band],
                       .rows = static_cast<std::int64_t>(errors.size()),
                       .median_pct = four_decimals(100 * quantile(absolute, 0.5)),
                       .p95_pct = four_decimals(100 * quantile(absolute, 0.95)),
                       .bias_pct = four_decimals(100 * quantile(errors, 0.5))});
    }
    return out;
}

}  // namespace sextant
