#pragma once

#include "core/spec/model_spec.hpp"

#include <cstdint>
#include <optional>

namespace sextant {

/// What a shape has to suit besides its size.
struct ShapeRules {
    std::optional<std::int64_t> vocabulary;  ///< default: `usual_vocabulary`
    std::int64_t tensor_parallel = 8;        ///< heads, key/value heads and widths divide by this where the size allows
    std::int64_t sequence = 8192;            ///< longest sequence, for `max_positions`
};

/// Layers of a usual dense decoder of this many parameters: 0.1393 N^0.2461, the least-squares line of ln(layers) over
/// ln(parameters) through the dense presets of models/*.json without recurrent layers (a test fits it again); they
/// scatter about it by a fifth.
double usual_layers(double parameters);

/// 128,256 entries from 1e9 parameters (Llama 3), 32,000 below (Llama 2), where a larger table would be half the model.
std::int64_t usual_vocabulary(double parameters);

/// A dense decoder of about this many parameters, counted to the unit by `count_parameters`, embeddings included.
///
/// Llama's blocks: RMS norms, rotary positions, gated feed-forward, grouped keys and values (8 heads of them from 16
/// heads); head size 128 from a width of 2,048, 64 below; tied embeddings below 4e9 parameters (Llama 3.2). Of all
/// depths, widths and feed-forward widths that hit the size within 1.5 % the one nearest to `usual_layers` and a
/// feed-forward of three widths (presets: 2.7 to 3.5) is taken. Widths are multiples of 1,024 from 2,048 (512 from
/// 1,024, 256 below), feed-forward widths of 1,024 from a width of 8,192 (512 from 2,048, 128 below); layers are even,
/// multiples of four, and of eight from 48, preferred.
///
/// @throws InputError naming `where`: fewer than 1e7 or more than 1e14 parameters, or no shape within 5 %, as with a
/// vocabulary that is larger than the model.
ModelSpec model_of_size(double parameters, ShapeRules const& rules, char const* where);

}  // namespace sextant
