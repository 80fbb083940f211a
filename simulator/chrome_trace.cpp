#include "simulator/chrome_trace.hpp"

#include "simulator/rank_activity.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <ostream>

namespace sextant {
namespace {

using Nanoseconds = std::int64_t;

Nanoseconds nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

/// A string literal of JSON. Control characters become escapes, bytes that are not UTF-8 question marks.
std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (std::size_t i = 0; i < text.size(); ++i) {
        auto const byte = static_cast<unsigned char>(text[i]);
        if (byte == '"' || byte == '\\') {
            out += '\\';
            out += text[i];
        } else if (byte < 0x20) {
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(byte));
        } else if (byte < 0x80) {
            out += text[i];
        } else {
            std::size_t const length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
            bool good = byte >= 0xC2 && byte <= 0xF4 && i + length <= text.size();
            for (std::size_t k = 1; good && k < length; ++k)
                good = (static_cast<unsigned char>(text[i + k]) & 0xC0U) == 0x80U;
            if (good) {
                out += text.substr(i, length);
                i += length - 1;
            } else {
                out += '?';
            }
        }
    }
    return out + "\"";
}

/// Collects events and hands them to the stream in large pieces.
class Writer {
public:
    Writer(std::ostream& out, std::atomic<bool> const* stop) : out_(out), stop_(stop) {}

    /// `format`: FMT_COMPILE(...); there are millions of events.
    template <class Format, class... Args>
    void event(Format const& format, Args const&... args) {
        if (failed_) return;
        if (!first_) buffer_.push_back(',');
        first_ = false;
        buffer_.push_back('\n');
        fmt::format_to(fmt::appender(buffer_), format, args...);
        if (buffer_.size() > piece) flush();
    }
    void raw(std::string_view text) { buffer_.append(text); }
    void flush() {
        if (!failed_) out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
        buffer_.clear();
        interrupted_ = stop_ != nullptr && stop_->load(std::memory_order_relaxed);
        failed_ = interrupted_ || !out_;
    }
    [[nodiscard]] TraceEnd end() const { return interrupted_ ? TraceEnd::interrupted : TraceEnd::complete; }

private:
    static constexpr std::size_t piece = std::size_t{1} << 16;
    std::ostream& out_;
    std::atomic<bool> const* stop_;
    fmt::memory_buffer buffer_;
    bool first_ = true;
    bool failed_ = false;
    bool interrupted_ = false;
};

/// Where on a rank a task is drawn: thread number and time.
struct Place {
    std::int32_t rank = -1;
    std::int32_t thread = 0;
};

/// Threads of one rank: for each stream as many as its tasks need not to overlap.
class Threads {
public:
    std::int32_t place(Stream stream, Nanoseconds start, Nanoseconds end) {
        auto& ends = ends_[static_cast<std::size_t>(stream)];
        std::size_t lane = 0;
        while (lane < ends.size() && ends[lane] > start)
            ++lane;
        if (lane == ends.size()) ends.push_back(0);
        ends[lane] = end;
        return number(static_cast<std::size_t>(stream), lane);
    }
    void write_names(Writer& writer, std::size_t rank) const {
        for (std::size_t stream = 0; stream < stream_count; ++stream)
            for (std::size_t lane = 0; lane < ends_[stream].size(); ++lane) {
                std::string name(name_of(static_cast<Stream>(stream)));
                if (lane > 0) name += fmt::format(" {}", lane + 1);
                std::int32_t const thread = number(stream, lane);
                writer.event(FMT_COMPILE(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":{}}}}})"),
                             rank + 1, thread, quoted(name));
                writer.event(
                    FMT_COMPILE(
                        R"({{"ph":"M","pid":{},"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}}}})"),
                    rank + 1, thread, thread);
            }
    }

private:
    static constexpr std::size_t room = 1000;  // threads of one stream
    static std::int32_t number(std::size_t stream, std::size_t lane) {
        return static_cast<std::int32_t>(stream * room + lane + 1);
    }
    std::array<std::vector<Nanoseconds>, stream_count> ends_;
};

