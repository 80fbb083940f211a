#pragma once

namespace sextant::fixtures {

/// How many generated cases a test takes: the second number where a sanitizer makes each of them many times as slow,
/// chosen so that every kind of case is still among them.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int cases(int /*all*/, int sanitized) { return sanitized; }
#else
constexpr int cases(int all, int /*sanitized*/) { return all; }
#endif

}  // namespace sextant::fixtures
