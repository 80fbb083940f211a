#include "cli/calibrate/train_rows.hpp"

#include "calibrate/import/importer.hpp"
#include "calibrate/row_screen.hpp"
#include "cli/calibrate/own_profile.hpp"
#include "cli/validate/row_words.hpp"
#include "core/csv.hpp"
#include "core/error.hpp"
#include "core/spec/framework_fields.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "planner/support.hpp"
#include "planner/validation/train_validation.hpp"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <mutex>
#include <ostream>
#include <utility>

namespace sextant::cli {
namespace {

constexpr std::size_t most_rows_of_source = 80;

/// How far the rows of a source are trusted, against raw logs and careful tables. Source: data/README.md, "Trust".
struct SourceTrust {
    std::string_view prefix;
    double weight;
};
constexpr std::array trusts{SourceTrust{"vtrain", 0.1},
                            SourceTrust{"aws-moe", 0.1},
                            SourceTrust{"misc-repos", 0.2},
                            SourceTrust{"nvidia-nemo", 0.5},
                            SourceTrust{"nvidia-megatron-bridge", 0.5},
                            SourceTrust{"google-maxtext", 0.5},
                            SourceTrust{"megatron-moe", 0.5},
                            SourceTrust{"rapid-llm", 0.1}};

double trust_of(std::string const& source) {
    for (auto const& [prefix, weight] : trusts)
        if (source.starts_with(prefix)) return weight;
    return 1;
}

/// One row under changing constants: graph, collectives and schedule are worked out once.
class PricedRow {
public:
    explicit PricedRow(TrainingCase row)
        : row_(std::move(row)),
          profile_(one_entry(*row_.framework)),
          form_(row_.model, row_.workload, *row_.cluster, profile_, row_.plan.precision) {}
    PricedRow(PricedRow const&) = delete;
    PricedRow& operator=(PricedRow const&) = delete;

    double seconds(FrameworkTiming const& timing) { return estimate(timing).time.base(); }

    StepEstimate estimate(FrameworkTiming const& timing) {
        std::lock_guard const lock(guard_);
        FrameworkTiming& own = profile_.timing.front();
        bool const same_products = own.gemm_scale.value == timing.gemm_scale.value &&
                                   own.grouped_gemm_scale.value == timing.grouped_gemm_scale.value;
        if (!same_products) form_.pricer().forget_products();
        for (auto const& field : timing_numbers)
            (own.*field.member).value = (timing.*field.member).value;
        for (auto const& field : timing_times)
            (own.*field.member).value = (timing.*field.member).value;
        return form_.evaluate(row_.plan, PipelineMethod::rounds);
    }

private:
    static FrameworkProfile one_entry(FrameworkProfile const& framework) {
        FrameworkProfile profile;
        profile.name = framework.name;
        profile.family = framework.family;
        profile.usual = framework.usual;
        profile.timing.push_back(framework.timing.front());
        profile.timing.front().generation = "*";
        profile.timing.front().precision = "*";
        profile.memory = framework.memory;
        return profile;
    }

    TrainingCase row_;
    FrameworkProfile profile_;  ///< what `form_` refers to
    ClosedForm form_;
    std::mutex guard_;
};

/// A row whose time cannot be had from a framework's constants, or was not measured. @throws RowSkip with the reason.
std::shared_ptr<PricedRow> priced_row(TrainingCase const& c) {
    if (!c.time_reason.empty()) throw RowSkip(c.time_reason);
    if (!c.predicts_time) throw RowSkip("only its memory is predicted");
    if (c.model.recurrent || c.model.attention.index)
        throw RowSkip("kernels of recurrent layers and sparse attention were not measured");
    try {
        auto priced = std::make_shared<PricedRow>(c);
        static_cast<void>(priced->seconds(c.framework->timing.front()));
        return priced;
    } catch (InputError const& error) {
        throw RowSkip(error.what());
    }
}

}  // namespace

namespace {

/// Builds cases from rows under the framework that is asked for.
class AskedRows {
public:
    explicit AskedRows(TrainTables const& tables) {
        take_framework(tables.framework);
        if (!tables.cluster.empty()) builder_.take_machine(find_cluster(tables.cluster, "--cluster"));
    }
    /// @throws RowSkip, also for a row that says that it is of another framework.
    TrainingCase build(TrainingRow row) {
        if (!own_ && row.framework.empty()) row.framework = name_;
        TrainingCase out = builder_.build(row);
        if (!own_ && !name_.empty() && out.framework->name != name_) throw RowSkip("of another framework");
        return out;
    }

