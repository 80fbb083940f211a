#include "calibrate/collective_score.hpp"

#include "core/error.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "cost_models/network_correction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

namespace sextant {
namespace {

/// Runs that are left out one by one; more go in a few folds.
constexpr std::size_t most_single_runs = 10;
constexpr std::size_t few_folds = 5;

std::vector<NetworkCalibration> shipped_classes() {
    std::vector<NetworkCalibration> out;
    for (NetworkCalibration const& c : all_network_calibrations())
        if ((c.scale_up ? c.scale_up->scope : c.scale_out->scope).is_class()) out.push_back(c);
    return out;
}

/// A cluster with nothing of its own: what its class says.
ClusterSpec of_class(ClusterSpec cluster) {
    apply_network_calibrations(cluster, shipped_classes());
    return cluster;
}

NetworkFitChoices choices_of(ClusterSpec const& cluster, FitChoices const& choices) {
    NetworkFitChoices out{
        .name = cluster.name + "-fitted",
        .title = cluster.title + ", fitted",
        .command = choices.command,
        .scope = {.clusters = {cluster.name}, .kind = {}},
        // A library that takes rings over two nodes has "trees" of half the rate there, and a network may be half as
        // fast as the class. What the constants do not take, the corrections would, and carry to more nodes.
        .spreads = {.latency = 0.4,
                    .rate = 0.2,
                    .hop = 0.25,
                    .latency_scale = 0.6,
                    .tree = 0.5,
                    .least_latency_share = 0.3,
                    .shared_rate = 0.4},
        .options = choices.options};
    // A cluster that a calibration names starts from that, others from their class.
    if (cluster.network_model) {
        out.up_start = cluster.network_model->up;
        out.out_start = cluster.network_model->out;
        out.up_of = [up = cluster.network_model->up](CollectiveMeasurement const&) { return up; };
        out.known = cluster.network_model->corrections;
    }
    return out;
}

/// Says of a fit that a calibration of the same cluster is what it started from.
void add_start(NetworkCalibration& calibration, ClusterSpec const& cluster) {
    if (!cluster.network_model) return;
    NetworkModel const& model = *cluster.network_model;
    auto const add = [&](NetworkModel::Part const& part) {
        if (part.range != CalibrationRange::by_class)
            calibration.provenance.sources.push_back(fmt::format("shipped calibration '{}'", part.calibration));
    };
    if (calibration.scale_up) add(model.up_part);
    if (calibration.scale_out) add(model.out_part);
}

/// Says where the constants that a fit begins with have seen rows that judge it; empty where not.
std::string seen_before(MeasurementList const& rows, ClusterSpec const& cluster) {
    if (!cluster.network_model) return "";
    std::set<std::string> names;
    for (NetworkModel::Part const* part : {&cluster.network_model->up_part, &cluster.network_model->out_part})
        if (part->range != CalibrationRange::by_class) names.insert(part->calibration);
    std::set<std::string> known;
    for (NetworkCalibration const& c : all_network_calibrations())
        if (names.contains(c.name)) known.insert(c.provenance.sources.begin(), c.provenance.sources.end());
    bool const seen =
        std::any_of(rows.begin(), rows.end(), [&](auto const* row) { return known.contains(row->source); });
    return seen ? fmt::format("; the shipped constants that the fit begins with ({}) had seen rows of the same source",
                              fmt::join(names, ", "))
                : "";
}

MeasurementList rows_that(MeasurementList const& rows, std::function<bool(CollectiveMeasurement const&)> const& take) {
    MeasurementList out;
    for (CollectiveMeasurement const* row : rows)
        if (take(*row)) out.push_back(row);
    return out;
}

void judge(MeasurementList const& rows, ClusterSpec cluster, NetworkCalibration const& calibration,
           std::vector<HeldOutRow>& out) {
    apply_network_calibration(cluster, calibration, shipped_classes());
    for (CollectiveMeasurement const* row : rows) {
        if (row->between_domains() && !cluster.network_model->out) continue;
        out.push_back({.row = row,
                       .entry = calibration.name,
                       .range = range_of(*cluster.network_model, row->kind, row->group()),
                       .predicted = collective_curve(cluster, row->kind, row->group()).time(row->bytes)});
    }
}

/// Says of a row whether no other run has its collective over its group: without its run a fit has to guess it.
std::function<bool(CollectiveMeasurement const&)> alone_among(MeasurementList const& rows) {
    auto const what = [](CollectiveMeasurement const& row) {
        return std::tuple(row.kind, row.group().ranks_per_domain, row.group().domains);
    };
    std::map<decltype(what(*rows.front())), std::set<std::string>> runs;
    for (CollectiveMeasurement const* row : rows)
        runs[what(*row)].insert(row->run);
    return [what, runs](CollectiveMeasurement const& row) { return runs.at(what(row)).size() < 2; };
}

/// Every fourth size of collectives that one run alone has over their group, by fits without it, in turn: how far new
/// rows of arrangements are off that were measured.
std::vector<HeldOutRow> judge_sizes(MeasurementList const& rows, ClusterSpec const& cluster,
                                    NetworkFitChoices const& how) {
    constexpr std::size_t turns = 4;
    auto const is_alone = alone_among(rows);
    std::map<std::tuple<CollectiveKind, std::int64_t, std::int64_t>, std::map<Bytes, std::size_t>> places;
    auto const sizes_of = [&](CollectiveMeasurement const& row) -> std::map<Bytes, std::size_t>& {
        return places[{row.kind, row.group().ranks_per_domain, row.group().domains}];
    };
    for (CollectiveMeasurement const* row : rows)
        if (is_alone(*row)) sizes_of(*row).emplace(row->bytes, 0);
    for (auto& [sweep, sizes] : places)
        for (std::size_t place = 0; auto& [size, at] : sizes)
            at = place++ % turns;
    std::vector<HeldOutRow> out;
    for (std::size_t turn = 0; turn < turns && !places.empty(); ++turn) {
        auto const is_left_out = [&](CollectiveMeasurement const& row) {
            return is_alone(row) && sizes_of(row).at(row.bytes) == turn;
        };
        MeasurementList const others = rows_that(rows, [&](auto const& row) { return !is_left_out(row); });
        if (others.empty()) continue;
        judge(rows_that(rows, is_left_out), cluster, fit_network(others, how), out);
    }
    std::erase_if(out, [](HeldOutRow const& row) { return row.range != CalibrationRange::inside; });
    return out;
}

bool is_known_by_class(ClusterSpec const& cluster, bool between_domains) {
    if (!cluster.network_model) return false;
    NetworkModel const& model = *cluster.network_model;
    return (between_domains ? model.out_part : model.up_part).range == CalibrationRange::by_class;
}

/// Own intervals where enough rows were held out, else those of the class's file for the same range, wide enough for
/// what the fit leaves of the rows at hand.
/// - `outside`: no narrower than the class's. What is held out of the arrangements of a sweep says little of more ranks
///   than it has; of the platforms that ship, predictions of eight ranks by four then lie in it as often as they
///   should, 75 -> 81 % in one domain. Of a network that its class alone says anything of, as wide as of what nobody
///   measured: one log of a slow fabric does not make better known what it has no rows of.
/// - `inside`: no wider than it would be without. A size between two that jump is far off where it is left out.
void set_intervals(NetworkCalibration& calibration, std::vector<HeldOutRow> const& scored,
                   std::vector<HeldOutRow> const& at_hand, ClusterSpec const& cluster) {
    ClusterSpec const base = of_class(cluster);
    if (!base.network_model) return;
    bool borrows = false;
    for (NetworkInterval interval : base.network_model->intervals) {
        auto own = own_interval(interval, scored);
        if (interval.range == CalibrationRange::outside && is_known_by_class(cluster, interval.between_domains))
            for (NetworkInterval const& other : base.network_model->intervals)
                if (other.range == CalibrationRange::by_class && other.between_domains == interval.between_domains &&
                    other.from == interval.from) {
                    interval.low = std::min(interval.low, other.low);
                    interval.high = std::max(interval.high, other.high);
                }
        if (own && own->range == CalibrationRange::outside) {
            own->low = std::min(own->low, interval.low);
            own->high = std::max(own->high, interval.high);
        }
        widen_to(interval, at_hand);
        if (own && own->range == CalibrationRange::inside) {
            own->low = std::max(own->low, interval.low);
            own->high = std::min(own->high, interval.high);
        }
        borrows = borrows || !own;
        calibration.intervals.push_back(own.value_or(interval));
    }
    if (borrows)
        calibration.provenance.method += fmt::format(
            "; intervals of sizes with fewer than {} held-out rows, or rows of fewer than {} runs, are the class's, "
            "widened to hold the rows",
            enough_for_interval, enough_runs);
}

}  // namespace

std::uint64_t name_hash(std::string_view name) {
    std::uint64_t hash = 14695981039346656037ULL;
    for (char const c : name)
        hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    // FNV leaves the high bits of similar names alike: one more round mixes them (MurmurHash3's last step).
    hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdULL;
    return (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53ULL;
}

bool is_held_out(std::string_view run, double share) {
    return static_cast<double>(name_hash(run) >> 40) / static_cast<double>(1 << 24) < share;
}

void add_scores(NetworkCalibration& calibration, std::vector<HeldOutRow> const& rows, NetworkPart part) {
    bool const is_class =
        (calibration.scale_up ? calibration.scale_up->scope : calibration.scale_out->scope).is_class();
    calibration.intervals = intervals_from(rows, calibration.name, part);
    calibration.provenance.held_out = errors_from(rows, is_class ? "" : calibration.name);
    std::erase_if(calibration.provenance.held_out, [&](NetworkHeldOut const& h) {
        return h.between_domains != (part == NetworkPart::scale_out) ||
               (is_class && h.range != CalibrationRange::by_class);
    });
    calibration.provenance.method =
        is_class ? "each platform left out of its classes in turn; intervals and errors over all platforms"
                 : "each run left out in turn, from a class without this platform; then fitted to all rows";
}

std::string held_out_csv(std::vector<HeldOutRow> const& rows) {
    std::string out = csv_line({"entry", "run_id", "source_ref", "collective", "ranks_per_domain", "domains",
                                "size_bytes", "weight", "role", "range", "time_us", "pred_time_us"});
    for (HeldOutRow const& row : rows) {
        CollectiveMeasurement const& m = *row.row;
        out += csv_line({row.entry, m.run, m.source, std::string(name_of(m.kind)),
                         fmt::format("{}", m.group().ranks_per_domain), fmt::format("{}", m.group().domains),
                         fmt::format("{:.0f}", m.bytes.base()), fmt::format("{:.3g}", m.weight),
                         m.role == RowRole::accuracy ? "accuracy" : "robustness", std::string(name_of(row.range)),
                         fmt::format("{:.6g}", m.measured.in(units::us)),
                         fmt::format("{:.6g}", row.predicted.in(units::us))});
    }
    return out;
}

NetworkCalibration fit_with_held_out(MeasurementList const& rows, ClusterSpec const& cluster,
                                     FitChoices const& choices) {
    NetworkFitChoices const how = choices_of(cluster, choices);
    auto const held = [&](CollectiveMeasurement const& row) { return is_held_out(row.run, choices.held_out); };
    MeasurementList const judges = rows_that(rows, held);
    MeasurementList const fitted = rows_that(rows, [&](auto const& row) { return !held(row); });
    std::vector<HeldOutRow> scored;
    std::vector<HeldOutRow> of_sizes;
    std::vector<HeldOutRow> at_hand;  // what intervals are to hold
    NetworkCalibration out;
    if (!judges.empty() && !fitted.empty()) {
        out = fit_network(fitted, how);
        judge(judges, cluster, out, scored);
        at_hand = scored;
        auto const runs = [](MeasurementList const& of) {
            std::set<std::string> names;
            for (CollectiveMeasurement const* row : of)
                names.insert(row->run);
            return names.size();
        };
        out.provenance.method = fmt::format("{} of {} runs, chosen by a hash of their names, were not fitted{}",
                                            runs(judges), runs(rows), seen_before(judges, cluster));
    } else {
        out = fit_network(rows, how);
        auto const is_alone = alone_among(rows);
        std::map<std::string, std::size_t> fold_of;
        for (CollectiveMeasurement const* row : rows)
            fold_of.emplace(row->run, 0);
        std::size_t const folds = fold_of.size() <= most_single_runs ? fold_of.size() : few_folds;
        std::size_t number = 0;
        for (auto& [run, fold] : fold_of)
            fold = number++ % folds;
        for (std::size_t fold = 0; fold < folds && folds > 1; ++fold) {
            auto const in_fold = [&](CollectiveMeasurement const& row) { return fold_of.at(row.run) == fold; };
            auto const others = fit_network(rows_that(rows, [&](auto const& row) { return !in_fold(row); }), how);
            judge(rows_that(rows, in_fold), cluster, others, scored);
        }
        std::copy_if(scored.begin(), scored.end(), std::back_inserter(at_hand),
                     [&](HeldOutRow const& row) { return !is_alone(*row.row); });
        judge(rows_that(rows, is_alone), cluster, out, at_hand);
        of_sizes = judge_sizes(rows, cluster, how);
        out.provenance.method = folds < 2 ? "nothing was held out: there is one run"
                                          : fmt::format("{} left out in turn; then fitted to all rows",
                                                        folds == fold_of.size() ? "each run" : "a fifth of the runs");
        if (choices.held_out > 0)
            out.provenance.method +=
                fmt::format(" (a share of {:g} holds none of the {} runs out)", choices.held_out, fold_of.size());
        if (!of_sizes.empty())
            out.provenance.method += "; for intervals, every fourth size of what one run alone has left out in turn";
        out.provenance.method += seen_before(rows, cluster);
    }
    add_start(out, cluster);
    out.provenance.held_out = errors_from(scored, out.name);
    scored.insert(scored.end(), of_sizes.begin(), of_sizes.end());
    set_intervals(out, scored, at_hand, cluster);
    return out;
}

}  // namespace sextant
