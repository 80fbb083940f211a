#include "calibrate/import/kineto_collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>

namespace sextant {
namespace {

std::vector<std::int64_t> numbers_of(std::string_view text) {
    std::vector<std::int64_t> out;
    constexpr std::string_view digits = "0123456789";
    for (std::size_t at = text.find_first_of(digits); at != std::string_view::npos;) {
        std::int64_t value = 0;
        auto const [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
        if (error != std::errc{}) throw RowSkip("a collective whose ranks are no numbers");
        out.push_back(value);
        at = text.find_first_of(digits, static_cast<std::size_t>(end - text.data()));
    }
    return out;
}

/// The ranks between the first and the last, where the same step leads from each to the next.
void fill_in(std::vector<std::int64_t>& ranks, std::int64_t size) {
    constexpr std::int64_t most = 1 << 20;
    bool even = ranks.size() > 2 && std::max(size, *std::max_element(ranks.begin(), ranks.end())) <= most;
    std::int64_t const last = ranks.back();
    ranks.pop_back();
    std::int64_t const step = even ? ranks[1] - ranks[0] : 0;
    for (std::size_t i = 1; even && i < ranks.size(); ++i)
        even = ranks[i] - ranks[i - 1] == step;
    if (!even || last - ranks.front() != step * (size - 1))
        throw RowSkip("a collective of which not all ranks are known");
    while (static_cast<std::int64_t>(ranks.size()) < size)
        ranks.push_back(ranks.back() + step);
}

char const* collective_of(std::string const& name) {
    struct Known {
        char const* theirs;
        char const* ours;
    };
    constexpr std::array known{Known{"allreduce", "all_reduce"},
                               Known{"allreduce_coalesced", "all_reduce"},
                               Known{"all_gather", "all_gather"},
                               Known{"_allgather_base", "all_gather"},
                               Known{"allgather_into_tensor_coalesced", "all_gather"},
                               Known{"reduce_scatter", "reduce_scatter"},
                               Known{"_reduce_scatter_base", "reduce_scatter"},
                               Known{"reduce_scatter_tensor_coalesced", "reduce_scatter"},
                               Known{"all_to_all", "alltoall"},
                               Known{"all_to_allv", "alltoall"},
                               Known{"broadcast", "broadcast"},
                               Known{"reduce", "reduce"}};
    auto const* const found =
        std::find_if(known.begin(), known.end(), [&](Known const& k) { return name == k.theirs; });
    if (found == known.end()) throw RowSkip(fmt::format("no model of the collective '{}'", name.substr(0, 40)));
    return found->ours;
}

/// @throws RowSkip where what goes to one rank is not as much as goes to another: tables are of equal parts.
void check_parts(KinetoCollective const& kernel) {
    for (std::string const* const parts : {&kernel.in_parts, &kernel.out_parts}) {
        auto const sizes = numbers_of(*parts);
        if (std::adjacent_find(sizes.begin(), sizes.end(), std::not_equal_to<>()) != sizes.end())
            throw RowSkip("an all-to-all whose parts differ in size");
    }
}

}  // namespace

GroupNodes group_nodes(std::string_view named, std::int64_t size, std::int64_t node_size) {
    auto const uneven = [&] {
        return RowSkip(fmt::format("ranks that do not divide over nodes of {}",
                                   node_size == usual_node_size ? "eight" : fmt::to_string(node_size)));
    };
    std::vector<std::int64_t> ranks = numbers_of(named);
    if (ranks.empty()) {
        std::int64_t const per_node = std::min(size, node_size);
        if (size % per_node != 0) throw uneven();
        return {.nodes = size / per_node, .per_node = per_node};
    }
    if (named.find("...") != std::string_view::npos) fill_in(ranks, size);
    if (static_cast<std::int64_t>(ranks.size()) != size) throw RowSkip("a collective of which not all ranks are known");
    std::map<std::int64_t, std::int64_t> in_node;
    for (std::int64_t const rank : ranks)
        ++in_node[rank / node_size];
    std::int64_t const per_node = in_node.begin()->second;
    for (auto const& [node, count] : in_node)
        if (count != per_node) throw uneven();
    return {.nodes = static_cast<std::int64_t>(in_node.size()), .per_node = per_node};
}

KinetoCollectiveRow kineto_collective(KinetoCollective const& kernel, ImportRequest const& request) {
    char const* const collective = collective_of(kernel.name);
    if (std::string_view(collective) == "alltoall") check_parts(kernel);
    double const element = element_bytes(kernel.dtype);
    auto const count = [](std::string const& text) {
        std::string problem;
        return count_in(text, "", problem).value_or(0);
    };
    std::int64_t const ranks = count(kernel.size);
    double const bytes = element * static_cast<double>(std::max(count(kernel.in_elements), count(kernel.out_elements)));
    if (ranks < 1 || bytes <= 0) throw RowSkip("a collective without its size or ranks");
    return {.row = {.run = fmt::format("{} {} {}{}{}", request.name, collective, ranks,
                                       kernel.ranks.empty() ? "" : " of ", kernel.ranks),
                    .source = source_of(request, "kineto " + request.name),
                    .device = "",
                    .library_version = "",
                    .collective = collective,
                    .nodes = 0,
                    .per_node = 0,
                    .bytes = bytes,
                    .microseconds = 0,
                    .group = kernel.ranks},
            .ranks = ranks,
            .named = kernel.ranks};
}

}  // namespace sextant
