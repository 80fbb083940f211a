#include "cost_models/scaling/fitted_law.hpp"

#include "core/error.hpp"
#include "core/json/json_text.hpp"
#include "core/json/object_reader.hpp"
#include "core/nearest.hpp"
#include "cost_models/scaling/law_form.hpp"
#include "cost_models/scaling/published_laws.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace sextant {
namespace {

using Json = nlohmann::ordered_json;

/// Keys of a fit's report: for people and other programs, not needed to use the law.
constexpr std::array report_keys{"intervals",  "objective",     "objective_function",
                                 "rows_used",  "rows_left_out", "data",
                                 "formula",    "starts",        "basins",
                                 "profile",    "sensitivity",   "influence",
                                 "backtest",   "bootstrap",     "assumptions",
                                 "quantities", "vertices",      "sizes",
                                 "envelope",   "cells",         "missing",
                                 "converged",  "at_flops",      "columns"};

std::vector<double> finite_numbers(nlohmann::json const& list, std::string const& where) {
    if (!list.is_array()) throw InputError("{}: is not a list (a list of numbers is expected)", where);
    std::vector<double> out;
    for (auto const& value : list) {
        if (!value.is_number() || !std::isfinite(value.get<double>()))
            throw InputError("{}[{}]: is not a finite number", where, out.size());
        out.push_back(value.get<double>());
    }
    return out;
}

void read_resamples(FittedLaw& law, nlohmann::json const& section, std::string const& where) {
    if (!section.is_object() || !section.contains("names") || !section.contains("rows"))
        throw InputError("{}: has no names and rows (both are expected)", where);
    auto const& names = section["names"];
    std::vector<std::size_t> column;  // of each parameter
    for (std::string const& name : law.names) {
        auto const found = std::find(names.begin(), names.end(), nlohmann::json(name));
        if (found == names.end()) throw InputError("{}.names: lack '{}' (every parameter is expected)", where, name);
        column.push_back(static_cast<std::size_t>(found - names.begin()));
    }
    auto const& rows = section["rows"];
    if (!rows.is_array()) throw InputError("{}.rows: is not a list", where);
    law.resamples.reserve(rows.size());
    for (auto const& row : rows) {
        std::string const place = fmt::format("{}.rows[{}]", where, law.resamples.size());
        std::vector<double> const read = finite_numbers(row, place);
        if (read.size() != names.size())
            throw InputError("{}: has {} numbers ({} are expected)", place, read.size(), names.size());
        std::vector<double>& out = law.resamples.emplace_back();
        for (std::size_t const c : column)
            out.push_back(read[c]);
    }
}

/// Forms that are no function of rows and so not in the catalog.
constexpr std::array other_forms{"allocation", "isoflop", "envelope", "critical-batch",
                                 "lr-batch",   "kaplan",  "moe-joint"};

/// The form of a law, null for one of `other_forms`. @throws InputError: there is no such form.
LawForm const* form_of(std::string const& law, std::string const& where) {
    std::vector<std::string> names(other_forms.begin(), other_forms.end());
    for (LawForm const* form : law_form_catalog()) {
        if (law == form->name) return form;
        names.emplace_back(form->name);
    }
    if (std::find(names.begin(), names.end(), law) != names.end()) return nullptr;
    throw InputError("{}: unknown form '{}'{} (known: {})", where, law, did_you_mean(law, names), join(names));
}

/// What a parameter of a form can be: one on a logarithmic scale is not negative, an exponent is positive. Resamples
/// with an exponent that is not (a bootstrap of few rows may have some) give no optimum: they are warned of.
void check_meaning(FittedLaw& law, LawForm const& form, std::string const& file) {
    std::set<std::size_t> without_optimum;
    for (LawParameter const& parameter : form.parameters) {
        auto const found = std::find(law.names.begin(), law.names.end(), parameter.name);
        if (found == law.names.end()) continue;
        auto const at = static_cast<std::size_t>(found - law.names.begin());
        bool const logarithmic = parameter.scale == LawScale::logarithmic;
        if (logarithmic && law.values[at] < 0)
            throw InputError("{}: parameters.{}: {} (in '{}' it is not negative)", file, parameter.name, law.values[at],
                             form.formula);
        for (std::size_t i = 0; i < law.resamples.size(); ++i) {
            double const value = law.resamples[i][at];
            if (logarithmic && value < 0)
                throw InputError("{}: resamples.rows[{}]: {} is {} (in '{}' it is not negative)", file, i,
                                 parameter.name, value, form.formula);
            if (!logarithmic && parameter.role == LawRole::shape && value <= 0) without_optimum.insert(i);
        }
    }
    if (without_optimum.empty() || !has_chinchilla_form(law)) return;
    std::string warning =
        fmt::format("{} of {} resamples have an exponent that is not positive: intervals are of the others",
                    without_optimum.size(), law.resamples.size());
    if (std::find(law.warnings.begin(), law.warnings.end(), warning) == law.warnings.end())
        law.warnings.push_back(std::move(warning));
}

FittedLaw read_law(JsonDocument const& document) {
    ObjectReader in(document);
    in.format("scaling-law", 1);
    FittedLaw law;
    law.law = in.text("law");
    law.title = in.text("title");
    law.basis = in.text("basis");
    if (law.basis != "fitted" && law.basis != "published" && law.basis != "assumed")
        throw InputError("{}: '{}' (fitted, published or assumed)", in.path_to("basis"), law.basis);
    law.source = in.text("source");
    law.counting = in.text("counting", "");
    law.warnings = in.texts("warnings");
    ObjectReader parameters = in.object("parameters");
    for (std::string const& name : parameters.keys()) {
        law.names.push_back(name);
        law.values.push_back(parameters.number(name));
    }
    if (law.names.empty()) throw InputError("{}: is empty", parameters.where());
    in.allow("resamples");
    if (in.has("resamples")) read_resamples(law, document.root()["resamples"], in.path_to("resamples"));
    if (auto ranges = in.optional_object("ranges"))
        for (std::string const& name : ranges->keys()) {
            auto const range = ranges->numbers(name);
            if (range.size() != 2 || !(range[0] <= range[1]) || range[0] < 0)
                throw InputError("{}: is not a range ([lowest, highest], not negative, is expected)",
                                 ranges->path_to(name));
            law.ranges[name] = {range[0], range[1]};
        }
    for (char const* key : report_keys)
        in.allow(key);
    in.finish();
    if (LawForm const* const form = form_of(law.law, in.path_to("law"))) check_meaning(law, *form, in.where());
    return law;
}

}  // namespace

