#pragma once

#include "core/measurements/kernel_row.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sextant {

/// "bf16 1024 x 4096 x 2048", "prefill bf16/bf16, batch 4, 1024 tokens, 32/8 heads of 128": the kernel in words.
std::string kernel_text(KernelCase const& c);

/// What the rows of one table say against each other, one text per row, empty where nothing: the same kernel measured
/// with times that differ by 30 % or more, a kernel that takes at least a quarter longer than the same one at a larger
/// size, or that lies off the line between the sizes beside it by 35 % (the library chose another kernel, or the
/// measurement was disturbed). `cases` in the order of the table;
/// nothing for rows that could not be expressed.
std::vector<std::string> kernel_doubts(std::vector<std::optional<KernelCase>> const& cases);

}  // namespace sextant