    [[nodiscard]] FrameworkProfile start(std::string const& name) const {
        return own_ ? *own_ : find_framework(name, "--train");
    }

private:
    void take_framework(std::string const& framework) {
        if (framework.empty()) return;
        FrameworkProfile profile = find_framework(framework, "--framework");
        name_ = profile.name;
        if (!is_own_profile(framework, "--framework")) return;
        own_ = std::move(profile);
        builder_ = CaseBuilder(framework);
    }

    std::string name_;
    std::optional<FrameworkProfile> own_;  ///< a file, or a shipped one with changes: of every row
    CaseBuilder builder_;
};

constexpr char const* off_by_far = "off by more than four times from what the profile says (are its times in seconds?)";

/// @throws InputError when the table is of something else.
void refuse_another_table(std::map<std::string, std::size_t> const& skipped, std::size_t usable) {
    auto const far = skipped.find(off_by_far);
    if (far == skipped.end() || !is_another_table(far->second, usable)) return;
    throw InputError(
        "--train: {} of {} rows are off by more than four times (iter_time_s is in seconds of a whole step, "
        "tokens_per_s of all GPUs together; else model, gpu, framework or the degrees are not those of the runs: "
        "'sextant validate train FILE --rows OUT.csv' shows each row)",
        far->second, usable + far->second);
}

StepMeasurement measured_step(TrainingRow const& row, TrainingCase const& c, std::string where, RowsOf whose) {
    auto const measured = measured_time(row, c);
    auto const priced = priced_row(c);
    if (!measured) throw RowSkip("its time is not stated");
    std::string const& generation = c.cluster->accelerator.generation;
    std::string const precision(name_of(unscaled(c.plan.precision)));
    StepEstimate const before = priced->estimate(timing_for(*c.framework, generation, precision));
    if (whose == RowsOf::own_machine && is_far_off(measured->base(), before.time.base())) throw RowSkip(off_by_far);
    return {.source = row.source_id,
            .generation = generation,
            .precision = precision,
            .where = std::move(where),
            .release = c.release,
            .seconds = measured->base(),
            .weight = whose == RowsOf::publications ? trust_of(row.source_id) : 1,
            .has_experts = c.model.moe.has_value(),
            .waits_for_host = waits_for_host(before),
            .predict = [priced](FrameworkTiming const& t) { return priced->seconds(t); }};
}

}  // namespace

std::map<std::string, Family> read_families(TrainTables const& tables, RowsOf whose, CommandContext& context) {
    AskedRows asked(tables);
    std::map<std::string, Family> families;
    std::map<std::string, std::vector<std::pair<std::string, StepMeasurement>>> by_source;
    std::map<std::string, std::size_t> skipped;
    for (std::string const& file : tables.files) {
        refuse_foreign_file(file);
        CsvTable const table = read_csv(file);
        std::vector<TrainingRow> const rows = training_rows(table);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            try {
                TrainingCase const c = asked.build(rows[i]);
                StepMeasurement step = measured_step(rows[i], c, row_place(table, table.records[i]), whose);
                std::string const& name = c.framework->name;
                if (!families.contains(name)) families.emplace(name, Family{.start = asked.start(name), .rows = {}});
                by_source[rows[i].source_id].emplace_back(name, std::move(step));
            } catch (RowSkip const& skip) {
                ++skipped[skip.what()];
            }
        }
    }
    std::size_t usable = 0;
    for (auto const& [source, rows] : by_source)
        usable += rows.size();
    refuse_another_table(skipped, usable);
    for (auto& [source, rows] : by_source) {
        bool const thins = whose == RowsOf::publications;
        std::size_t const stride = thins ? (rows.size() + most_rows_of_source - 1) / most_rows_of_source : 1;
        for (std::size_t i = 0; i < rows.size(); i += stride)
            families[rows[i].first].rows.push_back(std::move(rows[i].second));
        if (std::size_t const used = (rows.size() + stride - 1) / stride; used < rows.size())
            skipped[fmt::format("one row in {} of {} is fitted, {} of {}", stride, source, used, rows.size())] +=
                rows.size() - used;
    }
    for (auto const& [reason, count] : skipped)
        context.err << fmt::format("{} rows left out: {}\n", count, reason);
    auto const unknown = skipped.lower_bound("no profile for device");
    if (unknown != skipped.end() && unknown->first.starts_with("no profile for device"))
        context.err << "a device of your own: --cluster FILE.json, a machine of that accelerator (docs/recipes.md)\n";
    if (families.empty() && tables.framework.empty())
        throw InputError("calibrate fit: no usable rows in the tables of --train");
    if (families.empty()) throw InputError("--framework: no usable rows of '{}' in the tables", tables.framework);
    return families;
}

}  // namespace sextant::cli
