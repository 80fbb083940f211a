#pragma once

#include "core/graph/plan_check.hpp"
#include "planner/report.hpp"
#include "planner/search_space.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

enum class Objective : std::uint8_t { time, cost, memory, tokens_per_dollar };
std::string_view name_of(Objective objective);
/// @throws InputError with the known names.
Objective objective_from(std::string_view name, std::string_view where);

/// A plan with what the closed form says of it.
struct Candidate {
    ParallelPlan plan;
    StepEstimate estimate;
    double score = 0;  ///< of the objective, smaller is better; of `Kept::to_refine` a lower bound of it

    /// By score, then peak memory, then the plan's numbers: a total order, so that results do not depend on threads.
    [[nodiscard]] bool before(Candidate const& other) const;
};

/// Which plans compete for one place of the ranking.
enum class Grouping : std::uint8_t {
    none,    ///< every plan for itself
    layout,  ///< the best of each (dp, tp, pp, cp, ep)
};

/// What a search keeps.
enum class Kept : std::uint8_t {
    best,      ///< the best by the closed form, one of each group
    to_refine  ///< what may be best once schedules are walked, several of each group, by lower bounds: for `refine`
};

struct SearchOptions {
    Objective objective = Objective::time;
    std::size_t top = 10;
    Kept keep = Kept::best;
    Grouping grouping = Grouping::layout;
    std::int64_t longest_sequence = 0;        ///< `ClosedForm::hold_longest`
    std::optional<double> at_most{};          ///< what is to be refined is every plan that scores no more, however many
    unsigned threads = 0;                     ///< 0: as many as the machine has
    std::atomic<bool> const* stop = nullptr;  ///< set by an interrupt: finish what is begun and report that
    std::function<void(double share, std::int64_t visited)> progress;  ///< called from one thread, a few times a second
};

/// Kinds of rejection: every structural rule, memory of the accelerator, memory of the host.
inline constexpr std::size_t rejected_for_memory = static_cast<std::size_t>(PlanProblem::positions) + 1;
inline constexpr std::size_t rejected_for_host_memory = rejected_for_memory + 1;
inline constexpr std::size_t rejection_kinds = rejected_for_host_memory + 1;
std::string_view rejection_name(std::size_t kind);

struct SearchCounts {
    std::int64_t enumerated = 0;  ///< evaluated + all rejected
    std::int64_t evaluated = 0;   ///< fit, and were timed
    std::array<std::int64_t, rejection_kinds> rejected{};
    void add(SearchCounts const& other);
    [[nodiscard]] std::int64_t rejected_total() const;
};

inline constexpr std::size_t structural_problems = rejected_for_memory;

/// For each structural rule the first plan that broke it, by the order of shapes.
class RefusedPlans {
public:
    void note(PlanProblem problem, std::size_t shape, ParallelPlan const& plan);
    void merge(RefusedPlans const& other);
    [[nodiscard]] ParallelPlan const* of(PlanProblem problem) const;

private:
    struct Refused {
        std::size_t shape;
        ParallelPlan plan;
    };
    std::array<std::optional<Refused>, structural_problems> first_;
};

/// Where a search that keeps a limited number stopped keeping: nothing that was left out comes before these.
struct KeptUpTo {
    std::optional<double> score;      ///< of the last of the groups kept; none: every group was
    std::vector<Candidate> variants;  ///< the last kept of each group that had as many as one may have
};

struct SearchResult {
    std::vector<Candidate> best;    ///< ranked
    KeptUpTo kept_up_to;            ///< how far `best` has all that there are
    std::vector<Candidate> pareto;  ///< no other plan is better in time, peak memory and cost at once; by time
    SearchCounts counts;
    RefusedPlans refused;
    std::optional<Candidate> fastest_misfit;   ///< fastest plan among those that miss the memory limit by up to a half
    std::vector<Candidate> quick_misfits;      ///< those that may be it, by lower bounds of their times
    std::optional<Candidate> smallest_misfit;  ///< the plan that misses it by least
    std::optional<Candidate> smallest_host_misfit;  ///< of those that fit but for host memory the one that needs least
    bool interrupted = false;
    double share_done = 1;
};

/// Visits every plan of the spaces (one per number of accelerators): structural rules, memory, closed-form time.
/// Deterministic: the same result for any number of threads (unless interrupted).
SearchResult search(ModelSpec const& model, Workload const& workload, ClusterSpec const& cluster,
                    FrameworkProfile const& framework, std::vector<SearchSpace> const& spaces, MemoryLimit const& limit,
                    SearchOptions const& options);

}  // namespace sextant
