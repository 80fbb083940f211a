#include "planner/search.hpp"

#include "core/error.hpp"
#include "core/graph/stage_layout.hpp"
#include "core/graph/usual_stages.hpp"
#include "core/nearest.hpp"
#include "core/spec/schedule_traits.hpp"
#include "cost_models/weight_copies.hpp"
#include "planner/expert_overlap.hpp"
#include "planner/ranking.hpp"
#include "planner/run_parallel.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace sextant {
namespace {

/// One plan shape: the part of a plan that decides what its blocks cost.
struct Shape {
    SearchSpace const* space;
    std::int64_t tp, cp, ep, micro_batch;
    Switch sequence_parallel;
    ContextParallel cp_mode;
    Dispatcher dispatcher;
};

/// Whether shapes that differ in nothing but this are different: the second dispatcher is for groups of experts beyond
/// a domain.
bool is_own_shape(SearchSpace const& space, Dispatcher dispatcher, std::int64_t tp, std::int64_t ep,
                  std::int64_t domain_size) {
    if (dispatcher == space.dispatchers.front() || ep == 1) return dispatcher == space.dispatchers.front();
    ParallelPlan plan = space.base;
    plan.tp = tp;
    plan.ep = ep;
    return ep * space.rules.expert_tp(plan) > domain_size;
}

std::vector<Shape> shapes_of(std::vector<SearchSpace> const& spaces, std::int64_t domain_size) {
    std::vector<Shape> shapes;
    for (SearchSpace const& space : spaces)
        for (std::int64_t const tp : space.tp)
            for (std::int64_t const cp : space.cp)
                for (std::int64_t const ep : space.ep)
                    for (std::int64_t const mb : space.micro_batch)
                        for (Switch const sp : space.sequence_parallel)
                            for (ContextParallel const mode : space.cp_modes) {
                                bool const forced_off = tp == 1 && sp == Switch::on;
                                if (forced_off && space.sequence_parallel.size() > 1) continue;  // the same as off
                                if (cp == 1 && mode != space.cp_modes.front()) continue;
                                if (space.accelerators % (tp * cp) != 0) continue;
                                Switch const splits = forced_off ? Switch::off : sp;
                                for (Dispatcher const to_experts : space.dispatchers)
                                    if (is_own_shape(space, to_experts, tp, ep, domain_size))
                                        shapes.push_back({&space, tp, cp, ep, mb, splits, mode, to_experts});
                            }
    return shapes;
}

constexpr std::size_t most_kept = 20'000;  ///< plans, some 20 MB a thread

/// Groups that are kept at first: those whose lower bounds come first, and as many again as walks mostly bring up.
std::size_t groups_kept(SearchOptions const& options) {
    if (options.keep == Kept::best) return options.top;
    if (options.grouping == Grouping::layout) return 2 * options.top + 30;
    return std::min(8 * options.top + 200, std::max(most_kept, 2 * options.top));
}

/// Plans of a group that are kept at first: of a layout the 31st was the last that had to be walked in the questions
/// measured.
std::size_t variants_kept(SearchOptions const& options) {
    if (options.keep == Kept::best || options.grouping == Grouping::none) return 1;
    return std::clamp<std::size_t>(most_kept / groups_kept(options), 1, 64);
}

/// What one thread has found.
struct Findings {
    Ranking ranking;
    std::vector<Candidate> up_to_score;  ///< all, where a score says which are kept
    ParetoFront pareto;
    SearchCounts counts;
    RefusedPlans refused;
    Ranking quick_misfits;  ///< scored by the lower bound of their time
    std::optional<Candidate> smallest_misfit;
    std::optional<Candidate> smallest_host_misfit;

    explicit Findings(SearchOptions const& options)
        : ranking(groups_kept(options), options.grouping, variants_kept(options)),
          quick_misfits(options.keep == Kept::best ? 1 : 64, Grouping::none) {}

