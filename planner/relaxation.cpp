#include "planner/relaxation.hpp"

#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "planner/explain.hpp"
#include "planner/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

namespace sextant {
namespace {

/// What stays the same however the question is changed.
struct Subject {
    ModelSpec const& model;
    Workload const& workload;
    ClusterSpec const& cluster;
    FrameworkProfile const& framework;

    [[nodiscard]] SearchResult searched(Relaxation const& changed) const {
        std::vector<SearchSpace> spaces;
        for (std::int64_t const n : changed.accelerators) {
            try {
                spaces.push_back(make_search_space(model, workload, cluster, n, changed.constraints));
            } catch (InputError const&) {
                // another constraint leaves this number of accelerators nothing to search
            }
        }
        SearchOptions options;
        options.top = 1;
        return search(model, workload, cluster, framework, spaces, changed.limit, options);
    }

    /// The changed question with its best plan, if one fits.
    [[nodiscard]] std::optional<Relaxation> answered(Relaxation changed) const {
        SearchResult const result = searched(changed);
        if (result.best.empty()) return {};
        changed.plan = result.best.front().plan;
        return changed;
    }
};

/// The least host memory with which something fits, where hosts have as much: in the full space, which offloads.
std::optional<Relaxation> more_host_memory(Subject const& subject, Relaxation const& asked) {
    constexpr Bytes most = 1000 * units::GB;  // of an accelerator: large hosts have 2 to 4 TB for eight
    constexpr Bytes step = 32 * units::GB;
    Relaxation more = asked;
    bool const wider =
        asked.constraints.offload.empty() && asked.constraints.width == SearchConstraints::Width::standard;
    if (wider) more.constraints.width = SearchConstraints::Width::full;
    SearchResult const result = subject.searched(more);
    if (!result.best.empty() || !result.smallest_host_misfit) return {};
    Bytes const needed = result.smallest_host_misfit->estimate.memory.host;
    if (needed > most) return {};
    more.limit.host = std::ceil(needed / step) * step;
    std::string const& name = subject.cluster.name;
    more.change = fmt::format("{}--cluster {}{}host_memory={:.0f}GB ({} per accelerator for what is offloaded)",
                              wider ? "--space full " : "", name, name.find(':') == std::string::npos ? ':' : ',',
                              more.limit.host.in(units::GB), human(needed));
    return subject.answered(std::move(more));
}

/// A training that keeps less than all weights with moments of four bytes: another question, with another result.
struct OtherTraining {
    char const* options;
    char const* what;
    bool (*is_open)(SearchConstraints const&);
    void (*change)(ParallelPlan&);
};

bool trains_all_weights(SearchConstraints const& c) { return !c.base.adapters.on(); }
/// Where bitsandbytes is used: it has the 8-bit optimizer and the 4-bit weights.
bool quantises(SearchConstraints const& c) { return c.launcher == Launcher::any || c.launcher == Launcher::fsdp2; }

constexpr std::int64_t usual_rank = 16;  // as in the pages here; assumed
constexpr std::array other_trainings{
    OtherTraining{.options = "--optimizer adamw-8bit",
                  .what = "moments in 8 bits",
                  .is_open =
                      [](SearchConstraints const& c) {
                          return trains_all_weights(c) && quantises(c) && c.base.optimizer == Optimizer::adamw &&
                                 goes_with(Optimizer::adamw_8bit, c.base.precision);
                      },
                  .change = [](ParallelPlan& p) { p.optimizer = Optimizer::adamw_8bit; }},
    OtherTraining{.options = "--lora-rank 16",
                  .what = "adapters on frozen weights",
                  .is_open = trains_all_weights,
                  .change = [](ParallelPlan& p) { p.adapters = {.rank = usual_rank, .targets = attention_targets()}; }},
    OtherTraining{.options = "--lora-rank 16 --base-weights nf4",
                  .what = "adapters on frozen weights of 4 bits",
                  .is_open = [](SearchConstraints const& c) { return trains_all_weights(c) && quantises(c); },
                  .change =
                      [](ParallelPlan& p) {
                          p.adapters = {.rank = usual_rank, .targets = attention_targets(), .base = BaseWeights::nf4};
                      }},
    OtherTraining{.options = "--base-weights nf4",
                  .what = "frozen weights of 4 bits",
                  .is_open =
                      [](SearchConstraints const& c) {
                          return c.base.adapters.on() && c.base.adapters.base == BaseWeights::bf16 && quantises(c);
                      },
                  .change = [](ParallelPlan& p) { p.adapters.base = BaseWeights::nf4; }},
};

/// The first of them that fits: the nearest to what was asked.
std::optional<Relaxation> another_training(Subject const& subject, Relaxation const& asked) {
    for (OtherTraining const& training : other_trainings) {
        if (!training.is_open(asked.constraints)) continue;
        Relaxation other = asked;
        training.change(other.constraints.base);
        other.change = fmt::format("{} (another training: {})", training.options, training.what);
        if (auto found = subject.answered(std::move(other))) return found;
    }
    return {};
}

/// How often the number of accelerators has to be doubled until something fits, or three quarters of that do, if the
/// cluster has as many.
std::optional<Relaxation> more_accelerators(Subject const& subject, Relaxation const& asked) {
    if (asked.accelerators.empty()) return {};
    ClusterSpec const& cluster = subject.cluster;
    std::int64_t most = cluster.max_accelerators > 0 ? cluster.max_accelerators : std::int64_t{1} << 16;
    if (!cluster.scale_out) most = std::min(most, cluster.domain_size);
    auto const with = [&](std::int64_t n) {
        Relaxation more = asked;
        more.accelerators = {n};
        more.change = fmt::format("--gpus {}", n);
        return subject.answered(std::move(more));
    };
    for (std::int64_t n = 2 * *std::max_element(asked.accelerators.begin(), asked.accelerators.end()); n <= most;
         n *= 2)
        if (auto const found = with(n)) {
            auto const fewer = n % 4 == 0 ? with(n / 4 * 3) : std::nullopt;
            return fewer ? fewer : found;
        }
    return {};
}

/// An option that fixes what a search would choose.
struct FixedOption {
    char const* name;
    bool (*is_given)(SearchConstraints const&);
    void (*release)(SearchConstraints&);
};

template <auto member>
constexpr FixedOption fixes(char const* name) {
    return {.name = name,
            .is_given =
                [](SearchConstraints const& c) {
                    if constexpr (requires { (c.*member).has_value(); })
                        return (c.*member).has_value();
                    else
                        return !(c.*member).empty();
                },
            .release = [](SearchConstraints& c) { c.*member = {}; }};
}

constexpr std::array all_fixed_options{
    fixes<&SearchConstraints::dp>("--dp"),
    fixes<&SearchConstraints::tp>("--tp"),
    fixes<&SearchConstraints::pp>("--pp"),
    fixes<&SearchConstraints::cp>("--cp"),
    fixes<&SearchConstraints::ep>("--ep"),
    fixes<&SearchConstraints::vpp>("--vpp"),
    fixes<&SearchConstraints::micro_batch>("--micro-batch"),
    fixes<&SearchConstraints::zero>("--zero"),
    fixes<&SearchConstraints::recompute>("--recompute"),
    fixes<&SearchConstraints::recompute_layers>("--recompute-layers"),
    fixes<&SearchConstraints::offload>("--offload"),
    fixes<&SearchConstraints::schedules>("--schedule"),
    fixes<&SearchConstraints::cp_modes>("--cp-mode"),
    fixes<&SearchConstraints::dispatcher>("--moe-dispatcher"),
    FixedOption{.name = "--recompute-modules",
                .is_given = [](SearchConstraints const& c) { return c.recompute_modules.has_value(); },
                .release =
                    [](SearchConstraints& c) {
                        c.recompute_modules.reset();
                        c.base.recompute_modules = attention_core;
                    }},
};

/// The question without each option that fixes something, in the full space, with fewer logits at once, with all the
/// memory there is.
std::vector<Relaxation> loosened(Relaxation const& asked, MemoryLimit const& whole) {
    std::vector<Relaxation> changed;
    auto const add = [&](std::string change) -> Relaxation& {
        changed.push_back(asked);
        changed.back().change = std::move(change);
        return changed.back();
    };
    for (FixedOption const& option : all_fixed_options)
        if (option.is_given(asked.constraints)) option.release(add(fmt::format("without {}", option.name)).constraints);
    if (asked.constraints.width == SearchConstraints::Width::standard)
        add("--space full (offload, every degree and divisor)").constraints.width = SearchConstraints::Width::full;
    if (asked.constraints.base.loss_chunks == 1 && cuts_loss(asked.constraints.launcher))
        add(fmt::format("--loss-chunks {}", usual_loss_chunks)).constraints.base.loss_chunks = usual_loss_chunks;
    if (asked.constraints.base.fused_cross_entropy == Switch::off && fuses_loss(asked.constraints.launcher))
        add("--fused-cross-entropy").constraints.base.fused_cross_entropy = Switch::on;
    if (asked.limit.usable < whole.usable) add(fmt::format("a memory limit of {}", human(whole.usable))).limit = whole;
    return changed;
}

}  // namespace

std::string relaxation_sentence(Relaxation const& relaxation) {
    return fmt::format("{} would give an answer, such as {}", relaxation.change, plan_label(relaxation.plan));
}

std::vector<std::string> fixed_options(SearchConstraints const& constraints) {
    std::vector<std::string> names;
    for (FixedOption const& option : all_fixed_options)
        if (option.is_given(constraints)) names.emplace_back(option.name);
    return names;
}

SearchConstraints without_fixed_options(SearchConstraints constraints) {
    for (FixedOption const& option : all_fixed_options)
        option.release(constraints);
    return constraints;
}

std::vector<Relaxation> relaxations(ModelSpec const& model, Workload const& workload, ClusterSpec const& cluster,
                                    FrameworkProfile const& framework, std::vector<std::int64_t> const& accelerators,
                                    SearchConstraints const& constraints, MemoryLimit const& limit) {
    Subject const subject{model, workload, cluster, framework};
    Relaxation const asked{
        .change = {}, .accelerators = accelerators, .constraints = constraints, .limit = limit, .plan = {}};
    std::vector<Relaxation> answered;
    for (Relaxation& relaxed : loosened(asked, default_memory_limit(cluster, framework)))
        if (auto found = subject.answered(std::move(relaxed))) answered.push_back(*std::move(found));
    bool const as_asked = !answered.empty();  // on the same machine
    for (auto const change : {more_host_memory, more_accelerators})
        if (auto found = change(subject, asked)) answered.push_back(*std::move(found));
    if (!as_asked)
        if (auto other = another_training(subject, asked)) answered.push_back(*std::move(other));
    return answered;
}

}  // namespace sextant
