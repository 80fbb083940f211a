#include "cli/calibrate_serving.hpp"

#include "calibrate/engine_fit.hpp"
#include "cli/table.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"
#include "core/spec/engine_catalog.hpp"
#include "core/spec/kernel_calibration.hpp"
#include "planner/validation/serving_case.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <ostream>

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

double predicted_seconds(ServedCase const& c, GapModels& models, EngineProfile const& engine, ServedQuantity quantity) {
    ServedCase with = c;
    with.what.engine = c.load == ServedLoad::static_batch ? without_server(engine) : engine;
    ServedPrediction const p = predict_served(models.at(engine.kernel_gap.value).with_scales(with.what.engine), with);
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

using Engines = std::map<std::string, std::vector<ServedMeasurement>>;

void add_row(ServingRow const& row, std::map<std::string, std::shared_ptr<GapModels>>& models, Engines& engines,
             std::map<std::string, std::size_t>& left_out) {
    try {
        auto const c = std::make_shared<ServedCase const>(served_case(row, nullptr));
        auto& shared = models[c->key];
        if (!shared) shared = std::make_shared<GapModels>(c->what);
        EngineProfile const& engine = c->what.engine;
        ServedPrediction const p = predict_served(shared->at(engine.kernel_gap.value), *c);
        if (std::string const reason = why_not(*c, p); !reason.empty()) throw RowSkip(reason);
        std::string const group =
            fmt::format("{}, {}, {}", c->what.model.name, c->what.cluster.accelerator.name, engine.name);
        auto const add = [&](ServedQuantity quantity, double seconds) {
            double const first = predicted_seconds(*c, *shared, without_fit(engine), quantity);
            constexpr double far = 4;  // assumed: another thing was measured
            if (!(first < far * seconds && seconds < far * first)) {
                ++left_out["off by more than four times"];
                return;
            }
            engines[engine.name].push_back({.group = group,
                                            .quantity = quantity,
                                            .seconds = seconds,
                                            .predict = [c, shared, quantity](EngineProfile const& e) {
                                                return predicted_seconds(*c, *shared, e, quantity);
                                            }});
        };
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
    for (auto const& [name, rows] : engines) {
        context.err << fmt::format("fitting {}: {} figures\n", name, rows.size());
        EngineFitOptions options;
        options.threads = request.threads;
        EngineFit const fit = fit_engine(find_engine(name, "engine"), rows, options);
        for (FittedParameter const& p : fit.constants)
            constants.add_row({name, p.name, fmt::format("{:.4g}", p.value),
                               p.spread ? fmt::format("{:.2g}", *p.spread) : std::string("not identified")});
        constants.add_row({name, "kernel_gap", fmt::format("{:.4g}", fit.profile.kernel_gap.value.in(units::us)), ""});
        add_errors(errors, name, "fitted", fit.fitted_errors);
        add_errors(errors, name, "held out", fit.held_out_errors);
        std::string const file = request.catalogue.empty() ? request.out : request.catalogue + "/" + name + ".json";
        write_text_file(file, engine_json(fit.profile));
    }
    context.out << constants.text() << "\nTimes in microseconds.\n\n" << errors.text();
    return exit_code::done;
}

}  // namespace sextant::cli
