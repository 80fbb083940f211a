#pragma once

#include "calibrate/import/nccl_tests_log.hpp"

#include <string_view>

namespace sextant {

/// Takes into `run` what a line says of how it was measured: variables of NCCL's environment, collectives that were
/// launched several at a time ("agg iters: 20"), and such as were waited for one by one ("Blocking Enabled").
void read_settings(std::string_view line, NcclTestsLog& run);

}  // namespace sextant
