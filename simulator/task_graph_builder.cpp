#include "simulator/task_graph_builder.hpp"

#include "core/error.hpp"
#include "core/graph/plan_check.hpp"
#include "core/spec/schedule_traits.hpp"
#include "simulator/chunk_ends.hpp"
#include "simulator/lane_writer.hpp"
#include "simulator/layered_passes.hpp"
#include "simulator/network/topology.hpp"
#include "simulator/schedules/catalog.hpp"
#include "simulator/slot_programs.hpp"

#include <algorithm>

namespace sextant {
namespace {

using Moment = DataParallelMoment;

/// Ranks of a pod; 0 where there are none.
std::int64_t pod_size(ClusterSpec const& cluster) {
    return cluster.scale_out ? cluster.scale_out->pod_domains * cluster.domain_size : 0;
}

bool is_forward(Slot const& slot) { return slot.kind == SlotKind::forward; }

/// The step of one plan, slot by slot.
class GraphBuilder {
public:
    GraphBuilder(ClosedForm& form, ParallelPlan const& plan, GraphOptions const& options)
        : form_(form),
          plan_(plan),
          options_(options),
          schedule_(options.schedule != nullptr ? *options.schedule : schedule_of(plan, form.workload())),
          program_(build_step_program(form, plan)),
          pipeline_(form.assemble(form.price_shape(plan), plan)),
          writer_({.stages = plan.pp,
                   .lanes = options.folding == Folding::folded ? 1 : plan.tp * plan.cp * plan.dp,
                   .width = plan.tp * plan.cp * plan.dp,
                   .domain = form.cluster().domain_size,
                   .pod = pod_size(form.cluster()),
                   .most_tasks = options.most_tasks},
                  program_, options.jitter, options.seed),
          programs_(program_, options.granularity),
          layered_(form, plan, program_, programs_, writer_, options.prefetch, options.slower),
          ends_(schedule_),
          stages_(static_cast<std::size_t>(schedule_.stages)) {
        for (Straggler const& s : options.stragglers)
            writer_.slow_down(s.rank, s.factor);
        for (StageCost const& run : pipeline_.stages)
            for (std::int64_t i = 0; i < run.count; ++i)
                ranks_.push_back(
                    {.cost = &run,
                     .calls = data_parallel_calls(run.load, plan, pipeline_.data_parallel, form.timing())});
        for (std::size_t r = 0; r < ranks_.size(); ++r)
            mark_turns(ranks_[r], chunk_turns(schedule_.ranks[r]));
        set_transfer();
    }

    TaskGraph build() {
        for (std::int64_t step = 0; step < options_.steps; ++step)
            add_step();
        return writer_.finish();
    }

private:
    struct Rank {
        StageCost const* cost;
        DataParallelCalls calls;
        /// Passes between two turns of its chunks, as many first forwards and last backwards (weight halves) take.
        double forwards_between = 0, backwards_between = 0;
        std::size_t position = 0;
    };
    /// A pass that has been laid out, and what its neighbour waits for.
    struct Arrival {
        bool done = false;
        std::int64_t rank = -1;
        std::vector<LaneTasks> tasks;
    };

    void mark_turns(Rank& rank, ChunkTurns const& turns) const {
        if (turns.chunks < 2) return;
        double const forward = rank.cost->forward.total().base();
        double const backward = (rank.cost->backward.total() + rank.cost->rerun.total()).base();
        bool const split = traits_of(plan_.schedule).split_backward == Switch::on;
        double const weight = split ? rank.cost->weight.total().base() : backward;
        if (forward <= 0 || weight <= 0) return;
        double const gaps = turns.chunks - 1;
        rank.forwards_between = (turns.forwards_ahead + turns.backwards_ahead * backward / forward) / gaps;
        rank.backwards_between = (turns.weights_after + turns.inputs_after * (backward - weight) / weight) / gaps;
    }

