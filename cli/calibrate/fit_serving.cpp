#include "cli/calibrate/fit_serving.hpp"

#include "calibrate/engine_fit.hpp"
#include "calibrate/import/importer.hpp"
#include "calibrate/row_screen.hpp"
#include "cli/calibrate/fitted_file.hpp"
#include "cli/calibrate/own_profile.hpp"
#include "cli/calibrate/served_row.hpp"
#include "cli/progress.hpp"
#include "cli/shell/fit_text.hpp"
#include "cli/view/table.hpp"
#include "core/error.hpp"
#include "core/parallel_for.hpp"
#include "core/spec/engine_catalog.hpp"
#include "core/spec/kernel_calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <ostream>
#include <utility>
#include <vector>

namespace sextant::cli {
namespace {

double seconds_of(ServedPrediction const& p, ServedQuantity quantity) {
    switch (quantity) {
        case ServedQuantity::ttft: return p.ttft / units::s;
        case ServedQuantity::tpot: return p.tpot / units::s;
        case ServedQuantity::token_time: break;
    }
    return 1 / p.output_tokens_per_s;
}

/// Rows that say nothing of an engine: of devices whose kernels nobody measured, at loads beyond what is served, or so
/// far off that something else is in them.
std::string why_not(ServedCase const& c, ServedPrediction const& p) {
    auto const& kernels = c.what.cluster.accelerator.kernels;
    bool const measured = kernels && kernels->name != "class-any";
    // An engine that stands for such devices alone is what is known of them.
    if (!measured && c.what.engine.vendor.empty()) return "kernels of the device have no measurement";
    if (p.saturated) return "more than is served, or than the cache holds";
    if (c.load == ServedLoad::unlimited) return "the batch is not stated";
    return "";
}

/// The rows of a group, and where those are that say that prompts were multiplied faster than the device can.
struct GroupRows {
    std::size_t rows = 0;
    std::vector<std::string> impossible;
};

/// The rows of one engine.
struct EngineRows {
    std::vector<std::shared_ptr<ServedRow>> models;
    std::vector<ServedMeasurement> figures;
    std::map<std::string, GroupRows> groups;
};
using Engines = std::map<std::string, EngineRows>;

/// Where a fit begins: of all engines nothing is known but what is common; of one, the profile that is shipped.
EngineProfile beginning(EngineProfile engine, ServingFitRequest const& request) {
    return request.catalogue.empty() ? engine : without_fit(std::move(engine));
}

/// The engine that is asked for: a shipped one, whose rows count and those that state none, or a profile of one's own
/// (or a shipped one with changes), which all rows are of.
struct AskedEngine {
    std::optional<EngineProfile> profile;
    bool is_own = false;

