#include "core/nearest.hpp"

#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace sextant {

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1);
    std::vector<std::size_t> previous(b.size() + 1);
    std::vector<std::size_t> current(b.size() + 1);
    std::iota(previous.begin(), previous.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        current[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            std::size_t const substitute = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            current[j] = std::min({previous[j] + 1, current[j - 1] + 1, substitute});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                current[j] = std::min(current[j], before[j - 2] + 1);
        }
        before.swap(previous);
        previous.swap(current);
    }
    return previous[b.size()];
}

namespace {

/// Whether `longer` is `shorter` and further words, "--prompt-tokens" beside "--prompt".
bool is_longer_by_words(std::string_view longer, std::string_view shorter) {
    constexpr std::size_t least = 4;
    return shorter.size() >= least && longer.size() > shorter.size() && longer.starts_with(shorter) &&
           longer[shorter.size()] == '-';
}

}  // namespace

std::string nearest_name(std::string_view name, std::span<std::string const> known) {
    constexpr std::size_t longest_compared = 128;  // a pasted file is not a misspelt name
    constexpr std::size_t words_too_many = 3;      // counts as so many letters, however long the words are
    if (name.empty() || name.size() > longest_compared) return {};
    std::string const wanted = lower_case(name);
    std::string best;
    std::size_t const dashes = std::min(wanted.find_first_not_of('-'), wanted.size());  // of an option, always alike
    std::size_t best_distance = (wanted.size() - dashes) / 2 + 1;
    for (std::string const& candidate : known) {
        std::string const spelt = lower_case(candidate);
        std::size_t distance = edit_distance(wanted, spelt);
        if (is_longer_by_words(wanted, spelt)) distance = std::min(distance, words_too_many);
        if (distance < best_distance) {
            best_distance = distance;
            best = candidate;
        }
    }
    return best;
}

std::string did_you_mean(std::string_view name, std::span<std::string const> known) {
    std::string const best = nearest_name(name, known);
    return best.empty() ? std::string{} : fmt::format("; did you mean '{}'?", best);
}

std::string join(std::span<std::string const> names, std::string_view separator) {
    return fmt::format("{}", fmt::join(names, separator));
}

}  // namespace sextant