    void set_transfer() {
        if (plan_.pp == 1) return;
        double const share = 1 - form_.timing().pp_overlap.value;
        GroupPlacement const placement = place(GroupKind::pipeline, plan_, form_.cluster());
        NetworkShares const shares = network_shares(form_.cluster(), CollectiveKind::send_receive, placement);
        auto const group_of = [&](NetworkShares const& asked) {
            return program_.group({.kind = CollectiveKind::send_receive,
                                   .group = GroupKind::pipeline,
                                   .size = 2,
                                   .stride = placement.stride,
                                   .shares = asked});
        };
        transfer_ = {.name = program_.name("send"),
                     .part = TaskPart::pp,
                     .group = group_of(shares),
                     .duration = share * pipeline_.transfer.base(),
                     .latency = share * pipeline_.transfer_latency.base()};
        transfer_nearer_ = {transfer_.group, transfer_.group};
        if (placement.domains == 1) return;
        // Some neighbours may lie nearer than those that are priced: then the same bytes go over fewer links, as fast.
        double const inside = shares.scale_out * (nic_rate(form_.cluster()) / scale_up_rate(form_.cluster()));
        transfer_nearer_ = {.in_domain = group_of({.scale_up = std::min(1.0, inside)}),
                            .in_pod = group_of({.scale_out = shares.scale_out})};
    }

    void add_step() {
        writer_.begin_step();
        forwards_.assign(stages_ * static_cast<std::size_t>(schedule_.microbatches), {});
        backwards_.assign(forwards_.size(), {});
        for (Rank& rank : ranks_)
            rank.position = 0;
        for (std::size_t r = 0; r < ranks_.size(); ++r)
            layered_.gather_first_weights(static_cast<std::int64_t>(r), ranks_[r].calls, first_forwards_of(r));
        auto const count = static_cast<std::int64_t>(ranks_.size());
        for (bool moved = true; moved;) {
            moved = false;
            for (std::int64_t r = 0; r < count; ++r)
                moved = advance(r) || moved;
            for (std::int64_t r = count; r-- > 0;)
                moved = advance(r) || moved;
        }
        for (std::size_t r = 0; r < ranks_.size(); ++r)
            if (ranks_[r].position < schedule_.ranks[r].size())
                throw InputError("schedule '{}': rank {} waits for ever with {}", schedule_.name, r,
                                 text_of(schedule_.ranks[r][ranks_[r].position]));
        if (ends_.has_backwards()) add_optimizer();
    }

    /// In the order of the rank.
    [[nodiscard]] std::vector<LayeredPasses::FirstForward> first_forwards_of(std::size_t rank) const {
        std::vector<LayeredPasses::FirstForward> forwards;
        for (ChunkEnds::FirstForward const& first : ends_.first_forwards(rank))
            forwards.push_back({.stage = first.stage,
                                .microbatch = schedule_.ranks[rank][first.position].microbatch,
                                .passes = forwards.empty() ? 0 : ranks_[rank].forwards_between});
        return forwards;
    }

    void add_optimizer() {
        for (std::int64_t r = 0; r < plan_.pp; ++r)
            writer_.wait_for_stream(r, Stream::data_parallel);
        for (std::int64_t r = 0; r < plan_.pp; ++r)
            add_step_item(r, "reduce gradients of the embedding", TaskPart::dp, Stream::compute,
                          exchange_of_ends(ranks_[static_cast<std::size_t>(r)].cost->load, plan_,
                                           pipeline_.data_parallel, form_.timing()));
        writer_.barrier("gradient norm");
        for (std::int64_t r = 0; r < plan_.pp; ++r) {
            StageCost const& cost = *ranks_[static_cast<std::size_t>(r)].cost;
            DataParallelTime const time = data_parallel_time(cost.load, plan_, {}, pipeline_.data_parallel,
                                                             form_.cluster().accelerator, form_.timing());
            add_step_item(r, "optimizer", TaskPart::optimizer, Stream::compute, time.optimizer);
            add_step_item(r, "optimizer on the host", TaskPart::offload, Stream::to_host, time.offload);
            add_step_item(r, "step", TaskPart::fixed, Stream::compute, form_.timing().fixed_per_step.value);
        }
    }

    void add_step_item(std::int64_t rank, std::string_view name, TaskPart part, Stream stream, Seconds time) {
        if (time > Seconds{})
            writer_.run_item(rank, {.name = program_.name(name), .part = part, .duration = time.base()}, stream, {});
    }

