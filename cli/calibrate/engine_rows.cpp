#include "cli/calibrate/engine_rows.hpp"

#include "calibrate/import/importer.hpp"
#include "calibrate/row_screen.hpp"
#include "cli/calibrate/own_profile.hpp"
#include "core/error.hpp"
#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/kernel_calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <utility>

namespace sextant::cli {
namespace {

bool has_measured_kernels(AcceleratorProfile const& accelerator) {
    return accelerator.kernels && accelerator.kernels->name != "class-any";
}

/// Rows that say nothing of an engine: of devices whose kernels nobody measured, at loads beyond what is served, or so
/// far off that something else is in them.
std::string why_not(ServedCase const& c, ServedPrediction const& p) {
    // An engine that stands for such devices alone is what is known of them.
    if (!has_measured_kernels(c.what.cluster.accelerator) && !stands_for_unmeasured(c.what.engine))
        return "kernels of the device have no measurement (--cluster FILE.json:calibration=KERNELS.json has your own)";
    if (p.saturated) return "more than is served, or than the cache holds";
    if (c.load == ServedLoad::unlimited) return "the batch is not stated";
    return "";
}

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
        // Of an engine that takes prompts first, whose server may mix them with decodes (`find_prompt_orders`).
        auto const is_near_mixed = [&](ServedQuantity quantity, double seconds) {
            if (base.prompts != PromptOrder::first || !request.catalogue.empty()) return false;
            predict->set_prompts(PromptOrder::mixed);
            predict->set_base(base);
            double const predicted = seconds_of(predict->base(), quantity);
            predict->set_prompts(PromptOrder::first);
            predict->set_base(base);
            return !is_far_off(seconds, predicted);
        };
        auto const add = [&](ServedQuantity quantity, double seconds) {
            if (is_far_off(seconds, seconds_of(predict->base(), quantity)) && !is_near_mixed(quantity, seconds)) {
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

/// @throws InputError when the table is of something else.
void refuse_another_table(Engines const& engines, SkipCounts const& left_out) {
    auto const found = left_out.find(off_by_far);
    if (found == left_out.end()) return;
    std::size_t fitted = 0;
    for (auto const& [name, rows] : engines)
        fitted += rows.figures.size();
    if (!is_another_table(found->second, fitted)) return;
    throw InputError(
        "--serving: {} of {} figures are off by more than four times (ttft_ms and tpot_ms are in "
        "milliseconds, output_tokens_per_s is of all GPUs together and of output alone; else model, gpu, "
        "tp or concurrency are not those of the runs: 'sextant validate serving FILE --rows OUT.csv' shows "
        "each row)",
        found->second, fitted + found->second);
}

}  // namespace

double seconds_of(ServedPrediction const& p, ServedQuantity quantity) {
    switch (quantity) {
        case ServedQuantity::ttft: return p.ttft / units::s;
        case ServedQuantity::tpot: return p.tpot / units::s;
        case ServedQuantity::token_time: break;
    }
    return 1 / p.output_tokens_per_s;
}

bool stands_for_unmeasured(EngineProfile const& engine) {
    std::vector<AcceleratorProfile> const& all = all_accelerators();
    return !engine.vendor.empty() && std::none_of(all.begin(), all.end(), [&](AcceleratorProfile const& accelerator) {
        return accelerator.vendor == engine.vendor && has_measured_kernels(accelerator);
    });
}

EngineProfile beginning(EngineProfile engine, ServingFitRequest const& request) {
    return request.catalogue.empty() ? engine : without_fit(std::move(engine));
}

AskedEngine::AskedEngine(ServingFitRequest const& request) {
    if (!request.cluster.empty()) machine = find_cluster(request.cluster, "--cluster");
    std::string const& name = request.engine;
    if (name.empty()) return;
    profile = find_engine(name, "--engine");
    is_own = is_own_profile(name, "--engine");
}

ServedCase AskedEngine::served(ServingRow row) const {
    ClusterSpec const* const own = machine ? &*machine : nullptr;
    if (is_own) return served_case(row, &*profile, own);
    if (profile && row.engine.empty()) row.engine = profile->name;
    ServedCase out = served_case(row, nullptr, own);
    if (profile && out.what.engine.name != profile->name) throw RowSkip("of another engine");
    return out;
}

EngineProfile AskedEngine::start(std::string const& name) const {
    return is_own ? *profile : find_engine(name, "engine");
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

}  // namespace sextant::cli
