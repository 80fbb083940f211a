#include "cli/calibrate/fit_serving.hpp"

#include "calibrate/engine_fit.hpp"
#include "cli/calibrate/engine_rows.hpp"
#include "cli/calibrate/fitted_file.hpp"
#include "cli/progress.hpp"
#include "cli/shell/fit_text.hpp"
#include "cli/view/table.hpp"
#include "core/error.hpp"
#include "core/parallel_for.hpp"
#include "core/spec/engine_catalog.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <ostream>
#include <set>
#include <utility>
#include <vector>

namespace sextant::cli {
namespace {

void add_errors(Table& table, std::string const& engine, std::string const& part,
                std::vector<ServedErrors> const& errors) {
    for (ServedErrors const& e : errors)
        table.add_row({engine, part, std::string(name_of(e.quantity)), fmt::format("{}", e.rows),
                       fmt::format("{:.1f}", e.median_pct), fmt::format("{:.1f}", e.p90_pct),
                       fmt::format("{:+.1f}", e.bias_pct)});
}

constexpr double light_load = 8;  ///< requests that a replica has in flight

std::vector<JudgedFigure> lightly_loaded(std::vector<JudgedFigure> figures) {
    std::erase_if(figures, [](JudgedFigure const& figure) {
        return !(figure.row->in_flight > 0 && figure.row->in_flight <= light_load);
    });
    return figures;
}

/// Groups of model, device and engine, each as fits say that have not seen it.
void add_groups(Table& table, std::vector<JudgedFigure> const& held_out) {
    std::map<std::string, std::vector<JudgedFigure>> groups;
    for (JudgedFigure const& figure : held_out)
        groups[figure.row->group].push_back(figure);
    for (auto const& [group, figures] : groups)
        for (ServedErrors const& e : errors_of(figures))
            table.add_row({group, std::string(name_of(e.quantity)), fmt::format("{}", e.rows),
                           fmt::format("{:.1f}", e.median_pct), fmt::format("{:+.1f}", e.bias_pct)});
}

/// Servers of engines that take prompts first can be started so that they mix them with decodes (SGLang:
/// `--enable-mixed-chunk`), and tables do not say so. The times do: a group is taken to have mixed where that explains
/// its rows better.
/// @return whether most rows did
bool find_prompt_orders(EngineRows const& rows, EngineProfile const& engine, unsigned threads,
                        CommandContext& context) {
    if (engine.prompts != PromptOrder::first) return false;
    std::vector<double> gains(rows.models.size());
    parallel_for(rows.models.size(), threads, [&](std::size_t i) {
        ServedRow const& row = *rows.models[i];
        gains[i] = row.misfit(engine, PromptOrder::first) - row.misfit(engine, PromptOrder::mixed);
    });
    std::map<std::string, std::vector<double>> groups;
    for (std::size_t i = 0; i < gains.size(); ++i)
        groups[rows.models[i]->group()].push_back(gains[i]);
    constexpr double clear = 0.1;  // of a row, in the mean; assumed
    std::erase_if(groups, [](auto const& entry) {
        auto const& [name, of_rows] = entry;
        return std::accumulate(of_rows.begin(), of_rows.end(), 0.0) < clear * static_cast<double>(of_rows.size());
    });
    for (auto const& [group, of_rows] : groups)
        context.err << fmt::format("{}: prompts were mixed with decodes, as the times of {} rows say\n", group,
                                   of_rows.size());
    std::size_t mixed = 0;
    for (auto const& row : rows.models) {
        if (!groups.contains(row->group())) continue;
        row->set_prompts(PromptOrder::mixed);
        row->set_base(engine);
        ++mixed;
    }
    return 2 * mixed > rows.models.size();
}

/// Where the rows state no time of output tokens, what the fit makes of it may be true or not.
EngineInterval wider_by_change(EngineInterval interval, EngineRows const& rows, EngineProfile const& before,
                               EngineProfile const& after) {
    double slower = 1, faster = 1;
    for (auto const& row : rows.models) {
        double const change =
            seconds_of((*row)(after), ServedQuantity::tpot) / seconds_of((*row)(before), ServedQuantity::tpot);
        slower = std::max(slower, change);
        faster = std::min(faster, change);
    }
    interval.low /= slower;
    interval.high /= faster;
    return interval;
}

std::set<std::string> devices_of(EngineRows const& rows) {
    std::set<std::string> devices;
    for (auto const& row : rows.models)
        devices.insert(row->what().what.cluster.accelerator.name);
    return devices;
}

/// What a host takes is of one machine: constants that two share meet neither.
void warn_of_devices(std::string const& name, EngineRows const& rows, CommandContext& context) {
    std::set<std::string> const devices = devices_of(rows);
    if (devices.size() > 1)
        context.err << fmt::format("warning: {}: rows of {}: a profile holds for one of them (fit each by itself)\n",
                                   name, fmt::join(devices, ", "));
}

/// The figures as the profile says that the fit began with, and what that says of the fit.
std::vector<ServedErrors> errors_before(EngineRows const& rows, EngineProfile const& start, unsigned threads) {
    parallel_for(rows.models.size(), threads, [&](std::size_t i) { rows.models[i]->set_base(start); });
    std::vector<JudgedFigure> figures;
    for (ServedMeasurement const& row : rows.figures)
        figures.push_back({.row = &row, .predicted = row.predict(start)});
    return errors_of(figures);
}

void warn_of_misfit(std::string const& name, std::vector<ServedErrors> const& before,
                    std::vector<ServedErrors> const& fitted, CommandContext& context) {
    constexpr double large = 15;  // per cent; assumed
    constexpr double worse = 2;
    for (ServedErrors const& e : fitted) {
        auto const was =
            std::find_if(before.begin(), before.end(), [&](ServedErrors const& b) { return b.quantity == e.quantity; });
        if (e.median_pct > large)
            context.err << fmt::format(
                "warning: {}: the fit still misses {} by {:.0f} % in the median (are figures of all GPUs together, in "
                "milliseconds, and model, gpu, tp and concurrency those of the runs?)\n",
                name, name_of(e.quantity), e.median_pct);
        else if (was != before.end() && e.median_pct > was->median_pct + worse)
            context.err << fmt::format(
                "warning: {}: {} is met less well than before the fit ({:.1f} -> {:.1f} %): the figures do not go "
                "together in one engine\n",
                name, name_of(e.quantity), was->median_pct, e.median_pct);
    }
}

/// Rows of one machine say nothing of others, and a few rows nothing of an interval.
EngineInterval no_narrower(EngineInterval const& own, EngineInterval const& before) {
    if (own.rows == 0) return before;
    if (before.rows == 0) return own;
    return {
        .low = std::min(own.low, before.low), .high = std::max(own.high, before.high), .rows = own.rows + before.rows};
}

/// Fits engines, again and again with closed loops simulated under what was found. All together: first by themselves,
/// then with what the others say of engines. One alone: around its shipped profile.
class EnginesFit {
public:
    EnginesFit(Engines const& engines, ServingFitRequest const& request, AskedEngine const& asked,
               CommandContext& context)
        : engines_(engines), request_(request), asked_(asked), context_(context) {}

