#include "planner/validation/serving_model.hpp"

#include "core/spec/model_catalog.hpp"
#include "core/spec/model_name.hpp"
#include "core/spec/named_format.hpp"
#include "core/text.hpp"

namespace sextant {

std::optional<ModelSpec> serving_model(std::string const& name) {
    auto const preset = preset_called(name);
    return preset ? std::optional(find_model(*preset)) : std::nullopt;
}

std::string format_in_name(std::string const& model) {
    auto const preset = preset_called(model);
    return checkpoint_called(model, preset ? find_stored_model(*preset).checkpoint : CheckpointFormat{}).weights;
}

bool is_mxfp4(std::string const& model) {
    auto const preset = preset_called(model);
    return lower_case(model).find("mxfp4") != std::string::npos ||
           (preset && stored_format(find_stored_model(*preset).checkpoint) == "mxfp4");
}

}  // namespace sextant
