#include "cost_models/scaling/law_form.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"

#include <array>
#include <cmath>
#include <string>

namespace sextant {

extern LawForm const chinchilla_form;
extern LawForm const compute_form;
extern LawForm const overtraining_form;
extern LawForm const data_constrained_form;
extern LawForm const moe_routed_form;
extern LawForm const moe_bilinear_form;
extern LawForm const moe_granularity_form;
extern LawForm const precision_form;
extern LawForm const batch_steps_form;

namespace {

constexpr std::array<LawForm const*, 9> catalog = {
    &chinchilla_form,   &compute_form,         &overtraining_form, &data_constrained_form, &moe_routed_form,
    &moe_bilinear_form, &moe_granularity_form, &precision_form,    &batch_steps_form,
};

}  // namespace

std::span<LawForm const* const> law_form_catalog() { return catalog; }

LawForm const& find_law_form(std::string_view name, std::string_view where) {
    std::vector<std::string> names;
    for (LawForm const* form : catalog) {
        if (form->name == name) return *form;
        names.emplace_back(form->name);
    }
    throw InputError("{}: unknown law '{}'{}", where, name, did_you_mean(name, names));
}

double shown_value(LawForm const& form, std::string_view parameter, double value) {
    for (LawParameter const& p : form.parameters)
        if (p.name == parameter && value > p.endless) return std::numeric_limits<double>::infinity();
    return value;
}

double law_value(LawForm const& form, std::span<double const> parameters, std::span<double const> inputs) {
    std::vector<double> unknowns(parameters.begin(), parameters.end());
    for (std::size_t k = 0; k < unknowns.size(); ++k)
        if (form.parameters[k].scale == LawScale::logarithmic) unknowns[k] = std::log(unknowns[k]);
    LawTable table{.rows = 1, .columns = {}};
    for (double const input : inputs)
        table.columns.push_back({std::log(input)});
    double value = 0;
    form.evaluate(unknowns, table, {&value, 1}, {});
    return form.output == LawOutput::logarithm ? std::exp(value) : value;
}

}  // namespace sextant
