#pragma once

#include "cli/sweep/question.hpp"
#include "core/json/object_reader.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sextant::cli {

/// Formats that rows are written in one by one, so that what was finished is there whatever happens.
enum class RowFormat : std::uint8_t { csv, jsonl };
char const* name_of(RowFormat format);

/// What a file of rows holds: lies beside it as FILE.sweep.json, and says whether a sweep may go on with it and whether
/// files belong together.
struct SweepRecord {
    std::string digest;   ///< of the question
    std::string command;  ///< as one would type it
    std::vector<SweepAxis> axes;
    std::vector<std::vector<std::size_t>> groups;
    std::vector<std::string> columns;
    std::vector<std::string> prices;  ///< `SweepQuestion::prices`
    RowFormat rows = RowFormat::csv;
    std::int64_t points = 0;  ///< of the whole grid
    std::int64_t shard = 1;   ///< of `shards`: has points shard - 1, shard - 1 + shards, ...
    std::int64_t shards = 1;

    [[nodiscard]] std::int64_t row_count() const { return (points - shard + shards) / shards; }
    [[nodiscard]] std::int64_t point_of(std::int64_t row) const { return shard - 1 + row * shards; }
};

SweepRecord record_of(SweepQuestion const& question);
/// The table that rows of this record go into.
SweepTable empty_table(SweepRecord const& record);

std::string record_path(std::string const& file);
/// @throws InputError: missing, not of this format, or contradicting itself.
SweepRecord read_record(std::string const& path);
SweepRecord read_record(JsonDocument const& document);
inline constexpr std::int64_t most_shards = 1'000'000;
void write_record(std::string const& path, SweepRecord const& record);

// Rows as lines of text: point, axes, status, columns, reason.

/// The first line of a file; empty for JSONL.
std::string header_line(SweepRecord const& record);
/// With its line end.
std::string row_line(SweepRecord const& record, SweepRow const& row);
/// What a whole line of this point begins with.
std::string row_beginning(SweepRecord const& record, std::int64_t point);
/// @param line without its end. @throws InputError naming `where`.
SweepRow parse_row(SweepRecord const& record, std::string_view line, std::string const& where);

}  // namespace sextant::cli
