#pragma once

#include <string>
#include <string_view>

namespace sextant {

// Text of others (names of models, paths) inside files that a shell, a YAML, TOML or Python reader will read. Each
// function gives one token that the reader takes for exactly this text. @pre `check_exported_text`.

/// @throws InputError: not UTF-8, or a NUL byte, which no argument of a program can hold.
void check_exported_text(std::string_view text, std::string_view where);

/// As it is if no shell gives any of its characters a meaning, else in single quotes.
std::string shell_quoted(std::string_view text);

/// In double quotes, in ASCII: a YAML 1.1 and 1.2 scalar that is always a string.
std::string yaml_quoted(std::string_view text);

/// A TOML 1.0 basic string.
std::string toml_quoted(std::string_view text);

/// A Python string literal in ASCII.
std::string python_quoted(std::string_view text);

/// One line for a comment of any of these: everything but printable ASCII becomes '?', since YAML ends a line at more
/// characters than a shell does.
std::string comment_text(std::string_view text);

/// The text as a path or name that no program takes for an option: "./-x" for "-x".
std::string operand(std::string_view text);

/// Lower-case letters, digits and dashes, at most `longest` of them, as Kubernetes names objects (RFC 1123).
std::string dns_label(std::string_view text, std::size_t longest = 50);

/// `text` as comment lines of at most `width` columns, each beginning with "# ".
std::string comment_lines(std::string_view text, std::size_t width = 100);

}  // namespace sextant
