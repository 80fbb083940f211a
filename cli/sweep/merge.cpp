#include "cli/sweep/merge.hpp"

#include "cli/sweep/progress.hpp"
#include "core/error.hpp"
#include "core/nearest.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <optional>

namespace sextant::cli {
namespace {

void check_same_sweep(SweepRecord const& a, std::string const& file_a, SweepRecord const& b,
                      std::string const& file_b) {
    if (a.digest != b.digest)
        throw InputError("{}: is of another sweep than {} ({}; {})", file_b, file_a, b.command, a.command);
    if (a.shards != b.shards)
        throw InputError("{}: is one of {} shards, {} one of {}", file_b, b.shards, file_a, a.shards);
    if (a.rows != b.rows)
        throw InputError("{}: has rows of {}, {} of {}", file_b, name_of(b.rows), file_a, name_of(a.rows));
}

void refuse_without_record(std::string const& file) {
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored))
        throw InputError("{}: there is no such file (IN are the files of the shards, behind OUT)", file);
    if (!std::filesystem::exists(record_path(file), ignored))
        throw InputError(
            "{}: is no file of a sweep, or was moved without its record ('sextant sweep --output' writes {} "
            "beside it)",
            file, record_path(file));
}

void check_finished(std::string const& file, SweepRecord const& record) {
    ScannedRows const scanned = scan_rows(file, record, [](SweepRow const&) {});
    if (scanned.rows < record.row_count())
        throw InputError("{}: has {} of {} rows (finish it with --resume)", file, grouped(scanned.rows),
                         grouped(record.row_count()));
}

void refuse_missing(std::vector<std::string> const& files) {
    std::vector<std::string> missing;
    for (std::size_t i = 0; i < files.size(); ++i)
        if (files[i].empty()) missing.push_back(fmt::format("{}/{}", i + 1, files.size()));
    if (missing.empty()) return;
    constexpr std::size_t shown = 10;
    std::size_t const count = missing.size();
    if (count > shown) missing.resize(shown);
    throw InputError("merge: {} of {} shards {} missing ({}{})", count, files.size(), count == 1 ? "is" : "are",
                     join(missing), count > shown ? ", ..." : "");
}

}  // namespace

ShardFiles::ShardFiles(std::vector<std::string> const& files) {
    std::optional<SweepRecord> first;
    for (std::string const& file : files) {
        refuse_without_record(file);
        SweepRecord record = read_record(record_path(file));
        if (!first) {
            first = record;
            files_.resize(static_cast<std::size_t>(record.shards));
            records_.resize(files_.size());
        }
        check_same_sweep(*first, files.front(), record, file);
        auto const place = static_cast<std::size_t>(record.shard - 1);
        if (!files_[place].empty())
            throw InputError("{}: is shard {}/{}, as {} is", file, record.shard, record.shards, files_[place]);
        files_[place] = file;
        records_[place] = std::move(record);
    }
    if (!first) throw InputError("merge: no file to merge is named");
    refuse_missing(files_);
    for (std::size_t i = 0; i < files_.size(); ++i)
        check_finished(files_[i], records_[i]);
    whole_ = *first;
    whole_.shard = whole_.shards = 1;
}

void ShardFiles::for_each_line(
    std::function<void(std::string_view line, SweepRecord const& record)> const& visit) const {
    std::vector<std::ifstream> in;
    std::string line;
    for (std::string const& file : files_) {
        in.emplace_back(file, std::ios::binary);
        if (!in.back()) throw InputError("{}: cannot be opened (too many files at once? merge fewer shards)", file);
        if (whole_.rows == RowFormat::csv) std::getline(in.back(), line);
    }
    for (std::int64_t point = 0; point < whole_.points; ++point) {
        auto const shard = static_cast<std::size_t>(point % static_cast<std::int64_t>(files_.size()));
        if (!std::getline(in[shard], line))
            throw InputError("{}: ends early (was it changed meanwhile?)", files_[shard]);
        visit(line, records_[shard]);
    }
}

}  // namespace sextant::cli
