#include "cli/calibrate/fit_serving.hpp"

#include "calibrate/engine_fit.hpp"
#include "cli/progress.hpp"
#include "cli/view/table.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"
#include "core/parallel_for.hpp"
#include "core/spec/engine_catalog.hpp"
#include "core/spec/engine_fields.hpp"
#include "core/spec/kernel_calibration.hpp"
#include "planner/validation/serving_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <ostream>
#include <set>
#include <utility>
#include <vector>

namespace sextant::cli {
namespace {

/// Tables of one case for the gaps between kernels that a fit tries.
class GapModels {
public:
    explicit GapModels(ServingCase what) : what_(std::move(what)) {}
    IterationModel const& at(Seconds gap) {
        std::lock_guard const lock(guard_);
        auto& model = models_[std::llround(gap.in(units::ns))];
        if (!model) {
            ServingCase what = what_;
            what.engine.kernel_gap.value = gap;
            model = std::make_unique<IterationModel const>(what);
        }
        return *model;
    }

private:
    ServingCase what_;
    std::mutex guard_;
    std::map<long long, std::unique_ptr<IterationModel const>> models_;
};

/// The constants of an engine that a fit changes.
std::vector<double> constants_of(EngineProfile const& engine) {
    std::vector<double> out;
    for (auto const& field : engine_numbers)
        out.push_back((engine.*field.member).value);
    for (auto const& field : engine_times)
        out.push_back((engine.*field.member).value.base());
    return out;
}

/// What is predicted of one row, as often as a fit asks.
///
/// A closed loop is simulated under one set of constants, the base; under others the steady state of `closed_loop` says
/// by what factor the time per token and the waiting change. A fit is repeated with its answer as the base.
class RowModel {
public:
    RowModel(ServedCase c, std::shared_ptr<GapModels> models) : case_(std::move(c)), models_(std::move(models)) {}

    [[nodiscard]] ServedCase const& what() const { return case_; }
    /// @throws InputError, RowSkip: what the row asks for cannot be served.
    void set_base(EngineProfile const& engine) {
        simulated_ = predict_served(model(engine), under(engine));
        if (is_loop()) {
            steady_ = steady(engine);
            echo_ = echo_of(engine);
            base_overhead_ = engine.request_overhead.value;
        }
        last_constants_.clear();
    }
    [[nodiscard]] ServedPrediction const& base() const { return simulated_; }
    /// Products of the prompts that the row says it served, over the time it had for them; 0 where a row does not say.
    /// Beyond 1 they were not all computed: a prefix cache held them.
    [[nodiscard]] double prompt_load(EngineProfile const& engine) const {
        ServedFigures const& m = case_.measured;
        if (!is_loop() || !m.ttft || !m.tpot) return 0;
        IterationTime const prompt = model(engine)({.prefill_tokens = case_.request.prompt - case_.request.cached});
        Seconds const cycle = *m.ttft + (case_.request.output - 1) * *m.tpot;
        return case_.amount / case_.replicas * (prompt.gemm / cycle);
    }

