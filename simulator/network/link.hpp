#pragma once

#include "core/units.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sextant {

/// One direction of a cable, or of a bundle of them.
struct FabricLink {
    std::string name;  ///< "node3.gpu5.nvlink.out", "node3.gpu5.nic.in", "pod1.up"
    BytesPerSecond bandwidth;
};

/// Adds a link and returns its number.
inline std::int32_t add_link(std::vector<FabricLink>& links, std::string name, BytesPerSecond bandwidth) {
    links.push_back({std::move(name), bandwidth});
    return static_cast<std::int32_t>(links.size() - 1);
}

/// Whether the name matches the pattern, in which `*` stands for any text, also none.
bool matches(std::string_view pattern, std::string_view name);

/// The links whose names match. @throws InputError "<where>: ..." with the nearest names when none does.
std::vector<std::int32_t> matching_links(std::span<FabricLink const> links, std::string_view pattern,
                                         std::string_view where);

}  // namespace sextant
