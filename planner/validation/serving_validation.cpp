#include "planner/validation/serving_validation.hpp"

#include "core/error.hpp"
#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "planner/serving/serving_support.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sextant {
namespace {

RowGroup amount_group(ServedCase const& c) {
    if (c.load == ServedLoad::open_loop || c.load == ServedLoad::unlimited)
        return {.by = "requests", .order = 9, .name = std::string(name_of(c.load))};
    struct Band {
        double below;
        char const* name;
    };
    constexpr Band bands[] = {{1.5, "1 at a time"}, {8.5, "2 to 8"}, {32.5, "9 to 32"}, {128.5, "33 to 128"}};
    int order = 0;
    for (Band const& band : bands) {
        if (c.amount < band.below) return {.by = "requests", .order = order, .name = band.name};
        ++order;
    }
    return {.by = "requests", .order = order, .name = "more than 128"};
}

std::vector<RowGroup> groups_of(ServedCase const& c) {
    int const order = static_cast<int>(c.load);
    return {{.by = "load", .order = order, .name = std::string(name_of(c.load))},
            {.by = "engine", .order = 0, .name = fmt::format("{}, {}", c.what.engine.name, name_of(c.load))},
            {.by = "device", .order = 0, .name = c.what.cluster.accelerator.name},
            {.by = "model", .order = 0, .name = c.what.model.name},
            amount_group(c)};
}

}  // namespace

ServingPredictor::ServingPredictor(std::string const& profile, std::string const& machine) {
    if (!profile.empty()) profile_ = find_engine(profile, "--profile");
    if (!machine.empty()) machine_ = find_cluster(machine, "--cluster");
}

std::shared_ptr<IterationModel const> ServingPredictor::model_of(ServedCase const& c) {
    auto const found = models_.find(c.key);
    if (found != models_.end()) return found->second;
    return models_.emplace(c.key, std::make_shared<IterationModel const>(c.what)).first->second;
}

ServedPrediction ServingPredictor::predict(ServingRow const& row, ServedCase& c) {
    try {
        try {
            return predict_served(*model_of(c), c);
        } catch (DoesNotFit const&) {
            auto tight = squeezed(row, c);
            if (!tight) throw;
            c = *std::move(tight);
            return predict_served(*model_of(c), c);
        }
    } catch (InputError const& fault) {
        throw RowSkip(fault.what());
    }
}

ScoredRow ServingPredictor::predict(RowCells const& cells) {
    ScoredRow out{.source = cells.text("source_id"), .groups = {}, .prediction = {}};
    RowPrediction& p = out.prediction;
    try {
        ServingRow const row = serving_row(cells);
        ServedCase c = served_case(row, profile_ ? &*profile_ : nullptr, machine_ ? &*machine_ : nullptr);
        ServedPrediction const predicted = predict(row, c);
        p.assumptions = c.assumptions;
        bool const is_above = predicted.saturated && c.load == ServedLoad::open_loop;
        if (is_above && c.measured.ttft && !c.measured.tpot && !c.measured.output_tokens_per_s)
            throw RowSkip(
                "more requests arrive than can be served, by the model: the time to the first token has no end");
        if (is_above)
            p.assumptions.emplace_back(
                "more requests arrive than can be served, by the model: figures of a full server");
        else if (predicted.saturated)
            p.assumptions.emplace_back("sequences that the cache does not hold wait");
        p.served[0] = {.predicted = predicted.ttft.in(units::ms), .measured = {}};
        p.served[1] = {.predicted = predicted.tpot.in(units::ms), .measured = {}};
        p.served[2] = {.predicted = predicted.output_tokens_per_s, .measured = c.measured.output_tokens_per_s};
        if (c.measured.ttft) p.served[0].measured = c.measured.ttft->in(units::ms);
        if (c.measured.tpot) p.served[1].measured = c.measured.tpot->in(units::ms);
        if (predicted.queue_unknown || is_above) p.served[0].measured.reset();  // the wait of a queue of any length
        if (is_above) p.served[0].predicted.reset();
        // What intervals, plots and the list of worst rows show: the time of an output token.
        p.time = units::s / predicted.output_tokens_per_s;
        EngineInterval const interval = serving_support(c.what).interval;
        p.interval = {.low = interval.low, .high = interval.high};
        if (p.served[2].measured)
            p.measured_time = units::s / *p.served[2].measured;
        else if (c.measured.tpot || c.measured.ttft)
            p.time_reason = "no throughput is stated";
        out.what = fmt::format("{} on {}, {}, {} {:g}, {:g} in {:g} out", c.what.model.name, c.what.cluster.name,
                               c.what.engine.name, name_of(c.load), c.amount, c.request.prompt, c.request.output);
        out.groups = groups_of(c);
    } catch (RowSkip const& skip) {
        p = {};
        p.skip_reason = skip.what();
        p.unreadable = skip.place();
    }
    return out;
}

std::vector<ScoredRow> ServingPredictor::predict(CsvTable const& table) {
    require_columns(table, {"model", "gpu"}, serving_columns());
    std::vector<ScoredRow> out;
    out.reserve(table.records.size());
    for (CsvRecord const& record : table.records)
        out.push_back(predict(RowCells(table, record)));
    return out;
}

}  // namespace sextant
