#include "cli/calibrate/fit_train.hpp"

#include "calibrate/framework_fit.hpp"
#include "cli/calibrate/fitted_file.hpp"
#include "cli/calibrate/framework_provenance.hpp"
#include "cli/calibrate/train_rows.hpp"
#include "cli/calibrate/train_scores.hpp"
#include "cli/progress.hpp"
#include "cli/shell/fit_text.hpp"
#include "core/error.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/hardware_json.hpp"
#include "planner/support.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <set>

namespace sextant::cli {
namespace {

constexpr double least_span_of_releases = 1;  ///< years, below which rows do not tell releases apart
constexpr std::size_t fewest_layouts = 5;     ///< of a family, below which its constants stay as they are
constexpr FitOptions fit_options{.robust_scale = 2, .starts = 1, .iterations = 14, .threads = 0, .seed = 1};

/// Rows of a source share its errors, and where few other sources tell those from the framework's constants, the number
/// of its rows says little of a source that nobody has seen: a source's weight grows with its rows the less, the fewer
/// sources there are. assumed: eight are enough for the root that a fit gives it.
void discount_sources(std::vector<StepMeasurement>& rows) {
    std::map<std::string, double> count;
    for (StepMeasurement const& row : rows)
        count[row.source] += 1;
    constexpr double enough = 8;
    double const exponent = 0.5 * std::min(1.0, static_cast<double>(count.size()) / enough);
    for (StepMeasurement& row : rows)
        row.weight *= std::pow(count[row.source], exponent - 0.5);
}

/// Those that rows in narrow formats state, which alone tell releases apart, with constants of the newest; nothing
/// where they lie too close together.
std::optional<FrameworkReleases> releases_of(std::vector<StepMeasurement> const& rows) {
    std::optional<FrameworkReleases> out;
    for (StepMeasurement const& row : rows) {
        if (!row.release || !is_narrow(row.precision)) continue;
        if (!out) out = FrameworkReleases{*row.release, *row.release, *row.release};
        out->first = std::min(out->first, *row.release);
        out->last = out->at = std::max(out->last, *row.release);
    }
    bool const apart = out && years_between(out->first, out->last) >= least_span_of_releases;
    return apart ? out : std::nullopt;
}

/// Years of releases between the rows and their profile, which in a fit from nothing is of theirs.
void set_releases(Family& family, bool anew) {
    auto& releases = family.start.releases;
    if (anew) releases = releases_of(family.rows);
    if (!releases) return;
    for (StepMeasurement& row : family.rows)  // one's own machine runs what its profile is of
        if (anew || row.release) row.release_years = years_between(releases->at, releases->of_step(row.release));
}

std::vector<StepMeasurement const*> pointers(std::vector<StepMeasurement> const& rows) {
    std::vector<StepMeasurement const*> out;
    for (StepMeasurement const& row : rows)
        out.push_back(&row);
    return out;
}

/// Each family fitted without regard to the others.
std::map<std::string, FrameworkFit> fits_alone(std::map<std::string, Family> const& families, FitOptions const& options,
                                               CommandContext& context) {
    std::map<std::string, FrameworkFit> fits;
    for (auto const& [name, family] : families) {
        begin_step(context, fmt::format("fitting {} alone: {} rows", name, family.rows.size()));
        fits.emplace(name, fit_framework(family.start, pointers(family.rows), options));
    }
    return fits;
}

std::vector<FrameworkFit const*> others_than(std::string const& name, std::map<std::string, FrameworkFit> const& fits) {
    std::vector<FrameworkFit const*> others;
    for (auto const& [other, fit] : fits)
        if (other != name) others.push_back(&fit);
    return others;
}

/// Entries of generations that no row is of, as they were.
void keep_other_generations(FrameworkProfile& profile, FrameworkProfile const& known,
                            std::vector<StepMeasurement const*> const& rows) {
    std::set<std::string> measured;  // entries by their generation, "*" among them where a row goes by it
    for (StepMeasurement const* row : rows)
        measured.insert(timing_for(profile, row->generation, row->precision).generation);
    for (FrameworkTiming& timing : profile.timing) {
        FrameworkTiming const& before = timing_for(known, timing.generation, timing.precision);
        bool const is_same = before.generation == timing.generation && before.precision == timing.precision;
        if (is_same && !measured.contains(timing.generation)) timing = before;
    }
}

/// Seconds that constants predict of each row.
std::map<StepMeasurement const*, double> predictions(std::vector<StepMeasurement const*> const& rows,
                                                     FrameworkProfile const& profile) {
    std::map<StepMeasurement const*, double> out;
    for (StepMeasurement const* row : rows)
        out[row] = predict(*row, timing_for(profile, row->generation, row->precision));
    return out;
}

/// Steps that predict the same are of one layout: layouts by their predictions, numbered from the shortest, so that the
/// order of the rows decides nothing.
std::map<double, std::size_t> layouts_of(std::map<StepMeasurement const*, double> const& predicted) {
    std::map<double, std::size_t> layouts;
    for (auto const& [row, seconds] : predicted)
        layouts.emplace(seconds, 0);
    std::size_t number = 0;
    for (auto& [seconds, layout] : layouts)
        layout = number++;
    return layouts;
}

/// Few sources do not tell what a fit says of rows that it has not seen: each fifth of their layouts does.
std::vector<StepMeasurement> in_folds(std::vector<StepMeasurement const*> const& rows,
                                      std::map<StepMeasurement const*, double> const& predicted) {
    constexpr std::size_t folds = 5;
    std::map<double, std::size_t> const layouts = layouts_of(predicted);
    std::vector<StepMeasurement> out;
    for (StepMeasurement const* row : rows) {
        out.push_back(*row);
        out.back().source = fmt::format("fold {}", layouts.at(predicted.at(row)) % folds);
    }
    return out;
}

/// Where nothing is fitted, every row is one that no fit has seen.
std::vector<LeftOutStep> as_said(std::vector<StepMeasurement const*> const& rows,
                                 std::map<StepMeasurement const*, double> const& predicted) {
    std::vector<LeftOutStep> out;
    for (StepMeasurement const* row : rows)
        out.push_back({.row = row, .predicted = predicted.at(row)});
    return out;
}

/// The families that are asked for, rows weighted as the fit takes them.
std::map<std::string, Family> chosen_families(TrainFitRequest const& request, CommandContext& context) {
    bool const anew =
        !request.catalogue.empty();  // for any machine; a file of its own is for the one that was measured
    auto families = read_families({.files = request.tables, .framework = request.framework, .cluster = request.cluster},
                                  anew ? RowsOf::publications : RowsOf::own_machine, context);
    if (request.catalogue.empty() && families.size() > 1)
        throw InputError("--train: rows of {} frameworks (--framework NAME for one of them, or --catalogue FOLDER)",
                         families.size());
    for (auto& [name, family] : families) {
        if (!anew) require_readable_sources(family.rows);
        set_releases(family, anew);
        if (anew) discount_sources(family.rows);
    }
    return families;
}

/// Fits families and keeps how far off each row is. Frameworks together are fitted from nothing, then beside each
/// other; one alone around its shipped profile.
class TrainFit {
public:
    TrainFit(TrainFitRequest const& request, CommandContext& context)
        : context_(context), options_(fit_options), together_(!request.catalogue.empty()) {
        options_.threads = request.threads;
    }

