#include "planner/run_plan/model_shape.hpp"

#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/parameters.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sextant {
namespace {

constexpr double least_parameters = 1e7;
constexpr double most_parameters = 1e14;
constexpr double tied_below = 4e9;
constexpr double usual_feed_forward = 3.0;  ///< of the width
constexpr double close_enough = 0.015;
constexpr double largest_miss = 0.05;

std::int64_t head_size(std::int64_t hidden) { return hidden >= 2048 ? 128 : 64; }

/// The least step of the width that keeps heads divisible.
std::int64_t width_step(std::int64_t hidden, std::int64_t tensor_parallel) {
    if (hidden < 1024) return 4 * head_size(hidden);
    return std::max<std::int64_t>(8, tensor_parallel) * head_size(hidden);
}

std::int64_t feed_forward_step(std::int64_t hidden) { return hidden >= 8192 ? 1024 : hidden >= 2048 ? 512 : 128; }

ModelSpec block_of(std::int64_t hidden, double parameters, ShapeRules const& rules) {
    ModelSpec model;
    model.architecture = "llama";
    model.hidden = hidden;
    model.vocab = rules.vocabulary.value_or(usual_vocabulary(parameters));
    model.max_positions = rules.sequence;
    std::int64_t const size = head_size(hidden);
    std::int64_t const heads = hidden / size;
    std::int64_t const groups = std::max<std::int64_t>(8, rules.tensor_parallel);
    model.attention = {.heads = heads,
                       .kv_heads = heads >= 2 * groups && heads % groups == 0 ? groups : heads,
                       .head_dim = size,
                       .value_head_dim = size,
                       .latent = {}};
    model.mlp = {.intermediate = feed_forward_step(hidden), .gated = true, .bias = false};
    model.tied_embeddings = parameters < tied_below;
    model.layers.assign(1, LayerKind{});
    return model;
}

/// What a block of this width takes per layer, per unit of feed-forward width and layer, and once.
struct Sizes {
    double layer_alone;
    double per_feed_forward;
    double once;
};

Sizes sizes_of(ModelSpec model) {
    auto const layer = [&] { return static_cast<double>(total_count(layer_parameters(model, LayerKind{}))); };
    std::int64_t const unit = model.mlp.intermediate;
    double const one = layer();
    model.mlp.intermediate = 2 * unit;
    double const per_unit = (layer() - one) / static_cast<double>(unit);
    double const once =
        static_cast<double>(total_count(embedding_parameters(model)) + total_count(head_parameters(model)));
    return {.layer_alone = one - per_unit * static_cast<double>(unit), .per_feed_forward = per_unit, .once = once};
}

/// How far a shape is from the usual one, and from its size: smaller is better.
double strangeness(double layers, double wanted_layers, double feed_forward_ratio, double miss) {
    double const too_far = std::max(0.0, std::abs(miss) - close_enough);
    return std::abs(std::log(layers / wanted_layers)) + std::abs(std::log(feed_forward_ratio / usual_feed_forward)) +
           2 * std::abs(miss) + 200 * too_far;
}

/// Depths that few numbers of pipeline stages divide are worth a little less.
double indivisibility(std::int64_t layers) {
    constexpr double each = 0.05;
    return each * ((layers % 4 != 0 ? 1 : 0) + (layers >= 48 && layers % 8 != 0 ? 1 : 0));
}

struct Best {
    double strangeness = std::numeric_limits<double>::infinity();
    double miss = 0;
    ModelSpec model;
};

/// Tries every depth with this width.
void try_width(ModelSpec const& block, double parameters, Best& best) {
    Sizes const sizes = sizes_of(block);
    double const wanted = usual_layers(parameters);
    double const width = static_cast<double>(block.hidden);
    auto const step = static_cast<double>(feed_forward_step(block.hidden));
    auto const first = std::max<std::int64_t>(2, 2 * std::llround(wanted / 4));
    for (std::int64_t layers = first; static_cast<double>(layers) <= 2 * wanted + 2; layers += 2) {
        auto const depth = static_cast<double>(layers);
        double const room = (parameters - sizes.once) / depth - sizes.layer_alone;
        if (!(room > 0)) continue;
        double const feed_forward = step * std::max(1.0, std::round(room / sizes.per_feed_forward / step));
        double const ratio = feed_forward / width;
        if (ratio < 1 || ratio > 8) continue;
        double const total = sizes.once + depth * (sizes.layer_alone + feed_forward * sizes.per_feed_forward);
        double const miss = total / parameters - 1;
        double const strange = strangeness(depth, wanted, ratio, miss) + indivisibility(layers);
        if (strange >= best.strangeness) continue;
        best = {.strangeness = strange, .miss = miss, .model = block};
        best.model.mlp.intermediate = std::llround(feed_forward);
        best.model.layers.assign(static_cast<std::size_t>(layers), LayerKind{});
    }
}

}  // namespace

double usual_layers(double parameters) { return 0.139288 * std::pow(parameters, 0.246065); }

std::int64_t usual_vocabulary(double parameters) { return parameters >= 1e9 ? 128256 : 32000; }

ModelSpec model_of_size(double parameters, ShapeRules const& rules, char const* where) {
    if (!(parameters >= least_parameters && parameters <= most_parameters))
        throw InputError("{}: a model of {:.4g} parameters (a shape is chosen from {:g} to {:g})", where, parameters,
                         least_parameters, most_parameters);
    // The width at which a model of half, or twice, the usual depth would have its size, and some more.
    double const middle = std::sqrt(parameters / (12 * usual_layers(parameters)));
    Best best;
    for (std::int64_t hidden = 128; static_cast<double>(hidden) < 2 * middle + 512;) {
        std::int64_t const step = width_step(hidden, rules.tensor_parallel);
        if (hidden % step == 0 && static_cast<double>(hidden) > middle / 4)
            try_width(block_of(hidden, parameters, rules), parameters, best);
        hidden = (hidden / 128 + 1) * 128;
    }
    if (!(std::abs(best.miss) <= largest_miss) || best.model.hidden == 0)
        throw InputError(
            "{}: no shape comes within {:g} % of {} parameters (vocabulary {}; a smaller --vocab or a "
            "larger model would do)",
            where, 100 * largest_miss, human_count(parameters),
            rules.vocabulary.value_or(usual_vocabulary(parameters)));
    best.model.name = "dense-" + human_count(static_cast<double>(count_parameters(best.model).total));
    std::erase(best.model.name, ' ');
    return best.model;
}

}  // namespace sextant
