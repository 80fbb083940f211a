#include "calibrate/engine_fit.hpp"

#include "core/error.hpp"
#include "core/quantile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string_view>

namespace sextant {
namespace {

using Rows = std::vector<ServedMeasurement const*>;

/// A constant of the profile that is fitted, with what is believed of it before.
struct Constant {
    char const* name;
    double mean;  ///< of the prior, also where a fit begins; assumed
    double low;
    double high;
    double spread;  ///< of the prior, of the logarithm
    double (*get)(EngineProfile const&);
    void (*set)(EngineProfile&, double);
    void (*note)(EngineProfile&, Basis, std::string const&);
    /// Of optional constants: whether the profile has it. Then it is fitted, from the value that is stated; else not.
    bool (*stated)(EngineProfile const&) = nullptr;

    [[nodiscard]] bool is_fitted(EngineProfile const& e) const { return stated == nullptr || stated(e); }
    /// What an optional constant is fitted from: what the profile states.
    [[nodiscard]] double mean_of(EngineProfile const& e) const { return stated && stated(e) ? get(e) : mean; }
};

template <auto member>
double get_scale(EngineProfile const& e) {
    return (e.*member).value;
}
template <auto member>
double get_microseconds(EngineProfile const& e) {
    return (e.*member).value.in(units::us);
}
template <auto member>
void set_scale(EngineProfile& e, double value) {
    (e.*member).value = value;
}
template <auto member>
void set_microseconds(EngineProfile& e, double value) {
    (e.*member).value = value * units::us;
}
template <auto member>
void note(EngineProfile& e, Basis basis, std::string const& source) {
    (e.*member).basis = basis;
    (e.*member).source = source;
}

template <auto member>
constexpr Constant factor(char const* name, double spread, double low = 0.4, double high = 6) {
    return {name, 1, low, high, spread, get_scale<member>, set_scale<member>, note<member>};
}
template <auto member>
constexpr Constant time(char const* name, double mean, double low, double high, double spread = 1.0) {
    return {name, mean, low, high, spread, get_microseconds<member>, set_microseconds<member>, note<member>};
}

template <auto member>
bool is_stated(EngineProfile const& e) {
    return states_constant(e.*member);
}
constexpr Constant optional(Constant constant, bool (*stated)(EngineProfile const&)) {
    constant.stated = stated;
    return constant;
}

constexpr std::array constants{
    factor<&EngineProfile::gemm_scale>("gemm_scale", 0.15),
    factor<&EngineProfile::prefill_scale>("prefill_scale", 0.2),
    factor<&EngineProfile::decode_scale>("decode_scale", 0.2),
    factor<&EngineProfile::communication_scale>("communication_scale", 0.3),
    time<&EngineProfile::prompt_launch>("prompt_launch", 20, 0.1, 1000),
    time<&EngineProfile::expert_launch>("expert_launch", 100, 1, 1e4),  // ten kernels of 10 us
    time<&EngineProfile::host_per_iteration>("host_per_iteration", 1000, 10, 1e5),
    time<&EngineProfile::host_per_sequence>("host_per_sequence", 10, 0.1, 1e4),
    time<&EngineProfile::request_overhead>("request_overhead", 20000, 100, 2e5, 0.5),
    factor<&EngineProfile::expert_stream_scale>("expert_stream_scale", 0.3),
    factor<&EngineProfile::expert_compute_scale>("expert_compute_scale", 0.5),
    factor<&EngineProfile::expert_unpack_scale>("expert_unpack_scale", 0.5),
    optional(factor<&EngineProfile::gemm_compute_scale>("gemm_compute_scale", 0.5, 1, 100),
             is_stated<&EngineProfile::gemm_compute_scale>),
    optional(time<&EngineProfile::rounding_overhead>("rounding_overhead", 100, 0.1, 1e4),
             is_stated<&EngineProfile::rounding_overhead>),
};

constexpr double gap_spread = 0.5;  ///< of the logarithm of a gap between kernels, of captured graphs; assumed

/// What a gap between kernels costs beside the rows' errors.
double gap_cost(EngineProfile const& engine, EnginePriors const& priors) {
    FitPrior const& prior = priors.kernel_gap;
    double const residual =
        std::log(engine.kernel_gap.value.in(units::us) / prior.mean) / prior.spread * priors.typical_error;
    return residual * residual / 2;
}

EngineProfile with_values(EngineProfile profile, std::span<double const> values) {
    for (std::size_t i = 0; i < constants.size(); ++i)
        if (constants[i].is_fitted(profile)) constants[i].set(profile, values[i]);
    return profile;
}

double log_error(ServedMeasurement const& row, EngineProfile const& profile) {
    return std::log(row.predict(profile) / row.seconds);
}

std::vector<double> weights_of(Rows const& rows, EnginePriors const& priors) {
    if (!priors.shares_errors) return std::vector<double>(rows.size(), 1.0);
    std::map<std::string, double> count;
    for (auto const* row : rows)
        count[row->group] += 1;
    std::vector<double> out;
    for (auto const* row : rows)
        out.push_back(1 / std::sqrt(count[row->group]));
    return out;
}

FitResult fit_at(EngineProfile const& start, EnginePriors const& priors, Rows const& rows, unsigned threads) {
    FitProblem problem;
    for (std::size_t i = 0; i < constants.size(); ++i) {
        Constant const& c = constants.at(i);
        FitPrior const& prior = priors.constants.at(i);
        problem.parameters.push_back(
            {.name = c.name,
             .start = prior.mean,
             .low = c.low,
             .high = c.high,
             .scale = FitScale::logarithmic,
             .prior = FitPrior{.mean = prior.mean, .spread = prior.spread / priors.typical_error}});
    }
    problem.rows = rows.size();
    problem.weights = weights_of(rows, priors);
    problem.residual = [&](std::size_t row, std::span<double const> values) {
        return log_error(*rows[row], with_values(start, values));
    };
    FitResult result =
        fit_least_squares(problem, {.robust_scale = 0.1, .starts = 1, .iterations = 25, .threads = threads});
    // Rows of a group share its errors: they are as many independent ones as they weigh, not as they are.
    auto const freedom = [&](double independent) {
        return std::max(1.0, independent - static_cast<double>(constants.size()));
    };
    double const independent = std::accumulate(problem.weights.begin(), problem.weights.end(), 0.0);
    double const wider = std::sqrt(freedom(static_cast<double>(rows.size())) / freedom(independent));
    for (std::size_t i = 0; i < constants.size(); ++i)
        if (auto& spread = result.parameters[i].spread)
            spread = std::min(*spread * wider, priors.constants.at(i).spread);
    return result;
}

enum class IntervalOf : std::uint8_t {
    output_token,  ///< its time, and the throughput where that is stated
    first_token
};

/// Of few rows none: `rows` is 0.
EngineInterval interval_of(std::vector<JudgedFigure> const& rows, IntervalOf what) {
    std::vector<double> ratios;
    for (auto const& [row, predicted] : rows)
        if ((row->quantity == ServedQuantity::ttft) == (what == IntervalOf::first_token))
            ratios.push_back(row->seconds / predicted);
    constexpr std::size_t enough = 20;
    if (ratios.size() < enough) return {};
    std::sort(ratios.begin(), ratios.end());
    return {.low = std::min(0.98, quantile(ratios, 0.1)),
            .high = std::max(1.02, quantile(ratios, 0.9)),
            .rows = static_cast<std::int64_t>(ratios.size())};
}

std::string errors_text(std::vector<ServedErrors> const& errors) {
    std::string out;
    for (ServedErrors const& e : errors)
        out += fmt::format("{}{} {:.0f} %", out.empty() ? "" : ", ", name_of(e.quantity), e.median_pct);
    return out;
}

}  // namespace

std::vector<ServedErrors> errors_of(std::vector<JudgedFigure> const& rows) {
    std::vector<ServedErrors> out;
    for (ServedQuantity const quantity : {ServedQuantity::ttft, ServedQuantity::tpot, ServedQuantity::token_time}) {
        std::vector<double> signed_errors;
        std::vector<double> absolute;
        for (auto const& [row, predicted] : rows) {
            if (row->quantity != quantity) continue;
            double const error = predicted / row->seconds - 1;
            signed_errors.push_back(error);
            absolute.push_back(std::abs(error));
        }
        if (absolute.empty()) continue;
        std::sort(signed_errors.begin(), signed_errors.end());
        std::sort(absolute.begin(), absolute.end());
        out.push_back({.quantity = quantity,
                       .rows = absolute.size(),
                       .median_pct = 100 * quantile(absolute, 0.5),
                       .p90_pct = 100 * quantile(absolute, 0.9),
                       .bias_pct = 100 * quantile(signed_errors, 0.5)});
    }
    return out;
}

std::string_view name_of(ServedQuantity quantity) {
    switch (quantity) {
        case ServedQuantity::ttft: return "ttft";
        case ServedQuantity::tpot: return "tpot";
        case ServedQuantity::token_time: break;
    }
    return "throughput";
}

std::size_t fold_of(std::string const& group, std::size_t folds) {
    std::uint64_t hash = 14695981039346656037ULL;
    for (char const c : group)
        hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    hash ^= hash >> 29;
    return static_cast<std::size_t>(hash % folds);
}

EnginePriors common_priors(EngineProfile const& engine) {
    EnginePriors out{.constants = {}, .kernel_gap = {.mean = 1, .spread = gap_spread}, .source = "as of any engine"};
    for (Constant const& c : constants)
        out.constants.push_back({.mean = c.mean_of(engine), .spread = c.spread});
    if (engine.planning == IterationPlanning::in_turn) out.kernel_gap.spread = std::numeric_limits<double>::infinity();
    return out;
}

EnginePriors priors_beside(EngineProfile const& engine, std::vector<EngineFit const*> const& others) {
    EnginePriors priors = common_priors(engine);
    if (!others.empty()) priors.source = fmt::format("as {} other engines say", others.size());
    for (std::size_t i = 0; i < constants.size(); ++i) {
        FitPrior& prior = priors.constants[i];
        double const half = prior.spread * prior.spread / 2;
        double weight = 1 / half;
        double sum = weight * std::log(prior.mean);
        for (EngineFit const* other : others) {
            FittedParameter const& found = other->constants.at(i);
            if (!other->identified.at(i) || !found.spread) continue;
            double const says = 1 / (half + *found.spread * *found.spread);
            weight += says;
            sum += says * std::log(found.value);
        }
        prior = {.mean = std::exp(sum / weight), .spread = std::sqrt(half + 1 / weight)};
    }
    return priors;
}

bool states_output(std::vector<ServedMeasurement> const& rows) {
    return std::any_of(rows.begin(), rows.end(),
                       [](ServedMeasurement const& row) { return row.quantity != ServedQuantity::ttft; });
}

EnginePriors priors_around(EngineProfile const& known, std::vector<ServedMeasurement> const& rows) {
    double const hold = states_output(rows) ? 1 : 0.25;  // of what output tokens tell
    EnginePriors priors{.constants = {},
                        .kernel_gap = {.mean = known.kernel_gap.value.in(units::us), .spread = gap_spread},
                        .source = fmt::format("as in the profile '{}'", known.name),
                        .typical_error = 0.05,
                        .shares_errors = false};
    for (Constant const& c : constants) {
        double const closer = std::sqrt(0.5) * (std::string_view(c.name).starts_with("host_per_") ? hold : 1);
        priors.constants.push_back({.mean = c.is_fitted(known) ? c.get(known) : c.mean, .spread = c.spread * closer});
    }
    priors.kernel_gap.spread *= hold;
    return priors;
}

EngineProfile without_fit(EngineProfile engine) {
    for (Constant const& c : constants)
        if (c.stated == nullptr) c.set(engine, c.mean);
    engine.kernel_gap.value = 1 * units::us;
    return engine;
}

namespace {

/// Every row as the constants say that were fitted without its fold.
std::vector<JudgedFigure> cross_validate(EngineProfile const& at, EnginePriors const& priors, Rows const& rows,
                                         EngineFitOptions const& options) {
    std::vector<JudgedFigure> out;
    for (std::size_t fold = 0; fold < options.folds; ++fold) {
        Rows used;
        Rows judged;
        for (auto const* row : rows)
            (fold_of(row->group, options.folds) == fold ? judged : used).push_back(row);
        if (used.empty() || judged.empty()) continue;
        EngineProfile const profile = with_values(at, fit_at(at, priors, used, options.threads).values());
        for (auto const* row : judged)
            out.push_back({.row = row, .predicted = row->predict(profile)});
    }
    return out;
}

std::vector<JudgedFigure> judge(Rows const& rows, EngineProfile const& profile) {
    std::vector<JudgedFigure> out;
    for (auto const* row : rows)
        out.push_back({.row = row, .predicted = row->predict(profile)});
    return out;
}

/// Whether the rows say more of a constant than its prior: moved by one standard deviation of that, their errors change
/// by more than a typical error in all.
bool is_identified(EngineFit const& fit, EnginePriors const& priors, Rows const& rows, std::size_t which) {
    std::vector<double> values;
    for (FittedParameter const& p : fit.constants)
        values.push_back(p.value);
    values[which] *= std::exp(constants.at(which).spread);
    EngineProfile const other = with_values(fit.profile, values);
    std::vector<double> const weights = weights_of(rows, priors);
    double change = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        double const by = std::log(rows[i]->predict(other) / rows[i]->predict(fit.profile));
        change += weights[i] * by * by;
    }
    return change > priors.typical_error * priors.typical_error;
}

void add_provenance(EngineFit& fit, EnginePriors const& priors, EngineFitOptions const& options) {
    std::string const source = fmt::format(
        "{}: {} figures of {} groups of model, device and engine{}", options.command, fit.rows, fit.groups,
        fit.held_out.empty()
            ? std::string(", none held out")
            : fmt::format("; median errors of groups held out in turn: {}", errors_text(fit.held_out_errors)));
    for (std::size_t i = 0; i < constants.size(); ++i) {
        if (!constants[i].is_fitted(fit.profile)) continue;
        bool const known = fit.identified[i];
        std::string why = priors.source;
        if (std::abs(std::log(fit.constants[i].value / priors.constants[i].mean)) > 0.01)
            why = "moved a little, by rows that do not tell it, from what it is " + why;
        if (fit.constants[i].at_bound) why = "at the bound of what is tried";
        constants[i].note(fit.profile, known ? Basis::fitted : Basis::assumed,
                          known ? source : fmt::format("{}; not identified by {}", why, source));
    }
    note<&EngineProfile::kernel_gap>(fit.profile, Basis::fitted, "the best of a few, " + source);
}

}  // namespace

