#include "tests/fuzz/readers.hpp"

#include "calibrate/collective_measurement.hpp"
#include "calibrate/import/importer.hpp"
#include "calibrate/import/nccl_tests_log.hpp"
#include "cli/export/plan_file.hpp"
#include "core/csv.hpp"
#include "core/error.hpp"
#include "core/json/object_reader.hpp"
#include "core/measurements/bench_row.hpp"
#include "core/measurements/kernel_row.hpp"
#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_json.hpp"
#include "core/spec/hf_config.hpp"
#include "core/spec/kernel_calibration.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/network_calibration.hpp"
#include "core/spec/parameters.hpp"
#include "core/toml.hpp"
#include "cost_models/scaling/fitted_law.hpp"
#include "planner/importers/foreign_plan.hpp"
#include "planner/validation/training_row.hpp"
#include "simulator/schedules/schedule_check.hpp"
#include "simulator/schedules/schedule_csv.hpp"
#include "simulator/serving/request_trace.hpp"

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

void model(std::string_view text) { static_cast<void>(count_parameters(read_hf_config(text, "input"))); }

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

void foreign_measurements(std::string_view text) {
    for (Importer const* importer : importers()) {
        try {
            ImportedTables const tables = importer->read(text, {.name = "input", .device = "H100"});
            static_cast<void>(products_csv(tables) + attention_csv(tables) + memory_csv(tables) +
                              collectives_csv(tables));
        } catch (InputError const&) {  // the others are asked, too
        }
    }
}

ModelSpec const& gpt2() {
    static ModelSpec const model = find_model("gpt2");
    return model;
}

void toml(std::string_view text) { static_cast<void>(parse_toml(text, "input")); }
void megatron(std::string_view text) { static_cast<void>(import_megatron(text, "input", gpt2())); }
void deepspeed(std::string_view text) { static_cast<void>(import_deepspeed(text, "", "input", gpt2())); }
void torchtitan(std::string_view text) { static_cast<void>(import_torchtitan(text, "input", gpt2())); }

constexpr Reader list[] = {
    {"model", "models tests/data/hf_reference", model},
    {"accelerator", "hardware_profiles/accelerators", json<read_accelerator>},
    {"cluster", "hardware_profiles/clusters", json<read_cluster>},
    {"framework", "hardware_profiles/frameworks", json<read_framework>},
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
    {"nccl-tests", "", nccl_tests},
    {"import", "tests/data/gemm_excerpt.csv", foreign_measurements},
    {"toml", "", toml},
    {"megatron", "", megatron},
    {"deepspeed", "", deepspeed},
    {"torchtitan", "", torchtitan},
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
