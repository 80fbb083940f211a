#include "simulator/lane_writer.hpp"

#include "core/error.hpp"
#include "simulator/rank_activity.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sextant {
namespace {

/// A normal deviate that is the same on every platform (Box and Muller, 1958).
double normal(std::mt19937_64& random) {
    double const u = (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53;
    double const v = static_cast<double>(random() >> 11) * 0x1p-53;
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

void append(LaneTasks& to, LaneTasks const& tasks) { to.insert(to.end(), tasks.begin(), tasks.end()); }

}  // namespace

LaneWriter::LaneWriter(Shape const& shape, StepProgram& program, double jitter, std::uint64_t seed)
    : shape_(shape), program_(program), jitter_(jitter), random_(seed) {
    auto const ranks = static_cast<std::size_t>(shape.stages * shape.lanes);
    lanes_.resize(ranks);
    speed_.assign(ranks, 1.0);
    for (Lane& lane : lanes_)
        lane.last.fill(-1);
    for (std::int64_t stage = 0; stage < shape.stages; ++stage)
        for (std::int64_t lane = 0; lane < shape.lanes; ++lane)
            graph_.ranks.push_back({.rank = stage * shape.width + lane,
                                    .pipeline = stage,
                                    .stands_for = shape.lanes == 1 ? shape.width : 1});
}

double LaneWriter::noisy(ProgramItem const& item, std::size_t lane) {
    double const duration = item.duration * speed_[lane];
    if (jitter_ == 0) return duration;
    double const variance = std::log1p(std::expm1(jitter_ * jitter_) * item.concentration);
    return duration * std::exp(std::sqrt(variance) * normal(random_) - variance / 2);
}

/// Adds the task with what `waiting_` has collected.
std::uint32_t LaneWriter::add(Task task, ProgramItem const& item, SlotTag const& tag) {
    if (static_cast<std::int64_t>(graph_.tasks.size()) >= shape_.most_tasks)
        throw InputError(
            "simulation: more than {} tasks (a coarser --granularity, fewer microbatches, or ranks folded keep it "
            "smaller)",
            shape_.most_tasks);
    std::sort(waiting_.begin(), waiting_.end());
    waiting_.erase(std::unique(waiting_.begin(), waiting_.end()), waiting_.end());
    task.first_dependency = static_cast<std::uint32_t>(graph_.dependencies.size());
    append(graph_.dependencies, waiting_);
    waiting_.clear();
    task.name = item.name;
    task.part = item.part;
    task.stage = tag.stage;
    task.microbatch = tag.microbatch;
    task.pass = tag.pass;
    graph_.tasks.push_back(task);
    return static_cast<std::uint32_t>(graph_.tasks.size() - 1);
}

std::int64_t LaneWriter::groups_of(std::int16_t group) const {
    if (group < 0 || shape_.lanes == 1) return shape_.lanes;
    return shape_.lanes / program_.groups[static_cast<std::size_t>(group)].size;
}

LaneWriter::Members LaneWriter::members_of(std::int16_t group, std::int64_t ordinal) const {
    if (group < 0 || shape_.lanes == 1) return {.first = ordinal};
    ProgramGroup const& g = program_.groups[static_cast<std::size_t>(group)];
    return {.first = ordinal / g.stride * g.stride * g.size + ordinal % g.stride, .count = g.size, .stride = g.stride};
}

std::int32_t LaneWriter::demand_of(std::int16_t group, std::int64_t rank, std::int64_t ordinal) {
    auto const [found, is_new] = demands_.try_emplace({group, rank}, static_cast<std::int32_t>(graph_.demands.size()));
    if (is_new) {
        ProgramGroup const& g = program_.groups[static_cast<std::size_t>(group)];
        for (std::int64_t i = 0; i < groups_of(group); ++i) {
            NetworkDemand demand{.kind = g.kind, .group = g.group, .members = {}, .shares = g.shares};
            Members const m = members_of(group, i);
            for (std::int64_t k = 0; k < m.count; ++k)
                demand.members.push_back(static_cast<std::int32_t>(index(rank, m.first + k * m.stride)));
            graph_.demands.push_back(std::move(demand));
        }
    }
    return found->second + static_cast<std::int32_t>(ordinal);
}

void LaneWriter::run_item(std::int64_t rank, ProgramItem const& item, Stream stream, SlotTag const& tag) {
    for (std::int64_t g = 0; g < groups_of(item.group); ++g) {
        Members const m = members_of(item.group, g);
        for (std::int64_t k = 0; k < m.count; ++k)
            append(waiting_, lanes_[index(rank, m.first + k * m.stride)].tail);
        std::size_t const first = index(rank, m.first);
        bool const computes = stream == Stream::compute && !is_communication(item.part);
        Task task{.duration = computes ? noisy(item, first) : item.duration,
                  .latency = item.latency,
                  .rank = static_cast<std::int32_t>(first),
                  .demand = item.group < 0 ? -1 : demand_of(item.group, rank, g),
                  .stream = stream};
        std::uint32_t const id = add(task, item, tag);
        for (std::int64_t k = 0; k < m.count; ++k) {
            Lane& lane = lanes_[index(rank, m.first + k * m.stride)];
            lane.tail.assign(1, id);
            lane.last[static_cast<std::size_t>(stream)] = id;
        }
    }
}

void LaneWriter::run(std::int64_t rank, Program const& program, SlotTag const& backward, SlotTag const& forward) {
    auto const tag_of = [&](ProgramItem const& item) -> SlotTag const& {
        return item.side == ProgramItem::Side::forward ? forward : backward;
    };
    std::vector<std::pair<std::size_t, LaneTasks>> running;  // item after which they are joined
    std::size_t next = 0;
    for (std::size_t i = 0; i < program.items.size(); ++i) {
        for (; next < program.overlaps.size() && program.overlaps[next].start == i; ++next) {
            ProgramOverlap const& overlap = program.overlaps[next];
            running.emplace_back(overlap.join,
                                 beside(rank, overlap.item, Stream::overlapped, tail(rank), tag_of(overlap.item)));
        }
        ProgramItem const& item = program.items[i];
        run_item(rank, item, item.is_compute() ? Stream::compute : Stream::layer_communication, tag_of(item));
        std::erase_if(running, [&](auto const& entry) {
            if (entry.first != i) return false;
            wait_for(rank, entry.second);
            return true;
        });
    }
}

LaneTasks LaneWriter::beside(std::int64_t rank, ProgramItem const& item, Stream stream,
                             std::span<LaneTasks const> after, SlotTag const& tag) {
    LaneTasks tasks(static_cast<std::size_t>(shape_.lanes));
    auto const s = static_cast<std::size_t>(stream);
    for (std::int64_t g = 0; g < groups_of(item.group); ++g) {
        Members const m = members_of(item.group, g);
        for (std::int64_t k = 0; k < m.count; ++k) {
            std::int64_t const lane = m.first + k * m.stride;
            if (!after.empty()) append(waiting_, after[static_cast<std::size_t>(lane)]);
            std::int64_t const last = lanes_[index(rank, lane)].last[s];
            if (last >= 0) waiting_.push_back(static_cast<std::uint32_t>(last));
        }
        Task const task{.duration = item.duration,
                        .latency = item.latency,
                        .rank = static_cast<std::int32_t>(index(rank, m.first)),
                        .demand = item.group < 0 ? -1 : demand_of(item.group, rank, g),
                        .stream = stream};
        std::uint32_t const id = add(task, item, tag);
        for (std::int64_t k = 0; k < m.count; ++k) {
            std::int64_t const lane = m.first + k * m.stride;
            lanes_[index(rank, lane)].last[s] = id;
            tasks[static_cast<std::size_t>(lane)] = id;
        }
    }
    return tasks;
}

bool LaneWriter::leaves(std::int64_t size, std::int64_t from, std::int64_t to, std::int64_t lane) const {
    if (size == 0) return false;
    std::int64_t const end = shape_.lanes == 1 ? shape_.width : lane + 1;
    for (std::int64_t l = lane; l < end; ++l)
        if ((from * shape_.width + l) / size != (to * shape_.width + l) / size) return true;
    return false;
}

void LaneWriter::send(std::int64_t from, std::int64_t to, ProgramItem const& item, Nearer const& nearer,
                      SlotTag const& tag) {
    for (std::int64_t lane = 0; lane < shape_.lanes; ++lane) {
        std::size_t const source = index(from, lane);
        std::size_t const destination = index(to, lane);
        auto const [found, is_new] =
            pipeline_demands_.try_emplace({source, destination}, static_cast<std::int32_t>(graph_.demands.size()));
        if (is_new) {
            std::int16_t const group = leaves(shape_.pod, from, to, lane)      ? item.group
                                       : leaves(shape_.domain, from, to, lane) ? nearer.in_pod
                                                                               : nearer.in_domain;
            graph_.demands.push_back(
                {.kind = CollectiveKind::send_receive,
                 .group = GroupKind::pipeline,
                 .members = {static_cast<std::int32_t>(source), static_cast<std::int32_t>(destination)},
                 .shares = program_.groups[static_cast<std::size_t>(group)].shares});
        }
        append(waiting_, lanes_[source].tail);
        std::uint32_t const id = add({.duration = item.duration,
                                      .latency = item.latency,
                                      .rank = static_cast<std::int32_t>(source),
                                      .demand = found->second,
                                      .stream = Stream::pipeline},
                                     item, tag);
        lanes_[source].tail.assign(1, id);
        lanes_[source].last[static_cast<std::size_t>(Stream::pipeline)] = id;
    }
}

std::vector<LaneTasks> LaneWriter::tail(std::int64_t rank) const {
    std::vector<LaneTasks> tails;
    for (std::int64_t lane = 0; lane < shape_.lanes; ++lane)
        tails.push_back(lanes_[index(rank, lane)].tail);
    return tails;
}

void LaneWriter::wait_for(std::int64_t rank, std::span<LaneTasks const> tasks) {
    for (std::int64_t lane = 0; lane < shape_.lanes; ++lane)
        append(lanes_[index(rank, lane)].tail, tasks[static_cast<std::size_t>(lane)]);
}

void LaneWriter::wait_for(std::int64_t rank, LaneTasks const& one_per_lane) {
    for (std::int64_t lane = 0; lane < shape_.lanes; ++lane)
        lanes_[index(rank, lane)].tail.push_back(one_per_lane[static_cast<std::size_t>(lane)]);
}

void LaneWriter::wait_for_stream(std::int64_t rank, Stream stream) {
    for (std::int64_t lane = 0; lane < shape_.lanes; ++lane) {
        Lane& state = lanes_[index(rank, lane)];
        std::int64_t const last = state.last[static_cast<std::size_t>(stream)];
        if (last >= 0) state.tail.push_back(static_cast<std::uint32_t>(last));
    }
}

void LaneWriter::barrier(std::string_view name) {
    for (Lane const& lane : lanes_)
        append(waiting_, lane.tail);
    ProgramItem const item{.name = program_.name(name), .part = TaskPart::fixed};
    std::uint32_t const id = add({.stream = Stream::compute}, item, {});
    for (Lane& lane : lanes_)
        lane.tail.assign(1, id);
}

TaskGraph LaneWriter::finish() {
    graph_.names = program_.names;
    return std::move(graph_);
}

}  // namespace sextant
