#include "planner/validation/pipeline_layout.hpp"

#include "core/measurements/row_cells.hpp"

#include <charconv>
#include <string>

namespace sextant {
namespace {

constexpr std::size_t longest = 100'000;

[[noreturn]] void refuse() { throw RowSkip("pipeline layout that does not read as Megatron's"); }

/// The letters in order, repeats written out. Ends at a closing parenthesis or at the end.
class Expansion {
public:
    explicit Expansion(std::string_view text) : text_(text) {}

    std::string all() {
        std::string out = sequence(0);
        if (at_ != text_.size()) refuse();
        return out;
    }

private:
    std::string sequence(int depth) {
        if (depth > 20) refuse();
        std::string out;
        while (at_ < text_.size() && text_[at_] != ')') {
            std::string item;
            if (text_[at_] == '(') {
                ++at_;
                item = sequence(depth + 1);
                if (at_ == text_.size()) refuse();
                ++at_;  // the closing parenthesis
            } else if (std::string_view("EtmL|").find(text_[at_]) != std::string_view::npos) {
                item = text_[at_++];
            } else if (text_[at_] == ',') {
                ++at_;
                continue;
            } else {
                refuse();
            }
            std::size_t const times = repeats();
            if (out.size() + item.size() * times > longest) refuse();
            for (std::size_t i = 0; i < times; ++i)
                out += item;
        }
        return out;
    }

    std::size_t repeats() {
        if (at_ == text_.size() || text_[at_] != '*') return 1;
        std::size_t value = 0;
        auto const [end, error] = std::from_chars(text_.data() + at_ + 1, text_.data() + text_.size(), value);
        if (error != std::errc{} || value > longest) refuse();
        at_ = static_cast<std::size_t>(end - text_.data());
        return value;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace

std::vector<LayoutStage> pipeline_layout(std::string_view text) {
    std::vector<LayoutStage> stages(1);
    for (char const c : Expansion(text).all()) {
        switch (c) {
            case 'E': ++stages.back().embeddings; break;
            case 't': ++stages.back().layers; break;
            case 'm': ++stages.back().predictions; break;
            case 'L': ++stages.back().losses; break;
            default: stages.emplace_back();
        }
    }
    return stages;
}

}  // namespace sextant
