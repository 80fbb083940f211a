#include "calibrate/collective_fit.hpp"

#include "calibrate/network_catalogue.hpp"
#include "core/error.hpp"
#include "cost_models/nccl_curve.hpp"
#include "cost_models/network_correction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>

namespace sextant {
namespace {

NcclMachine machine_of(CollectiveMeasurement const& row, ScaleUpConstants const& up, ScaleOutConstants const* out) {
    NcclMachine machine = nccl_machine(row.machine->cluster);
    machine.ring_up = up.ring;
    machine.exchange_up = up.exchange;
    if (out != nullptr) {
        machine.ring_out = out->ring;
        machine.exchange_out = out->exchange;
    }
    return machine;
}

/// Rows of one collective on one machine: they share a curve.
class Sweeps {
public:
    explicit Sweeps(MeasurementList const& rows) : rows_(rows) {
        std::map<std::pair<CollectiveMachine const*, CollectiveKind>, std::size_t> numbers;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            auto const key = std::pair(rows[i]->machine.get(), rows[i]->kind);
            auto const [found, is_new] = numbers.try_emplace(key, rows_of_.size());
            if (is_new) rows_of_.emplace_back();
            rows_of_[found->second].push_back(i);
        }
    }

    /// log(predicted / target) of all rows by the constants that `up` and `out` give for the first row of each sweep.
    template <class Up, class Out>
    void residuals(Up const& up, Out const& out, std::span<double> to) const {
        for (std::vector<std::size_t> const& sweep : rows_of_) {
            CollectiveMeasurement const& first = *rows_[sweep.front()];
            ScaleUpConstants const inside = up(sweep.front());
            auto const between = out(sweep.front());
            ScaleOutConstants const* const outside = between ? &*between : nullptr;
            CollectiveCurve const curve =
                nccl_curve(machine_of(first, inside, outside), first.kind, first.group(), inside, outside);
            for (std::size_t const i : sweep)
                to[i] = std::log(curve.time(rows_[i]->bytes) / rows_[i]->target);
        }
    }

private:
    MeasurementList const& rows_;
    std::vector<std::vector<std::size_t>> rows_of_;
};

MeasurementList rows_of(MeasurementList const& rows, NetworkPart part) {
    MeasurementList out;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(out), [&](CollectiveMeasurement const* row) {
        return row->between_domains() == (part == NetworkPart::scale_out);
    });
    return out;
}

bool any_of_kind(MeasurementList const& rows, CollectiveKind kind) {
    return std::any_of(rows.begin(), rows.end(), [&](CollectiveMeasurement const* row) { return row->kind == kind; });
}

using Keys = std::vector<std::string_view>;

void append(Keys& keys, std::initializer_list<std::string_view> more) { keys.insert(keys.end(), more); }

/// Collectives that are rings and nothing else.
bool has_pure_rings(MeasurementList const& rows) {
    return any_of_kind(rows, CollectiveKind::all_gather) || any_of_kind(rows, CollectiveKind::reduce_scatter) ||
           any_of_kind(rows, CollectiveKind::broadcast);
}

bool has_rings(MeasurementList const& rows) {
    return any_of_kind(rows, CollectiveKind::all_reduce) || has_pure_rings(rows);
}

/// On PCIe rings of two, of up to four and of more ranks have a rate each: `ring` is that of the most ranks, so a gain
/// is known where both the ranks that have it and more were measured. One that is not stays as the class has it.
void append_gains(Keys& keys, MeasurementList const& rows) {
    std::int64_t most = 0;
    for (CollectiveMeasurement const* row : rows)
        if (row->machine->cluster.scale_up.kind == ScaleUpKind::pcie) most = std::max(most, row->group().size);
    if (most > 2) append(keys, {"pair_gain"});
    if (most > 4) append(keys, {"quad_gain"});
}

