#include "core/spec/output_head.hpp"

#include "core/error.hpp"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace sextant {

HeadChoice head_choice_from(std::string_view text, std::string_view where) {
    constexpr std::int64_t most = 16'777'216;  // of the widths in a config
    if (text == "vocabulary") return {};
    if (text == "scalar") return {.head = OutputHead::labels, .labels = 1};
    if (text == "none") return {.head = OutputHead::none};
    std::int64_t labels = 0;
    auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), labels);
    if (error != std::errc{} || stop != text.data() + text.size() || labels < 1 || labels > most)
        throw InputError("{}: '{}' is no output head (vocabulary, scalar, none, or a number of labels up to {})", where,
                         text.substr(0, 60), most);
    return {.head = OutputHead::labels, .labels = labels};
}

ModelSpec with_head(ModelSpec model, HeadChoice const& choice) {
    model.head = choice.head;
    model.labels = choice.labels;
    model.pooler = model.pooler && choice.pooled && choice.head != OutputHead::vocabulary;
    if (choice.head == OutputHead::vocabulary) return model;
    model.head_transform = false;
    model.tied_embeddings = false;
    model.head_bias = false;
    model.capped_logits = false;
    model.mtp_modules = 0;
    return model;
}

ModelSpec with_labels(ModelSpec model) {
    if (model.head == OutputHead::labels) return model;
    return with_head(std::move(model), {.head = OutputHead::labels, .labels = 1});
}

std::string head_text(ModelSpec const& model) {
    switch (model.head) {
        case OutputHead::vocabulary: return "vocabulary";
        case OutputHead::labels: return model.labels == 1 ? "scalar" : fmt::format("{} labels", model.labels);
        case OutputHead::none: return "none";
    }
    return {};  // not reached: the switch names every head
}

}  // namespace sextant
