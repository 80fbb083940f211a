#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace sextant::cli {

struct CommandContext;

/// How far a sweep is, on standard error: one line that is written over on a terminal, a line every ten seconds
/// elsewhere. A host that listens gets the line five times a second.
///
///     sweep: 1,234 of 10,000 points (12 %), 3 failed, 1,900 a second, 5 s left
class SweepProgress {
public:
    enum class Where : std::uint8_t { nowhere, terminal, log, host };

    /// @param done points that were there from before.
    SweepProgress(CommandContext& context, Where where, std::int64_t points, std::int64_t done);

    void advance(bool failed);
    /// Writes the line when it is time.
    void show();
    /// Writes it now, for the last time, if it was ever shown.
    void finish();

private:
    using Clock = std::chrono::steady_clock;
    [[nodiscard]] std::string line(Clock::time_point now) const;

    CommandContext& context_;
    Where where_;
    std::int64_t points_;
    std::int64_t before_;
    std::int64_t done_;
    std::int64_t failed_ = 0;
    Clock::time_point started_;
    Clock::time_point shown_;
};

/// 1234567 as "1,234,567".
std::string grouped(std::int64_t count);

}  // namespace sextant::cli