/// The constants that these rows can say something of.
Keys scale_up_keys(MeasurementList const& rows) {
    Keys keys;
    if (has_rings(rows))
        append(keys, {"base_ll", "base_ll128", "base_simple", "hop_ll", "hop_ll128", "hop_simple", "ll", "ll128",
                      "ring", "ramp", "small_rate"});
    if (any_of_kind(rows, CollectiveKind::all_reduce)) append(keys, {"copy_all_reduce"});
    if (any_of_kind(rows, CollectiveKind::all_gather)) append(keys, {"copy_all_gather"});
    if (any_of_kind(rows, CollectiveKind::reduce_scatter)) append(keys, {"copy_reduce_scatter"});
    if (any_of_kind(rows, CollectiveKind::all_to_all)) append(keys, {"copy_all_to_all", "exchange_peer", "exchange"});
    if (any_of_kind(rows, CollectiveKind::all_to_all) || any_of_kind(rows, CollectiveKind::send_receive))
        append(keys, {"exchange_base_ll", "exchange_base_simple", "exchange_ll"});
    auto const in_switch = [](CollectiveMeasurement const* row) {
        return row->kind == CollectiveKind::all_reduce && row->group().size > 2 &&
               row->machine->cluster.scale_up.in_network_reduction_efficiency.has_value();
    };
    if (std::any_of(rows.begin(), rows.end(), in_switch))
        append(keys, {"nvls_base", "nvls", "nvls_share", "nvls_small_latency", "nvls_small_rate"});
    append_gains(keys, rows);
    return keys;
}

/// The part of a curve's time that does not grow with the message: what the line through nearby sizes has at none.
double latency_share(CollectiveCurve const& curve, Bytes bytes) {
    constexpr double nearby = 1.05;
    return 1 - std::log(curve.time(nearby * bytes) / curve.time(bytes)) / std::log(nearby);
}

Keys scale_out_keys(MeasurementList const& rows) {
    Keys keys{"added", "latency_scale"};
    if (has_rings(rows))
        append(keys, {"ring_hop_ll", "ring_hop_ll128", "ring_hop_simple", "ring", "ll", "ll128", "ring_ramp",
                      "ring_small_rate"});
    if (any_of_kind(rows, CollectiveKind::all_reduce))
        append(keys, {"tree_hop_ll", "tree_hop_ll128", "tree_hop_simple", "nvls_tree_hop", "tree", "tree_inside",
                      "nvls_inside", "small_latency", "small_rate"});
    if (any_of_kind(rows, CollectiveKind::all_to_all))
        append(keys, {"exchange_base", "exchange_peer", "exchange", "ring_ramp", "ring_small_rate"});
    return keys;
}

std::vector<double> weights_of(MeasurementList const& rows) {
    std::vector<double> weights;
    for (CollectiveMeasurement const* row : rows)
        weights.push_back(row->weight / (row_spread * row_spread));
    return weights;
}

/// Sources, versions, runs and rows.
NetworkProvenance provenance_of(MeasurementList const& rows, std::string const& command) {
    std::set<std::string> sources;
    std::set<std::string> versions;
    std::set<std::string> runs;
    for (CollectiveMeasurement const* row : rows) {
        sources.insert(row->source);
        versions.insert(row->library_version.empty() ? "unknown" : row->library_version);
        runs.insert(row->run);
    }
    return {.command = command,
            .sources = {sources.begin(), sources.end()},
            .library_versions = {versions.begin(), versions.end()},
            .runs = static_cast<std::int64_t>(runs.size()),
            .rows = static_cast<std::int64_t>(rows.size()),
            .method = "no rows were held out",
            .held_out = {}};
}

