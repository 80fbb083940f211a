#include "cost_models/scaling/published_laws.hpp"

#include "core/embedded_text.hpp"
#include "core/error.hpp"
#include "core/nearest.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace sextant {

std::span<EmbeddedText const> embedded_scaling_laws();  // generated from scaling_laws/catalog.cmake

namespace {

FittedLaw parse_entry(EmbeddedText const& entry) {
    return parse_fitted_law(entry.text, "scaling_laws/" + std::string(entry.name) + ".json");
}

ChinchillaLaw unchecked_chinchilla(FittedLaw const& law) {
    if (law.law == "overtraining") {
        double const eta = law.value("eta");
        double const per_compute = std::pow(training_flops_per_parameter_token, -eta);
        return {.A = law.value("a") * per_compute,
                .B = law.value("b") * per_compute,
                .E = law.value("E"),
                .alpha = 2 * eta,
                .beta = 2 * eta};
    }
    return {.A = law.value("A"),
            .B = law.value("B"),
            .E = law.value("E"),
            .alpha = law.value("alpha"),
            .beta = law.value("beta")};
}

bool has_optimum(ChinchillaLaw const& law) {
    return law.A > 0 && law.B > 0 && law.alpha > 0 && law.beta > 0 && law.E >= 0;
}

}  // namespace

std::span<std::string const> published_law_names() {
    static std::vector<std::string> const names = [] {
        std::vector<std::string> list;
        for (EmbeddedText const& entry : embedded_scaling_laws())
            list.emplace_back(entry.name);
        return list;
    }();
    return names;
}

FittedLaw find_scaling_law(std::string const& name_or_file, std::string const& where) {
    if (name_or_file.ends_with(".json")) return read_fitted_law(name_or_file);
    for (EmbeddedText const& entry : embedded_scaling_laws())
        if (entry.name == name_or_file) return parse_entry(entry);
    auto const names = published_law_names();
    throw InputError("{}: unknown law '{}'{} (known: {}; or FILE.json)", where, name_or_file,
                     did_you_mean(name_or_file, names), join(names));
}

std::vector<PublishedLaw> published_laws() {
    std::vector<PublishedLaw> list;
    for (EmbeddedText const& entry : embedded_scaling_laws())
        list.push_back({.name = std::string(entry.name), .law = parse_entry(entry)});
    return list;
}

bool has_chinchilla_form(FittedLaw const& law) {
    return law.law == "chinchilla" || law.law == "data-constrained" || law.law == "overtraining" ||
           law.law == "precision";
}

ChinchillaLaw chinchilla_of(FittedLaw const& law, std::string const& where) {
    if (!has_chinchilla_form(law))
        throw InputError(
            "{}: '{}' is a law of form '{}' (chinchilla, data-constrained, overtraining and precision have "
            "a compute optimum)",
            where, law.title, law.law);
    ChinchillaLaw const out = unchecked_chinchilla(law);
    if (!has_optimum(out))
        throw InputError(
            "{}: '{}' has no compute optimum (A {}, B {}, alpha {} and beta {} must be positive, E {} not "
            "negative)",
            where, law.title, out.A, out.B, out.alpha, out.beta, out.E);
    return out;
}

std::vector<ChinchillaLaw> chinchilla_resamples(FittedLaw const& law) {
    std::vector<ChinchillaLaw> out;
    out.reserve(law.resamples.size());
    FittedLaw one = law;
    one.resamples.clear();
    for (auto const& row : law.resamples) {
        one.values = row;
        if (ChinchillaLaw const c = unchecked_chinchilla(one); has_optimum(c)) out.push_back(c);
    }
    return out;
}

}  // namespace sextant
