#include "cli/sweep/question.hpp"
#include "core/error.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/hourly_price.hpp"
#include "planner/price_words.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sextant::cli {
namespace {

bool has_dollars(SweepQuestion const& question) {
    return std::any_of(question.columns.begin(), question.columns.end(), [](std::string const& column) {
        return column.find("usd") != std::string::npos || column.find("dollars") != std::string::npos;
    });
}

/// What an option is given as, at one point or another; nothing for an option that the command does not have.
std::vector<std::string> values_of(std::string_view name, SweepQuestion const& question,
                                   CommandOptions const& options) {
    CommandOption const* const option = options.find(name);
    if (option == nullptr) return {};
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < question.axes.size(); ++i)
        if (question.targets[i].kind == AxisTarget::Kind::option && question.targets[i].option.names == option->names)
            texts = question.axes[i].values;
    for (ArgumentPlace const& place : places_of(*option, question.arguments))
        texts.push_back(question.arguments[place.index].substr(place.offset));
    if (option->delimiter == '\0') return texts;
    std::vector<std::string> values;
    for (std::string const& text : texts)
        for (std::size_t begin = 0; begin <= text.size();) {
            std::size_t const end = std::min(text.find(option->delimiter, begin), text.size());
            values.push_back(text.substr(begin, end - begin));
            begin = end + 1;
        }
    return values;
}

/// Whether the prices of profiles are what varies.
bool varies_profiles(SweepQuestion const& question) {
    return std::any_of(question.targets.begin(), question.targets.end(), [](AxisTarget const& target) {
        bool const of_price =
            target.key.find("price") != std::string::npos || target.key.find("usd") != std::string::npos;
        return target.kind == AxisTarget::Kind::profile && of_price;
    });
}

}  // namespace

std::vector<std::string> price_notes(SweepQuestion const& question, CommandOptions const& options) {
    if (!has_dollars(question)) return {};
    std::vector<std::string> const given = values_of("price", question, options);
    if (given.size() > 1) return {"prices as the axis says (--price)"};
    if (given.size() == 1) return {fmt::format("price = ${} per GPU-hour, as given (--price)", given.front())};
    std::vector<std::string> const clusters = values_of("cluster", question, options);
    if (clusters.empty())  // a configuration file names them
        return {"prices are indicative, of each cluster's profile (sextant hardware show); --price is yours"};
    std::vector<std::string> notes;
    if (varies_profiles(question)) notes.emplace_back("prices as the axis says, of those of the profiles:");
    for (std::string const& name : clusters) {
        try {
            ClusterSpec const cluster = find_cluster(name, "--cluster");
            auto const price = hourly_price(cluster);
            notes.push_back(fmt::format("{}: {}", cluster.name,
                                        price ? price_assumption(*price)
                                        : clusters.size() > 1
                                            ? "no price is known (--axis price=... --zip cluster,price)"
                                            : "no price is known (--price)"));
        } catch (InputError const&) {
            // Its points say what is wrong with it.
        }
    }
    return notes;
}

}  // namespace sextant::cli