/// These constants on a cluster whose latencies are `latency` times, and whose rates `rate` times those of its class.
ScaleUpConstants on_cluster(ScaleUpConstants c, double latency, double rate) {
    for (Seconds ScaleUpConstants::*time :
         {&ScaleUpConstants::base_ll, &ScaleUpConstants::base_ll128, &ScaleUpConstants::base_simple,
          &ScaleUpConstants::hop_ll, &ScaleUpConstants::hop_ll128, &ScaleUpConstants::hop_simple,
          &ScaleUpConstants::nvls_base, &ScaleUpConstants::exchange_base_ll, &ScaleUpConstants::exchange_base_simple})
        c.*time = c.*time * latency;
    for (double ScaleUpConstants::*part :
         {&ScaleUpConstants::ring, &ScaleUpConstants::nvls, &ScaleUpConstants::exchange})
        c.*part *= rate;
    return c;
}

ScaleOutConstants on_cluster(ScaleOutConstants c, double latency, double rate) {
    c.added = c.added * latency;
    c.latency_scale *= latency;
    for (double ScaleOutConstants::*part :
         {&ScaleOutConstants::ring, &ScaleOutConstants::tree, &ScaleOutConstants::exchange})
        c.*part *= rate;
    return c;
}

/// Whether rows that are slow show a slow network. All-reduces over two domains alone do not: a library that takes
/// rings there needs almost twice a tree's time on the same network (DGX-1 and AMD's do; docs/collectives.md).
bool rates_are_shared(MeasurementList const& rows) {
    auto const over_two = [](CollectiveMeasurement const* row) {
        return row->kind == CollectiveKind::all_reduce && row->group().domains == 2;
    };
    auto const has_ring = [&](CollectiveMeasurement const* row) {
        return row->kind != CollectiveKind::all_to_all && !over_two(row);
    };
    return std::none_of(rows.begin(), rows.end(), over_two) || std::any_of(rows.begin(), rows.end(), has_ring);
}

/// What tells the clusters of a class apart, as further unknowns of its fit: without them, a cluster of which one
/// collective was measured would shift the constants of that collective for all others.
class ClusterEffects {
public:
    ClusterEffects(MeasurementList const& rows, NetworkPriorSpreads const& spreads, std::size_t constants)
        : first_(constants) {
        std::map<std::string, std::size_t> numbers;
        for (CollectiveMeasurement const* row : rows)
            of_row_.push_back(numbers.try_emplace(row->machine->cluster.name, numbers.size()).first->second);
        is_one_ = numbers.size() == 1 && spreads.shared_rate > 0 && rates_are_shared(rows);
        if (is_one_) parameters_.push_back(effect("rates", spreads.shared_rate));
        if (numbers.size() < 2 || spreads.cluster_latency <= 0 || spreads.cluster_rate <= 0) return;
        for (auto const& [name, number] : numbers)
            for (double const spread : {spreads.cluster_latency, spreads.cluster_rate})
                parameters_.push_back(effect(name, spread));
    }

    void append_to(std::vector<FitParameter>& parameters) const {
        parameters.insert(parameters.end(), parameters_.begin(), parameters_.end());
    }

    template <class Constants>
    [[nodiscard]] Constants of(Constants const& constants, std::size_t row, std::span<double const> values) const {
        if (parameters_.empty()) return constants;
        if (is_one_) return shared(constants, values);
        std::size_t const at = first_ + 2 * of_row_[row];
        return on_cluster(constants, values[at], values[at + 1]);
    }

    /// With what all rows share, which one cluster keeps; the clusters of a class keep what is theirs for themselves.
    template <class Constants>
    [[nodiscard]] Constants shared(Constants const& constants, std::span<double const> values) const {
        return is_one_ ? on_cluster(constants, 1, values[first_]) : constants;
    }

private:
    static constexpr double most = 20;

    static FitParameter effect(std::string name, double spread) {
        return {.name = std::move(name),
                .start = 1,
                .low = 1.0 / most,
                .high = most,
                .scale = FitScale::logarithmic,
                .prior = FitPrior{1, spread}};
    }