FittedLaw read_fitted_law(std::string const& path) { return read_law(JsonDocument::from_file(path)); }

FittedLaw parse_fitted_law(std::string_view text, std::string name) {
    return read_law(JsonDocument::from_text(text, std::move(name)));
}

std::string fitted_law_text(FittedLaw const& law) {
    Json out{{"format", "scaling-law"}, {"version", 1},       {"law", law.law},
             {"title", law.title},      {"basis", law.basis}, {"source", law.source}};
    if (!law.counting.empty()) out["counting"] = law.counting;
    Json parameters = Json::object();
    for (std::size_t i = 0; i < law.names.size(); ++i)
        parameters[law.names[i]] = law.values[i];
    out["parameters"] = parameters;
    if (!law.ranges.empty()) {
        Json ranges = Json::object();
        for (auto const& [name, range] : law.ranges)
            ranges[name] = {range.first, range.second};
        out["ranges"] = ranges;
    }
    if (!law.warnings.empty()) out["warnings"] = law.warnings;
    if (law.resamples.empty()) return json_text(out, 2) + "\n";
    out["resamples"] = {{"names", law.names}, {"rows", "@rows"}};
    std::string rows;  // one line each: a number to a line would be five times as long
    for (auto const& row : law.resamples)
        rows += (rows.empty() ? "\n   " : ",\n   ") + json_text(Json(row));
    std::string text = json_text(out, 2);
    return text.replace(text.find("\"@rows\""), 7, "[" + rows + "]") + "\n";
}

}  // namespace sextant
