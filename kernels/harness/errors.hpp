#pragma once

#include <stdexcept>

namespace sextant::bench {

/// What the user asked for makes no sense: exit code 2.
struct BadInput : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The rows have no place to go to, such as a full disk: nothing more is worth measuring. Exit code 2.
struct CannotWrite : BadInput {
    using BadInput::BadInput;
};

/// Hardware or a library is missing: exit code 3.
struct Unavailable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace sextant::bench
