#include "cli/sweep/result_file.hpp"

#include "cli/options/file_lock.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace sextant::cli {
namespace {

bool exists(std::string const& path) {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored);
}

}  // namespace

ScannedRows scan_rows(std::string const& path, SweepRecord const& record,
                      std::function<void(SweepRow const& row)> const& seen) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw InputError("{}: cannot be read ({})", path, std::strerror(errno));
    ScannedRows scanned;
    std::string line;
    std::string header = header_line(record);
    if (!header.empty()) {
        header.pop_back();
        if (!std::getline(in, line) || in.eof()) return scanned;
        if (line != header) throw InputError("{}: line 1 is not the header of this sweep", path);
        scanned.end = static_cast<std::int64_t>(line.size()) + 1;
    }
    // A line without an end is torn: getline then meets the end of the file.
    while (scanned.rows < record.row_count() && std::getline(in, line) && !in.eof()) {
        if (!line.starts_with(row_beginning(record, record.point_of(scanned.rows)))) break;
        try {
            seen(parse_row(record, line, path));
        } catch (InputError const&) {
            break;  // the beginning of the row, and then something else
        }
        ++scanned.rows;
        scanned.end += static_cast<std::int64_t>(line.size()) + 1;
    }
    return scanned;
}

ResultFile::ResultFile(std::string path, SweepRecord record, Existing existing,
                       std::function<void(SweepRow const& row)> const& seen)
    : path_(std::move(path)), record_(std::move(record)) {
    try {
        open(existing);
        if (existing == Existing::resume) scan(seen);
        if (rows_ == 0) {
            // In this order: whenever it ends, no row is taken for one of another sweep.
            if (ftruncate(file_, 0) != 0 || lseek(file_, 0, SEEK_SET) < 0)
                throw InputError("{}: cannot be emptied ({})", path_, std::strerror(errno));
            write_record(record_path(path_), record_);
            append(header_line(record_));
        }
    } catch (...) {
        if (file_ >= 0) close(file_);
        throw;
    }
}

ResultFile::~ResultFile() { close(file_); }

void ResultFile::open(Existing existing) {
    bool const there = exists(path_);
    std::error_code ignored;
    if (std::filesystem::is_directory(path_, ignored))
        throw InputError("{}: is a folder (a file name is expected)", path_);
    require_folder_of(path_);
    if (there && existing == Existing::refuse)
        throw InputError("{}: exists (--resume goes on with it, --overwrite begins anew)", path_);
    if (there && existing == Existing::resume) check_record();
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file_ < 0) throw InputError("{}: cannot be written ({})", path_, std::strerror(errno));
    lock_file(file_, path_, "another sweep");
}

void ResultFile::check_record() const {
    std::string const beside = record_path(path_);
    if (!exists(beside))
        throw InputError("{}: has no {} beside it, so nobody knows what sweep it is of (--overwrite begins anew)",
                         path_, beside);
    SweepRecord const there = read_record(beside);
    if (there.digest != record_.digest)
        throw InputError(
            "{}: is of another sweep: other settings, columns, files or another version of the program "
            "(it was: {}; --overwrite begins anew)",
            path_, there.command);
    if (there.shard != record_.shard || there.shards != record_.shards)
        throw InputError("{}: is of shard {}/{}, not {}/{} (--overwrite begins anew)", path_, there.shard, there.shards,
                         record_.shard, record_.shards);
    if (there.rows != record_.rows)
        throw InputError("{}: has rows of {}, not {} (--overwrite begins anew)", path_, name_of(there.rows),
                         name_of(record_.rows));
}

void ResultFile::scan(std::function<void(SweepRow const& row)> const& seen) {
    ScannedRows const scanned = scan_rows(path_, record_, seen);
    rows_ = scanned.rows;
    if (ftruncate(file_, scanned.end) != 0 || lseek(file_, 0, SEEK_END) < 0)
        throw InputError("{}: its torn last line cannot be cut off ({})", path_, std::strerror(errno));
}

void ResultFile::append(std::string_view lines) {
    while (!lines.empty()) {
        ssize_t const written = write(file_, lines.data(), lines.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) throw InputError("{}: cannot be written ({})", path_, std::strerror(errno));
        lines.remove_prefix(static_cast<std::size_t>(written));
    }
}

}  // namespace sextant::cli
