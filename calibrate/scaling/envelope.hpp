#pragma once

#include "calibrate/scaling/isoflop.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace sextant {

struct EnvelopeOptions {
    int levels = 200;              ///< compute levels, evenly in the logarithm
    double size_tolerance = 1e-3;  ///< rows belong to one model when their sizes differ by less than this share
};

/// Approach 1: at each level of compute the training curve with the lowest loss.
struct EnvelopeFit {
    std::vector<IsoflopRow> points;  ///< the envelope, one per level that counts
    std::size_t models = 0;          ///< curves of two rows or more
    std::size_t on_envelope = 0;     ///< models that are lowest somewhere
    PowerLaw size;
    PowerLaw data;
};

/// Positions of the rows of each model, by rising size, then compute.
std::vector<std::vector<std::size_t>> training_curves(std::vector<IsoflopRow> const& rows, double size_tolerance);

/// Curves are interpolated in ln loss over ln C between their rows. Levels where the lowest curve is the smallest or
/// the largest model that has one there do not count: a model that was not trained might be lower.
/// @throws InputError: fewer than three models with two rows each, fewer than two models on the envelope.
/// Source: Hoffmann et al., arXiv:2203.15556, section 3.1.
EnvelopeFit fit_envelope(std::vector<IsoflopRow> const& rows, EnvelopeOptions const& options, std::string const& where);

}  // namespace sextant
