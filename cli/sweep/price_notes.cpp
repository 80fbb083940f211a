#include "cli/sweep/view.hpp"
#include "core/error.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/hourly_price.hpp"
#include "planner/price_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace sextant::cli {
namespace {

bool has_dollars(SweepTable const& table) {
    return std::any_of(table.columns.begin(), table.columns.end(), [](std::string const& column) {
        return column.find("usd") != std::string::npos || column.find("dollars") != std::string::npos;
    });
}

/// The values that an option has in a command as one types it: "--cluster NAME", "--cluster=NAME", "-c NAME".
std::vector<std::string> values_of(std::string const& command, std::string const& name, char letter) {
    std::vector<std::string> values;
    std::istringstream words(command);
    std::string const option = "--" + name;
    for (std::string word; words >> word;) {
        if (word == option || (letter != '\0' && word == std::string{'-', letter})) {
            if (words >> word) values.push_back(word);
        } else if (word.starts_with(option + "=")) {
            values.push_back(word.substr(option.size() + 1));
        }
    }
    return values;
}

/// Clusters of all points, with or without changes of their values behind the name.
std::vector<std::string> clusters_of(SweepTable const& table) {
    for (SweepAxis const& axis : table.axes)
        if (axis.name == "cluster") return axis.values;
    return values_of(table.command, "cluster", 'c');
}

}  // namespace

std::vector<std::string> price_notes(SweepTable const& table) {
    if (!has_dollars(table)) return {};
    for (SweepAxis const& axis : table.axes)
        if (axis.name.ends_with("price")) return {"prices as the axis says (--price)"};
    if (std::vector<std::string> const given = values_of(table.command, "price", '\0'); !given.empty())
        return {fmt::format("price = ${} per GPU-hour, as given (--price)", given.back())};
    std::vector<std::string> notes;
    for (std::string const& name : clusters_of(table)) {
        try {
            ClusterSpec const cluster = find_cluster(name, "--cluster");
            if (auto const price = hourly_price(cluster))
                notes.push_back(fmt::format("{}: {}", cluster.name, price_assumption(*price)));
        } catch (InputError const&) {
            // A list of names, or one in quotes: its points say what is wrong with it.
        }
    }
    if (notes.empty())
        notes.emplace_back(
            "prices are indicative, of each cluster's profile (sextant hardware show); --price is yours");
    return notes;
}

}  // namespace sextant::cli
