#pragma once

#include "cli/sweep/record.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace sextant::cli {

/// What to do with a file that is there already.
enum class Existing : std::uint8_t { refuse, resume, overwrite };

/// A growing file of rows in the order of their points, with its record beside it. Rows reach the system as they are
/// appended, so a killed sweep leaves whole rows and at most one torn line, which the next one cuts off.
///
/// The record is written before the first row; the file is locked while this lives.
class ResultFile {
public:
    /// Begins the file, or goes on with it. @param seen gets every whole row that is there.
    /// @throws InputError: there and not to be touched, of another sweep, shard or format, in use, not to be written.
    ResultFile(std::string path, SweepRecord record, Existing existing,
               std::function<void(SweepRow const& row)> const& seen);
    ~ResultFile();
    ResultFile(ResultFile const&) = delete;
    ResultFile& operator=(ResultFile const&) = delete;

    /// Rows that were there.
    [[nodiscard]] std::int64_t rows() const { return rows_; }
    /// Whole lines. @throws InputError when they cannot be written.
    void append(std::string_view lines);

private:
    void open(Existing existing);
    void check_record() const;
    void scan(std::function<void(SweepRow const& row)> const& seen);

    std::string path_;
    SweepRecord record_;
    int file_ = -1;
    std::int64_t rows_ = 0;
};

/// Calls `seen` with every whole row of a finished or unfinished file, in order; stops at the first line that is not
/// the row it should be. Returns how many there were and where the last one ends.
struct ScannedRows {
    std::int64_t rows = 0;
    std::int64_t end = 0;  ///< bytes from the start
};
ScannedRows scan_rows(std::string const& path, SweepRecord const& record,
                      std::function<void(SweepRow const& row)> const& seen);

}  // namespace sextant::cli