    [[nodiscard]] std::size_t at(std::int32_t stage, std::int32_t microbatch) const {
        return static_cast<std::size_t>(microbatch) * stages_ + static_cast<std::size_t>(stage);
    }
    [[nodiscard]] bool last(std::int32_t stage) const { return static_cast<std::size_t>(stage) + 1 == stages_; }

    [[nodiscard]] bool forward_ready(std::int32_t stage, std::int32_t microbatch) const {
        return stage == 0 || forwards_[at(stage - 1, microbatch)].done;
    }
    [[nodiscard]] bool backward_ready(std::int32_t stage, std::int32_t microbatch) const {
        return last(stage) ? forwards_[at(stage, microbatch)].done : backwards_[at(stage + 1, microbatch)].done;
    }
    [[nodiscard]] bool ready(Slot const& slot) const {
        switch (slot.kind) {
            case SlotKind::forward: return forward_ready(slot.stage, slot.microbatch);
            case SlotKind::backward:
            case SlotKind::backward_input: return backward_ready(slot.stage, slot.microbatch);
            case SlotKind::backward_weight: return true;
            case SlotKind::forward_backward: break;
        }
        return forward_ready(slot.stage, slot.microbatch) &&
               backward_ready(slot.backward_stage, slot.backward_microbatch);
    }

    bool advance(std::int64_t rank) {
        Rank& state = ranks_[static_cast<std::size_t>(rank)];
        std::vector<Slot> const& order = schedule_.ranks[static_cast<std::size_t>(rank)];
        std::size_t const first = state.position;
        while (state.position < order.size() && ready(order[state.position])) {
            if (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed)) throw BuildInterrupted();
            add_slot(rank, order[state.position], state.position);
            ++state.position;
        }
        return state.position > first;
    }

    void await(std::int64_t rank, Arrival& arrival) {
        if (arrival.rank != rank) writer_.wait_for(rank, arrival.tasks);
        arrival.tasks = {};
    }
    void await_forward(std::int64_t rank, std::int32_t stage, std::int32_t microbatch) {
        if (stage > 0) await(rank, forwards_[at(stage - 1, microbatch)]);
    }
    void await_backward(std::int64_t rank, std::int32_t stage, std::int32_t microbatch) {
        if (!last(stage)) await(rank, backwards_[at(stage + 1, microbatch)]);
    }

    static TaskPass pass_of(SlotKind kind) {
        switch (kind) {
            case SlotKind::backward: return TaskPass::backward;
            case SlotKind::backward_input: return TaskPass::backward_input;
            case SlotKind::backward_weight: return TaskPass::backward_weight;
            default: return TaskPass::forward;
        }
    }

    void add_slot(std::int64_t rank, Slot const& slot, std::size_t position) {
        if (slot.kind == SlotKind::forward_backward) {
            add_pair(rank, slot, position);
            return;
        }
        TaskPass const pass = pass_of(slot.kind);
        SlotTag const tag{static_cast<std::int16_t>(slot.stage), slot.microbatch, pass};
        if (pass == TaskPass::forward) await_forward(rank, slot.stage, slot.microbatch);
        if (pass == TaskPass::backward || pass == TaskPass::backward_input)
            await_backward(rank, slot.stage, slot.microbatch);
        std::vector<LaneTasks> const before = writer_.tail(rank);
        Seconds const lost =
            pass == TaskPass::forward ? add_forward(rank, tag, position) : add_backward(rank, tag, position);
        // While it is slowed activations are on their way.
        bool const copies = copies_activations(tag);
        if (copies) layered_.lose(rank, tag, lost);
        add_activation_copy(rank, tag, before);
        if (pass != TaskPass::backward_weight) pass_on(rank, tag);
        if (!copies) layered_.lose(rank, tag, lost);
    }

