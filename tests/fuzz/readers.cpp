#include "tests/fuzz/readers.hpp"

#include "calibrate/collective_measurement.hpp"
#include "calibrate/import/gzip.hpp"
#include "calibrate/import/importer.hpp"
#include "calibrate/import/nccl_tests_log.hpp"
#include "calibrate/scaling/loss_table.hpp"
#include "cli/export/plan_file.hpp"
#include "cli/sweep/grid.hpp"
#include "cli/sweep/record.hpp"
#include "core/csv.hpp"
#include "core/error.hpp"
#include "core/json/object_reader.hpp"
#include "core/measurements/bench_row.hpp"
#include "core/measurements/kernel_row.hpp"
#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/hardware_json.hpp"
#include "core/spec/hf_config.hpp"
#include "core/spec/kernel_calibration.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/network_calibration.hpp"
#include "core/spec/parameters.hpp"
#include "core/toml.hpp"
#include "cost_models/scaling/fitted_law.hpp"
#include "planner/importers/foreign_plan.hpp"
#include "planner/report.hpp"
#include "planner/rl/rl_rows.hpp"
#include "planner/validation/table_predictor.hpp"
#include "planner/validation/training_row.hpp"
#include "simulator/schedules/schedule_check.hpp"
#include "simulator/schedules/schedule_csv.hpp"
#include "simulator/serving/length_distribution.hpp"
#include "simulator/serving/request_trace.hpp"

#include <algorithm>