    std::map<std::string, EngineFit> run() {
        bool const together = !request_.catalogue.empty();
        passes_ = together ? 4 : 3;
        for (auto const& [name, rows] : engines_) {
            bool const mixed =
                find_prompt_orders(rows, beginning(asked_.start(name), request_), request_.threads, context_);
            if (mixed && !together) mixing_.insert(name);
            if (!together) warn_of_devices(name, rows, context_);
            if (!together && !states_output(rows.figures))
                context_.err << fmt::format(
                    "{}: no row states tpot_ms or output_tokens_per_s: the profile is little better known there than "
                    "before\n",
                    name);
        }
        for (int pass = 1; pass <= passes_; ++pass) {
            auto const before = fits_;
            for (auto const& [name, rows] : engines_) {
                EngineProfile const start = asked_.start(name);
                EnginePriors const priors = !together            ? priors_around(start, rows.figures)
                                            : pass > passes_ / 2 ? priors_beside(start, others(before, name))
                                                                 : common_priors(start);
                fit_once(start, priors, rows, pass);
            }
        }
        return std::move(fits_);
    }

private:
    using Fits = std::map<std::string, EngineFit>;

    static std::vector<EngineFit const*> others(Fits const& fits, std::string const& name) {
        std::vector<EngineFit const*> out;
        for (auto const& [other, fit] : fits)
            if (other != name && !stands_for_unmeasured(fit.profile)) out.push_back(&fit);
        return out;
    }

