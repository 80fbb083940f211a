#pragma once

#include "calibrate/import/cell_row.hpp"

#include <map>
#include <string>
#include <string_view>

namespace sextant {

/// Megatron-LM's arguments by their names, as it prints them when it starts: "num_layers" is "32", what was not given
/// "None".
using MegatronArguments = std::map<std::string, std::string, std::less<>>;

/// Takes "  num_layers ...................................... 32" apart; nothing where the line is something else.
void add_argument(std::string_view line, MegatronArguments& arguments);

/// Model, layout, precision and batch of a run as cells of a training step.
/// @throws RowSkip: a model that such cells do not describe.
/// Source: Megatron-LM megatron/training/arguments.py (core_v0.15).
CellRow cells_of(MegatronArguments const& arguments);

}  // namespace sextant