namespace sextant::fuzz {
namespace {

template <auto read>
void json(std::string_view text) {
    JsonDocument const document = JsonDocument::from_text(text, "input");
    static_cast<void>(read(ObjectReader(document)));
}

template <auto read>
void plan_document(std::string_view text) {
    static_cast<void>(read(JsonDocument::from_text(text, "input"), 1));
}

ModelSpec const& gpt2() {
    static ModelSpec const model = find_model("gpt2");
    return model;
}

/// Whatever a reader accepts, a step of it can be estimated, or is refused.
void estimate(ModelSpec const& model, ClusterSpec const& cluster, FrameworkProfile const& framework) {
    ParallelPlan plan;
    plan.dp = 2;
    Workload const workload{.sequence = 1024, .global_batch = 8};
    ClosedForm form(model, workload, cluster, framework, plan.precision);
    static_cast<void>(make_report(form, plan, default_memory_limit(cluster, framework)));
}

void model(std::string_view text) {
    ModelSpec const model = read_hf_config(text, "input");
    static_cast<void>(count_parameters(model));
    estimate(model, find_cluster("h100-sxm", ""), find_framework("megatron", ""));
}

void cluster(std::string_view text) {
    JsonDocument const document = JsonDocument::from_text(text, "input");
    estimate(gpt2(), read_cluster(ObjectReader(document)), find_framework("megatron", ""));
}

void framework(std::string_view text) {
    JsonDocument const document = JsonDocument::from_text(text, "input");
    estimate(gpt2(), find_cluster("h100-sxm", ""), read_framework(ObjectReader(document)));
}

void law(std::string_view text) { static_cast<void>(parse_fitted_law(text, "input")); }

void schedule(std::string_view text) { static_cast<void>(find_fault(parse_schedule_csv(text, "input"))); }

void trace(std::string_view text) { static_cast<void>(request_trace(parse_csv(text, "input"), 1 << 20)); }

void training(std::string_view text) { static_cast<void>(training_rows(parse_csv(text, "input"))); }

void kernels(std::string_view text) {
    CsvTable const table = parse_csv(text, "input");
    KernelTable const kind = kernel_table_of(table);
    for (CsvRecord const& record : table.records) {
        try {
            RowCells const cells(table, record);
            static_cast<void>(kind == KernelTable::bench ? bench_case(cells) : kernel_case(kind, cells));
        } catch (RowSkip const&) {  // one row less
        }
    }
}

void bench_rows(std::string_view text) { static_cast<void>(parse_bench_rows(text, "input")); }

void collectives(std::string_view text) {
    static_cast<void>(collective_measurements(parse_csv(text, "input"), nullptr));
}

void nccl_tests(std::string_view text) { static_cast<void>(read_nccl_tests_log(text, "input")); }

void gzip(std::string_view text) { static_cast<void>(gunzipped(text, "input", std::size_t{1} << 20)); }

void foreign_measurements(std::string_view text) {
    for (Importer const* importer : importers()) {
        try {
            ImportedTables const tables = importer->read(text, {.name = "input", .device = "H100"});
            static_cast<void>(products_csv(tables) + attention_csv(tables) + memory_csv(tables) +
                              collectives_csv(tables) + training_csv(tables) + serving_csv(tables));
        } catch (InputError const&) {  // the others are asked, too
        }
    }
}

template <ValidationKind kind>
void predicted(std::string_view text) {
    static_cast<void>(table_predictor(kind, "")(parse_csv(text, "input")));
}

void rl_rows(std::string_view text) { static_cast<void>(predict_rl_rows(parse_csv(text, "input"), 1, {})); }

void losses(std::string_view text) {
    CsvTable const table = parse_csv(text, "input");
    LossColumns columns;
    for (char const* part : {"parameters", "tokens", "flops", "loss", "batch", "learning_rate", "unique_tokens"})
        if (std::string const column = usual_column(table, part); !column.empty()) columns[part] = column;
    static_cast<void>(loss_table(table, columns, {}, {}));
}

/// Texts of options, one a line.
void quantities(std::string_view text) {
    for (std::size_t begin = 0; begin < text.size();) {
        std::size_t const end = std::min(text.find('\n', begin), text.size());
        std::string_view const line = text.substr(begin, end - begin);
        begin = end + 1;
        auto const attempt = [&](auto const& read) {
            try {
                static_cast<void>(read());
            } catch (InputError const&) {  // the others are asked, too
            }
        };
        attempt([&] { return human(parse_quantity<Seconds>(line, "input")); });
        attempt([&] { return human(parse_quantity<Bytes>(line, "input")); });
        attempt([&] { return human(parse_quantity<BytesPerSecond>(line, "input")); });
        attempt([&] { return human(parse_quantity<Dollars>(line, "input")); });
        attempt([&] { return length_distribution_from(line, "input").words(); });
        attempt([&] { return row_condition_from(line, "input"); });
        attempt([&] {
            return parse_memory_limit(line, find_cluster("h100-sxm", ""), find_framework("megatron", ""), "input");
        });
    }
}

/// Axes of a sweep, one a line, and the points that they make.
void axes(std::string_view text) {
    std::vector<cli::SweepAxis> axes;
    for (std::size_t begin = 0; begin < text.size();) {
        std::size_t const end = std::min(text.find('\n', begin), text.size());
        axes.push_back(cli::parse_axis(text.substr(begin, end - begin), "input"));
        begin = end + 1;
    }
    auto const groups = cli::axis_groups(axes, {}, "input");
    std::int64_t const points = cli::point_count(axes, groups);
    if (points > 0) static_cast<void>(cli::positions_at(axes, groups, points - 1));
}

void sweep_record(std::string_view text) {
    static_cast<void>(cli::read_record(JsonDocument::from_text(text, "input")).row_count());
}

/// Rows as a file of either format has them.
void sweep_rows(std::string_view text) {
    cli::SweepRecord record;
    record.axes = {{.name = "tp", .values = {"1", "2"}}};
    record.groups = {{0}};
    record.columns = {"iteration_time_s", "fits"};
    record.points = 2;
    for (std::size_t begin = 0; begin < text.size();) {
        std::size_t const end = std::min(text.find('\n', begin), text.size());
        std::string_view const line = text.substr(begin, end - begin);
        begin = end + 1;
        record.rows = line.starts_with('{') ? cli::RowFormat::jsonl : cli::RowFormat::csv;
        cli::SweepRow const row = cli::parse_row(record, line, "input");
        if (row.point >= 0 && row.point < record.points) static_cast<void>(cli::row_line(record, row));
    }
}

void toml(std::string_view text) { static_cast<void>(parse_toml(text, "input")); }
void megatron(std::string_view text) { static_cast<void>(import_megatron(text, "input", gpt2())); }
void deepspeed(std::string_view text) { static_cast<void>(import_deepspeed(text, "", "input", gpt2())); }
void torchtitan(std::string_view text) { static_cast<void>(import_torchtitan(text, "input", gpt2())); }
void accelerate(std::string_view text) { static_cast<void>(import_accelerate(text, "", "input", gpt2())); }

constexpr Reader list[] = {
    {"model", "models tests/data/hf_reference", model},
    {"accelerator", "hardware_profiles/accelerators", json<read_accelerator>},
    {"cluster", "hardware_profiles/clusters", cluster},
    {"framework", "hardware_profiles/frameworks", framework},
    {"engine", "hardware_profiles/engines", json<read_engine>},
    {"kernel-calibration", "hardware_profiles/calibrations/kernels", json<read_kernel_calibration>},
    {"network-calibration", "hardware_profiles/calibrations/networks", json<read_network_calibration>},
    {"law", "scaling_laws", law},
    {"plan", "", plan_document<cli::read_plan_document>},
    {"serving-plan", "", plan_document<cli::read_serve_plan_document>},
    {"schedule", "", schedule},
    {"trace", "", trace},
    {"training", "tests/data/train_excerpt.csv", training},
    {"kernels", "tests/data/gemm_excerpt.csv tests/data/attention_excerpt.csv tests/data/bench_host_rows.csv", kernels},
    {"bench-rows", "tests/data/bench_host_rows.csv", bench_rows},
    {"collectives", "tests/data/collectives_excerpt.csv", collectives},
    {"predicted-training", "tests/data/train_excerpt.csv", predicted<ValidationKind::train>},
    {"predicted-kernels", "tests/data/gemm_excerpt.csv tests/data/attention_excerpt.csv",
     predicted<ValidationKind::kernels>},
    {"predicted-collectives", "tests/data/collectives_excerpt.csv", predicted<ValidationKind::collectives>},
    {"predicted-serving", "tests/data/serving", predicted<ValidationKind::serving>},
    {"rl", "", rl_rows},
    {"losses", "tests/data/scaling", losses},
    {"quantities", "", quantities},
    {"axes", "", axes},
    {"sweep-record", "", sweep_record},
    {"sweep-rows", "", sweep_rows},
    {"nccl-tests", "", nccl_tests},
    {"gzip", "", gzip},
    {"import", "tests/data/gemm_excerpt.csv", foreign_measurements},
    {"toml", "", toml},
    {"megatron", "", megatron},
    {"deepspeed", "", deepspeed},
    {"torchtitan", "", torchtitan},
    {"accelerate", "", accelerate},
};

}  // namespace

std::span<Reader const> readers() { return list; }

void try_read(Reader const& reader, std::string_view text) {
    try {
        reader.read(text);
    } catch (InputError const&) {
    } catch (RowSkip const&) {
    }
}

}  // namespace sextant::fuzz