    /// Exposed transfer to the neighbour (a share `shown` of it), and note for it.
    void pass_on(std::int64_t rank, SlotTag const& tag, double shown = 1) {
        ProgramItem transfer = transfer_;
        transfer.duration *= shown;
        transfer.latency *= shown;
        bool const forward = tag.pass == TaskPass::forward;
        std::int32_t const next = tag.stage + (forward ? 1 : -1);
        bool const leaves = next >= 0 && static_cast<std::size_t>(next) < stages_;
        std::int64_t const to = leaves ? rank_of(next, tag.microbatch) : rank;
        if (to != rank) {
            writer_.send(rank, to, transfer, transfer_nearer_, tag);
        } else if (transfer.duration > 0) {
            // A pass at an end of the pipeline sends nothing, but has had to wait for what it got.
            transfer.group = -1;
            transfer.name = program_.name("receive");
            writer_.run_item(rank, transfer, Stream::pipeline, tag);
        }
        Arrival& arrival = (forward ? forwards_ : backwards_)[at(tag.stage, tag.microbatch)];
        arrival.done = true;
        arrival.rank = rank;
        if (to != rank) arrival.tasks = writer_.tail(rank);
    }
    [[nodiscard]] std::int64_t rank_of(std::int32_t stage, std::int32_t microbatch) {
        if (owners_.empty()) {
            owners_.assign(forwards_.size(), 0);
            for (std::size_t r = 0; r < schedule_.ranks.size(); ++r)
                for (Slot const& slot : schedule_.ranks[r])
                    if (is_forward(slot) || slot.kind == SlotKind::forward_backward)
                        owners_[at(slot.stage, slot.microbatch)] = static_cast<std::int32_t>(r);
        }
        return owners_[at(stage, microbatch)];
    }

    [[nodiscard]] bool copies_activations(SlotTag const& tag) const {
        return offloads_activations(plan_) && tag.pass != TaskPass::backward_weight;
    }
    void add_activation_copy(std::int64_t rank, SlotTag const& tag, std::vector<LaneTasks> const& before) {
        if (!copies_activations(tag)) return;
        Bytes const chunk = program_.kept(static_cast<std::size_t>(tag.stage), &BlockProgram::offloaded);
        ProgramItem const item{.name = program_.name("activations"),
                               .part = TaskPart::offload,
                               .duration = (chunk / form_.cluster().accelerator.host_bandwidth.value).base()};
        writer_.wait_for(rank,
                         writer_.beside(rank, item, tag.pass == TaskPass::forward ? Stream::to_host : Stream::from_host,
                                        before, tag));
    }

    void add_pair(std::int64_t rank, Slot const& slot, std::size_t position) {
        await_forward(rank, slot.stage, slot.microbatch);
        await_backward(rank, slot.backward_stage, slot.backward_microbatch);
        SlotTag const forward{static_cast<std::int16_t>(slot.stage), slot.microbatch, TaskPass::forward};
        SlotTag const backward{static_cast<std::int16_t>(slot.backward_stage), slot.backward_microbatch,
                               TaskPass::backward};
        Pair const both = paired(programs_.of_stage(slot.stage, TaskPass::forward),
                                 programs_.of_stage(slot.backward_stage, TaskPass::backward), 2 * transfer_.duration);
        std::vector<LaneTasks> const before = writer_.tail(rank);
        writer_.run(rank, both.program, backward, forward);
        add_activation_copy(rank, forward, before);
        add_activation_copy(rank, backward, before);
        pass_on(rank, forward, both.shown);
        pass_on(rank, backward, both.shown);
        if (ends_.ends(static_cast<std::size_t>(rank), slot.backward_stage, position))
            layered_.reduce_stage(rank, backward, ranks_[static_cast<std::size_t>(rank)].calls);
    }

    // Passes with and without data parallelism beside them: what the rank loses by it once the pass is passed on.

    Seconds add_forward(std::int64_t rank, SlotTag const& tag, std::size_t position) {
        DataParallelCalls const& calls = ranks_[static_cast<std::size_t>(rank)].calls;
        bool const first = ends_.begins(static_cast<std::size_t>(rank), tag.stage, position);
        if (calls.at(Moment::forward_each) > Seconds{})
            return layered_.run(rank, tag, calls, Moment::forward_each, Moment::forward_each);
        if (first && calls.at(Moment::forward_first) > Seconds{}) return layered_.run_gathered(rank, tag);
        writer_.run(rank, programs_.of_stage(tag.stage, tag.pass), tag);
        return {};
    }

