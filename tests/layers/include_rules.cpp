#include "tests/layers/include_rules.hpp"

#include <algorithm>
#include <map>
#include <regex>
#include <sstream>
#include <vector>

namespace sextant::layers {
namespace {

/// Names behind "std::" (or "fmt::") by their header. What nearly every header brings (std::move, std::size_t) is not
/// here.
std::map<std::string, std::string> header_of_names() {
    std::map<std::string, std::string> const names{
        {"algorithm",
         "sort stable_sort nth_element partial_sort min max min_element max_element minmax_element clamp any_of all_of "
         "none_of find_if find_if_not count_if copy copy_if transform lower_bound upper_bound equal_range "
         "binary_search unique remove_if reverse rotate replace fill is_sorted partition stable_partition "
         "next_permutation set_difference set_intersection set_union includes mismatch lexicographical_compare "
         "for_each generate shuffle"},
        {"array", "array to_array"},
        {"charconv", "from_chars to_chars"},
        {"cmath",
         "sqrt log log2 log10 log1p exp exp2 expm1 pow cbrt isfinite isnan isinf ceil floor round lround llround "
         "nearbyint fmod hypot tanh erf erfc lgamma tgamma copysign"},
        {"cstdint", "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t uintptr_t"},
        {"cstdlib", "getenv strtod strtol exit abort"},
        {"cstring", "memcpy strlen memset strcmp strerror"},
        {"filesystem", "filesystem"},
        {"fmt/format.h", "fmt::format fmt::join fmt::formatter fmt::format_to"},
        {"functional", "function hash less greater equal_to plus multiplies"},
        {"iterator", "back_inserter inserter istreambuf_iterator"},
        {"limits", "numeric_limits"},
        {"map", "map multimap"},
        {"memory", "unique_ptr shared_ptr weak_ptr make_unique make_shared"},
        {"numeric",
         "accumulate iota reduce inner_product partial_sum transform_reduce gcd lcm exclusive_scan inclusive_scan "
         "midpoint"},
        {"optional", "optional nullopt make_optional"},
        {"set", "set multiset"},
        {"span", "span"},
        {"sstream", "istringstream ostringstream stringstream"},
        {"stdexcept", "runtime_error invalid_argument out_of_range logic_error domain_error"},
        {"string", "string to_string stod stoi getline"},
        {"string_view", "string_view"},
        {"tuple", "tuple make_tuple tie"},
        {"variant", "variant visit get_if holds_alternative monostate"},
        {"vector", "vector"},
    };
    std::map<std::string, std::string> headers;
    for (auto const& [header, list] : names) {
        std::istringstream words(list);
        for (std::string word; words >> word;)
            headers.emplace(word.starts_with("fmt::") ? word : "std::" + word, header);
    }
    return headers;
}

std::map<std::string, std::string> const& header_of() {
    static std::map<std::string, std::string> const headers = header_of_names();
    return headers;
}

/// Without comments to the end of a line and without literals.
std::string code_alone(std::string_view text) {
    static std::regex const noise(R"re(//[^\n]*|"(?:\\.|[^"\\\n])*")re");
    return std::regex_replace(std::string(text), noise, " ");
}

}  // namespace

std::optional<Include> include_on(std::string const& line) {
    static std::regex const include_line(R"re(^\s*#\s*include\s*(["<])([^">]+)[">])re");
    if (line.find("include") == std::string::npos) return std::nullopt;  // most lines, and a regex takes long
    std::smatch match;
    if (!std::regex_search(line, match, include_line)) return std::nullopt;
    return Include{.is_ours = match[1] == "\"", .name = match[2]};
}

std::set<std::string> included_by(std::string const& path, ReadFile const& read) {
    std::set<std::string> seen{path};
    std::set<std::string> included;
    for (std::vector<std::string> open{path}; !open.empty();) {
        std::istringstream lines(read(open.back()));
        open.pop_back();
        for (std::string line; std::getline(lines, line);) {
            auto const include = include_on(line);
            if (!include) continue;
            if (!include->is_ours)
                included.insert(include->name);
            else if (seen.insert(include->name).second)
                open.push_back(include->name);
        }
    }
    return included;
}

std::set<std::string> missing_includes(std::string_view text, std::set<std::string> const& included) {
    static std::regex const name(R"re(\b(std|fmt)::(?:ranges::)?(\w+))re");
    std::string const code = code_alone(text);
    std::set<std::string> missing;
    for (std::sregex_iterator at(code.begin(), code.end(), name), end; at != end; ++at) {
        auto const header = header_of().find((*at)[1].str() + "::" + (*at)[2].str());
        if (header != header_of().end() && !included.contains(header->second)) missing.insert(header->second);
    }
    if (included.contains("string") || included.contains("fmt/format.h")) missing.erase("string_view");
    return missing;
}

bool names_are_known(std::string_view header) {
    return std::any_of(header_of().begin(), header_of().end(),
                       [&](auto const& name_and_header) { return name_and_header.second == header; });
}

}  // namespace sextant::layers