    /// The figures of a row are asked for one after the other: the last answer is kept.
    [[nodiscard]] ServedPrediction operator()(EngineProfile const& engine) {
        std::vector<double> constants = constants_of(engine);
        std::lock_guard const lock(guard_);
        if (constants != last_constants_) {
            last_ = predict(engine);
            last_constants_ = std::move(constants);
        }
        return last_;
    }

private:
    [[nodiscard]] ServedPrediction predict(EngineProfile const& engine) const {
        if (!is_loop()) return predict_served(model(engine), under(engine));
        ServingEstimate const now = steady(engine);
        ServedPrediction out = simulated_;
        double const slower = now.tpot / steady_.tpot;
        out.tpot = simulated_.tpot * slower;
        out.ttft =
            std::max(0.3 * now.ttft.total(), now.ttft.total() + (simulated_.ttft - steady_.ttft.total()) * slower +
                                                 echo_ * (engine.request_overhead.value - base_overhead_));
        double const output = case_.request.output;
        Seconds const latency = out.ttft + (output - 1) * out.tpot;
        out.output_tokens_per_s = case_.amount * output / (latency / units::s);
        return out;
    }
    /// What a second of request overhead adds to the time to the first token besides itself: while a slot is empty
    /// others end, and their successors come together.
    [[nodiscard]] double echo_of(EngineProfile const& engine) const {
        constexpr double step = 0.4;
        EngineProfile other = engine;
        other.request_overhead.value = engine.request_overhead.value * (1 - step);
        Seconds const less = predict_served(model(other), under(other)).ttft;
        return std::clamp((simulated_.ttft - less) / (engine.request_overhead.value * step) - 1, -0.7, 20.0);
    }
    [[nodiscard]] bool is_loop() const { return case_.load == ServedLoad::closed_loop; }
    [[nodiscard]] ServedCase under(EngineProfile const& engine) const {
        ServedCase out = case_;
        out.what.engine = case_.load == ServedLoad::static_batch ? without_server(engine) : engine;
        return out;
    }
    [[nodiscard]] IterationModel model(EngineProfile const& engine) const {
        bool const alone = case_.load == ServedLoad::static_batch;
        return models_->at(engine.kernel_gap.value).with_scales(alone ? without_server(engine) : engine);
    }
    [[nodiscard]] ServingEstimate steady(EngineProfile const& engine) const {
        return closed_loop(model(engine), case_.request, case_.amount / case_.replicas);
    }

