#pragma once

#include "cost_models/scaling/chinchilla_law.hpp"
#include "cost_models/scaling/fitted_law.hpp"

#include <span>
#include <string>
#include <vector>

namespace sextant {

/// A law of the catalogue (`scaling_laws/*.json`) and the name that `--law` knows it by.
struct PublishedLaw {
    std::string name;
    FittedLaw law;
};

/// Names of the catalogue in the order of `scaling_laws/catalog.cmake`: the default law first.
std::span<std::string const> published_law_names();

/// The law that questions are answered with unless another is named: the exact Huber optimum of Hoffmann et al.'s
/// digitised runs, with bootstrap resamples.
inline constexpr char const* default_scaling_law = "chinchilla-huber";

/// A published law by name, or the law in a file whose name ends in .json.
/// @param where names the input in messages ("--law"). @throws InputError: unknown name (the nearest is named), or a
/// file that is no law.
FittedLaw find_scaling_law(std::string const& name_or_file, std::string const& where);

/// Every law of the catalogue.
std::vector<PublishedLaw> published_laws();

/// Whether `chinchilla_of` can take the law.
[[nodiscard]] bool has_chinchilla_form(FittedLaw const& law);

/// The law as L = E + A N^-alpha + B D^-beta. Forms that are one: "chinchilla"; "data-constrained" without repetition;
/// "overtraining" L = E + (a M^eta + b M^-eta) C^-eta with M = D/N and C = 6 N D, so A = a 6^-eta, B = b 6^-eta,
/// alpha = beta = 2 eta; "precision" at unlimited bits.
/// @throws InputError: another form, or parameters for which the compute optimum does not exist (A, B, alpha or beta
/// not positive, E negative). Source of the identity: Gadre et al., arXiv:2403.08540.
ChinchillaLaw chinchilla_of(FittedLaw const& law, std::string const& where);

/// The same for each resample of the law; those without an optimum are left out.
std::vector<ChinchillaLaw> chinchilla_resamples(FittedLaw const& law);

}  // namespace sextant
