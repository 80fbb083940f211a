#pragma once

#include "simulator/link_series.hpp"
#include "simulator/memory_timeline.hpp"

#include <atomic>
#include <iosfwd>
#include <span>
#include <string>

namespace sextant {

/// What a trace shows.
struct TraceInput {
    TaskGraph const& graph;
    TaskTimes const& times;
    std::string title{};
    std::span<MemoryTimeline const> memory{};  ///< by simulated rank, or none
    std::span<LinkSeries const> links{};
    std::atomic<bool> const* stop = nullptr;  ///< set by an interrupt
};

enum class TraceEnd { complete, interrupted };

/// Writes the step as JSON in Chrome's trace format, which Perfetto (ui.perfetto.dev) and chrome://tracing open.
///
/// A process per simulated rank ("rank 12, stage 3 (stands for 128 ranks)") with a thread per stream; one complete
/// event per task, on every member of its group, with its part as category and stage, microbatch, pass and the time
/// alone as arguments; a flow arrow from what made the data of a transfer between two ranks over the transfer to what
/// waits for it; counters for memory and links. Times in microseconds, to the nanosecond (as fine as Perfetto keeps
/// them). Tasks of one stream that overlap anyway get threads of their own, so that no two events of a thread overlap.
///
/// Same input, same bytes. Stops early when the stream fails (the caller sees its state) or `stop` is set: what was
/// written until then is no JSON.
/// Source: "Trace Event Format", Google, document CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
TraceEnd write_chrome_trace(std::ostream& out, TraceInput const& input);

}  // namespace sextant
