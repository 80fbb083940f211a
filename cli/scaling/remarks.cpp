#include "cli/scaling/remarks.hpp"

#include "cli/options/number_text.hpp"
#include "cli/view/table.hpp"

#include <fmt/format.h>

#include <map>

namespace sextant::cli {
namespace {

std::string guess_of(ScalingAnswer const& answer) {
    std::string inputs;
    for (Extrapolation const& e : answer.outside)
        if (e.factor > far_extrapolation)
            inputs += fmt::format("{}{} {} times {}", inputs.empty() ? "" : ", ", e.input, digits_text(e.factor),
                                  e.above ? "above" : "below");
    return inputs.empty() ? inputs : fmt::format("{} any run it was fitted to: a guess, not a prediction", inputs);
}

/// Laws by what their N counts, when it is not the same for all.
std::string counting_of(std::vector<ScalingAnswer const*> const& answers) {
    std::map<std::string, std::string> by_rule;
    for (ScalingAnswer const* a : answers)
        if (!a->counting.empty()) {
            std::string& names = by_rule[a->counting];
            names += (names.empty() ? "" : ", ") + a->name;
        }
    if (by_rule.size() < 2) return {};
    std::string text = "N counts different things:";
    for (auto const& [rule, names] : by_rule)
        text += fmt::format(" {} ({});", rule, names);
    text.back() = '.';
    return text;
}

}  // namespace

std::string outside_text(ScalingAnswer const& answer) {
    if (answer.outside_factor == 0) return "unknown";
    return answer.outside_factor > 1 ? digits_text(answer.outside_factor) + " x" : "no";
}

std::vector<std::string> remarks_of(std::vector<ScalingAnswer const*> const& answers) {
    std::vector<std::string> out;
    for (ScalingAnswer const* a : answers) {
        for (std::string const& warning : a->warnings)
            out.push_back(fmt::format("{}: {}", a->name, warning));
        if (auto const guess = guess_of(*a); !guess.empty()) out.push_back(fmt::format("{}: {}", a->name, guess));
    }
    if (auto counting = counting_of(answers); !counting.empty()) out.push_back(std::move(counting));
    return out;
}

std::string remarks_text(std::vector<ScalingAnswer const*> const& answers) {
    std::string text;
    for (std::string const& remark : remarks_of(answers))
        text += wrapped(remark, "    ");
    return text;
}

}  // namespace sextant::cli
