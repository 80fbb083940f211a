#include "simulator/engine/simgrid/task_runner.hpp"

#include <simgrid/kernel/Timer.hpp>

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace sextant {
namespace {

namespace s4u = simgrid::s4u;

}  // namespace

TaskRunner::TaskRunner(EngineRun const& run, Platform const& platform)
    : run_(run),
      platform_(platform),
      unmet_(run.graph.tasks.size()),
      first_successor_(run.graph.tasks.size() + 1, 0),
      successors_(run.graph.dependencies.size()),
      flows_left_(run.network == NetworkMode::fair ? run.graph.tasks.size() : 0),
      holders_(run.graph.ranks.size(), 0),
      failed_(run.bandwidths.size(), 0) {
    std::size_t const count = run.graph.tasks.size();
    for (std::size_t task = 0; task < count; ++task) {
        auto const needed = run.graph.dependencies_of(task);
        unmet_[task] = static_cast<std::uint32_t>(needed.size());
        for (std::uint32_t const earlier : needed)
            ++first_successor_[earlier + 1];
    }
    for (std::size_t task = 0; task < count; ++task)
        first_successor_[task + 1] += first_successor_[task];
    std::vector<std::uint32_t> next(first_successor_.begin(), first_successor_.end() - 1);
    for (std::size_t task = 0; task < count; ++task)
        for (std::uint32_t const earlier : run.graph.dependencies_of(task))
            successors_[next[earlier]++] = static_cast<std::uint32_t>(task);
}

void TaskRunner::run() {
    auto const ended = [this](s4u::Activity const& activity) { on_end(activity); };
    s4u::Comm::on_completion_cb(ended);
    // One signal of all kinds of activities up to SimGrid 3.33, one of each kind since.
    if constexpr (!std::is_same_v<decltype(&s4u::Comm::on_completion_cb), decltype(&s4u::Exec::on_completion_cb)>)
        s4u::Exec::on_completion_cb(ended);

    for (LinksOff const& failure : run_.failures) {
        if (failure.at > 0)
            at(failure.at, [this, &failure] { fail(failure); });
        else
            fail(failure);
    }
    for (std::size_t task = 0; task < unmet_.size(); ++task)
        if (unmet_[task] == 0) ready_.push_back(static_cast<std::uint32_t>(task));
    at(0, [this] { start_ready(); });
    s4u::Engine::get_instance()->run();
}

/// A timer. The clock may be past `time` by a rounding.
template <class Callback>
void TaskRunner::at(double time, Callback callback) {
    ++run_.events.front();
    simgrid::kernel::timer::Timer::set(std::max(time, s4u::Engine::get_clock()), callback);
}

void TaskRunner::start_ready() {
    while (!ready_.empty()) {
        std::size_t const task = ready_.back();
        ready_.pop_back();
        start(task);
    }
}

void TaskRunner::start(std::size_t index) {
    Task const& task = run_.graph.tasks[index];
    double start = 0;
    for (std::uint32_t const earlier : run_.graph.dependencies_of(index))
        start = std::max(start, run_.end[earlier]);
    run_.start[index] = start;
    if (task.duration <= 0) return end_at(index, start);

    hold_compute(task, +1);
    if (task.stream == Stream::compute && platform_.compute(task.rank) != nullptr) return start_compute(index);
    bool const flows = task.demand >= 0 && !platform_.sources(task.demand).empty() && task.duration > task.latency;
    if (flows && task.latency <= 0) return start_flows(index);
    if (flows) {
        at(start + task.latency, [this, index] {
            start_flows(index);
            start_ready();
        });
        return;
    }
    at(start + task.duration, [this, index] {
        end_at(index, run_.start[index] + run_.graph.tasks[index].duration);
        start_ready();
    });
}

void TaskRunner::start_compute(std::size_t index) {
    Task const& task = run_.graph.tasks[index];
    s4u::ExecPtr const exec = s4u::Exec::init();
    exec->set_flops_amount(task.duration * Platform::speed);
    exec->set_host(platform_.compute(task.rank));
    Running& running = new_running();
    running = {.task = index, .source = nullptr, .bytes = 0, .activity = exec};
    exec->set_data(&running);
    ++run_.events.front();
    exec->start();
}

void TaskRunner::start_flows(std::size_t index) {
    Task const& task = run_.graph.tasks[index];
    std::vector<Platform::Source> const& sources = platform_.sources(task.demand);
    flows_left_[index] = static_cast<std::uint32_t>(sources.size());
    for (Platform::Source const& source : sources)
        start_flow(index, source, source.rate * (task.duration - task.latency));
}

void TaskRunner::start_flow(std::size_t task, Platform::Source const& source, double bytes) {
    auto const units = static_cast<std::uint64_t>(std::llround(bytes * platform_.units_per_byte()));
    if (units == 0) return end_flow({.task = task, .source = &source, .activity = {}}, FlowEnd::complete);
    // SimGrid would start a transfer over a link that is off, and never end it.
    for (std::int32_t const link : *source.links)
        if (failed_[static_cast<std::size_t>(link)] != 0) return;
    s4u::CommPtr const comm = s4u::Comm::sendto_init(source.host, platform_.sink());
    comm->set_payload_size(units);
    Running& running = new_running();
    running = {.task = task, .source = &source, .bytes = bytes, .activity = comm};
    comm->set_data(&running);
    ++run_.events.front();
    comm->start();
}

void TaskRunner::end_at(std::size_t task, double time) {
    run_.end[task] = time;
    if (run_.graph.tasks[task].duration > 0) hold_compute(run_.graph.tasks[task], -1);
    for (std::uint32_t next = first_successor_[task]; next < first_successor_[task + 1]; ++next)
        if (--unmet_[successors_[next]] == 0) ready_.push_back(successors_[next]);
}

void TaskRunner::on_end(s4u::Activity const& activity) {
    free_ended();
    auto* const running = activity.get_data<Running>();
    ended_.push_back(running);
    bool const whole = activity.get_state() == s4u::Activity::State::FINISHED;
    if (running->source != nullptr) {
        if (!whole) running->bytes -= activity.get_remaining() / platform_.units_per_byte();
        end_flow(*running, whole ? FlowEnd::complete : FlowEnd::cut_off);
    } else {
        end_at(running->task, s4u::Engine::get_clock());
    }
    start_ready();
}

void TaskRunner::end_flow(Running const& running, FlowEnd end) {
    for (std::int32_t const link : *running.source->links)
        run_.carried[static_cast<std::size_t>(link)] += running.bytes;
    if (end == FlowEnd::complete && --flows_left_[running.task] == 0) end_at(running.task, s4u::Engine::get_clock());
}

/// Counts collectives on the members' accelerators; the first slows them down and the last lets them go.
void TaskRunner::hold_compute(Task const& task, int change) {
    if (!holds_compute(run_, task)) return;
    for (std::int32_t const rank : run_.graph.demands[static_cast<std::size_t>(task.demand)].members) {
        std::uint32_t& holders = holders_[static_cast<std::size_t>(rank)];
        if (change > 0 && holders++ == 0) platform_.compute(rank)->set_pstate(1);
        if (change < 0 && --holders == 0) platform_.compute(rank)->set_pstate(0);
    }
}

void TaskRunner::fail(LinksOff const& failure) {
    for (std::int32_t const link : failure.links) {
        failed_[static_cast<std::size_t>(link)] = 1;
        platform_.link(link)->turn_off();
    }
}

TaskRunner::Running& TaskRunner::new_running() {
    if (free_.empty()) return running_.emplace_back();
    Running& running = *free_.back();
    free_.pop_back();
    return running;
}

/// Lets go of the activities whose callbacks have returned.
void TaskRunner::free_ended() {
    for (Running* const running : ended_) {
        running->activity = nullptr;
        free_.push_back(running);
    }
    ended_.clear();
}

}  // namespace sextant
