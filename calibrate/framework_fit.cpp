#include "calibrate/framework_fit.hpp"

#include "calibrate/framework_unknowns.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace sextant {
namespace {

/// Residual that a prior of one spread weighs as much as: the error a step model has anyway.
constexpr double residual_unit = 0.05;

/// One parameter of the fit.
struct Unknown {
    UnknownSpec const* spec = nullptr;
    std::string generation = "*";
    std::string precision = "*";
    bool is_factor = false;

    [[nodiscard]] bool applies(std::string const& g, std::string const& p) const {
        return (generation == "*" || generation == g) && (precision == "*" || (is_narrow(p) && precision == "fp8"));
    }
};

/// What the rows can say something of.
std::vector<Unknown> unknowns_of(std::vector<StepMeasurement const*> const& rows) {
    std::set<std::string> generations;
    std::set<std::string> narrow;
    bool experts = false;
    for (auto const* row : rows) {
        generations.insert(row->generation);
        if (is_narrow(row->precision)) narrow.insert(row->generation);
        experts = experts || row->has_experts;
    }
    std::vector<Unknown> out;
    for (UnknownSpec const& spec : unknown_specs) {
        if (spec.experts_only && !experts) continue;
        if (spec.scope == FrameworkScope::releases) {
            Unknown const gain{.spec = &spec,
                               .generation = std::string(spec.of_generation),
                               .precision = std::string(spec.of_precision)};
            if (std::any_of(rows.begin(), rows.end(), [&](StepMeasurement const* row) {
                    return row->release_years != 0 && gain.applies(row->generation, row->precision);
                }))
                out.push_back(gain);
            continue;
        }
        out.push_back({.spec = &spec});
        if (spec.scope == FrameworkScope::per_generation) {
            for (auto const& g : generations)
                out.push_back({.spec = &spec, .generation = g});
            continue;
        }
        if (spec.scope == FrameworkScope::framework) continue;
        for (auto const& g : generations)
            out.push_back({.spec = &spec, .generation = g, .is_factor = true});
        if (spec.scope != FrameworkScope::generation_precision) continue;
        for (auto const& g : narrow)
            out.push_back({.spec = &spec, .generation = g, .precision = "fp8", .is_factor = true});
    }
    return out;
}

bool same(TimingConstant const& constant, Unknown const& unknown) {
    return constant.key == unknown.spec->key && constant.generation == unknown.generation &&
           constant.precision == unknown.precision && constant.is_factor == unknown.is_factor;
}

FitParameter parameter_of(Unknown const& unknown, Execution execution, std::vector<TimingConstant> const& expected) {
    UnknownSpec const& spec = *unknown.spec;
    FitPrior prior{.mean = 1, .spread = spec.factor_spread};
    if (!unknown.is_factor) prior = {.mean = spec.expected[static_cast<std::size_t>(execution)], .spread = spec.spread};
    auto const found =
        std::find_if(expected.begin(), expected.end(), [&](TimingConstant const& c) { return same(c, unknown); });
    if (found != expected.end()) prior = {.mean = found->value, .spread = found->spread.value_or(prior.spread)};
    double const low = unknown.is_factor ? 0.4 : spec.low;
    double const high = unknown.is_factor ? 2.5 : spec.high;
    return {.name = std::string(spec.key),
            .start = std::clamp(prior.mean, low, high),
            .low = low,
            .high = high,
            .scale = unknown.is_factor ? FitScale::logarithmic : spec.scale,
            .prior = prior};
}

/// Constants for one generation and precision: values first, then factors on them, then multiples of others.
FrameworkTiming timing_at(FrameworkTiming timing, std::vector<Unknown> const& unknowns, std::span<double const> values,
                          std::string const& generation, std::string const& precision) {
    for (bool const factors : {false, true})
        for (std::size_t i = 0; i < unknowns.size(); ++i) {
            Unknown const& u = unknowns[i];
            if (u.is_factor != factors || !u.applies(generation, precision) || !u.spec->relative_to.empty()) continue;
            set_constant(timing, u.spec->key, u.is_factor ? get_constant(timing, u.spec->key) * values[i] : values[i]);
        }
    for (std::size_t i = 0; i < unknowns.size(); ++i)
        if (UnknownSpec const& spec = *unknowns[i].spec; !spec.relative_to.empty())
            set_constant(timing, spec.key, get_constant(timing, spec.relative_to) * values[i]);
    return timing;
}

/// Adds the factors that other frameworks expect and that no row here says anything of, with their values.
void add_expected(std::vector<Unknown>& unknowns, std::vector<double>& values,
                  std::vector<TimingConstant> const& expected) {
    for (TimingConstant const& c : expected) {
        auto const is_same = [&](Unknown const& u) { return same(c, u); };
        if (std::any_of(unknowns.begin(), unknowns.end(), is_same)) continue;
        auto const spec = std::find_if(unknown_specs.begin(), unknown_specs.end(),
                                       [&](UnknownSpec const& s) { return s.key == c.key; });
        if (spec == unknown_specs.end()) continue;
        unknowns.push_back(
            {.spec = &*spec, .generation = c.generation, .precision = c.precision, .is_factor = c.is_factor});
        values.push_back(c.value);
    }
}

/// Predictions of one row, remembered for the constants that matter to it: a fit moves one at a time.
class RememberedRow {
public:
    RememberedRow(StepMeasurement const& row, std::vector<Unknown> const& unknowns) : row_(row) {
        for (std::size_t i = 0; i < unknowns.size(); ++i)
            if (unknowns[i].applies(row.generation, row.precision) &&
                (row.has_experts || !unknowns[i].spec->experts_only))
                relevant_.push_back(i);
    }

