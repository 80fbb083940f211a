#include "simulator/layered_passes.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace sextant {
namespace {

using Moment = DataParallelMoment;

/// Whether data parallelism calls for this block.
bool has_call(DataParallelCall const& call, ProgramUnit const& unit) {
    if (unit.kind == ProgramUnit::Kind::end) return false;
    return call.group != GroupKind::expert_data || unit.kind == ProgramUnit::Kind::moe_layer;
}

/// Of each of some units, in the order of backward passes, those that one call reduces once it is done: itself where
/// each layer has a call, all of a bucket where it ends one.
std::vector<std::vector<std::size_t>> reduced_after(DataParallelCall const& call,
                                                    std::vector<ProgramUnit> const& units) {
    std::vector<std::vector<std::size_t>> reduced(units.size());
    std::vector<std::size_t> bucket;
    auto const close = [&] {
        if (bucket.empty()) return;
        std::size_t const done = bucket.back();
        reduced[done] = std::exchange(bucket, {});
    };
    double filled = 0;  // layers so far
    for (std::size_t u = 0; u < units.size(); ++u) {
        if (!has_call(call, units[u])) continue;
        if (std::floor(filled / call.together) > std::floor((filled - 1) / call.together)) close();
        bucket.push_back(u);
        ++filled;
    }
    close();
    return reduced;
}

/// Of each of some units, in the order of forward passes, the one before which its weights have to be there: the first
/// of its bucket.
std::vector<std::size_t> gathered_before(DataParallelCall const& call, std::vector<ProgramUnit> units) {
    std::size_t const last = units.size() - 1;
    std::vector<std::size_t> before(units.size());
    std::reverse(units.begin(), units.end());
    std::vector<std::vector<std::size_t>> const reduced = reduced_after(call, units);
    for (std::size_t u = 0; u < units.size(); ++u)
        for (std::size_t const unit : reduced[u])
            before[last - unit] = last - u;
    return before;
}

bool is_gather(DataParallelCall const& call) { return call.kind == CollectiveKind::all_gather; }

}  // namespace

NetworkShares LayeredPasses::shares_of(DataParallelCall const& call) const {
    return network_shares(form_.cluster(), call.kind,
                          place_group(call.ranks, call.stride, form_.cluster(), plan_.world_size()));
}

double LayeredPasses::time_alone(std::int64_t rank, DataParallelCall const& call) const {
    if (call.over == DataParallelCall::Over::copies || slower_.empty()) return call.time.base();
    SlowerTraffic const asked{.pipeline = rank, .kind = call.kind, .group = call.group, .shares = shares_of(call)};
    return call.latency.base() + factor_of(slower_, asked) * (call.time - call.latency).base();
}

ProgramItem LayeredPasses::call_item(std::int64_t rank, DataParallelCall const& call, double time) {
    if (call.over == DataParallelCall::Over::copies)  // another pipeline rank: timed, its links are not shared
        return {.name = program_.name("exchange with the other copy"), .part = TaskPart::dp, .duration = time};
    if (call.over == DataParallelCall::Over::host)
        return {.name = program_.name("copy weights from the host"), .part = TaskPart::offload, .duration = time};
    bool const gathers = call.kind == CollectiveKind::all_gather;
    std::string const name = std::string(gathers ? "gather weights" : "reduce gradients") +
                             (call.group == GroupKind::expert_data ? " of experts" : "");
    // What it is stretched by moves no bytes: others on its links do not slow that. The bytes are those of the links
    // as the cluster has them.
    double const stretched = std::max(0.0, time - time_alone(rank, call));
    return {.name = program_.name(name),
            .part = TaskPart::dp,
            .group = program_.group({.kind = call.kind,
                                     .group = call.group,
                                     .size = call.ranks,
                                     .stride = call.stride,
                                     .shares = shares_of(call)}),
            .duration = call.time.base() + stretched,
            .latency = call.latency.base() + stretched};
}

std::vector<double> LayeredPasses::durations_of(std::vector<ProgramUnit> const& units, TaskPass pass) {
    std::vector<double> durations;
    for (ProgramUnit const& unit : units)
        durations.push_back(programs_.of_unit(unit, pass).duration());
    return durations;
}

double LayeredPasses::time_beside(std::vector<Issue>& issues, std::vector<double> const& durations, PassEnd end) const {
    std::vector<PassTransfer> transfers;
    for (Issue const& issue : issues)
        transfers.push_back({.time = issue.alone,
                             .overlap = data_parallel_overlap(issue.call->moment, plan_, form_.timing()),
                             .after = issue.after,
                             .before = issue.before});
    PassOverlap const beside = overlap_in_pass(durations, transfers, end);
    for (std::size_t i = 0; i < issues.size(); ++i)
        issues[i].duration = beside.transfers[i];
    return beside.lost;
}

