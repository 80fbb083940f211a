#pragma once

#include "core/measurements/row_cells.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// One row of a table of serving measurements, as its source states it. Columns: docs/validation.md.
struct ServingRow {
    std::string source_id;
    std::string model;
    std::string gpu;
    std::optional<std::int64_t> num_gpus;
    std::optional<std::int64_t> tp;
    std::optional<std::int64_t> pp;
    std::optional<std::int64_t> ep;
    std::optional<std::int64_t> dp;
    std::string engine;
    std::string engine_version;
    std::string weight_dtype;
    std::string kv_dtype;
    std::optional<double> input_len;
    std::optional<double> output_len;
    std::optional<double> concurrency;
    std::optional<double> request_rate;
    bool unlimited_rate = false;  ///< "INF": all requests are there from the beginning
    bool mixed_rate = false;      ///< "mixed": several rates one after the other
    std::optional<double> output_tokens_per_s;
    std::optional<double> total_tokens_per_s;  ///< prompts and answers
    std::optional<double> requests_per_s;
    std::optional<double> ttft_ms;
    std::optional<double> tpot_ms;
    std::optional<double> e2e_ms;
    std::string algorithm;  ///< "GRPO": the row is a step of reinforcement learning
    std::string notes;

    /// Whether the notes have this word; in lower case.
    [[nodiscard]] bool notes_have(std::string_view word) const;
    /// The whole number that follows this word in the notes, and spaces.
    [[nodiscard]] std::optional<std::int64_t> noted(std::string_view word) const;
    /// Requests of the whole run, where the notes say how many: "1000 prompts", "num_prompts=1000"; not those of a
    /// product or a rate ("400 prompts x 10 users", "20 prompts/s").
    [[nodiscard]] std::optional<std::int64_t> prompts_sent() const;
    /// The second number of the engine's version: 6 of "0.6.3".
    [[nodiscard]] std::optional<std::int64_t> minor_version() const;
    /// The third one: 3 of "0.6.3.post1".
    [[nodiscard]] std::optional<std::int64_t> patch_version() const;
};

std::vector<std::string_view> serving_columns();

/// @throws RowSkip for a cell that is no number, negative or not finite.
ServingRow serving_row(RowCells const& cells);

}  // namespace sextant