    void merge(Findings const& other) {
        ranking.merge(other.ranking);
        up_to_score.insert(up_to_score.end(), other.up_to_score.begin(), other.up_to_score.end());
        pareto.merge(other.pareto);
        counts.add(other.counts);
        refused.merge(other.refused);
        quick_misfits.merge(other.quick_misfits);
        if (other.smallest_misfit) note_smallest(*other.smallest_misfit);
        if (other.smallest_host_misfit) note_smallest_of_host(*other.smallest_host_misfit);
    }
    void note_smallest(Candidate const& c) {
        note(smallest_misfit, c, [](Candidate const& of) { return of.estimate.peak(); });
    }
    void note_smallest_of_host(Candidate const& c) {
        note(smallest_host_misfit, c, [](Candidate const& of) { return of.estimate.memory.host; });
    }

private:
    /// Of equal ones the plan that comes first.
    template <class Size>
    static void note(std::optional<Candidate>& smallest, Candidate const& c, Size const& size) {
        if (smallest) {
            Bytes const own = size(c), least = size(*smallest);
            if (own > least || (own == least && plan_key(c.plan) > plan_key(smallest->plan))) return;
        }
        smallest = c;
    }
};

class Worker {
public:
    Worker(ModelSpec const& model, Workload const& workload, ClusterSpec const& cluster,
           FrameworkProfile const& framework, Precision precision, MemoryLimit const& limit,
           SearchOptions const& options)
        : found(options),
          form_(model, workload, cluster, framework, precision),
          limit_(limit),
          options_(options),
          price_(accelerator_price(cluster)) {
        form_.hold_longest(options.longest_sequence);
    }

    void visit(Shape const& shape, std::size_t index) {
        shape_ = index;
        SearchSpace const& space = *shape.space;
        ParallelPlan plan = space.base;
        plan.tp = shape.tp;
        plan.cp = shape.cp;
        plan.ep = shape.ep;
        plan.expert_tp = space.rules.expert_tp(plan);
        plan.micro_batch = shape.micro_batch;
        plan.dispatcher = shape.dispatcher;
        plan.sequence_parallel = shape.sequence_parallel;
        plan.cp_mode = shape.cp == 1 ? ContextParallel::ring : shape.cp_mode;
        ShapeCosts costs(layer_forms * (space.module_sets.size() + space.kept_sets.size()));
        for (std::int64_t const pp : space.pp) {
            if (space.accelerators % (plan.tp * plan.cp * pp) != 0) continue;
            plan.pp = pp;
            plan.dp = space.accelerators / (plan.tp * plan.cp * pp);
            if (space.dp && !space.dp->allows(plan.dp)) continue;
            bool plain = false;
            for (auto const& [schedule, vpp] : space.pipelining) {
                // Without a pipeline every schedule is the same, but the one whose passes run in pairs.
                bool const paired = schedule == Schedule::overlapped;
                if (pp == 1 && (paired ? vpp > 1 : plain)) continue;
                plain = plain || !paired;
                plan.schedule = pp == 1 && !paired ? Schedule::one_f_one_b : schedule;
                plan.vpp = pp == 1 ? 1 : vpp;
                std::int64_t const microbatches = form_.workload().global_batch / (plan.dp * plan.micro_batch);
                if (!space.rules.lays_out(plan, form_.model(), microbatches)) continue;
                plan.stage_layers = space.base.stage_layers;
                plan.stage_layers = usual_stage_layers(form_.framework(), form_.model(), plan);
                visit_recompute(space, plan, costs);
            }
        }
    }

    Findings found;

private:
    /// For every set of modules and form of a layer, priced when the first plan needs it.
    using ShapeCosts = std::vector<std::optional<ShapeCost>>;

    void visit_recompute(SearchSpace const& space, ParallelPlan plan, ShapeCosts& costs) {
        // ZeRO has nothing to split without data parallelism.
        bool const alone = most_copies(plan, form_.model()) == 1;
        std::size_t const zeros = alone ? 1 : space.zero.size();
        auto const leaves = static_cast<std::int64_t>(zeros * space.offload.size());
        plan.zero = 0;
        std::int64_t const stage_layers = most_layers(plan);
        std::optional<PlanProblem> const problem = find_problem(form_.model(), plan, form_.workload());
        std::int64_t const step = recompute_step(form_.framework(), plan);
        std::int64_t const named = space.recompute_layers.value_or(0);
        for (auto const& [policy, steps, modules, kept] : space.recompute) {
            if (steps * step >= stage_layers && steps > 0) continue;  // the same as all of them
            bool const fixed = policy == Recompute::full && space.recompute_layers.has_value();
            std::int64_t const layers = !fixed ? steps * step : named < stage_layers ? named : 0;
            plan.recompute = policy;
            plan.recompute_layers = layers;
            plan.recompute_modules = space.module_sets[modules];
            plan.kept_activations = space.kept_sets[kept];
            bool const refused = plan.schedule == Schedule::overlapped && !can_overlap_experts(plan);
            if (problem || refused) {
                plan.zero = space.zero.front();  // what was asked for is named
                reject(problem.value_or(PlanProblem::schedule), plan, leaves);
                continue;
            }
            if (!space.rules.recomputes(plan, form_.model())) continue;
            std::size_t const set = kept > 0 ? space.module_sets.size() + kept : modules;
            std::optional<ShapeCost>& cost = costs[layer_forms * set + static_cast<std::size_t>(layer_form(plan))];
            if (!cost) cost = form_.price_shape(plan);
            // Passes take longer where gradients are added up than where they are reduced at once (ZeRO 2 and 3).
            std::optional<PipelineCost> added;
            std::optional<PipelineCost> reduced;
            for (std::size_t z = 0; z < space.zero.size(); ++z) {
                plan.zero = space.zero[z];
                auto const of_use = [&](Offload offload) {
                    return z < zeros || serves_one_rank(plan.zero, offload, form_.framework());
                };
                if (std::none_of(space.offload.begin(), space.offload.end(), of_use)) continue;
                if (!space.rules.shards(plan, form_.model())) continue;
                if (!zero_suits_pipeline(plan)) {
                    reject(PlanProblem::zero, plan, static_cast<std::int64_t>(space.offload.size()));
                    continue;
                }
                std::optional<PipelineCost>& pipeline = plan.zero >= 2 ? reduced : added;
                for (Offload const offload : space.offload) {
                    plan.offload = offload;
                    if (!of_use(offload) || !offload_suits_sharding(plan)) continue;
                    if (!space.rules.offloads(plan, form_.model())) continue;
                    if (!pipeline) pipeline = form_.assemble(*cost, plan);
                    consider(*pipeline, plan);
                }
            }
        }
    }

