#include "cli/scaling/choice.hpp"

#include <algorithm>

namespace sextant::cli {

std::vector<PublishedLaw> laws_from(std::vector<std::string> const& given, char const* usual) {
    std::vector<PublishedLaw> laws;
    auto const add = [&](std::string const& list) {
        for (std::size_t begin = 0; begin <= list.size();) {
            std::size_t const end = std::min(list.find(',', begin), list.size());
            std::string const name = list.substr(begin, end - begin);
            laws.push_back({.name = name, .law = find_scaling_law(name, "--law")});
            begin = end + 1;
        }
    };
    if (given.empty()) add(usual);
    for (std::string const& list : given)
        add(list);
    return laws;
}

}  // namespace sextant::cli
