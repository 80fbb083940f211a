#include "simulator/layered_passes.hpp"

#include <algorithm>
#include <string>

namespace sextant {
namespace {

using Moment = DataParallelMoment;

/// Time until a transfer and the compute beside it are both done, where the share `overlap` of what they have in common
/// is gained; the closed form's exposed time is what this exceeds `compute` by.
double stretched(double time, double compute, double overlap) {
    return compute > 0 ? std::max(time, compute) + (1 - overlap) * std::min(time, compute) : time;
}

/// Whether data parallelism calls for this block.
bool has_call(DataParallelCall const& call, ProgramUnit const& unit) {
    if (unit.kind == ProgramUnit::Kind::end) return false;
    return call.group != GroupKind::expert_data || unit.kind == ProgramUnit::Kind::moe_layer;
}

double time_at(DataParallelCalls const& calls, Moment moment, ProgramUnit const& unit) {
    double total = 0;
    for (DataParallelCall const& call : calls)
        if (call.moment == moment && has_call(call, unit)) total += call.time.base();
    return total;
}

}  // namespace

ProgramItem LayeredPasses::call_item(DataParallelCall const& call, double time) {
    if (call.over == DataParallelCall::Over::copies)  // another pipeline rank: timed, its links are not shared
        return {.name = program_.name("exchange with the other copy"), .part = TaskPart::dp, .duration = time};
    bool const gathers = call.kind == CollectiveKind::all_gather;
    std::string const name = std::string(gathers ? "gather weights" : "reduce gradients") +
                             (call.group == GroupKind::expert_data ? " of experts" : "");
    return {.name = program_.name(name),
            .part = TaskPart::dp,
            .group = program_.group(
                {.kind = call.kind,
                 .group = call.group,
                 .size = call.ranks,
                 .stride = call.stride,
                 .shares = network_shares(form_.cluster(), call.kind,
                                          place_group(call.ranks, call.stride, form_.cluster(), plan_.world_size()))}),
            .duration = time,
            // What it is stretched by moves no bytes: others on its links do not slow that.
            .latency = call.latency.base() + std::max(0.0, time - call.time.base())};
}

/// Time of a call beside the pass of a layer that takes `compute`, when all calls beside it take `all`.
double LayeredPasses::time_of(DataParallelCall const& call, double all, double compute) const {
    double const overlap = data_parallel_overlap(call.moment, plan_, form_.timing());
    return all > 0 ? call.time.base() * stretched(all, compute, overlap) / all : 0;
}

/// What compute is slowed by beside calls that take `time`.
double LayeredPasses::lost_to(Moment moment, double time, double compute) const {
    return (1 - data_parallel_overlap(moment, plan_, form_.timing())) * std::min(time, compute);
}

void LayeredPasses::lose(std::int64_t rank, SlotTag const& tag, Seconds time) {
    if (time > Seconds{})
        writer_.run_item(
            rank, {.name = program_.name("slowed by data parallelism"), .part = TaskPart::dp, .duration = time.base()},
            Stream::layer_communication, tag);
}

void LayeredPasses::gather_first_weights(std::int64_t rank, DataParallelCalls const& calls,
                                         std::vector<FirstForward> const& forwards) {
    if (calls.at(Moment::forward_first) <= Seconds{}) return;
    std::vector<LaneTasks> const start = writer_.tail(rank);
    bool beside_compute = false;
    for (auto const& [stage, microbatch, passes] : forwards) {
        SlotTag const tag{static_cast<std::int16_t>(stage), microbatch, TaskPass::forward};
        auto& gathered = gathered_[{rank, stage}];
        gathered.clear();
        double& lost = lost_[{rank, stage}];
        lost = 0;
        for (ProgramUnit const& unit : programs_.units_of(stage)) {
            std::vector<LaneTasks> tasks;
            double const all = time_at(calls, Moment::forward_first, unit);
            double const pass = programs_.of_unit(unit, TaskPass::forward).duration();
            double const slowed = lost_to(Moment::forward_first, all, passes * pass);
            lost += slowed;
            for (DataParallelCall const& call : calls)
                if (call.moment == Moment::forward_first && has_call(call, unit)) {
                    double const time = passes > 0 ? call.time.base() * (1 + slowed / all)
                                                   : time_of(call, all, beside_compute ? pass : 0);
                    tasks.push_back(writer_.beside(rank, call_item(call, time), Stream::data_parallel, start, tag));
                    beside_compute = true;
                }
            gathered.push_back(std::move(tasks));
        }
    }
}

Seconds LayeredPasses::run_gathered(std::int64_t rank, SlotTag const& tag) {
    auto const& gathered = gathered_.at({rank, tag.stage});
    std::vector<ProgramUnit> const& units = programs_.units_of(tag.stage);
    for (std::size_t u = 0; u < units.size(); ++u) {
        for (LaneTasks const& tasks : gathered[u])
            writer_.wait_for(rank, tasks);
        writer_.run(rank, programs_.of_unit(units[u], tag.pass), tag);
    }
    return lost_.at({rank, tag.stage}) * units::s;
}

Seconds LayeredPasses::run(std::int64_t rank, SlotTag const& tag, DataParallelCalls const& calls, Moment gather,
                           Moment reduce, double passes) {
    double lost = 0;
    std::vector<ProgramUnit> units = programs_.units_of(tag.stage);
    if (tag.pass != TaskPass::forward) std::reverse(units.begin(), units.end());
    auto const wanted = [&](DataParallelCall const& call) { return call.moment == gather || call.moment == reduce; };
    auto const is_gather = [](DataParallelCall const& call) { return call.kind == CollectiveKind::all_gather; };
    auto const all_of = [&](ProgramUnit const& unit) {
        return time_at(calls, gather, unit) + (reduce == gather ? 0 : time_at(calls, reduce, unit));
    };
    std::vector<std::vector<LaneTasks>> gathered(units.size());
    std::size_t issued = 0;
    auto const issue_gathers = [&](std::size_t until) {
        for (; issued < std::min(until + 1, units.size()); ++issued)
            for (DataParallelCall const& call : calls) {
                if (!wanted(call) || !is_gather(call) || !has_call(call, units[issued])) continue;
                double const compute = issued == 0 ? 0 : programs_.of_unit(units[issued - 1], tag.pass).duration();
                gathered[issued].push_back(
                    writer_.beside(rank, call_item(call, time_of(call, all_of(units[issued]), compute)),
                                   Stream::data_parallel, writer_.tail(rank), tag));
            }
    };
    auto const reduce_unit = [&](std::size_t u, std::vector<LaneTasks> const& after) {
        double const all = all_of(units[u]);
        double const slowed = lost_to(reduce, all, passes * programs_.of_unit(units[u], tag.pass).duration());
        lost += slowed;
        for (DataParallelCall const& call : calls) {
            if (!wanted(call) || is_gather(call) || !has_call(call, units[u])) continue;
            double const compute = u + 1 < units.size() ? programs_.of_unit(units[u + 1], tag.pass).duration() : 0;
            double const time = passes > 0 ? call.time.base() * (1 + slowed / all) : time_of(call, all, compute);
            writer_.beside(rank, call_item(call, time), Stream::data_parallel, after, tag);
        }
    };
    std::vector<LaneTasks> finished;
    for (std::size_t u = 0; u < units.size(); ++u) {
        issue_gathers(u + static_cast<std::size_t>(prefetch_));
        // Gathers first: the next layer waits for them, for gradients nothing does.
        if (u > 0) reduce_unit(u - 1, finished);
        for (LaneTasks const& tasks : gathered[u])
            writer_.wait_for(rank, tasks);
        writer_.run(rank, programs_.of_unit(units[u], tag.pass), tag);
        finished = writer_.tail(rank);
    }
    if (!units.empty()) reduce_unit(units.size() - 1, finished);
    // A backward pass with reductions of its own ends with them (PyTorch's FSDP, _post_backward_final_callback).
    if (reduce == Moment::backward_each) writer_.wait_for_stream(rank, Stream::data_parallel);
    return lost * units::s;
}

void LayeredPasses::reduce_stage(std::int64_t rank, SlotTag const& tag, DataParallelCalls const& calls) {
    std::vector<LaneTasks> const after = writer_.tail(rank);
    for (ProgramUnit const& unit : programs_.units_of(tag.stage))
        for (DataParallelCall const& call : calls)
            if ((call.moment == Moment::backward_last || call.moment == Moment::backward_each) && has_call(call, unit))
                writer_.beside(rank, call_item(call, call.time.base()), Stream::data_parallel, after, tag);
}

}  // namespace sextant
