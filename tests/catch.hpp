#pragma once

#include <string>

// Catch2 version 2 (Debian 12) and 3 (Ubuntu 24.04) name their headers differently.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
/// Matches a text that has `part` in it.
inline auto contains(std::string const& part) { return Catch::Matchers::ContainsSubstring(part); }
#else
#include <catch2/catch.hpp>
/// Matches a text that has `part` in it.
inline auto contains(std::string const& part) { return Catch::Matchers::Contains(part); }
#endif
