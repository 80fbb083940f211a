#include "simulator/plan_simulation.hpp"

#include "core/error.hpp"
#include "core/parallel_for.hpp"
#include "core/spec/schedule_traits.hpp"
#include "core/spec/working_format.hpp"
#include "cost_models/fsdp_memory.hpp"
#include "simulator/engine/worker.hpp"
#include "simulator/held_passes.hpp"
#include "simulator/slower_traffic.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <optional>

namespace sextant {
namespace {

constexpr std::int64_t most_repetitions = 10'000;

Fabric fabric_of(ClosedForm const& form, TaskGraph const& graph, SimulationRequest const& request) {
    Fabric fabric(form.cluster(), graph);
    for (DegradedLink const& d : request.degraded)
        fabric.degrade(d.pattern, d.factor, "--degrade-link");
    return fabric;
}

/// Nothing when an interrupt came first.
std::optional<TaskGraph> graph_of(ClosedForm& form, ParallelPlan const& plan, GraphOptions const& options) {
    try {
        return build_task_graph(form, plan, options);
    } catch (BuildInterrupted const&) {
        return {};
    }
}

/// All repetitions but the first, which is in `result` already.
void repeat(ClosedForm& form, ParallelPlan const& plan, SimulationRequest const& request, GraphOptions const& options,
            PlanSimulation& result) {
    result.repetitions.assign(static_cast<std::size_t>(request.repetitions), result.simulation.times.makespan());
    std::mutex guard;
    std::vector<char> ended(result.repetitions.size(), 0);
    ended.front() = 1;
    parallel_for(request.repetitions - 1, worker_threads(request.threads), [&](std::int64_t i) {
        GraphOptions again = options;
        again.seed = options.seed + static_cast<std::uint64_t>(i) + 1;
        std::optional<TaskGraph> graph;
        {
            std::lock_guard const lock(guard);  // prices are remembered in the form
            graph = graph_of(form, plan, again);
        }
        if (!graph) return;
        Fabric const fabric = fabric_of(form, *graph, request);
        Simulation simulation = simulate(*graph, fabric, request.engine);
        if (simulation.state == Simulation::State::interrupted) return;
        std::lock_guard const lock(guard);
        result.repetitions[static_cast<std::size_t>(i) + 1] = simulation.times.makespan();
        ended[static_cast<std::size_t>(i) + 1] = 1;
        if (simulation.state == Simulation::State::finished || !result.finished()) return;
        result.graph = std::move(*graph);
        result.fabric = std::make_unique<Fabric>(fabric);
        result.simulation = std::move(simulation);
    });
    // Interrupted: those before the first that did not come to its end.
    auto const whole = std::find(ended.begin(), ended.end(), 0) - ended.begin();
    result.repetitions.resize(static_cast<std::size_t>(whole));
    if (!result.finished()) result.repetitions.clear();
}

/// Layers that ZeRO 3 gathers ahead of the one at work beyond the one that the footprint counts.
Bytes gathered_further(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework,
                       double layers_of_chunk, std::int64_t prefetch) {
    double const further = std::min(static_cast<double>(prefetch), layers_of_chunk - 1) - 1;
    if (plan.zero < 3 || plan.dp * plan.cp == 1 || further <= 0) return {};
    // At a loss the footprint counts one layer, or, in units that are gathered whole, the ends.
    Bytes const layer = shards_units(plan, framework)
                            ? working_bytes(plan.precision) * load.largest_layer.total() * units::B +
                                  frozen_bytes(load.frozen_layer, plan)
                            : gathered_layers(load, plan, framework).at_loss;
    return further * layer;
}

std::vector<SlowerTraffic> slower_links(TaskGraph const& graph, Fabric const& fabric,
                                        SimulationRequest const& request) {
    check_engine_options(request.engine, fabric, "simulation");
    if (request.engine.network == NetworkMode::ideal) return {};
    return slower_traffic(graph, fabric, usable_bandwidths(fabric, request.engine));
}

bool is_set(std::atomic<bool> const* stop) { return stop != nullptr && stop->load(); }

}  // namespace

bool breaks_symmetry(SimulationRequest const& request) {
    return request.graph.jitter > 0 || !request.graph.stragglers.empty() || !request.degraded.empty() ||
           !request.engine.failures.empty();
}

PlanSimulation simulate_plan(ClosedForm& form, ParallelPlan const& plan, SimulationRequest const& request) {
    if (request.repetitions < 1 || request.repetitions > most_repetitions)
        throw InputError("--repeat: {} is out of range (1 to {})", request.repetitions, most_repetitions);
    PlanSimulation result;
    result.folding = request.folding.value_or(breaks_symmetry(request) ? Folding::unfolded : Folding::folded);
    if (result.folding == Folding::folded && (!request.degraded.empty() || !request.engine.failures.empty()))
        throw InputError("simulation: links that differ need every rank simulated (leave --fold out)");
    GraphOptions options = request.graph;
    options.folding = result.folding;
    std::atomic<bool> const* const stop = request.engine.stop;
    options.stop = stop;
    std::optional<TaskGraph> graph = graph_of(form, plan, options);
    if (graph) {
        result.fabric = std::make_unique<Fabric>(fabric_of(form, *graph, request));
        result.alone = walk_graph(*graph).makespan();
        options.slower = slower_links(*graph, *result.fabric, request);
        // Transfers that last longer take more of the compute beside them.
        if (!options.slower.empty()) graph = graph_of(form, plan, options);
    }
    if (graph) result.graph = std::move(*graph);
    if (!graph || is_set(stop)) {
        result.simulation.state = Simulation::State::interrupted;
        result.simulation.message = "interrupted: nothing was simulated yet";
        return result;
    }
    result.simulation = simulate(result.graph, *result.fabric, request.engine);
    if (!result.finished()) return result;
    repeat(form, plan, request, options, result);
    return result;
}

MemoryInput memory_input(ClosedForm& form, ParallelPlan const& plan, TaskGraph const& graph, std::int64_t prefetch) {
    PipelineCost const pipeline = form.assemble(form.price_shape(plan), plan);
    StepProgram const program = build_step_program(form, plan);
    bool const offloads = offloads_activations(plan);
    ParallelPlan resident = plan;
    resident.offload = without_activations(plan.offload);

    // One microbatch on each pipeline rank, and what stays whatever the microbatches do.
    std::vector<StageMemory> one;
    std::vector<Bytes> state;
    std::vector<Bytes> standing;
    std::vector<Bytes> updating;
    std::vector<Bytes> passing;  // of what is offloaded
    std::vector<Bytes> at_loss;
    std::vector<Bytes> logits;     // of a microbatch that waits for its backward
    std::vector<Bytes> gradients;  // of logits, of one that waits for its weight half
    std::vector<Bytes> again;      // a layer that is run again, and gradients
    std::vector<Bytes> halved;     // the same where all that is run again waits for the weight half
    std::vector<GatheredLayers> gathered;
    FrameworkMemory const& framework = form.framework().memory;
    for (StageCost const& run : pipeline.stages)
        for (std::int64_t i = 0; i < run.count; ++i) {
            StageLoad load = run.load;
            load.in_flight = 1;
            one.push_back(stage_memory(load, resident, framework));
            // Gradients that activations make room for: of what is on the device.
            state.push_back(offloads ? stage_memory(load, plan, framework).state() : one.back().state());
            standing.push_back(standing_buffers(load, resident, framework));
            updating.push_back(std::max(Bytes{}, closing_buffers(load, resident, framework)));
            passing.push_back(layers_in_transfer(load));
            at_loss.push_back(logits_at_loss(load, resident, framework));
            load.postponed_logits = 0;
            logits.push_back(other_logits(load, plan, framework, 1));
            load.postponed_logits = 1;
            gradients.push_back(other_logits(load, plan, framework, 0));
            again.push_back(layer_at_work(load, framework));
            load.waits = Switch::on;
            halved.push_back(layer_at_work(load, framework));
            double const layers_of_chunk = std::ceil(load.layers / static_cast<double>(plan.vpp));
            Bytes const further = gathered_further(load, resident, framework, layers_of_chunk, prefetch);
            gathered.push_back(gathered_layers(load, resident, framework));
            gathered.back().at_loss += further;
            gathered.back().in_backward += further;
        }
    MemoryInput input;
    for (SimulatedRank const& rank : graph.ranks) {
        auto const stage = static_cast<std::size_t>(rank.pipeline);
        input.fixed.push_back(state[stage] + standing[stage] + one[stage].workspaces);
        input.updating.push_back(updating[stage]);
    }
    std::vector<Bytes> kept_by_rank(one.size());
    auto const rank_of = [&](std::size_t chunk) {
        return static_cast<std::size_t>(
            rank_of_chunk(traits_of(plan.schedule).placement, plan.pp, static_cast<std::int64_t>(chunk)));
    };
    for (std::size_t c = 0; c < program.chunks.size(); ++c) {
        kept_by_rank[rank_of(c)] += program.kept(c);
        if (traits_of(plan.schedule).parameter_copies() > 1)
            kept_by_rank[kept_by_rank.size() - 1 - rank_of(c)] += program.kept(c);
    }
    for (std::size_t c = 0; c < program.chunks.size(); ++c) {
        std::size_t const rank = rank_of(c);
        double const share = kept_by_rank[rank] > Bytes{} ? program.kept(c) / kept_by_rank[rank] : 0;
        bool const head = c + 1 == program.chunks.size();
        Bytes const forward = (head ? at_loss[rank] : Bytes{}) + gathered[rank].at_loss;
        auto const backward = [&](Bytes layer) { return std::max(forward, layer + gathered[rank].in_backward); };
        StageActivations needs{.kept = share * one[rank].activations,
                               .forward = forward,
                               .backward = backward(again[rank]),
                               .input_half = backward(halved[rank]),
                               .waiting = program.kept(c, &BlockProgram::waiting),
                               .logits = head ? logits[rank] : Bytes{},
                               .gradients = head ? gradients[rank] : Bytes{}};
        if (offloads && needs.kept > Bytes{}) {
            needs.offloaded = program.kept(c, &BlockProgram::offloaded) / program.kept(c) * needs.kept;
            needs.passing = std::min(needs.offloaded, passing[rank]);
        }
        input.stages.push_back(needs);
    }
    return input;
}

std::vector<double> reserved_factors(ClosedForm& form, ParallelPlan const& plan, TaskGraph const& graph,
                                     std::vector<MemoryTimeline> const& memory, PipelineSchedule const* schedule) {
    FrameworkMemory const& framework = form.framework().memory;
    std::vector<double> factors;
    if (schedule == nullptr) {
        std::vector<StageMemory> const stages = memory_by_stage(form, plan);
        for (SimulatedRank const& rank : graph.ranks) {
            StageMemory const& stage = stages[static_cast<std::size_t>(rank.pipeline)];
            factors.push_back(stage.allocated() > Bytes{} ? stage.reserved() / stage.allocated() : 1);
        }
        return factors;
    }
    // What lingers is of the microbatches in flight; the rest of what is allocated is in the peak.
    ParallelPlan neutral = plan;
    if (holds_all_logits(plan)) neutral.schedule = Schedule::one_f_one_b;
    std::vector<Bytes> lingering;
    double const typical = framework.reserved_typical.value;
    for (StageCost const& run : form.assemble(form.price_shape(plan), plan).stages)
        for (std::int64_t rank = run.first; rank < run.first + run.count; ++rank) {
            StageLoad load = run.load;
            std::vector<std::int64_t> const chunks = chunks_on_rank(plan.schedule, plan.pp, plan.vpp, rank);
            std::vector<double> shares = run.chunk_shares;
            if (shares.empty()) shares.assign(chunks.size(), 1 / static_cast<double>(chunks.size()));
            load.in_flight =
                held_microbatches(fullest_moments(schedule->ranks[static_cast<std::size_t>(rank)], chunks), shares);
            StageMemory const stage = stage_memory(load, neutral, framework);
            lingering.push_back(stage.slack > Bytes{} ? stage.reserved() / typical - stage.allocated() : Bytes{});
        }
    for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
        Bytes const peak = memory[r].peak;
        Bytes const more = lingering[static_cast<std::size_t>(graph.ranks[r].pipeline)];
        factors.push_back(peak > Bytes{} ? std::max(1.0, typical * ((peak + more) / peak)) : 1);
    }
    return factors;
}

}  // namespace sextant
