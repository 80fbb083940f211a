#pragma once

#include "simulator/collectives/catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace sextant::test {

struct CollectiveCase {
    CollectiveAlgorithm const* algorithm;
    CollectiveShape shape;
    [[nodiscard]] std::string name() const {
        std::string text = fmt::format("{} {} over {} ranks, {} per domain", algorithm->name, name_of(shape.kind),
                                       shape.ranks, shape.ranks_per_domain);
        for (std::int64_t const length : shape.torus)
            text += fmt::format(" x{}", length);
        return text;
    }
};

/// Every algorithm for each of its kinds over 1 to 16 ranks (tori: up to 27), in domains of any size, and as boxes of
/// one to three axes, where it supports them.
template <class Visit>
void every_case(Visit visit) {
    auto const offer = [&](CollectiveShape shape) {
        for (CollectiveAlgorithm const* algorithm : collective_catalog())
            for (CollectiveKind const kind : algorithm->kinds) {
                shape.kind = kind;
                if (!why_not(*algorithm, shape)) visit(CollectiveCase{algorithm, shape});
            }
    };
    for (std::int64_t ranks = 1; ranks <= 16; ++ranks)
        for (std::int64_t domain = 1; domain <= ranks; ++domain)
            offer({.kind = {}, .ranks = ranks, .ranks_per_domain = domain, .torus = {}, .torus_wraps = {}});
    for (std::int64_t ranks = 1; ranks <= 16; ++ranks)
        for (std::int64_t const domain : {3, 4, 8})
            offer({.kind = {},
                   .ranks = ranks,
                   .ranks_per_domain = std::min(ranks, domain),
                   .torus = {},
                   .scale_up = ScaleUpKind::mesh});
    using Axes = std::vector<std::int64_t>;
    for (Axes const& axes : {Axes{1}, {2}, {5}, {2, 2}, {4, 3}, {1, 4}, {3, 5}, {2, 2, 2}, {2, 3, 2}, {3, 3, 3}}) {
        std::int64_t ranks = 1;
        for (std::int64_t const length : axes)
            ranks *= length;
        for (bool const wraps : {true, false})
            offer({.kind = {},
                   .ranks = ranks,
                   .ranks_per_domain = ranks,
                   .torus = axes,
                   .torus_wraps = std::vector<bool>(axes.size(), wraps)});
    }
}

}  // namespace sextant::test