/// Microseconds with three digits behind the point.
struct Microseconds {
    Nanoseconds whole;
    Nanoseconds rest;
    explicit Microseconds(Nanoseconds ns) : whole(ns / 1000), rest(ns % 1000) {}
};

void write_task(Writer& writer, Task const& task, Place place, Nanoseconds start, Nanoseconds end,
                std::string const& name) {
    Microseconds const ts(start);
    Microseconds const length(end - start);
    Microseconds const alone(nanoseconds(task.duration));
    writer.event(
        FMT_COMPILE(
            R"({{"ph":"X","pid":{},"tid":{},"ts":{}.{:03},"dur":{}.{:03},"name":{},"cat":"{}","args":{{"stage":{},"microbatch":{},"pass":"{}","alone_us":{}.{:03}}}}})"),
        place.rank + 1, place.thread, ts.whole, ts.rest, length.whole, length.rest, name, name_of(task.part),
        task.stage, task.microbatch, name_of(task.pass), alone.whole, alone.rest);
}

bool is_transfer(TaskGraph const& graph, Task const& task) {
    if (task.demand < 0) return false;
    NetworkDemand const& demand = graph.demands[static_cast<std::size_t>(task.demand)];
    return demand.kind == CollectiveKind::send_receive && demand.members.size() == 2 &&
           demand.members[0] != demand.members[1];
}

/// For each transfer between ranks the task on the other side that waits for it: the first that computes, else the
/// first. -1 for other tasks.
std::vector<std::int32_t> receivers(TaskGraph const& graph) {
    std::vector<std::int32_t> receiver(graph.tasks.size(), -1);
    for (std::size_t id = 0; id < graph.tasks.size(); ++id)
        for (std::uint32_t const before : graph.dependencies_of(id)) {
            Task const& sent = graph.tasks[before];
            if (!is_transfer(graph, sent) ||
                graph.tasks[id].rank != graph.demands[static_cast<std::size_t>(sent.demand)].members[1])
                continue;
            std::int32_t& known = receiver[before];
            if (known < 0 || (!computes(graph.tasks[static_cast<std::size_t>(known)]) && computes(graph.tasks[id])))
                known = static_cast<std::int32_t>(id);
        }
    return receiver;
}

class Arrows {
public:
    Arrows(TaskGraph const& graph, TaskTimes const& times)
        : graph_(graph), times_(times), places_(graph.tasks.size()) {}

    void placed(std::uint32_t id, Place place) {
        if (place.rank == graph_.tasks[id].rank) places_[id] = place;
    }

    void write(Writer& writer) const {
        auto const receiver = receivers(graph_);
        for (std::uint32_t id = 0; id < graph_.tasks.size(); ++id) {
            if (receiver[id] < 0 || !drawn(id)) continue;
            auto const to = static_cast<std::uint32_t>(receiver[id]);
            if (!drawn(to)) continue;
            std::int64_t const from = maker(id);
            if (from >= 0) {
                point(writer, 's', id, static_cast<std::uint32_t>(from), End::last);
                point(writer, 't', id, id, End::first);
            } else {
                point(writer, 's', id, id, End::last);
            }
            point(writer, 'f', id, to, End::first);
        }
    }

private:
    enum class End { first, last };

    [[nodiscard]] bool drawn(std::uint32_t id) const {
        return places_[id].rank >= 0 && nanoseconds(times_.end[id]) > nanoseconds(times_.start[id]);
    }
    /// The task of the sending rank that ended last before the transfer.
    [[nodiscard]] std::int64_t maker(std::uint32_t id) const {
        std::int64_t found = -1;
        for (std::uint32_t const before : graph_.dependencies_of(id))
            if (computes(graph_.tasks[before]) && graph_.tasks[before].rank == graph_.tasks[id].rank && drawn(before) &&
                (found < 0 || times_.end[before] > times_.end[static_cast<std::size_t>(found)]))
                found = before;
        return found;
    }
    /// An arrow is tied to the event that runs at its time: the last nanosecond of one, or its first.
    void point(Writer& writer, char phase, std::uint32_t flow, std::uint32_t id, End end) const {
        Microseconds const ts(end == End::first ? nanoseconds(times_.start[id]) : nanoseconds(times_.end[id]) - 1);
        writer.event(
            FMT_COMPILE(
                R"({{"ph":"{}","id":{},"pid":{},"tid":{},"ts":{}.{:03},"name":"transfer","cat":"transfer"{}}})"),
            phase, flow, places_[id].rank + 1, places_[id].thread, ts.whole, ts.rest,
            phase == 'f' ? R"(,"bp":"e")" : "");
    }

