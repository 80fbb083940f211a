#include "calibrate/import/nccl_tests_ranks.hpp"

#include "calibrate/import/log_line.hpp"
#include "core/spec/hardware_catalog.hpp"

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

/// The ranks under one name of a host.
class NameOfHosts {
public:
    void add(std::string_view device, bool has_domain) {
        ++ranks_;
        is_known_ = is_known_ && !device.empty();
        has_domains_ = has_domains_ && has_domain;
        ++times_[device];
    }

    /// Of each host: one that has a device once has it a second time as the second. A bus alone is one of several PCI
    /// domains, so that ranks which each see one device only may all have "device 0 [0x01]": they are of one host.
    [[nodiscard]] std::vector<std::int64_t> ranks() const {
        if (!is_known_ || (times_.size() == 1 && !has_domains_)) return {ranks_};
        std::vector<std::int64_t> out;
        for (auto const& [device, times] : times_) {
            out.resize(std::max(out.size(), times));
            for (std::size_t host = 0; host < times; ++host)
                ++out[host];
        }
        return out;
    }

private:
    std::int64_t ranks_ = 0;
    bool is_known_ = true;
    bool has_domains_ = true;
    std::map<std::string_view, std::size_t> times_;  ///< that each device is listed
};

}  // namespace

bool NcclTestsRanks::is_rank(Words const& words) {
    return words.front().starts_with('#') && number_behind(words, "Rank") && !behind(words, "on").empty();
}

void NcclTestsRanks::add(std::string_view line, Words const& words) {
    auto const bracket = line.find("] ");
    std::string_view bus = line.substr(0, std::min(bracket, line.size()));
    auto const opening = bus.rfind('[');
    bus = bracket == std::string_view::npos || opening == std::string_view::npos ? "" : bus.substr(opening + 1);
    listed_.push_back({.rank = *number_behind(words, "Rank"),
                       .group = number_behind(words, "Group").value_or(0),
                       .host = std::string(behind(words, "on")),
                       .device = bus.empty() ? "" : fmt::format("{} {}", behind(words, "device"), bus),
                       .has_domain = bus.find(':') != std::string_view::npos});
    if (bracket == std::string_view::npos) return;
    auto const begin = line.find_first_not_of(' ', bracket + 1);
    if (begin == std::string_view::npos) return;
    std::string const device(line.substr(begin));
    if (device_.empty()) device_ = device;
    // A name that is not known may have something else behind it.
    if (AcceleratorProfile const* const known = known_accelerator(device)) known_.insert(known->name);
}

NcclTestsRanks::Shape NcclTestsRanks::shape_of(std::int64_t group) const {
    Shape shape;
    std::map<std::string_view, NameOfHosts> names;
    for (Listed const& one : listed_) {
        if (one.group != group) continue;
        ++shape.ranks;
        names[one.host].add(one.device, one.has_domain);
    }
    for (auto const& [name, hosts] : names)
        for (std::int64_t const ranks : hosts.ranks()) {
            ++shape.hosts;
            shape.most = std::max(shape.most, ranks);
        }
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
    if (known_.size() > 1)
        return fmt::format("is of different devices ({} and {}: no model is of both together)", *known_.begin(),
                           *known_.rbegin());
    if (ranks() == 1) return "over one rank: nothing is communicated";
    return "";
}

}  // namespace sextant
