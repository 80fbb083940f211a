#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sextant::cli {

/// Whether `own_word` knows words of other programs for the option `--name`.
bool has_own_words(std::string_view name);

/// The value that one of another program means, in the words of the option `--name` here: of `precision` "bfloat16" is
/// bf16, of `optimizer` "AdamW" is adamw, of `lora-targets` "q_proj,v_proj" is q,v. Letter case and "_" for "-" do not
/// count. Other values, and those of other options, are as they were; the option itself refuses what it does not know.
std::string own_word(std::string_view name, std::string_view value);

/// "; did you mean '--tp'?" for an option of another program ("--tensor-parallel-size") that one of these is the like
/// of; for any other as `did_you_mean`. Names have their dashes.
std::string did_you_mean_option(std::string_view name, std::span<std::string const> known);

}  // namespace sextant::cli
