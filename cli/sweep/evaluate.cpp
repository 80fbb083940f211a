#include "cli/sweep/evaluate.hpp"

#include "cli/command.hpp"
#include "cli/run.hpp"
#include "cli/sweep/report_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace sextant::cli {
namespace {

/// The sentence of the error, without what every error of the program begins with.
std::string reason_of(PointReport const& point) {
    std::string_view constexpr beginning = "sextant: error: ";
    std::string_view text = point.errors;
    if (auto const at = text.find(beginning); at != std::string_view::npos) text.remove_prefix(at + beginning.size());
    std::string reason = one_line(text);
    return reason.empty() ? fmt::format("ended with code {} and without a word", point.exit_code) : reason;
}

}  // namespace

std::string one_line(std::string_view text) {
    constexpr std::size_t longest = 500;
    while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ')
        text.remove_suffix(1);
    std::string line(text.substr(0, longest));
    std::replace_if(
        line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
    while (text.size() > longest && !line.empty() && (static_cast<unsigned char>(line.back()) & 0xC0U) == 0x80U)
        line.pop_back();  // no half a character
    return line;
}

PointReport run_point(SweepQuestion const& question, std::int64_t point, std::atomic<bool> const* stop) {
    std::vector<std::string> arguments = question.arguments_at(point);
    arguments.insert(arguments.end(), question.always.begin(), question.always.end());
    std::ostringstream out;
    std::ostringstream err;
    CommandContext context{out, err, stop};
    PointReport result;
    result.exit_code = run(std::move(arguments), context);
    result.report = std::move(out).str();
    result.errors = std::move(err).str();
    return result;
}

SweepRow evaluate_point(SweepQuestion const& question, std::int64_t point) {
    PointReport const result = run_point(question, point);
    SweepRow row{.point = point,
                 .status = PointStatus::failed,
                 .cells = std::vector<SweepCell>(question.columns.size()),
                 .reason = {}};
    bool const answered = result.exit_code == exit_code::done || result.exit_code == exit_code::answer_is_no;
    auto cells = answered ? report_cells(result.report, question.columns) : std::nullopt;
    if (!cells) {
        row.reason = reason_of(result);
        return row;
    }
    row.status = result.exit_code == exit_code::done ? PointStatus::done : PointStatus::answer_is_no;
    row.cells = std::move(*cells);
    for (SweepCell& cell : row.cells)
        if (cell.kind == SweepCell::Kind::text) cell.text = one_line(cell.text);
    if (row.status == PointStatus::answer_is_no) row.reason = one_line(result.errors);
    return row;
}

}  // namespace sextant::cli
