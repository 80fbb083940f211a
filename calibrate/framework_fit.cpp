#include "calibrate/framework_fit.hpp"

#include "core/error.hpp"
#include "core/spec/framework_fields.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

namespace sextant {
namespace {

/// For which part of the rows a constant is an unknown of its own.
enum class Scope : std::uint8_t {
    framework,             ///< one value
    generation,            ///< one value, and a factor per accelerator generation
    generation_precision,  ///< the same, and a further factor for formats narrower than two bytes
    per_generation,        ///< a value of its own per generation
};

struct UnknownSpec {
    std::string_view key;
    Scope scope;
    FitScale scale;
    double low;
    double high;
    std::array<double, 3> expected;  ///< eager, fused, compiled
    double spread;                   ///< of the prior, on the scale
    double factor_spread = 0;        ///< of the factors' logarithms about zero
    bool experts_only = false;
};

// assumed: expectations and spreads are what the families' own fits span, geometric means of those of one execution.
// Times in seconds.
constexpr double ms = 1e-3;
constexpr std::array unknown_specs{
    UnknownSpec{
        "gemm_scale", Scope::generation_precision, FitScale::logarithmic, 0.4, 1.3, {0.77, 0.85, 0.84}, 0.15, 0.12},
    UnknownSpec{"grouped_gemm_scale", Scope::framework, FitScale::logarithmic, 0.2, 1.2, {0.6, 0.6, 0.6}, 0.3, 0, true},
    UnknownSpec{"attention_scale", Scope::generation, FitScale::logarithmic, 0.2, 2, {0.58, 0.7, 0.65}, 0.2, 0.15},
    UnknownSpec{"memory_scale", Scope::generation, FitScale::logarithmic, 0.15, 1.2, {0.9, 0.9, 0.95}, 0.15, 0.15},
    UnknownSpec{"activation_passes", Scope::framework, FitScale::logarithmic, 0.8, 3.5, {1.9, 1.3, 1.4}, 0.3},
    // At most some hundred launches of 20 to 30 us: with more a fit hides in them what else a source is slow at.
    UnknownSpec{
        "host_floor_forward", Scope::framework, FitScale::logarithmic, 5e-6, 2e-3, {1.1 * ms, 0.8 * ms, 0.1 * ms}, 0.6},
    UnknownSpec{"host_floor_backward",
                Scope::framework,
                FitScale::logarithmic,
                5e-6,
                3.5e-3,
                {2.2 * ms, 1.4 * ms, 0.2 * ms},
                0.6},
    UnknownSpec{"moe_floor_forward",
                Scope::generation,
                FitScale::logarithmic,
                1e-5,
                2e-2,
                {2 * ms, 2 * ms, 2 * ms},
                0.8,
                0.5,
                true},
    UnknownSpec{"moe_floor_backward",
                Scope::generation,
                FitScale::logarithmic,
                1e-5,
                3e-2,
                {4 * ms, 4 * ms, 4 * ms},
                0.8,
                0.5,
                true},
    UnknownSpec{"cross_domain_floor_growth", Scope::framework, FitScale::linear, 0, 3, {0.8, 0.8, 0.1}, 0.3},
    UnknownSpec{"kernel_gap", Scope::framework, FitScale::logarithmic, 1e-7, 3e-5, {3e-6, 1e-6, 5e-7}, 0.8},
    UnknownSpec{"fixed_per_step", Scope::framework, FitScale::logarithmic, 1e-4, 0.3, {35 * ms, 10 * ms, 8 * ms}, 0.8},
    UnknownSpec{"tp_overlap", Scope::per_generation, FitScale::linear, 0, 0.95, {0.0, 0.4, 0.3}, 0.25},
    UnknownSpec{"dp_overlap", Scope::framework, FitScale::linear, 0, 0.97, {0.3, 0.8, 0.9}, 0.15},
    UnknownSpec{"fsdp_overlap", Scope::framework, FitScale::linear, 0, 0.97, {0.2, 0.6, 0.9}, 0.15},
    UnknownSpec{"pp_overlap", Scope::framework, FitScale::linear, 0, 1, {0.0, 0.4, 0.3}, 0.3},
    UnknownSpec{"ep_overlap", Scope::framework, FitScale::linear, 0, 0.95, {0.0, 0.1, 0.1}, 0.2, 0, true},
};

/// Residual that a prior of one spread weighs as much as: the error a step model has anyway.
constexpr double residual_unit = 0.05;

bool is_narrow(std::string const& precision) { return precision == "fp8" || precision == "fp4"; }

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

double get(FrameworkTiming const& timing, std::string_view key) {
    for (auto const& field : timing_numbers)
        if (field.key == key) return (timing.*field.member).value;
    for (auto const& field : timing_times)
        if (field.key == key) return (timing.*field.member).value.base();
    throw InputError("framework constant '{}' is unknown", key);
}

void set(FrameworkTiming& timing, std::string_view key, double value) {
    for (auto const& field : timing_numbers)
        if (field.key == key) (timing.*field.member).value = std::min(value, field.most);
    for (auto const& field : timing_times)
        if (field.key == key) (timing.*field.member).value = value * units::s;
}

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
        out.push_back({.spec = &spec});
        if (spec.scope == Scope::per_generation) {
            for (auto const& g : generations)
                out.push_back({.spec = &spec, .generation = g});
            continue;
        }
        if (spec.scope == Scope::framework) continue;
        for (auto const& g : generations)
            out.push_back({.spec = &spec, .generation = g, .is_factor = true});
        if (spec.scope != Scope::generation_precision) continue;
        for (auto const& g : narrow)
            out.push_back({.spec = &spec, .generation = g, .precision = "fp8", .is_factor = true});
    }
    return out;
}

