#include "simulator/network/link.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"

#include <algorithm>
#include <cctype>

namespace sextant {
namespace {

/// "node3.gpu5.nic.out" -> "node#.gpu#.nic.out": what links of one kind have in common.
std::string shape_of(std::string_view name) {
    std::string shape;
    for (char const c : name) {
        bool const digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
        if (!digit) shape += c;
        if (digit && (shape.empty() || shape.back() != '#')) shape += '#';
    }
    return shape;
}

/// One name of each kind of link, the first.
std::vector<std::string> examples_of(std::span<FabricLink const> links) {
    std::vector<std::string> shapes;
    std::vector<std::string> examples;
    for (FabricLink const& link : links) {
        auto shape = shape_of(link.name);
        if (std::find(shapes.begin(), shapes.end(), shape) != shapes.end()) continue;
        shapes.push_back(std::move(shape));
        examples.push_back(link.name);
    }
    return examples;
}

/// "; did you mean ...?" with the nearest name; a list of links too long to compare is cut.
std::string suggestion(std::span<FabricLink const> links, std::string_view pattern) {
    constexpr std::size_t most_compared = 16384;
    std::vector<std::string> names;
    for (FabricLink const& link : links.first(std::min(links.size(), most_compared)))
        names.push_back(link.name);
    return did_you_mean(pattern, names);
}

}  // namespace

bool matches(std::string_view pattern, std::string_view name) {
    constexpr auto none = std::string_view::npos;
    std::size_t p = 0;
    std::size_t n = 0;
    std::size_t star = none;  // the last `*` seen, and how far the name was then
    std::size_t resume = 0;
    while (n < name.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            resume = n;
        } else if (p < pattern.size() && pattern[p] == name[n]) {
            ++p;
            ++n;
        } else if (star != none) {
            p = star + 1;
            n = ++resume;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*')
        ++p;
    return p == pattern.size();
}

std::vector<std::int32_t> matching_links(std::span<FabricLink const> links, std::string_view pattern,
                                         std::string_view where) {
    std::vector<std::int32_t> found;
    for (std::size_t i = 0; i < links.size(); ++i)
        if (matches(pattern, links[i].name)) found.push_back(static_cast<std::int32_t>(i));
    if (!found.empty()) return found;
    if (links.empty()) throw InputError("{}: no link '{}' (the simulated ranks use no network)", where, pattern);
    throw InputError("{}: no link matches '{}'{} (* stands for any text; links are named like {})", where, pattern,
                     suggestion(links, pattern), join(examples_of(links)));
}

}  // namespace sextant