    std::map<std::string, FrameworkProfile> profiles_of(std::map<std::string, Family> const& families) {
        if (together_) alone_ = fits_alone(families, options_, context_);
        std::map<std::string, FrameworkProfile> profiles;
        for (auto const& [name, family] : families)
            profiles.emplace(name, profile_of(name, family));
        for (auto& [name, profile] : profiles)
            set_interval(name, profile);
        return profiles;
    }

    TrainScores scores;
    RowsFile predicted;

private:
    [[nodiscard]] std::vector<TimingConstant> expected_of(std::string const& name) const {
        std::vector<TimingConstant> expected = known_otherwise(name);  // before what others found of the same
        for (TimingConstant& other : expected_factors(others_than(name, alone_)))
            expected.push_back(std::move(other));
        return expected;
    }

    FrameworkProfile profile_of(std::string const& name, Family const& family) {
        auto const rows = pointers(family.rows);
        begin_step(context_, fmt::format("fitting {}: {} rows", name, rows.size()));
        std::vector<TimingConstant> const expected = together_ ? expected_of(name) : known_constants(family.start);
        FrameworkFit const fit =
            fit_framework(family.start, rows, options_, expected, together_ ? &alone_.at(name) : nullptr);
        FrameworkProfile profile = family.start;
        // Whatever its owner will call it; those that ship are families themselves.
        profile.family = together_ ? std::string() : family_name(family.start);
        std::set<std::string> const seen = together_ ? std::set<std::string>{} : sources_of(family.start);
        auto const before = predictions(rows, family.start);
        if (!together_)
            for (auto const* row : rows)
                scores.before.push_back(std::log(before.at(row) / row->seconds));
        std::size_t const layouts = layouts_of(before).size();
        bool const is_fitted = layouts >= fewest_layouts;
        if (is_fitted) {
            profile.timing = fit.timing;
            add_provenance(profile, fit, together_ ? nullptr : &family.start);
            if (!together_) {
                add_steps(profile, family.start, rows, seen);
                keep_other_generations(profile, family.start, rows);
            }
        } else {
            context_.err << fmt::format(
                "{} rows of {} are of {} layout{}, fewer than {}: its constants stay as they are, and every row counts "
                "as left out (measure other plans, models or sizes)\n",
                rows.size(), name, layouts, layouts == 1 ? "" : "s", fewest_layouts);
        }
        auto const fitted = predictions(rows, profile);
        for (auto const* row : rows) {
            double const error = std::log(fitted.at(row) / row->seconds);
            scores.fitted[row->source].push_back(error);
            if (!seen.contains(row->source)) scores.add(name, *row, error);
        }
        for (std::string const& source : fit.sources)
            if (seen.contains(source))
                context_.err << fmt::format(
                    "{}: the profile of {} that the fit begins with was fitted to it, so it cannot be left out, and no "
                    "interval comes from its errors\n",
                    source, name);
        auto const steps = is_fitted ? left_out(family, fit.sources.size(), fitted, expected) : as_said(rows, fitted);
        for (LeftOutStep const& step : steps) {
            if (seen.contains(step.row->source)) {
                predicted.add_fitted(name, *step.row, fitted.at(step.row));
                continue;
            }
            double const error = std::log(step.predicted / step.row->seconds);
            predicted.add(name, step, fitted.at(step.row));
            scores.left_out[step.row->source].push_back(error);
            scores.all.push_back(error);
            scores.add(name, *step.row, error);
            scores.alone.emplace_back(interval_kind(*step.row, name), error);
        }
        return profile;
    }