    double log_error(FrameworkTiming const& base, std::vector<Unknown> const& unknowns,
                     std::span<double const> values) {
        std::vector<double> key;
        for (std::size_t const i : relevant_)
            key.push_back(values[i]);
        for (auto const& [at, result] : seen_)
            if (at == key) return result;
        double const predicted = predict(row_, timing_at(base, unknowns, values, row_.generation, row_.precision));
        double const result = std::log(predicted / row_.seconds);
        if (seen_.size() >= most_seen) seen_.erase(seen_.begin());
        seen_.emplace_back(std::move(key), result);
        return result;
    }

private:
    static constexpr std::size_t most_seen = 100;
    StepMeasurement const& row_;
    std::vector<std::size_t> relevant_;
    std::vector<std::pair<std::vector<double>, double>> seen_;
};

/// Rows of a source share a weight that grows slowly with their number.
std::vector<double> row_weights(std::vector<StepMeasurement const*> const& rows) {
    std::map<std::string, double> count;
    for (auto const* row : rows)
        count[row->source] += 1;
    std::vector<double> weights;
    for (auto const* row : rows)
        weights.push_back(row->weight * std::sqrt(count[row->source]) / count[row->source]);
    return weights;
}

/// Rows that an entry was fitted to of its own generation and precision.
std::int64_t steps_of(FrameworkTiming const& entry, std::vector<StepMeasurement const*> const& rows) {
    return std::count_if(rows.begin(), rows.end(), [&](StepMeasurement const* row) {
        bool const format = entry.precision == "*" ? !is_narrow(row->precision) : row->precision == entry.precision;
        return format && row->generation == entry.generation;
    });
}

/// The entries that the unknowns tell apart; `base` first, with what holds for any device.
std::vector<FrameworkTiming> entries_of(FrameworkTiming const& base, std::vector<Unknown> const& unknowns,
                                        std::span<double const> values,
                                        std::vector<StepMeasurement const*> const& rows) {
    std::vector<FrameworkTiming> entries{timing_at(base, unknowns, values, "*", "*")};
    entries.front().steps.reset();
    std::set<std::pair<std::string, std::string>> keys;
    for (Unknown const& u : unknowns)
        if (u.generation != "*") keys.emplace(u.generation, u.precision);
    for (auto const& [generation, precision] : keys) {
        entries.push_back(timing_at(base, unknowns, values, generation, precision));
        entries.back().generation = generation;
        entries.back().precision = precision;
        if (precision != "fp8") continue;
        entries.push_back(entries.back());
        entries.back().precision = "fp4";
    }
    for (auto entry = entries.begin() + 1; entry != entries.end(); ++entry)
        entry->steps = steps_of(*entry, rows);
    return entries;
}

/// The parameters of a fit, begun at those of an earlier one.
FitProblem problem_of(std::vector<Unknown> const& unknowns, Execution execution,
                      std::vector<TimingConstant> const& expected, FrameworkFit const* near) {
    FitProblem problem;
    for (Unknown const& u : unknowns) {
        problem.parameters.push_back(parameter_of(u, execution, expected));
        if (near == nullptr) continue;
        FitParameter& p = problem.parameters.back();
        for (TimingConstant const& c : near->constants)
            if (same(c, u)) p.start = std::clamp(c.value, p.low, p.high);
    }
    return problem;
}

template <class Takes>
std::set<std::string> sources_of(std::vector<StepMeasurement const*> const& rows, Takes takes) {
    std::set<std::string> sources;
    for (auto const* row : rows)
        if (takes(*row)) sources.insert(row->source);
    return sources;
}

TimingConstant constant_of(Unknown const& unknown, double value, std::vector<StepMeasurement const*> const& rows) {
    auto const applies = [&](StepMeasurement const& row) { return unknown.applies(row.generation, row.precision); };
    return {.key = std::string(unknown.spec->key),
            .generation = unknown.generation,
            .precision = unknown.precision,
            .is_factor = unknown.is_factor,
            .value = value,
            .sources = sources_of(rows, applies).size()};
}

}  // namespace

