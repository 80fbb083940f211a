#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "kernels/harness/row.hpp"

namespace sextant::bench {

enum class FileFormat { csv, jsonl };

std::string csv_header();
std::string csv_line(Row const& row);
std::string jsonl_line(Row const& row);

/// Rows of a CSV text (header by name, columns in any order, unknown ones ignored) or of JSON lines. A last line
/// without its line end is a row whose writing was interrupted and is left out.
/// @throws BadInput naming the line.
std::vector<Row> read_rows(std::string const& text, FileFormat format);
/// The same from a file; no rows when there is no such file.
std::vector<Row> read_row_file(std::string const& path, FileFormat format);

enum class Existing { refuse, append };

/// Appends rows, each flushed at once, so that an interrupted run keeps what it has measured. "-" is stdout.
class RowWriter {
public:
    /// With `append`, a line cut off by an interrupt is removed first.
    /// @throws BadInput when the file cannot be written, exists and is not empty under `refuse`, or holds under
    /// `append` something else than rows as they are written here: nobody's file is added to.
    RowWriter(std::string const& path, FileFormat format, Existing existing);
    ~RowWriter();
    RowWriter(RowWriter const&) = delete;
    RowWriter& operator=(RowWriter const&) = delete;
    void write(Row const& row);  ///< @throws CannotWrite; what was written before is whole

private:
    void put(std::string const& line);

    std::FILE* file_;
    std::string path_;
    FileFormat format_;
};

}  // namespace sextant::bench
