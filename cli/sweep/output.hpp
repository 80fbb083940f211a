#pragma once

#include "cli/command.hpp"
#include "cli/sweep/result_file.hpp"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace sextant::cli {

/// Formats of a sweep: rows one by one (csv, jsonl), or the whole at the end.
enum class SweepFormat : std::uint8_t { text, csv, jsonl, json, markdown, html };

/// The format of that name; without a name that of the file's ending, csv for another ending, text without a file.
/// @throws InputError naming the formats.
SweepFormat sweep_format(std::string const& name, std::string const& file);
inline bool is_streamed(SweepFormat format) { return format == SweepFormat::csv || format == SweepFormat::jsonl; }

/// A whole table in a format that is not streamed.
std::string sweep_report(SweepTable const& table, SweepFormat format);

/// Rows that a report holds in memory, and figures that a sensitivity stands on: at most so many.
inline constexpr std::int64_t most_kept_rows = 1'000'000;
inline constexpr std::int64_t most_sensitivity_points = 20'000'000;

/// What becomes of the rows of a sweep: into a file or to standard output as they come, or into a table; and, if
/// asked for, what a sensitivity needs of them.
class SweepOutput {
public:
    enum class End : std::uint8_t { complete, interrupted };
    struct Options {
        SweepFormat format = SweepFormat::text;
        std::string file;  ///< empty: standard output
        Existing existing = Existing::refuse;
        std::string sensitivity;  ///< a column, or empty
    };
    /// Opens the file. @throws InputError: what ResultFile throws, more rows than are kept.
    SweepOutput(SweepRecord record, Options options, CommandContext& context);

    /// Rows that the file had.
    [[nodiscard]] std::int64_t rows_before() const { return file_ ? file_->rows() : 0; }
    void add(SweepRow&& row);
    /// Passes on what was added.
    void flush();
    /// The table and the sensitivity, where they belong.
    void finish(End end);

    struct Counts {
        std::int64_t done = 0;
        std::int64_t answer_is_no = 0;
        std::int64_t failed = 0;
    };
    [[nodiscard]] Counts const& counts() const { return counts_; }

private:
    void note(SweepRow const& row);

    SweepRecord record_;
    Options options_;
    CommandContext& context_;
    std::unique_ptr<ResultFile> file_;
    std::string lines_;
    SweepTable table_;
    std::size_t metric_ = 0;  ///< place of the column
    std::vector<double> figures_;
    Counts counts_;
};

/// The figure in a cell, or NaN.
double figure_in(SweepCell const& cell);

}  // namespace sextant::cli
