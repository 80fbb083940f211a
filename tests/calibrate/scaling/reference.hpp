#pragma once

#include "calibrate/scaling/law_fit.hpp"
#include "calibrate/scaling/loss_table.hpp"
#include "core/json/text_file.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace sextant::test {

using Json = nlohmann::json;

inline std::string scaling_file(std::string const& name) {
    return std::string(SEXTANT_SOURCE_DIR) + "/tests/data/scaling/" + name;
}

/// tests/data/scaling/expected.json: computed with numpy and scipy.
inline Json const& expected() {
    static Json const json = Json::parse(read_text_file(scaling_file("expected.json")))["expected"];
    return json;
}

inline LossTable rows_of(std::string const& file, LossColumns const& columns,
                         std::vector<std::string> const& conditions = {}) {
    std::vector<RowCondition> parsed;
    for (std::string const& text : conditions)
        parsed.push_back(row_condition_from(text, "test"));
    return loss_table(read_csv(scaling_file(file)), columns, {}, parsed);
}

/// A problem over columns that are named as the form's inputs and output.
inline LawProblem problem_over(LossTable const& table, std::string const& law, std::string const& objective) {
    LawProblem problem = law_problem(find_law_form(law, "test"), fit_objective_from(objective, "test"));
    for (std::size_t c = 0; c < problem.form->inputs.size(); ++c)
        for (double const value : table.column(problem.form->inputs[c]))
            problem.inputs.columns[c].push_back(std::log(value));
    problem.measured = table.column(problem.form->output_name);
    problem.inputs.rows = table.rows();
    return problem;
}

inline LawFit fitted(LawProblem const& problem) { return fit_law(problem, {}, "test"); }

}  // namespace sextant::test