    TaskGraph const& graph_;
    TaskTimes const& times_;
    std::vector<Place> places_;  ///< on the task's own rank
};

std::string process_name(SimulatedRank const& rank) {
    std::string name = fmt::format("rank {}, stage {}", rank.rank, rank.pipeline);
    if (rank.stands_for > 1) name += fmt::format(" (stands for {} ranks)", rank.stands_for);
    return name;
}

void write_process(Writer& writer, std::size_t pid, std::string const& name) {
    writer.event(FMT_COMPILE(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}})"), pid, quoted(name));
    writer.event(FMT_COMPILE(R"({{"ph":"M","pid":{},"name":"process_sort_index","args":{{"sort_index":{}}}}})"), pid,
                 pid);
}

void write_memory(Writer& writer, std::size_t pid, MemoryTimeline const& timeline) {
    for (MemoryStep const& step : timeline.steps) {
        Microseconds const ts(nanoseconds(step.time));
        writer.event(FMT_COMPILE(R"({{"ph":"C","pid":{},"ts":{}.{:03},"name":"memory","args":{{"GB":{}}}}})"), pid,
                     ts.whole, ts.rest, step.bytes.in(units::GB));
    }
}

void write_links(Writer& writer, std::size_t pid, std::span<LinkSeries const> links) {
    if (links.empty()) return;
    write_process(writer, pid, "network");
    for (LinkSeries const& link : links) {
        std::string const name = quoted(fmt::format("{} (of {:.4g} GB/s)", link.name, link.bandwidth.base() / 1e9));
        for (LinkStep const& step : link.steps) {
            Microseconds const ts(nanoseconds(step.time));
            writer.event(FMT_COMPILE(R"({{"ph":"C","pid":{},"ts":{}.{:03},"name":{},"args":{{"GB/s":{}}}}})"), pid,
                         ts.whole, ts.rest, name, step.rate.base() / 1e9);
        }
    }
}

}  // namespace

TraceEnd write_chrome_trace(std::ostream& out, TraceInput const& input) {
    TaskGraph const& graph = input.graph;
    Writer writer(out, input.stop);
    writer.raw(R"({"displayTimeUnit":"ms","otherData":{"title":)" + quoted(input.title) + R"(},"traceEvents":[)");
    std::vector<std::string> names;
    for (std::string const& name : graph.names)
        names.push_back(quoted(name));
    TasksByRank const tasks(graph, input.times);
    Arrows arrows(graph, input.times);
    for (std::size_t rank = 0; rank < graph.ranks.size(); ++rank) {
        write_process(writer, rank + 1, process_name(graph.ranks[rank]));
        Threads threads;
        for (std::uint32_t const id : tasks[rank]) {
            Task const& task = graph.tasks[id];
            // A transfer is drawn where it is sent from: what a rank receives may overlap with what it sends.
            if (is_transfer(graph, task) && static_cast<std::size_t>(task.rank) != rank) continue;
            Nanoseconds const start = nanoseconds(input.times.start[id]);
            Nanoseconds const end = nanoseconds(input.times.end[id]);
            Place const place{static_cast<std::int32_t>(rank), threads.place(task.stream, start, end)};
            arrows.placed(id, place);
            write_task(writer, task, place, start, end, names[task.name]);
        }
        threads.write_names(writer, rank);
        if (rank < input.memory.size()) write_memory(writer, rank + 1, input.memory[rank]);
    }
    write_links(writer, graph.ranks.size() + 1, input.links);
    arrows.write(writer);
    writer.raw("\n]}\n");
    writer.flush();
    return writer.end();
}

}  // namespace sextant
