#include "cost_models/serving/format_quality.hpp"

#include <algorithm>
#include <array>

namespace sextant {
namespace {

/// How a serving format is found among the measured rows.
struct Stored {
    std::string_view name;
    std::string_view formats;
    std::string_view usual;      ///< scaling
    std::string_view only = {};  ///< scalings that begin so; empty: all but `without`
    std::string_view without = {};
};
constexpr std::array weight_formats{
    Stored{"bf16", "bf16+bf16", "none+none"},
    Stored{"fp16", "fp16+fp16", "none+none"},
    Stored{"fp8", "e4m3+e4m3", "per_tensor+per_tensor", {}, "tile128"},
    Stored{"fp8-block", "e4m3+e4m3", "tile128+block128", "tile128"},
    Stored{"fp4", "e2m1+e2m1", "block16_e4m3+block16_e4m3"},
    Stored{"int8", "int8+int8", "per_row+per_row"},
    Stored{"int8-weights", "int8+bf16", "per_row+none"},
    Stored{"int4-weights", "int4+bf16", "group128+none"},
    Stored{"fp4 by int4-weights", "e2m1+bf16", "block16_e4m3+none"},
    Stored{"mxfp4 by int4-weights", "e2m1+bf16", "block32_e8m0+none"},
};
constexpr std::array cache_formats{
    Stored{"bf16", "bf16", "none"},
    Stored{"fp8", "e4m3", "none"},
    Stored{"int8", "int8", "block128"},
    Stored{"int4", "int4", "group128_asymmetric"},
};

bool is_plain(std::string_view inputs) { return inputs == "normal" || inputs == "normal+normal"; }

void add(FormatQuality& quality, FormatError const& row) {
    auto found = std::find_if(quality.scalings.begin(), quality.scalings.end(),
                              [&](ScalingError const& s) { return s.scaling == row.scaling; });
    if (found == quality.scalings.end()) {
        quality.scalings.emplace_back().scaling = row.scaling;
        found = quality.scalings.end() - 1;
    }
    if (is_plain(row.inputs)) found->plain = row.output;
    if (row.output < found->worst) return;
    found->worst = row.output;
    found->worst_inputs = row.inputs;
    found->first = row.first;
    found->second = row.second;
    found->flushed = row.flushed;
    found->clipped = row.clipped;
}

std::optional<FormatQuality> quality_of(std::span<FormatError const> table, FormatError::Test test,
                                        std::span<Stored const> formats, std::string_view name) {
    auto const stored = std::find_if(formats.begin(), formats.end(), [&](Stored const& s) { return s.name == name; });
    if (stored == formats.end()) return std::nullopt;
    FormatQuality quality{.formats = std::string(stored->formats), .scalings = {}};
    for (FormatError const& row : table) {
        if (row.test != test || row.formats != stored->formats || !row.scaling.starts_with(stored->only)) continue;
        if (!stored->without.empty() && row.scaling.starts_with(stored->without)) continue;
        add(quality, row);
    }
    auto const usual = std::find_if(quality.scalings.begin(), quality.scalings.end(),
                                    [&](ScalingError const& s) { return s.scaling == stored->usual; });
    if (usual == quality.scalings.end()) return std::nullopt;
    std::rotate(quality.scalings.begin(), usual, usual + 1);
    return quality;
}

}  // namespace

std::optional<FormatQuality> weights_quality(std::span<FormatError const> table, std::string_view weights) {
    GemmFormat const* const format = find_gemm_format(weights);
    return quality_of(table, FormatError::Test::gemm, weight_formats, format == nullptr ? weights : format->name);
}

std::optional<FormatQuality> cache_quality(std::span<FormatError const> table, CacheFormat cache) {
    return quality_of(table, FormatError::Test::attention, cache_formats, name_of(cache));
}

namespace {

/// Of products of which one operand alone is rounded: its own error is that of the output.
std::vector<FormatError> with_one_rounded(std::span<FormatError const> table, double FormatError::*rounded,
                                          double FormatError::*exact) {
    std::vector<FormatError> out(table.begin(), table.end());
    for (FormatError& row : out) {
        row.output = row.*rounded;
        row.*exact = 0;
    }
    return out;
}

/// Of weights that are widened to two bytes as they are multiplied.
std::optional<FormatQuality> widened_quality(std::span<FormatError const> table, ServingPlan const& plan) {
    std::string const measured = plan.stored + " by " + plan.weights;
    if (auto quality = quality_of(table, FormatError::Test::gemm, weight_formats, measured)) return quality;
    return weights_quality(with_one_rounded(table, &FormatError::first, &FormatError::second), plan.stored);
}

}  // namespace

bool are_stored_otherwise(ServingPlan const& plan) {
    return !plan.stored.empty() && !plan.stored.starts_with(plan.weights + "/");
}

std::optional<FormatQuality> weights_quality(std::span<FormatError const> table, ServingPlan const& plan) {
    GemmFormat const* const format = find_gemm_format(plan.weights);
    bool const widens = format != nullptr && format->left >= 2;
    if (!plan.released)
        return widens && are_stored_otherwise(plan) ? widened_quality(table, plan)
                                                    : weights_quality(table, plan.weights);
    if (widens) return weights_quality(table, "bf16");
    return weights_quality(with_one_rounded(table, &FormatError::second, &FormatError::first), plan.weights);
}

namespace {

std::optional<double> larger_of(std::optional<FormatQuality> const& products,
                                std::optional<FormatQuality> const& attention) {
    if (!products || !attention) return std::nullopt;
    return std::max(products->usual().worst, attention->usual().worst);
}

}  // namespace

std::optional<double> format_error_of(std::span<FormatError const> table, std::string_view weights, CacheFormat cache) {
    return larger_of(weights_quality(table, weights), cache_quality(table, cache));
}

std::optional<double> format_error_of(std::span<FormatError const> table, ServingPlan const& plan) {
    return larger_of(weights_quality(table, plan), cache_quality(table, plan.cache));
}

}  // namespace sextant
