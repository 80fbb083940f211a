#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace sextant {

/// Input that cannot be used. The message is one sentence for the user:
/// `<where>: <problem> (<why, or what is allowed>)`. Caught once, in `cli/run.cpp` (exit code 2).
class InputError : public std::runtime_error {
public:
    template <class... Args>
    explicit InputError(fmt::format_string<Args...> format, Args&&... args)
        : std::runtime_error(fmt::format(format, std::forward<Args>(args)...)) {}
};

}  // namespace sextant
