#include "planner/tables/serving_rows.hpp"

#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/hourly_price.hpp"
#include "core/spec/model_catalog.hpp"

#include <array>

namespace sextant {
namespace {

struct Served {
    char const* model;
    std::int64_t tp;
    char const* weights;
};

constexpr std::array served{Served{"llama-3.1-8b", 1, "bf16"}, Served{"llama-3.1-8b", 1, "fp8"},
                            Served{"llama-3.1-70b", 4, "bf16"}, Served{"llama-3.1-70b", 4, "fp8"},
                            Served{"deepseek-v3", 8, "fp8-block"}};
constexpr std::array<char const*, 6> machines{"a100-sxm-80gb", "h100-sxm",    "h200-sxm",
                                              "b200-sxm",      "gb200-nvl72", "mi300x"};
constexpr std::array<double, 2> concurrencies{16, 128};

void evaluate(ServedTableRow& row) {
    try {
        ServingMemory const memory = serving_memory(row.what);
        RequestShape const request = serving_table_request();
        if (largest_batch(row.what, memory, request.prompt + request.output) < 1) {
            row.missing = fmt::format("does not fit: weights {} of {}", human(memory.weights), human(memory.usable));
            return;
        }
        row.estimate = closed_loop(IterationModel(row.what), request, row.concurrency);
        if (auto const price = hourly_price(row.what.cluster))
            row.million_tokens_dollars = price->value * static_cast<double>(row.what.plan.accelerators()) / 3600 /
                                         row.estimate->output_tokens_per_s * 1e6;
    } catch (InputError const& error) {
        row.missing = error.what();
    }
}

}  // namespace

RequestShape serving_table_request() { return {.prompt = 2000, .output = 300, .cached = 0}; }

std::vector<ServedTableRow> serving_rows() {
    std::vector<ServedTableRow> rows;
    for (Served const& each : served)
        for (char const* const machine : machines)
            for (double const concurrency : concurrencies) {
                ServedTableRow row;
                row.what.model = find_model(each.model);
                row.what.cluster = find_cluster(machine, "tables");
                row.what.engine = find_engine("vllm", "tables");
                row.concurrency = concurrency;
                row.what.plan.tp = each.tp;
                row.what.plan.weights = each.weights;
                evaluate(row);
                rows.push_back(std::move(row));
            }
    return rows;
}

}  // namespace sextant
