#include "calibrate/scaling/loss_table.hpp"

#include "core/error.hpp"
#include "core/measurements/row_cells.hpp"
#include "core/nearest.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace sextant {
namespace {

std::optional<double> number_of(std::string_view text) {
    double value = 0;
    if (text.starts_with('+')) text.remove_prefix(1);
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// Beyond these a product of three cells is no number any more, and no run has such a size, compute or loss.
constexpr double least_cell = 1e-40;
constexpr double most_cell = 1e40;

bool is_missing(std::string const& cell) {
    std::string const text = lower_case(cell);
    return text.empty() || text == "nan" || text == "na" || text == "n/a" || text == "null" || text == "none" ||
           text == "-nan";
}

/// Whether the text is among the alternatives "A|B|C".
bool is_one_of(std::string_view text, std::string_view alternatives) {
    for (std::size_t begin = 0; begin <= alternatives.size();) {
        std::size_t const end = std::min(alternatives.find('|', begin), alternatives.size());
        if (alternatives.substr(begin, end - begin) == text) return true;
        begin = end + 1;
    }
    return false;
}

bool holds(RowCondition const& condition, std::string const& cell) {
    auto const a = number_of(cell);
    auto const b = number_of(condition.value);
    std::string const& op = condition.operation;
    if (condition.value.find('|') != std::string::npos) {
        bool const any = is_one_of(cell, condition.value);
        return op == "=" ? any : op == "!=" && !any;
    }
    if (!a || !b) return op == "=" ? cell == condition.value : op == "!=" && cell != condition.value;
    if (op == "=") return *a == *b;
    if (op == "!=") return *a != *b;
    if (op == "<") return *a < *b;
    if (op == "<=") return *a <= *b;
    if (op == ">") return *a > *b;
    return *a >= *b;
}

std::size_t position_of(CsvTable const& table, std::string const& column, std::string const& part) {
    if (auto const at = table.find(column)) return *at;
    throw InputError("{}: no column '{}' for the {}{} (columns: {})", table.name, column, part,
                     did_you_mean(column, table.header), join(table.header));
}

struct Part {
    std::string name;
    std::size_t position;
};
std::vector<Part> parts_of(CsvTable const& table, LossColumns const& columns) {
    std::vector<Part> parts;
    for (auto const& [name, column] : columns)
        parts.push_back({name, position_of(table, column, name)});
    return parts;
}

/// Reads the numbers of a row, or says what is missing.
std::optional<std::string> read_row(CsvTable const& table, CsvRecord const& record, std::vector<Part> const& parts,
                                    std::vector<double>& values) {
    values.clear();
    for (Part const& part : parts) {
        std::string const cell(trimmed(record.cells[part.position]));
        std::string const& column = table.header[part.position];
        if (is_missing(cell)) return "line " + std::to_string(record.line) + ": " + column + " is missing";
        auto const value = number_of(cell);
        if (!value)
            throw InputError("{}: line {}, column '{}': '{}' is not a number", table.name, record.line, column, cell);
        if (*value > 0 && std::isfinite(*value) && !(*value >= least_cell && *value <= most_cell))
            throw InputError("{}: line {}, column '{}': {} (the {} must be from {:g} to {:g})", table.name, record.line,
                             column, cell, part.name, least_cell, most_cell);
        if (!(*value > 0 && std::isfinite(*value)))
            throw InputError("{}: line {}, column '{}': {} (the {} must be above zero and finite)", table.name,
                             record.line, column, cell, part.name);
        values.push_back(*value);
    }
    return std::nullopt;
}

struct UsualNames {
    std::string_view part;
    std::array<std::string_view, 9> names;
};
constexpr UsualNames usual_names[] = {
    {"parameters",
     {"params", "parameters", "n", "num_params", "n_params", "model_size", "size", "dense_parameter_count",
      "model_params_millions"}},
    {"tokens", {"tokens", "d", "num_tokens", "n_tokens", "training_tokens", "train_tokens", "data"}},
    {"flops", {"flops", "compute", "c", "budget", "training_flops", "train_flops", "flop"}},
    {"loss", {"loss", "final_loss", "val_loss", "validation_loss", "loss_validation", "eval_loss", "l", "test_loss"}},
    {"unique_tokens", {"unique_tokens", "u", "unique", "u_d"}},
    {"experts", {"num_experts", "experts", "e", "n_experts"}},
    {"granularity", {"granularity", "g"}},
    {"weight_bits", {"weight_bits", "p_w", "pw", "bits_w", "w_bits"}},
    {"activation_bits", {"activation_bits", "p_a", "pa", "bits_a", "a_bits"}},
    {"cache_bits", {"cache_bits", "kv_bits", "p_kv", "pkv", "bits_kv"}},
    {"batch", {"batch", "batch_size", "bs", "batch_tokens", "batch_size_sequences", "global_batch"}},
    {"steps", {"steps", "steps_to_target", "s", "n_steps"}},
    {"learning_rate", {"lr", "learning_rate", "peak_lr", "max_lr"}},
};

}  // namespace

RowCondition row_condition_from(std::string_view text, std::string_view where) {
    for (std::string_view const op : {"!=", "<=", ">=", "==", "=", "<", ">"}) {
        std::size_t const at = text.find(op);
        if (at == std::string_view::npos || at == 0) continue;
        RowCondition c{.column = std::string(trimmed(text.substr(0, at))),
                       .operation = op == "==" ? "=" : std::string(op),
                       .value = std::string(trimmed(text.substr(at + op.size())))};
        if (c.operation != "=" && c.operation != "!=" && !number_of(c.value))
            throw InputError("{}: '{}' orders by a text (give a number, or use = or !=)", where, text);
        return c;
    }
    throw InputError("{}: '{}' (write COLUMN=VALUE, or with != < <= > >=)", where, text);
}

LossTable loss_table(CsvTable const& table, LossColumns const& columns, LossColumns const& texts,
                     std::vector<RowCondition> const& conditions) {
    LossTable out;
    out.name = table.name;
    std::vector<Part> const parts = parts_of(table, columns);
    std::vector<Part> const text_parts = parts_of(table, texts);
    std::vector<std::size_t> tested;
    for (RowCondition const& c : conditions)
        tested.push_back(position_of(table, c.column, "condition"));
    for (Part const& part : parts)
        out.columns[part.name];
    std::vector<double> values;
    for (CsvRecord const& record : table.records) {
        bool kept = true;
        for (std::size_t k = 0; k < conditions.size() && kept; ++k)
            kept = holds(conditions[k], std::string(trimmed(record.cells[tested[k]])));
        if (!kept) {
            ++out.left_out;
            continue;
        }
        if (auto const missing = read_row(table, record, parts, values)) {
            out.missing.push_back(*missing);
            continue;
        }
        for (std::size_t k = 0; k < parts.size(); ++k)
            out.columns[parts[k].name].push_back(values[k]);
        for (Part const& part : text_parts)
            out.texts[part.name].emplace_back(trimmed(record.cells[part.position]));
        out.lines.push_back(record.line);
    }
    if (out.rows() == 0)
        throw InputError("{}: no usable rows ({} in the file, {} excluded by conditions, {} without a value)",
                         table.name, table.records.size(), out.left_out, out.missing.size());
    return out;
}

std::string usual_column(CsvTable const& table, std::string_view part) {
    for (UsualNames const& usual : usual_names) {
        if (usual.part != part) continue;
        for (std::string_view const name : usual.names)
            for (std::string const& column : table.header)
                if (!name.empty() && lower_case(column) == name) return column;
    }
    return {};
}

}  // namespace sextant
