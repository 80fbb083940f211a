// Kernels that move rows by an index, bf16, m tokens of n elements. bytes: embedding_gather 4 m n,
// embedding_scatter_add 2 m n + 8 m n (fp32 gradient read and written), moe_permute 4 k m n and moe_unpermute 2 (k + 1)
// m n for k experts per token (column k; groups is the number of experts).
#include "kernels/cuda/kernels/rows.cuh"

#include <memory>
#include <numeric>

#include "kernels/cuda/catalog.hpp"
#include "kernels/cuda/generated.cuh"
#include "kernels/harness/references.hpp"
#include "kernels/harness/shapes.hpp"

namespace sextant::bench {
namespace {

using device::bf16;
using reference::Values;

constexpr std::int64_t vocabulary = 32000;
constexpr std::int64_t experts = 64, per_token = 8;

struct Operands {
    DeviceArray<bf16> in, out;
    DeviceArray<float> gradient, weights;
    DeviceArray<std::int32_t> index;
};

std::vector<std::int32_t> random_indices(std::uint64_t seed, std::int64_t count, std::int64_t below) {
    std::vector<std::int32_t> index;
    for (std::int64_t i = 0; i < count; ++i)
        index.push_back(
            static_cast<std::int32_t>(mixed(seed, static_cast<std::uint64_t>(i)) % static_cast<std::uint64_t>(below)));
    return index;
}

std::vector<Problem> problems(Scope const& scope) {
    std::vector<Problem> all;
    for (auto const& [m, n] : shapes::activations(scope.effort)) {
        double const elements = static_cast<double>(m * n), k = static_cast<double>(per_token);
        all.push_back(matrix_problem("embedding_gather", "bf16", m, n, 4 * elements));
        all.push_back(matrix_problem("embedding_scatter_add", "bf16", m, n, 10 * elements));
        for (bool const back : {false, true}) {
            Problem problem = matrix_problem(back ? "moe_unpermute" : "moe_permute", "bf16", m, n,
                                             back ? 2 * (k + 1) * elements : 4 * k * elements);
            problem.shape.k = per_token;
            problem.shape.groups = experts;
            all.push_back(problem);
        }
    }
    return fitting(all, scope);
}

Prepared prepare_embedding(Problem const& problem, Scope const& scope) {
    std::int64_t const rows = problem.shape.m, columns = problem.shape.n;
    bool const scatter = problem.kernel == "embedding_scatter_add";
    auto o = std::make_shared<Operands>();
    auto const index = random_indices(scope.seed + 1, rows, vocabulary);
    o->index = device_copy(index);
    o->in = device_values<bf16>((scatter ? rows : vocabulary) * columns, scope.seed);
    DeviceWork work;
    if (scatter) {
        o->gradient = DeviceArray<float>(vocabulary * columns);
        o->gradient.clear();
        work = [o, rows, columns](cudaStream_t stream) {
            launch({static_cast<unsigned>(rows), 256, stream}, device::scatter_add_rows<bf16>, columns, o->in.data(),
                   o->index.data(), o->gradient.data());
        };
    } else {
        o->out = DeviceArray<bf16>(rows * columns);
        work = [o, rows, columns](cudaStream_t stream) {
            launch({static_cast<unsigned>(rows), row_threads(columns), stream}, device::gather_rows<bf16>, columns,
                   o->in.data(), o->index.data(), o->out.data());
        };
    }
    work(work_stream());
    RelativeError error;
    for (std::int64_t const row : sampled(rows)) {
        std::int64_t const place = index[static_cast<std::size_t>(row)];
        if (!scatter) {
            add_all(error, read_values(o->out, row * columns, columns),
                    host_values<bf16>(scope.seed, place * columns, columns));
            continue;
        }
        Values wanted(static_cast<std::size_t>(columns), 0.0);
        for (std::int64_t other = 0; other < rows; ++other) {
            if (index[static_cast<std::size_t>(other)] != place) continue;
            Values const part = host_values<bf16>(scope.seed, other * columns, columns);
            for (std::size_t c = 0; c < part.size(); ++c)
                wanted[c] += part[c];
        }
        add_all(error, read_values(o->gradient, place * columns, columns), wanted);
    }
    return prepared_on_device(error.largest(), scatter ? 1e-4 : 1e-9, work);
}

/// Where the j-th choice of each token lies once all choices are sorted by expert (a stable counting sort).
std::vector<std::int32_t> sorted_places(std::vector<std::int32_t> const& expert_of) {
    std::vector<std::int32_t> begin(static_cast<std::size_t>(experts) + 1, 0);
    for (std::int32_t const expert : expert_of)
        ++begin[static_cast<std::size_t>(expert) + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<std::int32_t> places;
    for (std::int32_t const expert : expert_of)
        places.push_back(begin[static_cast<std::size_t>(expert)]++);
    return places;
}

Prepared prepare_moe(Problem const& problem, Scope const& scope) {
    std::int64_t const tokens = problem.shape.m, columns = problem.shape.n, choices = tokens * per_token;
    bool const back = problem.kernel == "moe_unpermute";
    auto const places = sorted_places(random_indices(scope.seed + 1, choices, experts));
    auto o = std::make_shared<Operands>();
    DeviceWork work;
    RelativeError error;
    if (!back) {
        std::vector<std::int32_t> source(places.size());
        for (std::size_t choice = 0; choice < places.size(); ++choice)
            source[static_cast<std::size_t>(places[choice])] = static_cast<std::int32_t>(choice / per_token);
        o->index = device_copy(source);
        o->in = device_values<bf16>(tokens * columns, scope.seed);
        o->out = DeviceArray<bf16>(choices * columns);
        work = [o, choices, columns](cudaStream_t stream) {
            launch({static_cast<unsigned>(choices), row_threads(columns), stream}, device::gather_rows<bf16>, columns,
                   o->in.data(), o->index.data(), o->out.data());
        };
        work(work_stream());
        for (std::int64_t const row : sampled(choices))
            add_all(error, read_values(o->out, row * columns, columns),
                    host_values<bf16>(scope.seed, source[static_cast<std::size_t>(row)] * columns, columns));
        return prepared_on_device(error.largest(), 1e-9, work);
    }
    o->index = device_copy(places);
    o->in = device_values<bf16>(choices * columns, scope.seed);
    o->weights = device_values<float>(choices, scope.seed + 2);
    o->out = DeviceArray<bf16>(tokens * columns);
    work = [o, tokens, columns](cudaStream_t stream) {
        launch({static_cast<unsigned>(tokens), row_threads(columns), stream}, device::combine_rows<bf16>, columns,
               static_cast<int>(per_token), o->in.data(), o->index.data(), o->weights.data(), o->out.data());
    };
    work(work_stream());
    for (std::int64_t const token : sampled(tokens)) {
        Values wanted(static_cast<std::size_t>(columns), 0.0);
        for (std::int64_t choice = token * per_token; choice < (token + 1) * per_token; ++choice) {
            Values const part =
                host_values<bf16>(scope.seed, places[static_cast<std::size_t>(choice)] * columns, columns);
            double const weight = host_values<float>(scope.seed + 2, choice, 1)[0];
            for (std::size_t c = 0; c < part.size(); ++c)
                wanted[c] += weight * part[c];
        }
        add_all(error, read_values(o->out, token * columns, columns), wanted);
    }
    return prepared_on_device(error.largest(), bf16_tolerance, work);
}

Prepared prepare(Problem const& problem, Scope const& scope) {
    return problem.kernel.starts_with("moe") ? prepare_moe(problem, scope) : prepare_embedding(problem, scope);
}

}  // namespace

extern constinit Bench const cuda_rows{
    .name = "rows",
    .summary = "embedding gather and scatter-add, mixture-of-experts permute and unpermute",
    .problems = problems,
    .prepare = prepare,
};

}  // namespace sextant::bench