EngineFit fit_engine(EngineProfile const& start, std::vector<ServedMeasurement> const& rows,
                     EngineFitOptions const& options) {
    if (rows.empty()) throw InputError("calibrate fit: no usable rows of engine '{}'", start.name);
    Rows used;
    std::set<std::string> groups;
    for (ServedMeasurement const& row : rows) {
        used.push_back(&row);
        groups.insert(row.group);
    }
    EnginePriors const priors = options.priors ? *options.priors : common_priors(start);
    std::optional<FitResult> best;
    double least = 0;
    EngineProfile at = start;
    for (double const gap : options.kernel_gaps_us) {
        EngineProfile tried = start;
        tried.kernel_gap.value = gap * units::us;
        FitResult result = fit_at(tried, priors, used, options.threads);
        double const cost = result.cost + gap_cost(tried, priors);
        if (best && least <= cost) continue;
        best = std::move(result);
        least = cost;
        at = tried;
    }
    EngineFit fit;
    fit.rows = rows.size();
    fit.groups = groups.size();
    fit.profile = with_values(at, best->values());
    fit.constants = best->parameters;
    auto const fitted = judge(used, fit.profile);
    fit.fitted_errors = errors_of(fitted);
    if (options.folds > 1) fit.held_out = cross_validate(at, priors, used, options);
    fit.held_out_errors = errors_of(fit.held_out);
    auto const interval = [&](IntervalOf what) {
        EngineInterval const unseen = interval_of(fit.held_out, what);
        if (unseen.rows > 0) return unseen;
        constexpr double wider = 1.25;  // assumed, as of kernels whose fit held few rows out
        EngineInterval seen = interval_of(fitted, what);
        if (seen.rows > 0) {
            seen.low /= wider;
            seen.high *= wider;
        }
        return seen;
    };
    fit.profile.interval = interval(IntervalOf::output_token);
    fit.profile.first_token_interval = interval(IntervalOf::first_token);
    for (std::size_t i = 0; i < constants.size(); ++i)
        fit.identified.push_back(!fit.constants[i].at_bound && is_identified(fit, priors, used, i));
    add_provenance(fit, priors, options);
    return fit;
}

}  // namespace sextant
