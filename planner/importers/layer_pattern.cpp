#include "planner/importers/layer_pattern.hpp"

#include <cstddef>

namespace sextant {
namespace {

constexpr std::size_t most_marks = 1 << 16;
constexpr int deepest_pattern = 32;

using Marks = std::vector<bool>;

class PatternReader {
public:
    explicit PatternReader(std::string_view text) : text_(text) {}

    std::optional<Marks> read() {
        std::optional<Marks> marks = sum(0);
        if (at_ != text_.size()) return {};
        return marks;
    }

private:
    bool take(char c) {
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    std::optional<std::size_t> number() {
        std::size_t const begin = at_;
        std::size_t value = 0;
        for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
            if (value <= most_marks) value = 10 * value + static_cast<std::size_t>(text_[at_] - '0');
        if (at_ == begin) return {};
        return value;
    }
    std::optional<Marks> sum(int depth) {
        std::optional<Marks> all = product(depth);
        while (all && take('+')) {
            std::optional<Marks> const next = product(depth);
            if (!next || all->size() + next->size() > most_marks) return {};
            all->insert(all->end(), next->begin(), next->end());
        }
        return all;
    }
    std::optional<Marks> product(int depth) {
        std::optional<Marks> unit = take('(') ? in_parentheses(depth + 1) : list();
        while (unit && take('*')) {
            std::optional<std::size_t> const times = number();
            if (!times || *times * unit->size() > most_marks) return {};
            Marks repeated;
            for (std::size_t k = 0; k < *times; ++k)
                repeated.insert(repeated.end(), unit->begin(), unit->end());
            unit = std::move(repeated);
        }
        return unit;
    }
    std::optional<Marks> in_parentheses(int depth) {
        if (depth > deepest_pattern) return {};
        std::optional<Marks> inner = sum(depth);
        if (!inner || !take(')')) return {};
        return inner;
    }
    std::optional<Marks> list() {
        if (!take('[')) return {};
        Marks marks;
        do {
            std::optional<std::size_t> const mark = number();
            if (!mark || marks.size() == most_marks) return {};
            marks.push_back(*mark > 0);
        } while (take(','));
        if (!take(']')) return {};
        return marks;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace

std::optional<std::vector<bool>> layer_pattern(std::string_view text) { return PatternReader(text).read(); }

}  // namespace sextant
