#include "planner/tables/reference_runs.hpp"

#include "core/error.hpp"
#include "core/parallel_for.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/hourly_price.hpp"
#include "core/spec/model_catalog.hpp"
#include "planner/refine_recompute.hpp"
#include "planner/search.hpp"

#include <array>

namespace sextant {
namespace {

constexpr char const* llama_2 = "Llama 2: 2.0 T, arXiv:2307.09288 table 1";
constexpr char const* megatron = "arXiv:2104.04473 sec. 5.1";

constexpr std::array runs{
    ReferenceRun{"llama-2-7b", 8, 4096, 1024, 2e12, llama_2},
    ReferenceRun{"llama-2-13b", 16, 4096, 1024, 2e12, llama_2},
    ReferenceRun{"llama-2-13b", 64, 4096, 1024, 2e12, llama_2},
    ReferenceRun{"llama-3.1-70b", 64, 8192, 512, 15e12, "Llama 3: 15 T, arXiv:2407.21783 sec. 3.1"},
    ReferenceRun{"llama-3.1-70b", 256, 8192, 512, 15e12, "Llama 3: 15 T, arXiv:2407.21783 sec. 3.1"},
    ReferenceRun{"megatron-530b", 512, 2048, 1920, 270e9, "arXiv:2201.11990 sec. 3"},
    ReferenceRun{"megatron-530b", 2048, 2048, 1920, 270e9, "arXiv:2201.11990 sec. 3"},
    ReferenceRun{"llama-3.1-405b", 16384, 8192, 2048, 15.6e12, "arXiv:2407.21783 sec. 3.4.1"},
    ReferenceRun{"megatron-1t", 3072, 2048, 3072, 450e9, megatron},
    ReferenceRun{"mixtral-8x7b", 64, 4096, 1024, 2e12, "assumed: not published"},
    ReferenceRun{"deepseek-v3", 2048, 4096, 15360, 14.8e12, "arXiv:2412.19437 sec. 4.2"},
};

constexpr std::array<char const*, 7> clusters{"a100-sxm-80gb", "h100-sxm", "h200-sxm", "b200-sxm",
                                              "gb200-nvl72",   "mi300x",   "tpu-v5p"};

FrameworkProfile framework_of(std::string_view cluster) {
    return find_framework(cluster.starts_with("tpu") ? "maxtext" : "megatron", "tables");
}

void add_cost(ReferenceAnswer& answer, ClusterSpec const& cluster) {
    constexpr double seconds_per_day = 86400;
    double const steps = answer.run.tokens / static_cast<double>(answer.run.sequence * answer.run.global_batch);
    answer.days = steps * (answer.report->estimate.time / units::s) / seconds_per_day;
    if (auto const price = hourly_price(cluster)) {
        answer.dollars = answer.days * 24 * price->value * static_cast<double>(answer.run.accelerators);
        answer.price_basis = name_of(price->basis);
    }
}

ReferenceAnswer answer_one(ReferenceRun const& run, std::string const& name) {
    ReferenceAnswer answer{
        .run = run, .cluster = name, .report = {}, .missing = {}, .days = 0, .dollars = {}, .price_basis = {}};
    ModelSpec const model = find_model(run.model);
    ClusterSpec const cluster = find_cluster(name, "tables");
    FrameworkProfile const framework = on_generation(framework_of(name), cluster.accelerator.generation);
    Workload const workload{.sequence = run.sequence, .global_batch = run.global_batch};
    MemoryLimit const limit = default_memory_limit(cluster, framework);
    if (cluster.max_accelerators > 0 && run.accelerators > cluster.max_accelerators) {
        answer.missing = fmt::format("the cluster has {}", cluster.max_accelerators);
        return answer;
    }
    SearchOptions options;
    options.top = 1;
    options.keep = Kept::to_refine;
    options.threads = 1;
    SearchConstraints const constraints = constraints_of(framework);
    std::vector<SearchSpace> const spaces{make_search_space(model, workload, cluster, run.accelerators, constraints)};
    SearchResult found = search(model, workload, cluster, framework, spaces, limit, options);
    if (found.best.empty()) {
        auto const& least = found.smallest_misfit;
        answer.missing =
            least ? fmt::format("the smallest plan needs {} of {}", human(least->estimate.peak()), human(limit.usable))
                  : std::string("no split of this batch over so many");
        return answer;
    }
    ClosedForm form(model, workload, cluster, framework, found.best.front().plan.precision);
    found.pareto.clear();
    refine_with_recompute(found, form, spaces, limit, options);
    answer.report = make_report(form, found.best.front().plan, limit, found.best.front().estimate);
    add_cost(answer, cluster);
    return answer;
}

}  // namespace

std::span<ReferenceRun const> reference_runs() { return runs; }

std::vector<ReferenceAnswer> answer_reference_runs(unsigned threads) {
    std::vector<ReferenceAnswer> answers(runs.size() * clusters.size());
    parallel_for(static_cast<std::int64_t>(answers.size()), threads, [&](std::int64_t i) {
        auto const at = static_cast<std::size_t>(i);
        answers[at] = answer_one(runs[at / clusters.size()], clusters[at % clusters.size()]);
    });
    return answers;
}

}  // namespace sextant
