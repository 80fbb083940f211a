#include "core/measurements/format_error.hpp"

#include "core/embedded_text.hpp"
#include "core/error.hpp"
#include "core/measurements/bench_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>

namespace sextant {
namespace {

/// The figures of a note: "rms_error=0.02; sqnr_db=34; ...".
class Note {
public:
    Note(std::string text, std::string where) : text_("; " + std::move(text) + ";"), where_(std::move(where)) {}

    [[nodiscard]] double number(std::string_view name) const {
        std::string const key = fmt::format("; {}=", name);
        auto const found = text_.find(key);
        if (found == std::string::npos) throw InputError("{}: the note has no {}", where_, name);
        char const* const begin = text_.data() + found + key.size();
        double value = 0;
        auto const read = std::from_chars(begin, text_.data() + text_.size(), value);
        if (read.ec != std::errc{} || *read.ptr != ';' || !(value >= 0) || !std::isfinite(value))
            throw InputError("{}: {} of the note is no number of zero or more", where_, name);
        return value;
    }
    [[nodiscard]] double share(std::initializer_list<std::string_view> parts,
                               std::initializer_list<std::string_view> wholes) const {
        double part = 0;
        double whole = 0;
        for (std::string_view const name : parts)
            part += number(name);
        for (std::string_view const name : wholes)
            whole += number(name);
        if (!(whole > 0 && part <= whole))
            throw InputError("{}: the note counts {} of {} elements", where_, part, whole);
        return part / whole;
    }

private:
    std::string text_;
    std::string where_;
};

FormatError read_gemm(FormatError row, Note const& note) {
    row.test = FormatError::Test::gemm;
    row.first = note.number("weights_rms_error");
    row.second = note.number("activations_rms_error");
    row.flushed = note.share({"weights_underflow", "activations_underflow"}, {"weights", "activations"});
    row.clipped = note.share({"weights_overflow", "activations_overflow"}, {"weights", "activations"});
    return row;
}

FormatError read_attention(FormatError row, Note const& note) {
    row.test = FormatError::Test::attention;
    row.first = note.number("keys_rms_error");
    row.second = note.number("values_rms_error");
    row.flushed = note.share({"underflow"}, {"elements"});
    row.clipped = note.share({"overflow"}, {"elements"});
    return row;
}

}  // namespace

std::vector<FormatError> format_errors(CsvTable const& bench_rows) {
    std::vector<FormatError> out;
    for (CsvRecord const& record : bench_rows.records) {
        RowCells const cells(bench_rows, record);
        if (cells.text("bench") != "accuracy" || bench_row_failed(cells)) continue;
        std::string const kernel = cells.text("kernel");
        auto const first = kernel.find('/');
        auto const last = kernel.rfind('/');
        std::string const test = kernel.substr(0, first);
        if (test != "gemm" && test != "attention") continue;
        std::string const where = fmt::format("{}: line {}", bench_rows.name, record.line);
        if (first == last)
            throw InputError("{}: kernel '{}' (TEST/INPUTS/SCALING is expected)", where, kernel.substr(0, 80));
        Note const note(cells.text("note"), where);
        FormatError row;
        row.inputs = kernel.substr(first + 1, last - first - 1);
        row.scaling = kernel.substr(last + 1);
        row.formats = cells.text("dtype");
        row.output = note.number("rms_error");
        out.push_back(test == "gemm" ? read_gemm(std::move(row), note) : read_attention(std::move(row), note));
    }
    for (auto const& [wanted, name] :
         {std::pair{FormatError::Test::gemm, "gemm"}, {FormatError::Test::attention, "attention"}})
        if (std::none_of(out.begin(), out.end(), [test = wanted](FormatError const& row) { return row.test == test; }))
            throw InputError(
                "{}: has no {} rows of the accuracy benchmark (sextant-bench --bench accuracy writes them)",
                bench_rows.name, name);
    return out;
}

std::vector<FormatError> const& shipped_format_errors() {
    static std::vector<FormatError> const rows = [] {
        for (EmbeddedText const& entry : embedded_measurements())
            if (entry.name == "number_formats")
                return format_errors(parse_bench_rows(entry.text, "hardware_profiles/measurements/number_formats.csv"));
        return std::vector<FormatError>{};
    }();
    return rows;
}

}  // namespace sextant
