#include "cli/options/number_text.hpp"
#include "cli/scaling/laws.hpp"
#include "core/quantity_text.hpp"
#include "cost_models/scaling/law_form.hpp"
#include "cost_models/scaling/law_interval.hpp"
#include "cost_models/scaling/rate_laws.hpp"
#include "cost_models/scaling/scaling_answer.hpp"

#include <fmt/format.h>

namespace sextant::cli {
namespace {

constexpr double chinchilla_budget = 5.76e23;  // of the Gopher comparison, arXiv:2203.15556

std::string formula_of(std::string const& form) {
    for (LawForm const* known : law_form_catalog())
        if (form == known->name) return known->formula;
    if (form == "allocation") return "N = N_coef (C / flops_unit)^N_exponent, D = C / (6 N)";
    if (form == "kaplan") return "L = ((N_c/N)^(alpha_N/alpha_D) + D_c/D)^alpha_D";
    if (form == "moe-joint") return "L = a E'^delta N^(alpha + gamma ln E') + b E'^omega D^(beta + zeta ln E') + c";
    return {};
}

std::string optimum_text(PublishedLaw const& law) {
    if (!divides_a_budget(law.law)) return "-";
    ScalingAnswer const answer = optimum_answer(law, chinchilla_budget, {}, law.name);
    return fmt::format("{} x {}", human_count(answer.parameters), human_count(answer.tokens));
}

std::string parameters_text(FittedLaw const& law) {
    std::string text;
    for (std::size_t i = 0; i < law.names.size(); ++i)
        text += fmt::format("{}{} {:.4g}", i == 0 ? "" : ", ", law.names[i], law.values[i]);
    return text;
}

Table rates_table() {
    Table table({{"rule"}, {"basis"}, {"formula"}});
    for (RateLaw const& law : rate_laws())
        table.add_row({law.name, law.basis, law.formula});
    return table;
}

}  // namespace

std::string law_list_text(std::vector<PublishedLaw> const& laws) {
    Table table({{"law"}, {"form"}, {"basis"}, {"N x D at 5.76e23"}, {"resamples", Align::right}});
    for (PublishedLaw const& law : laws)
        table.add_row({law.name, law.law.law, law.law.basis, optimum_text(law),
                       law.law.resamples.empty() ? "" : fmt::format("{}", law.law.resamples.size())});
    return fmt::format(
        "{}\n5.76e23 FLOP trained Gopher and Chinchilla (70 B x 1.4 T). Parameters and sources: sextant scaling laws "
        "show\nNAME. Learning rate and batch:\n\n{}",
        table.text(), rates_table().text());
}

Table law_list_table(std::vector<PublishedLaw> const& laws) {
    Table table({{"law"}, {"form"}, {"basis"}, {"title"}, {"parameters"}, {"counting"}, {"source"}});
    for (PublishedLaw const& law : laws)
        table.add_row({law.name, law.law.law, law.law.basis, law.law.title, parameters_text(law.law), law.law.counting,
                       law.law.source});
    return table;
}

Table law_parameter_table(PublishedLaw const& law) {
    Table table({{"parameter"}, {"value", Align::right}, {"low 95 %", Align::right}, {"high 95 %", Align::right}});
    for (std::size_t i = 0; i < law.law.names.size(); ++i) {
        std::vector<double> values;
        for (auto const& row : law.law.resamples)
            values.push_back(row[i]);
        auto const interval = interval_of(std::move(values));
        table.add_row({law.law.names[i], fmt::format("{:.10g}", law.law.values[i]),
                       interval ? fmt::format("{:.4g}", interval->low95) : "",
                       interval ? fmt::format("{:.4g}", interval->high95) : ""});
    }
    return table;
}

std::string law_text(PublishedLaw const& law) {
    std::string text = fmt::format("{}: {}\n\n", law.name, law.law.title);
    std::vector<std::pair<std::string, std::string>> pairs{{"form", law.law.law}};
    if (auto const formula = formula_of(law.law.law); !formula.empty()) pairs.emplace_back("", formula);
    pairs.emplace_back("basis", law.law.basis);
    if (!law.law.counting.empty()) pairs.emplace_back("N counts", law.law.counting);
    for (auto const& [input, range] : law.law.ranges)
        pairs.emplace_back(input, fmt::format("{} to {}", power_text(range.first), power_text(range.second)));
    if (divides_a_budget(law.law)) pairs.emplace_back("at 5.76e23 FLOP", optimum_text(law));
    text += aligned_pairs(pairs) + "\n" + law_parameter_table(law).text() + "\n";
    text += wrapped("source: " + law.law.source);
    for (std::string const& warning : law.law.warnings)
        text += wrapped("warning: " + warning);
    return text;
}

}  // namespace sextant::cli
