#include "calibrate/import/nccl_tests_ranks.hpp"

#include "calibrate/import/log_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace sextant {
namespace {

using Words = std::vector<std::string_view>;

/// The word behind this one; empty where there is none.
std::string_view behind(Words const& words, std::string_view name) {
    auto const at = std::find(words.begin(), words.end(), name);
    return at == words.end() || at + 1 == words.end() ? std::string_view() : *(at + 1);
}

std::optional<std::int64_t> number_behind(Words const& words, std::string_view name) {
    std::int64_t value = 0;
    if (!is_number(behind(words, name), value)) return std::nullopt;
    return value;
}

}  // namespace

bool NcclTestsRanks::is_rank(Words const& words) {
    return words.front().starts_with('#') && number_behind(words, "Rank") && !behind(words, "on").empty();
}

void NcclTestsRanks::add(std::string_view line, Words const& words) {
    listed_.push_back({.rank = *number_behind(words, "Rank"),
                       .group = number_behind(words, "Group").value_or(0),
                       .host = std::string(behind(words, "on"))});
    auto const bracket = line.find("] ");
    if (bracket == std::string_view::npos || !device_.empty()) return;
    if (auto const device = line.find_first_not_of(' ', bracket + 1); device != std::string_view::npos)
        device_ = std::string(line.substr(device));
}

NcclTestsRanks::Shape NcclTestsRanks::shape_of(std::int64_t group) const {
    Shape shape;
    std::map<std::string_view, std::int64_t> hosts;
    for (Listed const& one : listed_) {
        if (one.group != group) continue;
        ++shape.ranks;
        shape.most = std::max(shape.most, ++hosts[one.host]);
    }
    shape.hosts = static_cast<std::int64_t>(hosts.size());
    return shape;
}

bool NcclTestsRanks::fills_hosts_evenly() const {
    Shape const shape = shape_of(listed_.front().group);
    return shape.most * shape.hosts == shape.ranks;
}

std::string NcclTestsRanks::problem() const {
    std::set<std::int64_t> numbers, groups;
    for (Listed const& one : listed_) {
        if (!numbers.insert(one.rank).second)
            return fmt::format(
                "is of separate processes, each with a rank {} (nccl-tests was built without MPI: build it with MPI=1)",
                one.rank);
        groups.insert(one.group);
    }
    for (std::int64_t const group : groups)
        if (shape_of(group) != shape_of(listed_.front().group))
            return "is of groups whose ranks lie differently (NCCL_TESTS_SPLIT: run each by itself)";
    if (ranks() == 1) return "over one rank: nothing is communicated";
    return "";
}

}  // namespace sextant