    explicit AskedEngine(std::string const& name) {
        if (name.empty()) return;
        profile = find_engine(name, "--engine");
        is_own = is_own_profile(name, "--engine");
    }
    [[nodiscard]] ServedCase served(ServingRow row) const {
        if (is_own) return served_case(row, &*profile);
        if (profile && row.engine.empty()) row.engine = profile->name;
        ServedCase out = served_case(row, nullptr);
        if (profile && out.what.engine.name != profile->name) throw RowSkip("of another engine");
        return out;
    }
    /// What the fit of an engine begins with.
    [[nodiscard]] EngineProfile start(std::string const& name) const {
        return is_own ? *profile : find_engine(name, "engine");
    }
};

constexpr char const* off_by_far = "a figure off by more than four times";

/// @param place of the row: "rows.csv line 7".
void add_row(RowCells const& cells, std::string const& place, ServingFitRequest const& request,
             AskedEngine const& asked, std::map<std::string, std::shared_ptr<GapModels>>& models, Engines& engines,
             SkipCounts& left_out) {
    try {
        ServingRow const row = serving_row(cells);
        ServedCase found = asked.served(row);
        auto& shared = models[found.key];
        if (!shared) shared = std::make_shared<GapModels>(found.what);
        auto const predict = std::make_shared<ServedRow>(std::move(found), shared);
        ServedCase const* const c = &predict->what();
        EngineProfile const& engine = c->what.engine;
        EngineProfile const base = beginning(engine, request);
        predict->set_base(base);
        if (std::string const reason = why_not(*c, predict->base()); !reason.empty()) throw RowSkip(reason);
        std::string const group = predict->group();
        double const in_flight = c->load == ServedLoad::closed_loop ? c->amount / c->replicas : 0;
        auto const add = [&](ServedQuantity quantity, double seconds) {
            if (is_far_off(seconds, seconds_of(predict->base(), quantity))) {
                ++left_out[off_by_far];
                return;
            }
            engines[engine.name].figures.push_back({.group = group,
                                                    .quantity = quantity,
                                                    .seconds = seconds,
                                                    .in_flight = in_flight,
                                                    .predict = [predict, quantity](EngineProfile const& e) {
                                                        return seconds_of((*predict)(e), quantity);
                                                    }});
        };
        GroupRows& of_group = engines[engine.name].groups[group];
        ++of_group.rows;
        if (predict->prompt_load(base) > 1) {
            of_group.impossible.push_back(place);
            return;
        }
        engines[engine.name].models.push_back(predict);
        bool const has_rate = row.output_tokens_per_s && c->load != ServedLoad::open_loop && !c->measured.tpot;
        if (!c->measured.ttft && !c->measured.tpot && !has_rate) throw RowSkip("states no time that is fitted");
        if (c->measured.ttft) add(ServedQuantity::ttft, *c->measured.ttft / units::s);
        if (c->measured.tpot) add(ServedQuantity::tpot, *c->measured.tpot / units::s);
        if (has_rate) add(ServedQuantity::token_time, 1 / *row.output_tokens_per_s);
    } catch (RowSkip const& skip) {
        count_skip(left_out, skip);
    } catch (InputError const& fault) {
        ++left_out[fault.what()];
    }
}

/// Of how many rows on a group had its prompts in a prefix cache. In publications of one: their rows are of one run of
/// a benchmark. Of one's own two and a fifth (assumed), as one may be a slip.
std::size_t fewest_impossible(GroupRows const& group, ServingFitRequest const& request) {
    return request.catalogue.empty() ? std::max<std::size_t>(2, (group.rows + 4) / 5) : 1;
}

/// Leaves out what says that prompts were multiplied faster than the device can: rows (their figures were never
/// added), and all of a group that had its prompts cached.
void drop_impossible(EngineRows& rows, ServingFitRequest const& request, SkipCounts& left_out) {
    for (auto const& [name, group] : rows.groups) {
        if (group.impossible.empty()) continue;
        if (group.impossible.size() >= fewest_impossible(group, request)) {
            std::erase_if(rows.figures, [&](ServedMeasurement const& figure) { return figure.group == name; });
            left_out[fmt::format(
                "all rows of {}: prompts that were not all computed, faster than the device multiplies", name)] +=
                group.rows;
        } else {
            for (std::string const& place : group.impossible)
                ++left_out[fmt::format(
                    "{}: its prompts would have been multiplied faster than the device can (is it in "
                    "other units, or was a part of them in a prefix cache?)",
                    place)];
        }
    }
}

/// A table that is of something else, or in other units, is not what remains of it when the worst rows are gone.
/// @throws InputError when a third of the figures are far off (assumed).
void refuse_another_table(Engines const& engines, SkipCounts const& left_out) {
    auto const found = left_out.find(off_by_far);
    if (found == left_out.end()) return;
    std::size_t fitted = 0;
    for (auto const& [name, rows] : engines)
        fitted += rows.figures.size();
    std::size_t const all = fitted + found->second;
    if (3 * found->second < all) return;
    throw InputError(
        "--serving: {} of {} figures are off by more than four times (ttft_ms and tpot_ms are in "
        "milliseconds, output_tokens_per_s is of all GPUs together and of output alone; else model, gpu, "
        "tp or concurrency are not those of the runs: 'sextant validate serving FILE --rows OUT.csv' shows "
        "each row)",
        found->second, all);
}

Engines read_engines(ServingFitRequest const& request, AskedEngine const& asked, CommandContext& context) {
    Engines engines;
    std::map<std::string, std::shared_ptr<GapModels>> models;
    SkipCounts left_out;
    for (std::string const& file : request.tables) {
        refuse_foreign_file(file);
        CsvTable const table = read_csv(file);
        require_columns(table, {"model", "gpu"}, serving_columns());
        for (CsvRecord const& record : table.records)
            add_row(RowCells(table, record), fmt::format("{} line {}", table.name, record.line), request, asked, models,
                    engines, left_out);
    }
    for (auto& [name, rows] : engines)
        drop_impossible(rows, request, left_out);
    if (request.catalogue.empty()) refuse_another_table(engines, left_out);
    std::erase_if(engines, [](auto const& entry) { return entry.second.figures.empty(); });
    for (auto const& [reason, count] : left_out)
        context.err << fmt::format("{} left out: {}\n", count, reason);
    if (engines.empty() && asked.profile)
        throw InputError("--engine: no usable rows of '{}' in the tables of --serving", asked.profile->name);
    if (engines.empty()) throw InputError("--serving: no usable rows in the tables");
    return engines;
}

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
void find_prompt_orders(EngineRows const& rows, EngineProfile const& engine, unsigned threads,
                        CommandContext& context) {
    if (engine.prompts != PromptOrder::first) return;
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
    for (auto const& row : rows.models) {
        if (!groups.contains(row->group())) continue;
        row->set_prompts(PromptOrder::mixed);
        row->set_base(engine);
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
        for (auto const& [name, rows] : engines_)
            find_prompt_orders(rows, beginning(asked_.start(name), request_), request_.threads, context_);
        for (int pass = 1; pass <= passes_; ++pass) {
            auto const before = fits_;
            for (auto const& [name, rows] : engines_) {
                EngineProfile const start = asked_.start(name);
                EnginePriors const priors = !together            ? priors_around(start)
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
            if (other != name && fit.profile.vendor.empty()) out.push_back(&fit);
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
        }
        if (pass < passes_) options.folds = 1;
        EngineFit& fit = fits_[start.name] = fit_engine(start, rows.figures, options);
        if (!request_.catalogue.empty()) return;
        fit.profile.interval = no_narrower(fit.profile.interval, start.interval);
        fit.profile.first_token_interval = no_narrower(fit.profile.first_token_interval, start.first_token_interval);
    }

    Engines const& engines_;
    ServingFitRequest const& request_;
    AskedEngine const& asked_;
    CommandContext& context_;
    int passes_ = 0;
    Fits fits_;
};

}  // namespace

int fit_serving_tables(ServingFitRequest const& request, CommandContext& context) {
    AskedEngine const asked(request.engine);
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
