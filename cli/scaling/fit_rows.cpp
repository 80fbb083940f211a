#include "cli/options/number_text.hpp"
#include "cli/scaling/fit.hpp"
#include "cli/scaling/run_columns.hpp"
#include "core/error.hpp"
#include "core/is_one_of.hpp"
#include "core/nearest.hpp"
#include "cost_models/scaling/chinchilla_law.hpp"
#include "cost_models/scaling/published_laws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace sextant::cli {
namespace {

/// Laws through the points of a construction.
constexpr std::string_view curve_laws[] = {"isoflop", "envelope", "allocation", "critical-batch", "lr-batch"};

constexpr double long_work = 1e7;  // rows times resamples: several seconds
constexpr double most_fixed = 1e40;

/// Parts that a law reads, the output last.
std::vector<std::string> parts_of(std::string const& law) {
    if (law == "isoflop" || law == "envelope") return {"parameters", "tokens", "flops", "loss"};
    if (law == "allocation") return {"parameters", "tokens", "flops"};
    if (law == "critical-batch") return {"parameters", "batch", "steps"};
    if (law == "lr-batch") return {"parameters", "tokens", "learning_rate", "batch", "loss"};
    LawForm const& form = find_law_form(law, "--law");
    std::vector<std::string> parts(form.inputs.begin(), form.inputs.end());
    parts.emplace_back(form.output_name);
    return parts;
}

bool is_bits(std::string const& part) { return part.ends_with("_bits"); }

/// The flag that names a part's column.
std::string flag_of(std::string const& part) {
    if (part == "parameters") return "--n";
    if (part == "tokens") return "--d";
    if (part == "learning_rate") return "--lr";
    if (part == "unique_tokens") return "--unique";
    std::string flag = "--" + part;
    std::replace(flag.begin(), flag.end(), '_', '-');
    return flag;
}

/// @throws InputError for a column or a choice that the law has no use for
void check_given(ScalingFitRequest const& request, std::vector<std::string> const& parts) {
    for (auto const& [part, column] : request.columns)
        if (!is_one_of(parts, part) && part != "weight" && part != "flops" && part != "parameters" &&
            part != "tokens" && !(part == "sd" && request.law == "allocation"))
            throw InputError("{}: the law '{}' has no use for it", flag_of(part), request.law);
    bool const of_form =
        std::none_of(std::begin(curve_laws), std::end(curve_laws), [&](auto law) { return law == request.law; });
    if (request.columns.count("weight") != 0 && request.columns.count("sd") != 0)
        throw InputError("--sd: --weight says already how much a row counts");
    if (!of_form && request.law != "allocation" && request.columns.count("weight") != 0)
        throw InputError("--weight: the law '{}' takes no weights", request.law);
    if (!of_form && !request.group.empty())
        throw InputError("--bootstrap-by: the law '{}' draws {} already", request.law,
                         request.law == "envelope"     ? "whole training curves"
                         : request.law == "allocation" ? "optima, each of a row"
                                                       : "rows within its levels");
    if (!of_form && (!request.fixed.empty() || !request.tied.empty()))
        throw InputError("{}: the law '{}' is not fitted parameter by parameter",
                         request.fixed.empty() ? "--tie" : "--fix", request.law);
}

/// Columns for the parts of the law: those given, else those with usual names. Of N, D and C two are enough.
LossColumns columns_for(ScalingFitRequest const& request, CsvTable const& csv) {
    std::vector<std::string> const parts = parts_of(request.law);
    LossColumns out = request.columns;
    auto const wants = [&](std::string const& part) { return is_one_of(parts, part); };
    check_given(request, parts);
    auto const find = [&](std::string const& part) {
        if (out.count(part) != 0) return true;
        std::string const column = usual_column(csv, part);
        if (column.empty()) return false;
        out[part] = column;
        return true;
    };
    auto const need = [&](std::string const& part, std::string const& alternative) {
        throw InputError("{}: no column for the {} of the law '{}' (name it with {} COLUMN{}; columns: {})", csv.name,
                         part, request.law, flag_of(part), alternative, join(csv.header));
    };
    bool const of_runs = wants("tokens") || wants("flops");
    for (std::string const& part : parts) {
        if (find(part) || is_bits(part)) continue;
        bool const has_n = find("parameters");
        bool const has_d = find("tokens");
        bool const has_c = of_runs && find("flops");
        bool const derived = (part == "flops" && has_n && has_d) || (part == "tokens" && has_n && has_c) ||
                             (part == "parameters" && has_d && has_c);
        if (!derived) need(part, of_runs && part != "loss" ? ", or give two of --n, --d and --flops" : "");
    }
    return out;
}

std::size_t parameter_named(LawForm const& form, std::string const& name, std::string const& where) {
    std::vector<std::string> names;
    for (std::size_t k = 0; k < form.parameters.size(); ++k) {
        names.emplace_back(form.parameters[k].name);
        if (names.back() == name) return k;
    }
    throw InputError("{}: the law '{}' has no parameter '{}'{} (it has {})", where, form.name, name,
                     did_you_mean(name, names), join(names));
}

std::pair<std::string, std::string> both_sides(std::string const& text, char const* flag, char const* example) {
    std::size_t const at = text.find('=');
    if (at == std::string::npos || at == 0 || at + 1 == text.size())
        throw InputError("{}: '{}' (write {})", flag, text, example);
    return {text.substr(0, at), text.substr(at + 1)};
}

double number_from(std::string const& text, char const* flag) {
    std::size_t used = 0;
    double value = std::numeric_limits<double>::quiet_NaN();
    try {
        value = std::stod(text, &used);
    } catch (std::exception const&) {
        used = 0;
    }
    if (used != text.size() || !std::isfinite(value)) throw InputError("{}: '{}' is not a finite number", flag, text);
    return value;
}

/// The parameters of the base law that are neither fixed nor tied by the request.
void hold_base(ScalingFitRequest const& request, LawProblem& problem, std::vector<std::string>& assumptions) {
    FittedLaw const base = find_scaling_law(request.base, "--base");
    std::vector<std::string> held;
    for (char const* name : {"A", "B", "E", "alpha", "beta"}) {
        std::size_t const k = parameter_named(*problem.form, name, "--base");
        if (problem.fixed[k] || problem.equals[k] != k) continue;
        problem.fixed[k] = base.value(name);
        held.emplace_back(name);
    }
    for (std::size_t k = 0; k < problem.equals.size(); ++k)
        if (problem.equals[k] != k) problem.fixed[k] = problem.fixed[problem.equals[k]];
    if (held.empty()) return;
    assumptions.push_back(fmt::format("{} {} of '{}' (--base free fits {} too)", join(held),
                                      held.size() == 1 ? "is that" : "are those", request.base,
                                      held.size() == 1 ? "it" : "them"));
}

void fix_parameters(ScalingFitRequest const& request, LawProblem& problem, std::vector<std::string>& assumptions) {
    LawForm const& form = *problem.form;
    for (std::string const& text : request.fixed) {
        auto const [name, number] = both_sides(text, "--fix", "NAME=VALUE");
        std::size_t const k = parameter_named(form, name, "--fix");
        double const value = number_from(number, "--fix");
        if (form.parameters[k].scale == LawScale::logarithmic && !(value > 0))
            throw InputError("--fix: {} is {} (it must be above zero)", name, value);
        if (std::abs(value) > most_fixed) throw InputError("--fix: {} is {} (up to {:g})", name, number, most_fixed);
        if (problem.fixed[k]) throw InputError("--fix: {} is given twice", name);
        problem.fixed[k] = value;
    }
    for (std::string const& text : request.tied) {
        auto const [name, other] = both_sides(text, "--tie", "beta=alpha");
        std::size_t const k = parameter_named(form, name, "--tie");
        std::size_t const to = parameter_named(form, other, "--tie");
        if (form.parameters[k].role != LawRole::shape || form.parameters[to].role != LawRole::shape)
            throw InputError("--tie: '{}' (only exponents and the like can be tied, not coefficients)", text);
        if (form.parameters[k].scale != form.parameters[to].scale || k == to || problem.equals[to] != to ||
            problem.fixed[k])
            throw InputError("--tie: '{}' (two different parameters of one kind, neither tied nor fixed already)",
                             text);
        problem.equals[k] = to;
        problem.fixed[k] = problem.fixed[to];
    }
    if (std::string_view(form.name) == "data-constrained" && request.base != "free")
        hold_base(request, problem, assumptions);
    if (UnknownMap(problem).free() == 0)
        throw InputError("--fix: every parameter of the law '{}' is held, so nothing is left to fit", form.name);
}

LawProblem problem_of(ScalingFitRequest const& request, LossTable const& table, std::vector<std::string>& assumptions) {
    LawProblem problem =
        law_problem(find_law_form(request.law, "--law"), fit_objective_from(request.objective, "--objective"));
    for (std::size_t c = 0; c < problem.form->inputs.size(); ++c) {
        std::string const part = problem.form->inputs[c];
        std::vector<double>& column = problem.inputs.columns[c];
        if (!table.has(part)) {  // bits that were not varied: unlimited
            column.assign(table.rows(), std::numeric_limits<double>::infinity());
            problem.fixed[5 + c - 2] = 1;  // gamma_w, gamma_a, gamma_kv
            assumptions.push_back(fmt::format("no column for {}: full precision there", part));
            continue;
        }
        for (double const value : table.column(part))
            column.push_back(std::log(value));
    }
    problem.measured = table.column(problem.form->output_name);
    problem.inputs.rows = table.rows();
    if (table.has("weight")) problem.weights = table.column("weight");
    fix_parameters(request, problem, assumptions);
    return problem;
}

std::vector<std::size_t> groups_of(LossTable const& table, std::string const& group) {
    if (group.empty()) return {};
    std::vector<std::string> names;
    std::vector<std::size_t> out;
    for (std::string const& text : table.texts.at("group")) {
        auto const known = std::find(names.begin(), names.end(), text);
        out.push_back(static_cast<std::size_t>(known - names.begin()));
        if (known == names.end()) names.push_back(text);
    }
    if (names.size() < 3)
        throw InputError("--bootstrap-by: column '{}' has {} values (three at least)", group, names.size());
    return out;
}

void fit_form(ScalingFitRequest const& request, ScalingFitReport& report, std::atomic<bool> const& stop) {
    LawStudyOptions options;
    options.fit = {.starts = request.starts, .threads = request.threads};
    options.bootstrap = {.resamples = request.resamples,
                         .seed = request.seed,
                         .threads = request.threads,
                         .groups = groups_of(report.table, request.group),
                         .stop = &stop};
    if (!request.at.empty()) options.flops = count_from(request.at, "--at");
    if (!request.cuts.empty()) options.cuts = counts_from(request.cuts, "--cutoff");
    options.profile = !request.quick;
    options.diagnostics = !request.quick;
    LawProblem problem = problem_of(request, report.table, report.assumptions);
    report.formula = problem.form->formula;
    report.source = problem.form->source;
    report.study = study_law(std::move(problem), options, request.data);
    report.parameters = report.study->parameters;
    report.quantities = report.study->quantities;
    if (report.study->bootstrap.enough()) report.resamples = report.study->bootstrap.values;
    report.rows_used = report.table.rows();
    report.warnings.insert(report.warnings.end(), report.study->warnings.begin(), report.study->warnings.end());
}

}  // namespace

