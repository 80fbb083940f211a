#pragma once

#include <string>

namespace sextant::cli {

/// Writes the text of a fitted calibration, framework or engine. @throws InputError, and leaves the file as it was,
/// when the reader of its format refuses it: rows can be such that constants or errors lie beyond all sense.
void write_fitted(std::string const& path, std::string const& text);

}  // namespace sextant::cli
