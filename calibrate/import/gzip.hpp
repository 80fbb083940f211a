#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sextant {

/// Whether a text begins as gzip's files do.
bool is_gzip(std::string_view text);

/// What gzip packed, also of several files one behind another; bytes of nothing else may follow.
/// @throws InputError: broken, cut off, or more than `limit_bytes` when it is unpacked.
std::string gunzipped(std::string_view packed, std::string const& name, std::size_t limit_bytes);

}  // namespace sextant