    Seconds add_backward(std::int64_t rank, SlotTag const& tag, std::size_t position) {
        DataParallelCalls const& calls = ranks_[static_cast<std::size_t>(rank)].calls;
        bool const last_one = ends_.ends(static_cast<std::size_t>(rank), tag.stage, position);
        bool const each = calls.at(Moment::backward_each) > Seconds{};
        bool const once = last_one && calls.at(Moment::backward_last) > Seconds{};
        // A split backward has its gradients with the weight half.
        if (tag.pass == TaskPass::backward_input || !(each || once)) {
            writer_.run(rank, programs_.of_stage(tag.stage, tag.pass), tag);
            return {};
        }
        bool const another_follows = last_one && !ends_.ends_rank(static_cast<std::size_t>(rank), position);
        return layered_.run(rank, tag, calls, each ? Moment::backward_each : Moment::backward_last,
                            once ? Moment::backward_last : Moment::backward_each,
                            another_follows ? ranks_[static_cast<std::size_t>(rank)].backwards_between : 0);
    }

    ClosedForm& form_;
    ParallelPlan const& plan_;
    GraphOptions const& options_;
    PipelineSchedule schedule_;
    StepProgram program_;
    PipelineCost pipeline_;
    LaneWriter writer_;
    SlotPrograms programs_;
    LayeredPasses layered_;
    ChunkEnds ends_;
    std::size_t stages_;
    std::vector<Rank> ranks_;
    ProgramItem transfer_;
    LaneWriter::Nearer transfer_nearer_;
    std::vector<Arrival> forwards_, backwards_;
    std::vector<std::int32_t> owners_;
};

void check(ParallelPlan const& plan, Workload const& workload, GraphOptions const& o) {
    if (o.steps < 1 || o.steps > 1000) throw InputError("--steps: {} is out of range (1 to 1000)", o.steps);
    if (o.prefetch < 0 || o.prefetch > 1000) throw InputError("--prefetch: {} is out of range (0 to 1000)", o.prefetch);
    if (!(o.jitter >= 0 && o.jitter <= 1)) throw InputError("--jitter: {} is out of range (0 to 1)", o.jitter);
    if (o.folding == Folding::folded && (o.jitter > 0 || !o.stragglers.empty()))
        throw InputError("simulation: ranks that differ cannot be folded (leave --fold out)");
    for (Straggler const& s : o.stragglers) {
        if (s.rank < 0 || s.rank >= plan.world_size())
            throw InputError("--straggler: rank {} is not there (0 to {})", s.rank, plan.world_size() - 1);
        if (!(s.factor > 0 && s.factor <= 1000))
            throw InputError("--straggler: factor {} is out of range (above 0, up to 1000)", s.factor);
    }
    if (o.schedule == nullptr) return;
    auto const agree = [&](std::string_view what, std::int64_t has, std::int64_t wants, std::string_view fix) {
        if (has != wants)
            throw InputError("schedule '{}': {} {}, but the plan has {} ({})", o.schedule->name, has, what, wants, fix);
    };
    agree("ranks", static_cast<std::int64_t>(o.schedule->ranks.size()), plan.pp, "--pp");
    agree("stages", o.schedule->stages, plan.pp * plan.vpp, "--vpp");
    agree("microbatches", o.schedule->microbatches, microbatches(plan, workload),
          "--global-batch, --micro-batch, --dp");
}

}  // namespace

ScheduleShape shape_of(ParallelPlan const& plan, Workload const& workload) {
    return {.ranks = plan.pp, .microbatches = microbatches(plan, workload), .chunks = plan.vpp};
}

PipelineSchedule schedule_of(ParallelPlan const& plan, Workload const& workload) {
    return build_schedule(entry_of(plan.schedule), shape_of(plan, workload), "plan");
}

TaskGraph build_task_graph(ClosedForm& form, ParallelPlan const& plan, GraphOptions const& options) {
    require_valid(form.model(), plan, form.workload());
    check(plan, form.workload(), options);
    return GraphBuilder(form, plan, options).build();
}

}  // namespace sextant
