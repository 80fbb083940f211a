// Kernels whose time is that of the memory they touch, in fp32 on one thread. `bytes` counts every operand once:
// rmsnorm 8 m n + 4 n, swiglu 12 m n (x is [m, 2 n]), residual_add 12 m n, softmax 8 m n, adamw 28 n, cast 6 n.
#include <array>
#include <memory>
#include <string>

#include "kernels/harness/errors.hpp"
#include "kernels/harness/float_formats.hpp"
#include "kernels/harness/generated_values.hpp"
#include "kernels/harness/references.hpp"
#include "kernels/harness/relative_error.hpp"
#include "kernels/host/catalog.hpp"
#include "kernels/host/memory_kernels.hpp"
#include "kernels/host/timer.hpp"

namespace sextant::bench {
namespace {

using Floats = std::vector<float>;

Floats filled(std::uint64_t seed, std::int64_t count) {
    Floats values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = value_at(seed, i);
    return values;
}

reference::Values part(Floats const& values, std::int64_t first, std::int64_t count) {
    auto const begin = values.begin() + first;
    return {begin, begin + count};
}

/// Operands of one problem; each kernel uses those it needs.
struct Operands {
    std::int64_t rows = 0, columns = 0;
    Floats x, second, out, m, v;
    std::vector<std::uint16_t> halves;
    reference::AdamW settings;
};

struct Kernel {
    char const* name;
    double bytes_per_element;  ///< of the output
    std::int64_t inputs;       ///< elements of x for each element of the output
    void (*run)(Operands&);
    /// Adds the first and the last row (or elements) of the output and what they should be.
    void (*check)(Operands const& after, Operands const& before, RelativeError& error);
};

template <class Wanted>
void check_rows(Operands const& after, RelativeError& error, Wanted const& wanted) {
    for (std::int64_t const row : {std::int64_t{0}, after.rows - 1}) {
        reference::Values const right = wanted(row);
        for (std::size_t c = 0; c < right.size(); ++c)
            error.add(static_cast<double>(after.out[static_cast<std::size_t>(row * after.columns) + c]), right[c]);
    }
}

void run_rmsnorm(Operands& o) { host_kernels::rmsnorm(o.rows, o.columns, o.x.data(), o.second.data(), o.out.data()); }
void check_rmsnorm(Operands const& o, Operands const&, RelativeError& error) {
    check_rows(o, error, [&](std::int64_t row) {
        return reference::norm(reference::Norm::rms, part(o.x, row * o.columns, o.columns),
                               part(o.second, 0, o.columns), {});
    });
}

void run_swiglu(Operands& o) { host_kernels::swiglu(o.rows, o.columns, o.x.data(), o.out.data()); }
void check_swiglu(Operands const& o, Operands const&, RelativeError& error) {
    check_rows(o, error, [&](std::int64_t row) {
        reference::Values const in = part(o.x, 2 * row * o.columns, 2 * o.columns);
        reference::Values right;
        for (std::size_t c = 0; c < in.size() / 2; ++c)
            right.push_back(reference::swiglu(in[c], in[c + in.size() / 2]));
        return right;
    });
}

void run_residual_add(Operands& o) {
    host_kernels::residual_add(o.rows * o.columns, o.x.data(), o.second.data(), o.out.data());
}
void check_residual_add(Operands const& o, Operands const&, RelativeError& error) {
    check_rows(o, error, [&](std::int64_t row) {
        reference::Values right = part(o.x, row * o.columns, o.columns);
        reference::Values const other = part(o.second, row * o.columns, o.columns);
        for (std::size_t c = 0; c < right.size(); ++c)
            right[c] += other[c];
        return right;
    });
}

void run_softmax(Operands& o) { host_kernels::softmax(o.rows, o.columns, o.x.data(), o.out.data()); }
void check_softmax(Operands const& o, Operands const&, RelativeError& error) {
    check_rows(o, error, [&](std::int64_t row) { return reference::softmax(part(o.x, row * o.columns, o.columns)); });
}

void run_adamw(Operands& o) {
    host_kernels::adamw(o.settings, o.rows * o.columns, o.x.data(), o.out.data(), o.m.data(), o.v.data());
}
void check_adamw(Operands const& after, Operands const& before, RelativeError& error) {
    for (std::size_t i = 0; i < after.out.size(); i += 97) {
        double p = static_cast<double>(before.out[i]), m = static_cast<double>(before.m[i]),
               v = static_cast<double>(before.v[i]);
        reference::adamw(before.settings, static_cast<double>(before.x[i]), p, m, v);
        error.add(static_cast<double>(after.out[i]), p);
    }
}

void run_cast(Operands& o) { host_kernels::cast_to_bf16(o.rows * o.columns, o.x.data(), o.halves.data()); }
void check_cast(Operands const& o, Operands const&, RelativeError& error) {
    for (std::size_t i = 0; i < o.x.size(); i += 97)
        error.add(decoded(bf16_format, o.halves[i]), rounded(bf16_format, static_cast<double>(o.x[i])));
}

constexpr std::array kernels{
    Kernel{"rmsnorm", 8, 1, run_rmsnorm, check_rmsnorm},
    Kernel{"swiglu", 12, 2, run_swiglu, check_swiglu},
    Kernel{"residual_add", 12, 1, run_residual_add, check_residual_add},
    Kernel{"softmax", 8, 1, run_softmax, check_softmax},
    Kernel{"adamw", 28, 1, run_adamw, check_adamw},
    Kernel{"cast_bf16", 6, 1, run_cast, check_cast},
};

std::vector<Problem> problems(Scope const& scope) {
    std::vector<std::pair<std::int64_t, std::int64_t>> shapes{
        {16, 512}, {64, 1024}, {96, 3000}, {256, 2048}, {512, 4096}};
    if (scope.effort == Effort::full) shapes.insert(shapes.end(), {{32, 700}, {128, 1536}, {1024, 8192}, {4096, 8192}});
    std::vector<Problem> all;
    for (Kernel const& kernel : kernels)
        for (auto const& [rows, columns] : shapes) {
            Problem problem;
            problem.kernel = kernel.name;
            problem.dtype = "fp32";
            problem.shape.m = rows;
            problem.shape.n = columns;
            problem.bytes = kernel.bytes_per_element * static_cast<double>(rows * columns);
            if (problem.kernel == "rmsnorm") problem.bytes += 4.0 * static_cast<double>(columns);
            problem.expected_s = problem.bytes / 5e9;  // assumed
            problem.variants = hot_and_cold();
            all.push_back(std::move(problem));
        }
    return all;
}

Prepared prepare(Problem const& problem, Scope const& scope) {
    Kernel const* kernel = nullptr;
    for (Kernel const& candidate : kernels)
        if (problem.kernel == candidate.name) kernel = &candidate;
    if (kernel == nullptr) throw BadInput("no kernel \"" + problem.kernel + "\"");
    auto operands = std::make_shared<Operands>();
    Operands& o = *operands;
    o.rows = problem.shape.m;
    o.columns = problem.shape.n;
    std::int64_t const count = o.rows * o.columns;
    o.x = filled(scope.seed, kernel->inputs * count);
    o.second = filled(scope.seed + 1, count);
    o.out = filled(scope.seed + 2, count);
    if (problem.kernel == "adamw") {
        o.m = filled(scope.seed + 3, count);
        o.v = filled(scope.seed + 4, count);
        for (float& value : o.v)
            value = value * value;
    }
    if (problem.kernel == "cast_bf16") o.halves.resize(static_cast<std::size_t>(count));
    Operands before;  // what only an update in place needs: operands take half a gigabyte
    if (problem.kernel == "adamw") before = o;
    kernel->run(o);
    RelativeError error;
    kernel->check(o, before, error);

    Prepared prepared;
    prepared.max_rel_error = error.largest();
    prepared.tolerance = 1e-5;  // a few hundred roundings of 2^-24
    prepared.note = "one thread";
    prepared.measure = [operands, run = kernel->run](Variant variant, StopRule const& rule) {
        return time_on_host([&] { run(*operands); }, variant, rule);
    };
    return prepared;
}

}  // namespace

extern constinit Bench const host_memory_bound{
    .name = "memory_bound",
    .summary = "rmsnorm, swiglu, residual add, softmax, AdamW, cast to bf16",
    .problems = problems,
    .prepare = prepare,
};

}  // namespace sextant::bench
