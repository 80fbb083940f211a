#include "cost_models/serving/recurrent_state.hpp"

#include "core/spec/parameters.hpp"

namespace sextant {
namespace {

bool keeps_states_as_vllm(ServingCase const& what) { return is_vllm(what.engine.program); }

}  // namespace

double state_value_bytes(ServingCase const& what) {
    std::string const& architecture = what.model.architecture;
    bool const named = architecture == "nemotron_h" || architecture.starts_with("qwen3_5");
    bool const in_models_type = keeps_states_as_vllm(what) || what.engine.program == EngineProgram::tensorrt_llm;
    return in_models_type && !named ? 2 : 4;
}

Bytes sequence_state(ServingCase const& what) {
    if (!what.model.recurrent) return {};
    RecurrentSpec const& r = *what.model.recurrent;
    auto const values =
        static_cast<double>(count_mixers(what.model, Mixer::recurrent) * r.heads * r.key_head_dim * r.value_head_dim);
    return (recurrent_state_bytes(what.model) - (4 - state_value_bytes(what)) * values) * units::B;
}

Bytes moved_states(ServingCase const& what, double sequences) {
    RecurrentSpec const& r = *what.model.recurrent;
    auto const values = static_cast<double>(r.heads / what.plan.tp * r.key_head_dim * r.value_head_dim);
    return 2 * state_value_bytes(what) * sequences * values * units::B;
}

std::int64_t states_of_request(ServingCase const& what, std::int64_t guesses) {
    return keeps_states_as_vllm(what) ? 1 + guesses : 1;
}

}  // namespace sextant