    std::size_t first_;
    bool is_one_ = false;
    std::vector<std::size_t> of_row_;
    std::vector<FitParameter> parameters_;
};

/// The rows as they would be without these corrections.
std::vector<CollectiveMeasurement> without(std::vector<NetworkCorrection> const& known, MeasurementList const& rows) {
    std::vector<CollectiveMeasurement> out;
    for (CollectiveMeasurement const* row : rows) {
        out.push_back(*row);
        double const size = std::log2(std::max(row->bytes.base(), 1.0));
        NetworkCorrection const* const own = correction_of(known, row->kind, row->group());
        double const factor =
            std::exp(-correction_at(known, row->kind, row->group(), size) - (own != nullptr ? own->jump_at(size) : 0));
        out.back().measured *= factor;
        out.back().target *= factor;
    }
    return out;
}

double rounded(double value) { return value == 0 ? 0 : std::stod(fmt::format("{:.4g}", value)); }

template <class Constants, class Times, class Numbers>
void round_constants(NetworkSection<Constants>& section, Times const& times, Numbers const& numbers) {
    for (auto const& field : times) {
        Seconds& value = section.constants.*field.member;
        value = rounded(value.in(units::us)) * units::us;
    }
    for (auto const& field : numbers)
        section.constants.*field.member = rounded(std::clamp(section.constants.*field.member, field.low, field.high));
    for (ConstantNote& note : section.notes)
        if (note.spread) note.spread = rounded(std::min(*note.spread, 100.0));
}

}  // namespace

double four_decimals(double value) { return std::round(value * 1e4) / 1e4; }

CollectiveCurve structural_curve(CollectiveMeasurement const& row, ScaleUpConstants const& up,
                                 ScaleOutConstants const* out) {
    return nccl_curve(machine_of(row, up, out), row.kind, row.group(), up, out);
}

Seconds structural_time(CollectiveMeasurement const& row, ScaleUpConstants const& up, ScaleOutConstants const* out) {
    return structural_curve(row, up, out).time(row.bytes);
}

NetworkSection<ScaleUpConstants> fit_scale_up(MeasurementList const& all, ScaleUpConstants const& start,
                                              NetworkPriorSpreads const& spreads, FitOptions const& options) {
    MeasurementList const rows = rows_of(all, NetworkPart::scale_up);
    if (rows.empty()) throw InputError("fit: no row is of ranks in one domain");
    NetworkParameters<ScaleUpConstants> const parameters(start, scale_up_keys(rows), spreads);
    ClusterEffects const effects(rows, spreads, parameters.parameters().size());
    Sweeps const sweeps(rows);
    FitProblem problem{.parameters = parameters.parameters(),
                       .rows = rows.size(),
                       .residual = {},
                       .weights = weights_of(rows),
                       .residuals = [&](std::span<double const> values, std::span<double> out) {
                           ScaleUpConstants const constants = parameters.with(values);
                           sweeps.residuals([&](std::size_t i) { return effects.of(constants, i, values); },
                                            [](std::size_t) { return std::optional<ScaleOutConstants>{}; }, out);
                       }};
    effects.append_to(problem.parameters);
    FitResult const fit = fit_least_squares(problem, options);
    std::vector<double> const values = fit.values();
    NetworkSection<ScaleUpConstants> section{
        .scope = {}, .constants = effects.shared(parameters.with(values), values), .notes = parameters.notes(fit)};
    round_constants(section, scale_up_times, scale_up_numbers);
    return section;
}

