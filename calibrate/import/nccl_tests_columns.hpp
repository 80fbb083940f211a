#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace sextant {

/// What the head of nccl-tests' figures says of its columns:
///
///   size count type redop root  time algbw busbw #wrong [#bitdiff] [i_min i_max i_p99 i_cv%]  time algbw ... timestamp
///
/// Versions differ in the texts behind the type and in what follows #wrong; a cell of text may be empty.
/// Source: nccl-tests src/util.cu, writeResultHeader.
struct NcclTestsColumns {
    std::size_t texts = 2;   ///< between the type and the first time, at most
    std::size_t sides = 2;   ///< out of place and in place
    std::size_t side = 4;    ///< columns of one: time, algbw, busbw, errors and what follows
    bool cpu_time = false;   ///< `cputime` (-C 1): the processor's, not the collective's
    bool timestamp = false;  ///< at the line's end

    [[nodiscard]] std::size_t least() const { return 3 + sides * side; }
    [[nodiscard]] std::size_t most() const { return least() + texts; }
};

/// Nothing when the words are no such head.
std::optional<NcclTestsColumns> nccl_tests_columns(std::vector<std::string_view> const& words);

}  // namespace sextant
