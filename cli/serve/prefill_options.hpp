#pragma once

#include "cli/serve/options.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace sextant::cli {

/// What replicas for prompts have that those which decode do not.
struct PrefillOptions {
    std::optional<std::int64_t> tp, pp, ep, attention_dp, max_batch, max_batched_tokens;
    std::string weights;
    std::optional<double> memory_utilisation;
    [[nodiscard]] bool any() const;
};

/// Adds them: "--prefill-tp" and so on.
void add_prefill_options(CLI::App& app, PrefillOptions& options);

/// A replica for prompts: as those that decode but for what is given. Experts that those divide over their ranks are
/// divided over its own.
/// @throws InputError as `serving_case_from`, and for a cache that those which decode cannot go on with.
ServingCase prefill_case_from(ServeOptions const& decodes, PrefillOptions const& options);

}  // namespace sextant::cli