NetworkSection<ScaleOutConstants> fit_scale_out(MeasurementList const& all, ScaleOutConstants const& start,
                                                ScaleUpOf const& up_of, NetworkPriorSpreads const& spreads,
                                                FitOptions const& options) {
    MeasurementList const rows = rows_of(all, NetworkPart::scale_out);
    if (rows.empty()) throw InputError("fit: no row is of ranks in several domains");
    std::vector<ScaleUpConstants> ups;
    for (CollectiveMeasurement const* row : rows)
        ups.push_back(up_of(*row));
    NetworkPriorSpreads of_rows = spreads;
    if (!has_pure_rings(rows) && rates_are_shared(rows)) of_rows.tree.reset();
    Keys keys = scale_out_keys(rows);
    bool const show_latency = std::any_of(rows.begin(), rows.end(), [&](CollectiveMeasurement const* row) {
        return latency_share(structural_curve(*row, up_of(*row), &start), row->bytes) >= spreads.least_latency_share;
    });
    if (!show_latency) std::erase_if(keys, is_scale_out_latency);
    NetworkParameters<ScaleOutConstants> const parameters(start, keys, of_rows);
    ClusterEffects const effects(rows, spreads, parameters.parameters().size());
    Sweeps const sweeps(rows);
    FitProblem problem{.parameters = parameters.parameters(),
                       .rows = rows.size(),
                       .residual = {},
                       .weights = weights_of(rows),
                       .residuals = [&](std::span<double const> values, std::span<double> to) {
                           ScaleOutConstants const constants = parameters.with(values);
                           sweeps.residuals(
                               [&](std::size_t i) { return ups[i]; },
                               [&](std::size_t i) { return std::optional(effects.of(constants, i, values)); }, to);
                       }};
    effects.append_to(problem.parameters);
    FitResult const fit = fit_least_squares(problem, options);
    std::vector<double> const values = fit.values();
    NetworkSection<ScaleOutConstants> section{
        .scope = {}, .constants = effects.shared(parameters.with(values), values), .notes = parameters.notes(fit)};
    round_constants(section, scale_out_times, scale_out_numbers);
    return section;
}

NetworkCalibration fit_network(MeasurementList const& all, NetworkFitChoices const& choices) {
    if (all.empty()) throw InputError("{}: no rows (at least one is needed)", choices.name);
    NetworkCalibration out{.name = choices.name, .title = choices.title};
    out.provenance = provenance_of(all, choices.command);
    std::vector<CollectiveMeasurement> const plain = without(choices.known, all);
    MeasurementList rows;
    for (CollectiveMeasurement const& row : plain)
        rows.push_back(&row);
    if (!rows_of(rows, NetworkPart::scale_up).empty()) {
        out.scale_up =
            fit_scale_up(rows, choices.up_start.value_or(tuner_scale_up()), choices.spreads, choices.options);
        out.scale_up->scope = choices.scope;
    }
    ScaleUpOf const up_of = [&](CollectiveMeasurement const& row) {
        if (out.scale_up) return out.scale_up->constants;
        if (choices.up_of) return choices.up_of(row);
        auto const& model = row.machine->cluster.network_model;
        return model ? model->up : tuner_scale_up();
    };
    if (!rows_of(rows, NetworkPart::scale_out).empty()) {
        out.scale_out =
            fit_scale_out(rows, choices.out_start.value_or(tuner_scale_out()), up_of, choices.spreads, choices.options);
        out.scale_out->scope = choices.scope;
    }
    if (choices.scope.is_class()) return out;
    CurveOf const curve_of = [&](CollectiveMeasurement const& row) {
        return structural_curve(row, up_of(row), row.between_domains() ? &out.scale_out->constants : nullptr);
    };
    out.corrections = fit_corrections(all, curve_of, choices.options);
    for (NetworkCorrection const& known : choices.known) {
        bool const has_part = known.domains > 1 ? out.scale_out.has_value() : out.scale_up.has_value();
        bool const has_rows = std::any_of(out.corrections.begin(), out.corrections.end(), [&](auto const& own) {
            return own.kind == known.kind && own.ranks_per_domain == known.ranks_per_domain &&
                   own.domains == known.domains;
        });
        if (has_part && !has_rows) out.corrections.push_back(known);
    }
    return out;
}

}  // namespace sextant