    /// Of a stage, where recompute of fewer of them is not the same as of all.
    [[nodiscard]] std::int64_t most_layers(ParallelPlan const& plan) const {
        ModelSpec const& model = form_.model();
        auto const most = [](std::vector<std::int64_t> const& stages) {
            return *std::max_element(stages.begin(), stages.end());
        };
        if (!plan.stage_layers.empty()) {
            ScheduleTraits const& traits = traits_of(plan.schedule);
            std::vector<std::int64_t> held(static_cast<std::size_t>(plan.pp), 0);
            for (std::size_t c = 0; c < plan.stage_layers.size(); ++c) {
                std::int64_t const rank = rank_of_chunk(traits.placement, plan.pp, static_cast<std::int64_t>(c));
                held[static_cast<std::size_t>(rank)] += plan.stage_layers[c];
                if (traits.parameter_copies() > 1)
                    held[static_cast<std::size_t>(plan.pp - 1 - rank)] += plan.stage_layers[c];
            }
            return most(held);
        }
        if (model.mtp_modules > 0) return most(balanced_split(model, plan.pp, 1));
        return (model.layer_count() + plan.pp - 1) / plan.pp;
    }

    void reject(PlanProblem problem, ParallelPlan const& plan, std::int64_t leaves) {
        found.counts.enumerated += leaves;
        found.counts.rejected[static_cast<std::size_t>(problem)] += leaves;
        found.refused.note(problem, shape_, plan);
    }

    void consider(PipelineCost const& pipeline, ParallelPlan const& plan) {
        ++found.counts.enumerated;
        Candidate candidate;
        form_.fill_memory(candidate.estimate, pipeline, plan);
        Bytes const peak = candidate.estimate.peak();
        bool const fits = limit_.admits(candidate.estimate.memory);
        if (candidate.estimate.memory.host > limit_.host) {
            ++found.counts.rejected[rejected_for_host_memory];
            candidate.plan = plan;
            if (peak <= limit_.usable) found.note_smallest_of_host(candidate);
            return;
        }
        if (!fits) {
            ++found.counts.rejected[rejected_for_memory];
            bool const smallest = !found.smallest_misfit || peak <= found.smallest_misfit->estimate.peak();
            if (!smallest && peak > 1.5 * limit_.usable) return;
        } else {
            ++found.counts.evaluated;
        }
        form_.fill_time(candidate.estimate, pipeline, plan);
        candidate.plan = plan;
        Seconds const time =
            options_.keep == Kept::best ? candidate.estimate.time : least_walked_time(candidate.estimate, plan);
        if (fits) {
            candidate.score = score_of(candidate, time, options_.objective, price_);
            keep(candidate);
            found.pareto.offer(candidate);
        } else {
            candidate.score = time.base();
            found.note_smallest(candidate);
            if (peak <= 1.5 * limit_.usable) found.quick_misfits.offer(candidate);
        }
    }

    void keep(Candidate const& candidate) {
        if (!options_.at_most)
            found.ranking.offer(candidate);
        else if (candidate.score <= *options_.at_most)
            found.up_to_score.push_back(candidate);
    }