bool same(TimingConstant const& constant, Unknown const& unknown) {
    return constant.key == unknown.spec->key && constant.generation == unknown.generation &&
           constant.precision == unknown.precision && constant.is_factor == unknown.is_factor;
}

FitParameter parameter_of(Unknown const& unknown, Execution execution, std::vector<TimingConstant> const& factors) {
    UnknownSpec const& spec = *unknown.spec;
    if (unknown.is_factor) {
        auto const found =
            std::find_if(factors.begin(), factors.end(), [&](TimingConstant const& c) { return same(c, unknown); });
        double const mean = found == factors.end() ? 1 : found->value;
        return {.name = std::string(spec.key),
                .start = mean,
                .low = 0.4,
                .high = 2.5,
                .scale = FitScale::logarithmic,
                .prior = FitPrior{.mean = mean, .spread = spec.factor_spread}};
    }
    double const expected = spec.expected[static_cast<std::size_t>(execution)];
    return {.name = std::string(spec.key),
            .start = expected,
            .low = spec.low,
            .high = spec.high,
            .scale = spec.scale,
            .prior = FitPrior{.mean = expected, .spread = spec.spread}};
}

/// Constants for one generation and precision: values first, then factors on them.
FrameworkTiming timing_at(FrameworkTiming timing, std::vector<Unknown> const& unknowns, std::span<double const> values,
                          std::string const& generation, std::string const& precision) {
    for (bool const factors : {false, true})
        for (std::size_t i = 0; i < unknowns.size(); ++i) {
            Unknown const& u = unknowns[i];
            if (u.is_factor != factors || !u.applies(generation, precision)) continue;
            set(timing, u.spec->key, u.is_factor ? get(timing, u.spec->key) * values[i] : values[i]);
        }
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
        double const predicted = row_.predict(timing_at(base, unknowns, values, row_.generation, row_.precision));
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

/// What a prior's spread has become where the rows say nothing: spreads are scaled by how well the rows are met.
double spread_scale(std::vector<FittedParameter> const& fitted, std::vector<FitParameter> const& parameters) {
    double scale = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i)
        if (fitted[i].spread && parameters[i].prior)
            scale = std::max(scale, *fitted[i].spread / parameters[i].prior->spread);
    return std::min(1.0, scale);
}

/// The spread of a constant of which the rows say clearly more than its prior does.
std::optional<double> identified_spread(FittedParameter const& fitted, FitParameter const& parameter, double scale) {
    constexpr double narrower = 0.7;
    if (!fitted.spread || (parameter.prior && *fitted.spread > narrower * scale * parameter.prior->spread))
        return std::nullopt;
    return fitted.spread;
}

/// The entries that the unknowns tell apart; `base` first, with what holds for any device.
std::vector<FrameworkTiming> entries_of(FrameworkTiming const& base, std::vector<Unknown> const& unknowns,
                                        std::span<double const> values) {
    std::vector<FrameworkTiming> entries{timing_at(base, unknowns, values, "*", "*")};
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

Execution execution_of(std::string const& framework) {
    if (framework == "megatron" || framework == "generic") return Execution::fused;
    if (framework == "torchtitan" || framework == "maxtext") return Execution::compiled;
    return Execution::eager;
}

std::vector<TimingConstant> expected_factors(std::vector<FrameworkFit const*> const& others) {
    std::map<std::array<std::string, 3>, std::pair<double, double>> sums;  // logarithms, and the weights
    for (FrameworkFit const* other : others)
        for (TimingConstant const& c : other->constants) {
            bool const scale = c.key == "gemm_scale" || c.key == "attention_scale" || c.key == "memory_scale";
            if (!c.is_factor || !scale) continue;
            auto& [sum, weight] = sums[{c.key, c.generation, c.precision}];
            sum += static_cast<double>(c.sources) * std::log(c.value);
            weight += static_cast<double>(c.sources);
        }
    std::vector<TimingConstant> expected;
    for (auto const& [name, total] : sums)
        expected.push_back({.key = name[0],
                            .generation = name[1],
                            .precision = name[2],
                            .is_factor = true,
                            .value = std::exp(total.first / (total.second + 1))});
    return expected;
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
        fit.timing = entries_of(base, unknowns, values);
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
    double const scale = spread_scale(result.parameters, problem.parameters);
    add_expected(unknowns, values, expected);
    for (std::size_t i = 0; i < unknowns.size(); ++i) {
        fit.constants.push_back(constant_of(unknowns[i], values[i], rows));
        if (i < fitted)
            fit.constants.back().spread = identified_spread(result.parameters[i], problem.parameters[i], scale);
    }
    fit.timing = entries_of(base, unknowns, values);
    std::set<std::string> const sources = sources_of(rows, [](StepMeasurement const&) { return true; });
    fit.sources.assign(sources.begin(), sources.end());
    return fit;
}

std::vector<LeftOutStep> leave_one_source_out(FrameworkProfile const& start,
                                              std::vector<StepMeasurement const*> const& rows,
                                              FitOptions const& options, std::vector<TimingConstant> const& expected,
                                              FrameworkFit const& full) {
    std::set<std::string> sources;
    for (auto const* row : rows)
        sources.insert(row->source);
    std::vector<LeftOutStep> out;
    for (std::string const& source : sources) {
        std::vector<StepMeasurement const*> used;
        for (auto const* row : rows)
            if (row->source != source) used.push_back(row);
        FrameworkProfile profile = start;
        profile.timing = fit_framework(start, used, options, expected, &full).timing;
        for (auto const* row : rows)
            if (row->source == source)
                out.push_back(
                    {.row = row, .predicted = row->predict(timing_for(profile, row->generation, row->precision))});
    }
    return out;
}

}  // namespace sextant
