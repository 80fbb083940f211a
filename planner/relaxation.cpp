#include "planner/relaxation.hpp"

#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "planner/explain.hpp"
#include "planner/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

    /// The changed question with its best plan, if one fits.
    [[nodiscard]] std::optional<Relaxation> answered(Relaxation changed) const {
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
        SearchResult const result = search(model, workload, cluster, framework, spaces, changed.limit, options);
        if (result.best.empty()) return {};
        changed.plan = result.best.front().plan;
        return changed;
    }
};

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
    if (auto more = more_accelerators(subject, asked)) answered.push_back(*std::move(more));
    return answered;
}

}  // namespace sextant
