#pragma once

namespace sextant::bench {

/// Runs an empty kernel on the current device, as the first of all.
/// @throws std::runtime_error where this program has none for the device, which every other kernel would then say too.
void run_first_kernel();

}  // namespace sextant::bench
