#include "calibrate/import/nccl_tests_columns.hpp"

#include <algorithm>

namespace sextant {
namespace {

bool is_time_head(std::string_view word) { return word == "time" || word == "cputime"; }

}  // namespace

std::optional<NcclTestsColumns> nccl_tests_columns(std::vector<std::string_view> const& words) {
    auto const type = std::find(words.begin(), words.end(), "type");
    auto const first = std::find_if(type, words.end(), is_time_head);
    if (std::find(words.begin(), type, "size") == type || first == words.end()) return std::nullopt;
    auto const end = std::find(first, words.end(), "timestamp");
    auto const second = std::find_if(first + 1, end, is_time_head);
    NcclTestsColumns columns{.texts = static_cast<std::size_t>(first - type) - 1,
                             .sides = second == end ? std::size_t{1} : std::size_t{2},
                             .side = static_cast<std::size_t>(second - first),
                             .cpu_time = *first == "cputime",
                             .timestamp = end != words.end()};
    bool const alike = second == end || end - second == second - first;
    if (columns.side < 4 || !alike) return std::nullopt;
    return columns;
}

}  // namespace sextant
