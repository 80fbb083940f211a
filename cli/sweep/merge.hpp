#pragma once

#include "cli/sweep/output.hpp"

#include <string>
#include <vector>

namespace sextant::cli {

/// The files of a sweep's shards, checked: one sweep, every shard there once and finished.
class ShardFiles {
public:
    /// Reads the record beside each file, and goes through its rows.
    /// @throws InputError: no record, of another sweep, a shard twice or missing, rows missing.
    explicit ShardFiles(std::vector<std::string> const& files);

    /// Of the whole sweep.
    [[nodiscard]] SweepRecord const& record() const { return whole_; }
    /// Every row in the order of the points, as it is written in its file.
    void for_each_line(std::function<void(std::string_view line, SweepRecord const& record)> const& visit) const;

private:
    std::vector<std::string> files_;  ///< by shard
    std::vector<SweepRecord> records_;
    SweepRecord whole_;
};

}  // namespace sextant::cli
