#pragma once

#include "planner/exporters/serve_command.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// Of one of `groups`, where the engine counts by group; no less than 1.
std::int64_t of_group(std::int64_t total, std::int64_t groups);

/// Whether the engine is told to quantise an unquantised checkpoint to fp8 as it loads it.
bool quantises_to_fp8(ServeLaunch const& launch);

/// What every engine's file says: weights that the checkpoint is not in, caches that no engine has, what the model
/// leaves out, assumptions, and the launch's own notes.
void note_common(ServeLaunch const& launch, std::vector<NotExpressed>& notes);

/// The longest request where it was chosen and is not the model's own; a note where it is longer, which the engine
/// refuses unless told otherwise.
/// @param allow what tells it: "VLLM_ALLOW_LONG_MAX_MODEL_LEN=1"
std::optional<std::int64_t> chosen_context(ServeLaunch const& launch, char const* allow,
                                           std::vector<NotExpressed>& notes);

/// Notes an accelerator of a generation that the engine is not documented for.
void note_device(ServeLaunch const& launch, char const* engine, std::span<std::string_view const> generations,
                 std::vector<NotExpressed>& notes);

/// The nearest of the block sizes, the smaller of two; a note where that is not the plan's.
/// @param whose what takes them: "vLLM's kernels take"
std::int64_t nearest_block(ServeLaunch const& launch, std::span<std::int64_t const> sizes, char const* whose,
                           std::vector<NotExpressed>& notes);

/// Names of an engine's files: "vllm", or by the role "vllm_prefill", "vllm_decode".
std::string file_stem(ServeLaunch const& launch, char const* engine);

/// A shell script that starts one replica.
struct ServeScript {
    char const* title;          ///< of the engine, "vLLM"
    char const* written;        ///< its version
    std::string program;        ///< before the arguments, as written into the script
    std::string variables{};    ///< lines that set what the arguments read
    ArgumentLines arguments{};  ///< read `model` too
};
std::string serve_script(ServeLaunch const& launch, ServeScript const& script, std::vector<NotExpressed> const& notes);

}  // namespace sextant