    ClosedForm form_;
    MemoryLimit limit_;
    SearchOptions const& options_;
    double price_;
    std::size_t shape_ = 0;  ///< that is visited
};

}  // namespace

void SearchCounts::add(SearchCounts const& other) {
    enumerated += other.enumerated;
    evaluated += other.evaluated;
    for (std::size_t i = 0; i < rejected.size(); ++i)
        rejected[i] += other.rejected[i];
}

std::int64_t SearchCounts::rejected_total() const {
    std::int64_t total = 0;
    for (std::int64_t const n : rejected)
        total += n;
    return total;
}

void RefusedPlans::note(PlanProblem problem, std::size_t shape, ParallelPlan const& plan) {
    std::optional<Refused>& first = first_[static_cast<std::size_t>(problem)];
    if (!first || shape < first->shape) first = Refused{shape, plan};
}

void RefusedPlans::merge(RefusedPlans const& other) {
    for (std::size_t i = 0; i < first_.size(); ++i)
        if (other.first_[i]) note(static_cast<PlanProblem>(i), other.first_[i]->shape, other.first_[i]->plan);
}

ParallelPlan const* RefusedPlans::of(PlanProblem problem) const {
    std::optional<Refused> const& first = first_[static_cast<std::size_t>(problem)];
    return first ? &first->plan : nullptr;
}

std::string_view rejection_name(std::size_t kind) {
    if (kind == rejected_for_memory) return "memory";
    if (kind == rejected_for_host_memory) return "host memory";
    return name_of(static_cast<PlanProblem>(kind));
}

SearchResult search(ModelSpec const& model, Workload const& workload, ClusterSpec const& cluster,
                    FrameworkProfile const& framework, std::vector<SearchSpace> const& spaces, MemoryLimit const& limit,
                    SearchOptions const& options) {
    std::vector<Shape> const shapes = shapes_of(spaces, cluster.domain_size);
    Precision const precision = spaces.empty() ? Precision::bf16 : spaces.front().base.precision;
    static_cast<void>(
        cluster.accelerator.peak_of(precision));  // a device without it is an error, before any thread starts
    unsigned const hardware = std::max(1U, std::thread::hardware_concurrency());
    unsigned const wanted = options.threads > 0 ? options.threads : hardware;
    auto const threads = static_cast<unsigned>(std::clamp<std::size_t>(shapes.size(), 1, wanted));
    std::vector<Worker> workers;
    for (unsigned i = 0; i < threads; ++i)
        workers.emplace_back(model, workload, cluster, framework, precision, limit, options);

    std::atomic<std::size_t> next{0};
    std::atomic<std::size_t> done{0};
    std::atomic<std::int64_t> visited{0};
    auto const stopped = [&] { return options.stop != nullptr && options.stop->load(std::memory_order_relaxed); };
    run_parallel(threads, [&](unsigned i) {
        auto last_report = std::chrono::steady_clock::now();
        while (!stopped()) {
            std::size_t const index = next.fetch_add(1);
            if (index >= shapes.size()) break;
            std::int64_t const before = workers[i].found.counts.enumerated;
            workers[i].visit(shapes[index], index);
            visited += workers[i].found.counts.enumerated - before;
            ++done;
            auto const now = std::chrono::steady_clock::now();
            if (i == 0 && options.progress && now - last_report > std::chrono::milliseconds(200)) {
                last_report = now;
                options.progress(static_cast<double>(done) / static_cast<double>(shapes.size()), visited);
            }
        }
    });

    Findings all(options);
    for (Worker const& worker : workers)
        all.merge(worker.found);
    SearchResult result;
    result.best = options.at_most ? std::move(all.up_to_score) : all.ranking.sorted();
    if (options.at_most)
        std::sort(result.best.begin(), result.best.end(),
                  [](Candidate const& a, Candidate const& b) { return a.before(b); });
    else
        result.kept_up_to = all.ranking.kept_up_to();
    result.pareto = all.pareto.sorted();
    result.counts = all.counts;
    result.refused = all.refused;
    result.quick_misfits = all.quick_misfits.sorted();
    if (!result.quick_misfits.empty()) result.fastest_misfit = result.quick_misfits.front();
    result.smallest_misfit = all.smallest_misfit;
    result.smallest_host_misfit = all.smallest_host_misfit;
    result.interrupted = done < shapes.size();
    result.share_done = shapes.empty() ? 1 : static_cast<double>(done) / static_cast<double>(shapes.size());
    return result;
}

}  // namespace sextant
