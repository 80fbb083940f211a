#pragma once

#include "core/csv.hpp"
#include "core/csv_records.hpp"

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

namespace sextant {

/// A CSV file of any length, read a part at a time: memory for one part, whatever the file's size. The same rules as
/// those of `read_csv`, and a limit on one record instead of one on the file.
class CsvStream {
public:
    static constexpr std::size_t longest_record = std::size_t{16}
                                                  << 20;  ///< bytes; an open quote eats all that follows

    /// Opens the file and reads its header. @throws InputError as `read_csv`.
    explicit CsvStream(std::string path);
    CsvStream(CsvStream const&) = delete;
    CsvStream& operator=(CsvStream const&) = delete;

    [[nodiscard]] std::string const& name() const { return name_; }
    [[nodiscard]] std::vector<std::string> const& header() const { return header_; }

    /// The next records as a table with the file's name and header, at most `rows` of them; none at the end.
    /// @throws InputError as `read_csv`, and for a record of more than `longest_record` bytes.
    CsvTable next(std::size_t rows);

private:
    std::optional<CsvRecord> next_record();
    bool read_on();

    std::string name_;
    std::ifstream file_;
    std::string text_;
    CsvRecords records_;
    std::vector<std::string> header_;
};

}  // namespace sextant
