#include "core/csv_stream.hpp"

#include "core/error.hpp"
#include "core/json/open_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace sextant {

CsvStream::CsvStream(std::string path) : name_(std::move(path)), file_(open_text_file(name_)), records_(name_) {
    auto head = next_record();
    if (!head) throw InputError("{}: the file is empty (a header line is expected)", name_);
    header_ = column_names(std::move(head->cells));
    check_csv_header(header_, name_);
}

CsvTable CsvStream::next(std::size_t rows) {
    CsvTable part{.name = name_, .header = header_, .records = {}};
    while (part.records.size() < rows) {
        auto record = next_record();
        if (!record) break;
        check_csv_record(*record, header_.size(), name_);
        part.records.push_back(std::move(*record));
    }
    return part;
}

std::optional<CsvRecord> CsvStream::next_record() {
    while (true) {
        if (auto record = records_.next()) return record;
        if (!read_on()) return std::nullopt;
    }
}

/// Drops what is used of the text and appends the next bytes of the file, as many as are left of an unfinished record
/// so that a long one is not begun over and over. False when all of the file has been there.
bool CsvStream::read_on() {
    constexpr std::size_t least = std::size_t{256} << 10;
    if (!file_.is_open()) return false;
    text_.erase(0, records_.used());
    std::size_t const kept = text_.size();
    if (kept > longest_record)
        throw InputError("{}: line {}: a record of more than {} bytes (is a quote never closed?)", name_,
                         records_.line(), longest_record);
    text_.resize(kept + std::max(least, kept));
    errno = 0;
    file_.read(text_.data() + kept, static_cast<std::streamsize>(text_.size() - kept));
    text_.resize(kept + static_cast<std::size_t>(file_.gcount()));
    if (file_.bad()) throw InputError("{}: reading failed ({})", name_, std::strerror(errno));
    bool const ended = file_.eof();
    if (ended) file_.close();
    records_.set(text_, ended ? CsvRecords::Part::last : CsvRecords::Part::more_to_come);
    return true;
}

}  // namespace sextant