std::vector<FittableLaw> fittable_laws() {
    return {{"chinchilla", "L = E + A N^-alpha + B D^-beta (approach 3)"},
            {"compute", "L = Linf + a C^-alpha"},
            {"isoflop", "parabolas at each compute, N* and D* over C (approach 2)"},
            {"envelope", "lowest training curve at each compute (approach 1)"},
            {"allocation", "N* and D* over C, through optima found before (--sd, --weight)"},
            {"overtraining", "L = E + (a M^eta + b M^-eta) C^-eta, M = D/N"},
            {"data-constrained", "repeated tokens: R_D and R_N over --base"},
            {"moe-routed", "Clark's law over N and experts, saturating"},
            {"moe-bilinear", "the same without saturation"},
            {"moe-granularity", "L = c + (g G^-gamma + a) N^-alpha + b D^-beta"},
            {"precision", "N shrunk by the bits of weights, activations, KV cache"},
            {"critical-batch", "S = S_min + E_min / B by size, and batch over N"},
            {"lr-batch", "learning rate and batch over N, D (Step law) and C (DeepSeek)"}};
}

ScalingFitReport fit_scaling_law(ScalingFitRequest const& request, std::atomic<bool> const& stop,
                                 std::function<void(std::string const&)> const& told) {
    std::vector<std::string> names;
    for (FittableLaw const& law : fittable_laws())
        names.emplace_back(law.name);
    if (std::find(names.begin(), names.end(), request.law) == names.end())
        throw InputError("--law: unknown law '{}'{} (known: {})", request.law, did_you_mean(request.law, names),
                         join(names));
    CsvTable const csv = read_csv(request.data);
    std::vector<RowCondition> conditions;
    for (std::string const& text : request.conditions)
        conditions.push_back(row_condition_from(text, "--where"));
    LossColumns texts;
    if (!request.group.empty()) texts["group"] = request.group;
    ScalingFitReport report;
    report.law = request.law;
    report.columns = columns_for(request, csv);
    report.table = loss_table(csv, report.columns, texts, conditions);
    std::vector<std::string> const parts = parts_of(request.law);
    // Batches over sizes keep the unit of the sizes: its parameters are those of the rows.
    if (request.law != "critical-batch") scale_columns(report.table, report.columns, report.assumptions);
    if (is_one_of(parts, "tokens") || is_one_of(parts, "flops")) {
        derive_runs(report.table, report.assumptions);
        warn_of_units(report.table, report.warnings);
        if (request.law != "lr-batch") {
            warn_of_counting(report.table, report.warnings);
            if (report.columns.count("flops") == 0)
                check_unread_flops(csv, report.columns, conditions, report.warnings);
        }
    }
    if (!report.table.missing.empty())
        report.warnings.push_back(fmt::format("{} row{} without a value left out, the first: {}",
                                              report.table.missing.size(), report.table.missing.size() == 1 ? "" : "s",
                                              report.table.missing.front()));
    if (told && static_cast<double>(report.table.rows()) * request.resamples > long_work)
        told(fmt::format("refitting {} resamples of {} rows (--bootstrap takes fewer; Ctrl-C ends with what is done)",
                         request.resamples, report.table.rows()));
    if (request.law == "isoflop")
        fit_isoflop_law(request, report);
    else if (request.law == "envelope")
        fit_envelope_law(request, report);
    else if (request.law == "allocation")
        fit_allocation_law(request, report);
    else if (request.law == "critical-batch")
        fit_critical_batch_law(request, report);
    else if (request.law == "lr-batch")
        fit_lr_batch_law(request, report);
    else
        fit_form(request, report, stop);
    return report;
}

}  // namespace sextant::cli
