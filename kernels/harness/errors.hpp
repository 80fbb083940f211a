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

/// A measurement failed in one of several processes, and the others wait for this one: all end. Exit code 1.
struct LeavesOthers : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Hardware or a library is missing: exit code 3.
struct Unavailable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace sextant::bench
