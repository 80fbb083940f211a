#pragma once

#include <stdexcept>

namespace sextant::bench {

/// What the user asked for makes no sense: exit code 2.
struct BadInput : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Hardware or a library is missing: exit code 3.
struct Unavailable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace sextant::bench
