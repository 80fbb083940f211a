#include "planner/left_out.hpp"

#include "core/spec/not_modelled.hpp"

#include <fmt/format.h>

namespace sextant {

std::string named(ModelSpec const& model) {
    return is_multimodal(model.architecture) ? model.name + " (encoders left out)" : model.name;
}

std::string left_out_remark(ModelSpec const& model) {
    auto const left_out = left_out_of(model.architecture);
    return left_out.empty() ? "" : fmt::format("{} without {}", model.name, left_out);
}

}  // namespace sextant