    void fit_once(EngineProfile const& start, EnginePriors const& priors, EngineRows const& rows, int pass) {
        begin_step(context_, fmt::format("fitting {}: {} figures, pass {} of {}", start.name, rows.figures.size(), pass,
                                         passes_));
        EngineFitOptions options{.priors = priors, .threads = request_.threads};
        if (pass > 1) {
            EngineProfile const& base = fits_.at(start.name).profile;
            parallel_for(rows.models.size(), request_.threads, [&](std::size_t i) { rows.models[i]->set_base(base); });
            // The gap between kernels is settled at once; groups are held out of the last fit.
            options.kernel_gaps_us = {base.kernel_gap.value.in(units::us)};
        } else if (request_.catalogue.empty()) {
            // Servers of one's own: the gap that is known of the engine, and any that is found, as without graphs.
            options.kernel_gaps_us.insert(options.kernel_gaps_us.end(),
                                          {start.kernel_gap.value.in(units::us), 6, 10, 16, 25});
        }
        if (pass < passes_) options.folds = 1;
        EngineFit& fit = fits_[start.name] = fit_engine(start, rows.figures, options);
        if (!request_.catalogue.empty()) return;
        if (mixing_.contains(start.name)) fit.profile.prompts = PromptOrder::mixed;
        std::set<std::string> devices = devices_of(rows);
        devices.insert(start.fitted_on.begin(), start.fitted_on.end());
        fit.profile.fitted_on.assign(devices.begin(), devices.end());
        fit.profile.interval = no_narrower(fit.profile.interval, start.interval);
        if (!states_output(rows.figures))
            fit.profile.interval = wider_by_change(fit.profile.interval, rows, start, fit.profile);
        fit.profile.first_token_interval = no_narrower(fit.profile.first_token_interval, start.first_token_interval);
    }

    Engines const& engines_;
    ServingFitRequest const& request_;
    AskedEngine const& asked_;
    CommandContext& context_;
    int passes_ = 0;
    std::set<std::string> mixing_;  ///< engines whose prompts the file has mixed with decodes, as most rows say
    Fits fits_;
};

}  // namespace

int fit_serving_tables(ServingFitRequest const& request, CommandContext& context) {
    AskedEngine const asked(request);
    auto const engines = read_engines(request, asked, context);
    if (request.catalogue.empty() && engines.size() > 1)
        throw InputError("--serving: rows of {} engines (--engine NAME for one of them, or --catalogue FOLDER)",
                         engines.size());
    if (request.catalogue.empty() && request.out.empty())
        throw InputError("--out: is missing (the engine's profile is written there)");
    Table constants({{"engine"}, {"constant"}, {"value", Align::right}, {"spread", Align::right}});
    Table errors({{"engine"},
                  {"rows"},
                  {"figure"},
                  {"n", Align::right},
                  {"median %", Align::right},
                  {"p90 %", Align::right},
                  {"bias %", Align::right}});
    Table groups({{"held out"}, {"figure"}, {"n", Align::right}, {"median %", Align::right}, {"bias %", Align::right}});
    for (auto const& [name, fit] : EnginesFit(engines, request, asked, context).run()) {
        for (std::size_t i = 0; i < fit.constants.size(); ++i) {
            FittedParameter const& p = fit.constants[i];
            bool const known = fit.identified[i] && p.spread;
            constants.add_row({name, p.name, fmt::format("{:.4g}", p.value),
                               known ? fmt::format("{:.2g}", *p.spread) : std::string("not identified")});
        }
        constants.add_row({name, "kernel_gap", fmt::format("{:.4g}", fit.profile.kernel_gap.value.in(units::us)), ""});
        if (request.catalogue.empty()) {
            auto const before = errors_before(engines.at(name), asked.start(name), request.threads);
            add_errors(errors, name, "before", before);
            warn_of_misfit(name, before, fit.fitted_errors, context);
        }
        add_errors(errors, name, "fitted", fit.fitted_errors);
        add_errors(errors, name, "held out", fit.held_out_errors);
        add_errors(errors, name, fmt::format("held out, up to {:g} in flight", light_load),
                   errors_of(lightly_loaded(fit.held_out)));
        add_groups(groups, fit.held_out);
        std::string const file = request.catalogue.empty() ? request.out : request.catalogue + "/" + name + ".json";
        write_fitted(file, engine_json(fit.profile));
    }
    std::string report = constants.text() + "\nTimes in microseconds.\n\n" + errors.text();
    if (groups.row_count() > 0) report += "\n" + groups.text();
    context.out << for_terminal(report, terminal_of(context.out));
    return exit_code::done;
}

}  // namespace sextant::cli
