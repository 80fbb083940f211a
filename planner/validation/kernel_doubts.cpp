#include "planner/validation/kernel_doubts.hpp"

#include "core/quantity_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>

namespace sextant {
namespace {

char const* mask_words(Attention const& a) { return a.causal == Switch::on ? "" : " without a mask"; }

struct Text {
    KernelCase const& c;
    std::string operator()(Gemm const& g) const {
        std::string const several = c.products > 1 ? fmt::format("{} times ", c.products) : "";
        return fmt::format("{}{} {} x {} x {}", several, c.variant, g.m, g.n, g.k);
    }
    std::string operator()(Attention const& a) const {
        std::string const past = a.past > 0 ? fmt::format(" after {}", a.past) : "";
        return fmt::format("{}{}, batch {}, {} tokens{}, {}/{} heads of {}",
                           c.variant.empty() ? "attention" : "prefill " + c.variant, mask_words(a), a.batch, a.queries,
                           past, a.heads, a.kv_heads, a.head_dim);
    }
    std::string operator()(DecodeAttention const& a) const {
        return fmt::format("decode {}, batch {}, {} tokens, {}/{} heads of {}", c.variant, a.batch, a.keys, a.heads,
                           a.kv_heads, a.head_dim);
    }
    std::string operator()(MemoryKernel const& k) const { return fmt::format("{}, {}", c.variant, human(k.moved)); }
};

/// Kernels that differ in one size alone, and that size.
struct Series {
    std::string name;
    double size = 0;
};

struct SeriesOf {
    Series operator()(Gemm const& g) const { return {fmt::format("n{} k{}", g.n, g.k), static_cast<double>(g.m)}; }
    Series operator()(Attention const& a) const {
        return {fmt::format("prefill b{} h{} {} d{} after {}{}", a.batch, a.heads, a.kv_heads, a.head_dim, a.past,
                            mask_words(a)),
                static_cast<double>(a.queries)};
    }
    Series operator()(DecodeAttention const& a) const {
        return {fmt::format("decode b{} h{} {} d{}", a.batch, a.heads, a.kv_heads, a.head_dim),
                static_cast<double>(a.keys)};
    }
    Series operator()(MemoryKernel const& k) const { return {"memory", k.moved.base()}; }
};

struct Entry {
    double size;
    double seconds;
    std::size_t row;
};

/// How far the middle one lies from the line between its neighbours, as a factor; 1 when they are too far away to say.
double off_the_line(Entry const& before, Entry const& at, Entry const& after) {
    constexpr double near = 4;
    if (!(before.size < at.size && at.size < after.size) || after.size > near * at.size || at.size > near * before.size)
        return 1;
    double const share = std::log(at.size / before.size) / std::log(after.size / before.size);
    return at.seconds / (std::pow(before.seconds, 1 - share) * std::pow(after.seconds, share));
}

/// One series of kernels in order of size: what was measured several times, and what lies beside its neighbours.
void judge(std::vector<Entry>& entries, std::vector<std::string>& doubts) {
    std::sort(entries.begin(), entries.end(), [](Entry const& a, Entry const& b) {
        return a.size != b.size ? a.size < b.size : a.seconds < b.seconds;
    });
    for (std::size_t end = entries.size(); end > 0;) {
        std::size_t begin = end - 1;
        while (begin > 0 && entries[begin - 1].size == entries[begin].size)
            --begin;
        double const spread = entries[end - 1].seconds / entries[begin].seconds;
        for (std::size_t i = begin; i < end && spread >= 1.3; ++i)
            doubts[entries[i].row] =
                fmt::format("measured {} times, times differ by {:.0f} %", end - begin, 100 * (spread - 1));
        if (begin > 0 && end < entries.size()) {
            double const factor = off_the_line(entries[begin - 1], entries[begin], entries[end]);
            std::string& doubt = doubts[entries[begin].row];
            if (doubt.empty() && (factor >= 1.35 || factor <= 1 / 1.35))
                doubt = fmt::format("{:+.0f} % off the line between the sizes beside it", 100 * (factor - 1));
        }
        end = begin;
    }
}

/// Kernels that are larger where each of these is.
struct Extents {
    std::string name;
    std::array<double, 4> sizes{};
};

struct ExtentsOf {
    Extents operator()(Gemm const& g) const {
        return {"", {static_cast<double>(g.m), static_cast<double>(g.n), static_cast<double>(g.k)}};
    }
    Extents operator()(Attention const& a) const {
        return {fmt::format("prefill d{}{}", a.head_dim, mask_words(a)),
                {static_cast<double>(a.batch), static_cast<double>(a.queries), static_cast<double>(a.heads),
                 static_cast<double>(a.kv_heads)}};
    }
    Extents operator()(DecodeAttention const& a) const {
        return {fmt::format("decode d{}", a.head_dim),
                {static_cast<double>(a.batch), static_cast<double>(a.keys), static_cast<double>(a.heads),
                 static_cast<double>(a.kv_heads)}};
    }
    Extents operator()(MemoryKernel const& k) const { return {"memory", {k.moved.base()}}; }
};

struct Sized {
    std::array<double, 4> sizes;
    double seconds;
    std::size_t row;
};

/// Kernels of one kind: those that took longer than one that is at least as large in every size.
void compare_with_larger(std::vector<Sized>& entries, std::vector<std::string>& doubts) {
    constexpr double slower = 1.25;
    std::sort(entries.begin(), entries.end(), [](Sized const& a, Sized const& b) { return a.seconds < b.seconds; });
    for (Sized const& entry : entries)
        for (Sized const& other : entries) {
            if (entry.seconds < slower * other.seconds) break;
            bool const larger =
                std::equal(entry.sizes.begin(), entry.sizes.end(), other.sizes.begin(), std::less_equal<>());
            if (!larger || entry.sizes == other.sizes) continue;
            doubts[entry.row] = fmt::format("{:.0f} % slower than a larger one in the table",
                                            100 * (entry.seconds / other.seconds - 1));
            break;
        }
}

}  // namespace

std::string kernel_text(KernelCase const& c) {
    return std::visit(Text{c}, c.what) + (c.cache == CacheState::cold ? ", cold" : "") +
           (c.passes == TimedPasses::both                            ? ", with backward"
            : c.passes == TimedPasses::backward && c.variant.empty() ? ", backward"
                                                                     : "");
}

std::vector<std::string> kernel_doubts(std::vector<std::optional<KernelCase>> const& cases) {
    std::map<std::string, std::vector<Entry>> series;
    std::map<std::string, std::vector<Sized>> kinds;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        if (!cases[i] || !cases[i]->measured) continue;
        KernelCase const& c = *cases[i];
        Series const s = std::visit(SeriesOf{}, c.what);
        Extents const e = std::visit(ExtentsOf{}, c.what);
        double const seconds = c.measured->base();
        std::string const kind = fmt::format("{}|{}|{}|{}|{}|", c.device, c.kind, c.products, static_cast<int>(c.cache),
                                             static_cast<int>(c.passes));
        series[kind + s.name].push_back({.size = s.size, .seconds = seconds, .row = i});
        kinds[kind + e.name].push_back({.sizes = e.sizes, .seconds = seconds, .row = i});
    }
    std::vector<std::string> doubts(cases.size());
    for (auto& [key, entries] : kinds)
        compare_with_larger(entries, doubts);
    for (auto& [key, entries] : series)
        judge(entries, doubts);
    return doubts;
}

}  // namespace sextant
