#pragma once

#include <stdexcept>

namespace sextant::cli {

/// Something that this build or machine does not have. One sentence for the user, with what to do about it; caught in
/// `cli/run.cpp` (exit code 3).
class UnavailableError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace sextant::cli
