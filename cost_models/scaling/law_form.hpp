#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace sextant {

/// The unknown that a solver moves for a parameter: the parameter itself or its natural logarithm.
enum class LawScale : std::uint8_t { linear, logarithmic };

/// What a parameter does in the form. With the shapes given, the coefficients follow from linear least squares.
enum class LawRole : std::uint8_t { coefficient, shape };

struct LawParameter {
    char const* name;
    LawScale scale;
    LawRole role;
    /// Grid of starts for a shape: `screen_points` values from `screen_low` to `screen_high`, evenly in the logarithm.
    double screen_low = 0;
    double screen_high = 0;
    int screen_points = 0;
    /// Of a parameter where an effect saturates: above this it never does, at any input a table may have.
    double endless = std::numeric_limits<double>::infinity();
};

/// What `LawForm::evaluate` returns for a row: the quantity, or its natural logarithm.
enum class LawOutput : std::uint8_t { value, logarithm };

/// Natural logarithms of the inputs of a law, one column per input, all of `rows` values.
struct LawTable {
    std::size_t rows = 0;
    std::vector<std::vector<double>> columns;
};

/// A scaling law as a function of unknowns u (parameters on their scale) and rows of inputs.
///
/// Each `forms/<name>.cpp` defines one; `law_form_catalog` lists them.
struct LawForm {
    char const* name;     ///< "chinchilla"
    char const* formula;  ///< "L = E + A N^-alpha + B D^-beta"
    char const* source;
    char const* output_name;  ///< "loss"
    LawOutput output;
    std::span<LawParameter const> parameters;
    std::span<char const* const> inputs;  ///< "parameters", "tokens", ...
    /// Values (or logarithms of them, see `output`) of every row, and, unless `jacobian` is empty, their derivatives
    /// with respect to u, row after row.
    void (*evaluate)(std::span<double const> unknowns, LawTable const& table, std::span<double> values,
                     std::span<double> jacobian);
};

std::span<LawForm const* const> law_form_catalog();

/// @throws InputError naming the nearest law there is.
LawForm const& find_law_form(std::string_view name, std::string_view where);

/// The value, or infinity where the parameter of that name is above its `endless`; names that the form does not have
/// stay as they are.
double shown_value(LawForm const& form, std::string_view parameter, double value);

/// Value of a law for one row of inputs (in their own units, in the order of `form.inputs`).
/// @pre as many parameters and inputs as the form has, all on a logarithmic scale positive.
double law_value(LawForm const& form, std::span<double const> parameters, std::span<double const> inputs);

}  // namespace sextant