    std::vector<LeftOutStep> left_out(Family const& family, std::size_t sources,
                                      std::map<StepMeasurement const*, double> const& fitted,
                                      std::vector<TimingConstant> const& expected) {
        constexpr std::size_t enough_sources = 3;
        auto const rows = pointers(family.rows);
        if (together_ || sources >= enough_sources) {
            begin_step(context_, fmt::format("leaving out each of {} sources", sources));
            return leave_one_source_out(family.start, rows, options_, expected);
        }
        begin_step(context_, "leaving out each fifth of the layouts");
        std::vector<StepMeasurement> const folded = in_folds(rows, fitted);
        auto steps = leave_one_source_out(family.start, pointers(folded), options_, expected);
        for (LeftOutStep& step : steps)
            step.row = rows[static_cast<std::size_t>(step.row - folded.data())];
        return steps;
    }

    void set_interval(std::string const& name, FrameworkProfile& profile) {
        constexpr std::size_t enough = 80;
        if (!together_) {
            profile.interval = widened(profile.interval, scores.of_all);
            return;
        }
        auto const& own = scores.of_family[name];
        profile.interval = interval_of_errors(own.size() >= enough ? own : scores.of_all);
    }

    CommandContext& context_;
    FitOptions options_;
    bool together_;
    std::map<std::string, FrameworkFit> alone_;  ///< where families are fitted beside each other
};

}  // namespace

int fit_training_tables(TrainFitRequest const& request, CommandContext& context) {
    auto const families = chosen_families(request, context);
    TrainFit fit(request, context);
    std::map<std::string, FrameworkProfile> const profiles = fit.profiles_of(families);
    for (auto const& [name, profile] : profiles) {
        std::string const file = request.catalogue.empty() ? request.out : request.catalogue + "/" + name + ".json";
        if (!file.empty()) write_fitted(file, framework_json(profile));
    }
    if (!request.rows.empty()) fit.predicted.write(request.rows);
    TrainScores const& scores = fit.scores;
    if (std::string const why = request.catalogue.empty() ? misfit(scores) : ""; !why.empty())
        context.err << fmt::format("warning: {}: {}\n", profiles.begin()->first, why);
    context.out << for_terminal(score_table(scores).text(), terminal_of(context.out));
    std::map<std::string, StepInterval> of_kind;
    bool const is_own = request.catalogue.empty();  // plans keep the intervals that all rows gave
    for (auto const& [kind, errors] : scores.of_kind)
        of_kind[kind] = is_own ? interval_of_kind(profiles.begin()->second, kind == experts_kind, kind == waiting_kind)
                               : interval_of_errors(errors);
    if (!scores.alone.empty())
        context.out << fmt::format("80 % intervals hold {:.0f} % of the rows left out\n",
                                   inside_intervals(scores, profiles, of_kind));
    for (auto const& [kind, interval] : is_own ? decltype(of_kind){} : of_kind)
        context.out << fmt::format("80 % interval of {}: {:.3g} to {:.3g} of {} errors\n", kind, interval.low,
                                   interval.high, interval.rows);
    return exit_code::done;
}

}  // namespace sextant::cli