bool is_narrow(std::string const& precision) { return precision == "fp8" || precision == "fp4"; }

double predict(StepMeasurement const& row, FrameworkTiming const& timing) {
    return row.predict(later(timing, row.release_years));
}

FrameworkFit fit_framework(FrameworkProfile const& start, std::vector<StepMeasurement const*> const& rows,
                           FitOptions const& options, std::vector<TimingConstant> const& expected,
                           FrameworkFit const* near) {
    FrameworkTiming base = start.timing.front();
    std::vector<Unknown> unknowns = unknowns_of(rows);
    FitProblem problem = problem_of(unknowns, execution_of(start.name), expected, near);
    FrameworkFit fit;
    fit.rows = rows.size();
    std::vector<double> values;
    if (rows.empty()) {
        for (FitParameter const& p : problem.parameters)
            values.push_back(p.prior->mean);
        add_expected(unknowns, values, expected);
        fit.timing = entries_of(base, unknowns, values, rows);
        return fit;
    }
    std::vector<RememberedRow> remembered;
    for (auto const* row : rows)
        remembered.emplace_back(*row, unknowns);
    problem.rows = rows.size();
    problem.weights = row_weights(rows);
    problem.residual = [&](std::size_t i, std::span<double const> at) {
        return remembered[i].log_error(base, unknowns, at) / residual_unit;
    };
    FitResult const result = fit_least_squares(problem, options);
    values = result.values();
    std::size_t const fitted = unknowns.size();
    add_expected(unknowns, values, expected);
    for (std::size_t i = 0; i < unknowns.size(); ++i) {
        fit.constants.push_back(constant_of(unknowns[i], values[i], rows));
        if (i < fitted && result.parameters[i].is_identified && !result.parameters[i].at_bound)
            fit.constants.back().spread = result.parameters[i].spread;
    }
    fit.timing = entries_of(base, unknowns, values, rows);
    std::set<std::string> const sources = sources_of(rows, [](StepMeasurement const&) { return true; });
    fit.sources.assign(sources.begin(), sources.end());
    return fit;
}

std::vector<LeftOutStep> leave_one_source_out(FrameworkProfile const& start,
                                              std::vector<StepMeasurement const*> const& rows,
                                              FitOptions const& options, std::vector<TimingConstant> const& expected) {
    std::set<std::string> sources;
    for (auto const* row : rows)
        sources.insert(row->source);
    std::vector<LeftOutStep> out;
    for (std::string const& source : sources) {
        std::vector<StepMeasurement const*> used;
        for (auto const* row : rows)
            if (row->source != source) used.push_back(row);
        FrameworkProfile profile = start;
        profile.timing = fit_framework(start, used, options, expected).timing;
        for (auto const* row : rows)
            if (row->source == source)
                out.push_back(
                    {.row = row, .predicted = predict(*row, timing_for(profile, row->generation, row->precision))});
    }
    return out;
}

}  // namespace sextant