double LayeredPasses::time_within(std::vector<Issue>& issues, std::vector<double> const& durations,
                                  double passes) const {
    std::vector<double> all(durations.size(), 0.0);
    for (Issue const& issue : issues)
        all[issue.unit] += issue.alone;
    double lost = 0;
    for (Issue& issue : issues) {
        double const slowed = lost_to(issue.call->moment, all[issue.unit], passes * durations[issue.unit]);
        double const share = issue.alone / all[issue.unit];
        issue.duration = issue.alone + share * slowed;
        lost += share * slowed;
    }
    return lost;
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
    for (auto const& [stage, microbatch, passes] : forwards) {
        SlotTag const tag{static_cast<std::int16_t>(stage), microbatch, TaskPass::forward};
        std::vector<ProgramUnit> const& units = programs_.units_of(stage);
        auto& gathered = gathered_[{rank, stage}];
        gathered.assign(units.size(), {});
        std::vector<Issue> issues;
        if (!units.empty())
            for (DataParallelCall const& call : calls) {
                if (call.moment != Moment::forward_first) continue;
                std::vector<std::size_t> const before = gathered_before(call, units);
                double const alone = time_alone(rank, call);
                for (std::size_t u = 0; u < units.size(); ++u)
                    if (has_call(call, units[u]))
                        issues.push_back({.call = &call, .alone = alone, .unit = u, .before = before[u]});
            }
        // Those of all kinds for a layer, one layer after another.
        std::stable_sort(issues.begin(), issues.end(),
                         [](Issue const& a, Issue const& b) { return a.before < b.before; });
        std::vector<double> const durations = durations_of(units, TaskPass::forward);
        double const lost =
            passes > 0 ? time_within(issues, durations, passes) : time_beside(issues, durations, PassEnd::layers);
        for (Issue const& issue : issues)
            gathered[issue.before].push_back(
                writer_.beside(rank, call_item(rank, *issue.call, issue.duration), Stream::data_parallel, start, tag));
        lost_[{rank, stage}] = lost;
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
    std::vector<ProgramUnit> units = programs_.units_of(tag.stage);
    if (tag.pass != TaskPass::forward) std::reverse(units.begin(), units.end());
    if (units.empty()) return {};
    std::vector<double> const durations = durations_of(units, tag.pass);
    // In the order of the stream: gathers first, the next layer waits for them, for gradients nothing does.
    std::vector<Issue> issues;
    std::vector<std::size_t> issued;                             // of them, when each layer begins
    std::vector<std::vector<std::vector<std::size_t>>> reduced;  // of each call, after each layer
    for (DataParallelCall const& call : calls)
        reduced.push_back(is_gather(call) ? std::vector<std::vector<std::size_t>>(units.size())
                                          : reduced_after(call, units));
    auto const wanted = [&](DataParallelCall const& call) { return call.moment == gather || call.moment == reduce; };
    auto const issue = [&](DataParallelCall const& call, std::size_t unit, std::size_t after, std::size_t before) {
        issues.push_back(
            {.call = &call, .alone = time_alone(rank, call), .unit = unit, .after = after, .before = before});
    };
    auto const reduce_after = [&](std::size_t u) {
        for (std::size_t c = 0; c < reduced.size(); ++c)
            for (std::size_t const part : reduced[c][u])
                if (wanted(calls.begin()[c])) issue(calls.begin()[c], part, u, PassTransfer::none);
    };
    std::size_t gathers = 0;
    for (std::size_t u = 0; u < units.size(); ++u) {
        for (; gathers < std::min(u + static_cast<std::size_t>(prefetch_) + 1, units.size()); ++gathers)
            for (DataParallelCall const& call : calls)
                if (wanted(call) && is_gather(call) && has_call(call, units[gathers]))
                    issue(call, gathers, u > 0 ? u - 1 : PassTransfer::none, gathers);
        if (u > 0) reduce_after(u - 1);
        issued.push_back(issues.size());
    }
    reduce_after(units.size() - 1);

    // A backward pass with reductions of its own ends with them (PyTorch's FSDP, _post_backward_final_callback).
    bool const waits = reduce == Moment::backward_each;
    double const lost = passes > 0 ? time_within(issues, durations, passes)
                                   : time_beside(issues, durations, waits ? PassEnd::transfers : PassEnd::layers);

    std::vector<std::vector<LaneTasks>> gathered(units.size());
    std::size_t next = 0;
    std::vector<LaneTasks> finished = writer_.tail(rank);
    auto const issue_until = [&](std::size_t end) {
        for (; next < end; ++next) {
            Issue const& sent = issues[next];
            auto tasks =
                writer_.beside(rank, call_item(rank, *sent.call, sent.duration), Stream::data_parallel, finished, tag);
            if (sent.before != PassTransfer::none) gathered[sent.before].push_back(std::move(tasks));
        }
    };
    for (std::size_t u = 0; u < units.size(); ++u) {
        issue_until(issued[u]);
        for (LaneTasks const& tasks : gathered[u])
            writer_.wait_for(rank, tasks);
        writer_.run(rank, programs_.of_unit(units[u], tag.pass), tag);
        finished = writer_.tail(rank);
    }
    issue_until(issues.size());
    if (waits) writer_.wait_for_stream(rank, Stream::data_parallel);
    return lost * units::s;
}

void LayeredPasses::reduce_stage(std::int64_t rank, SlotTag const& tag, DataParallelCalls const& calls) {
    std::vector<LaneTasks> const after = writer_.tail(rank);
    for (ProgramUnit const& unit : programs_.units_of(tag.stage))
        for (DataParallelCall const& call : calls)
            if ((call.moment == Moment::backward_last || call.moment == Moment::backward_each) && has_call(call, unit))
                writer_.beside(rank, call_item(rank, call, time_alone(rank, call)), Stream::data_parallel, after, tag);
}

}  // namespace sextant