    ServedCase case_;
    std::shared_ptr<GapModels> models_;
    ServedPrediction simulated_{};
    ServingEstimate steady_{};
    double echo_ = 0;
    Seconds base_overhead_{};
    std::mutex guard_;
    std::vector<double> last_constants_;
    ServedPrediction last_{};
};

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
    if (!kernels || kernels->name == "class-any") return "kernels of the device have no measurement";
    if (p.saturated) return "more than is served, or than the cache holds";
    if (c.load == ServedLoad::unlimited) return "the batch is not stated";
    return "";
}

/// The rows of one engine.
struct EngineRows {
    std::vector<std::shared_ptr<RowModel>> models;
    std::vector<ServedMeasurement> figures;
    std::set<std::string> impossible;  ///< groups with a row that says it multiplied faster than the device can
};
using Engines = std::map<std::string, EngineRows>;

void add_row(ServingRow const& row, std::map<std::string, std::shared_ptr<GapModels>>& models, Engines& engines,
             std::map<std::string, std::size_t>& left_out) {
    try {
        ServedCase found = served_case(row, nullptr);
        auto& shared = models[found.key];
        if (!shared) shared = std::make_shared<GapModels>(found.what);
        auto const predict = std::make_shared<RowModel>(std::move(found), shared);
        ServedCase const* const c = &predict->what();
        EngineProfile const& engine = c->what.engine;
        predict->set_base(without_fit(engine));
        if (std::string const reason = why_not(*c, predict->base()); !reason.empty()) throw RowSkip(reason);
        std::string const group =
            fmt::format("{}, {}, {}", c->what.model.name, c->what.cluster.accelerator.name, engine.name);
        auto const add = [&](ServedQuantity quantity, double seconds) {
            double const first = seconds_of(predict->base(), quantity);
            constexpr double far = 4;  // assumed: another thing was measured
            if (!(first < far * seconds && seconds < far * first)) {
                ++left_out["off by more than four times"];
                return;
            }
            engines[engine.name].figures.push_back({.group = group,
                                                    .quantity = quantity,
                                                    .seconds = seconds,
                                                    .predict = [predict, quantity](EngineProfile const& e) {
                                                        return seconds_of((*predict)(e), quantity);
                                                    }});
        };
        engines[engine.name].models.push_back(predict);
        if (predict->prompt_load(without_fit(engine)) > 1) engines[engine.name].impossible.insert(group);
        if (c->measured.ttft) add(ServedQuantity::ttft, *c->measured.ttft / units::s);
        if (c->measured.tpot) add(ServedQuantity::tpot, *c->measured.tpot / units::s);
        if (row.output_tokens_per_s && c->load != ServedLoad::open_loop && !c->measured.tpot)
            add(ServedQuantity::token_time, 1 / *row.output_tokens_per_s);
    } catch (RowSkip const& skip) {
        ++left_out[skip.what()];
    } catch (InputError const& fault) {
        ++left_out[fault.what()];
    }
}

Engines read_engines(ServingFitRequest const& request, CommandContext& context) {
    Engines engines;
    std::map<std::string, std::shared_ptr<GapModels>> models;
    std::map<std::string, std::size_t> left_out;
    for (std::string const& file : request.tables) {
        CsvTable const table = read_csv(file);
        static_cast<void>(table.require(serving_columns()));
        for (CsvRecord const& record : table.records)
            add_row(serving_row(RowCells(table, record)), models, engines, left_out);
    }
    for (auto& [name, rows] : engines) {
        auto const count =
            std::erase_if(rows.figures, [&rows = rows](auto const& f) { return rows.impossible.contains(f.group); });
        if (count > 0)
            left_out["of a group whose prompts were not all computed: faster than the device multiplies"] += count;
    }
    std::erase_if(engines, [](auto const& entry) { return entry.second.figures.empty(); });
    for (auto const& [reason, count] : left_out)
        context.err << fmt::format("{} left out: {}\n", count, reason);
    if (!request.engine.empty()) {
        std::string const wanted = find_engine(request.engine, "--engine").name;
        std::erase_if(engines, [&](auto const& entry) { return entry.first != wanted; });
        if (engines.empty()) throw InputError("--engine: no usable rows of '{}' in the tables of --serving", wanted);
    }
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

/// Fits, and fits again with closed loops simulated under what was found.
EngineFit fit_rows(std::string const& name, EngineRows const& rows, ServingFitRequest const& request,
                   CommandContext& context) {
    EngineProfile const start = find_engine(name, "engine");
    EngineFitOptions options;
    options.threads = request.threads;
    EngineFit fit;
    constexpr int passes = 3;
    for (int pass = 1; pass <= passes; ++pass) {
        begin_step(context,
                   fmt::format("fitting {}: {} figures, pass {} of {}", name, rows.figures.size(), pass, passes));
        if (pass > 1)
            parallel_for(rows.models.size(), request.threads,
                         [&](std::size_t i) { rows.models[i]->set_base(fit.profile); });
        // The gap between kernels is settled at once; groups are held out of the last fit.
        EngineFitOptions now = options;
        if (pass > 1) now.kernel_gaps_us = {fit.profile.kernel_gap.value.in(units::us)};
        if (pass < passes) now.folds = 1;
        fit = fit_engine(start, rows.figures, now);
    }
    return fit;
}

}  // namespace

int fit_serving_tables(ServingFitRequest const& request, CommandContext& context) {
    auto const engines = read_engines(request, context);
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
    for (auto const& [name, rows] : engines) {
        EngineFit const fit = fit_rows(name, rows, request, context);
        for (FittedParameter const& p : fit.constants)
            constants.add_row({name, p.name, fmt::format("{:.4g}", p.value),
                               p.spread ? fmt::format("{:.2g}", *p.spread) : std::string("not identified")});
        constants.add_row({name, "kernel_gap", fmt::format("{:.4g}", fit.profile.kernel_gap.value.in(units::us)), ""});
        add_errors(errors, name, "fitted", fit.fitted_errors);
        add_errors(errors, name, "held out", fit.held_out_errors);
        add_groups(groups, fit.held_out);
        std::string const file = request.catalogue.empty() ? request.out : request.catalogue + "/" + name + ".json";
        write_text_file(file, engine_json(fit.profile));
    }
    context.out << constants.text() << "\nTimes in microseconds.\n\n" << errors.text();
    if (groups.row_count() > 0) context.out << '\n' << groups.text();
    return exit_code::done;
}

}  // namespace sextant::cli
