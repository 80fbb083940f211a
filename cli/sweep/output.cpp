#include "cli/sweep/output.hpp"

#include "cli/page/plotting_library.hpp"
#include "cli/shell/fit_text.hpp"
#include "cli/sweep/page.hpp"
#include "cli/sweep/view.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"
#include "core/nearest.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <ostream>

namespace sextant::cli {
namespace {

struct NamedFormat {
    SweepFormat format;
    std::string_view name;
    std::string_view ending;
};

constexpr std::array formats{
    NamedFormat{SweepFormat::text, "text", ".txt"},        NamedFormat{SweepFormat::csv, "csv", ".csv"},
    NamedFormat{SweepFormat::jsonl, "jsonl", ".jsonl"},    NamedFormat{SweepFormat::json, "json", ".json"},
    NamedFormat{SweepFormat::markdown, "markdown", ".md"}, NamedFormat{SweepFormat::html, "html", ".html"},
};

void refuse_too_many(SweepRecord const& record, SweepOutput::Options const& options) {
    if (!is_streamed(options.format) && record.row_count() > most_kept_rows)
        throw InputError("--format: {} rows are too many for one report (up to {}; csv and jsonl have no limit)",
                         record.row_count(), most_kept_rows);
    if (!options.sensitivity.empty() && record.points > most_sensitivity_points)
        throw InputError("--sensitivity: {} points are too many (up to {})", record.points, most_sensitivity_points);
}

}  // namespace

SweepFormat sweep_format(std::string const& name, std::string const& file) {
    if (name.empty() && file.empty()) return SweepFormat::text;
    std::vector<std::string> known;
    for (NamedFormat const& candidate : formats) {
        if (name.empty() ? file.ends_with(candidate.ending) : name == candidate.name) {
            if (candidate.format == SweepFormat::html) require_plotting_library();  // before all points are worked out
            return candidate.format;
        }
        known.emplace_back(candidate.name);
    }
    if (name.empty()) return SweepFormat::csv;
    throw InputError("--format: unknown format '{}'{} (a sweep writes: {})", name.substr(0, 40),
                     did_you_mean(name, known), join(known));
}

std::string sweep_report(SweepTable const& table, SweepFormat format) {
    switch (format) {
        case SweepFormat::json: return sweep_json(table);
        case SweepFormat::markdown: return sweep_rows(table).markdown() + assumed_markdown(table.prices);
        case SweepFormat::html: return sweep_page(table);
        default: return sweep_text(table);
    }
}

double figure_in(SweepCell const& cell) {
    double value = std::numeric_limits<double>::quiet_NaN();
    if (cell.kind == SweepCell::Kind::number)
        std::from_chars(cell.text.data(), cell.text.data() + cell.text.size(), value);
    return value;
}

SweepOutput::SweepOutput(SweepRecord record, Options options, CommandContext& context)
    : record_(std::move(record)), options_(std::move(options)), context_(context), table_(empty_table(record_)) {
    refuse_too_many(record_, options_);
    record_.rows = options_.format == SweepFormat::jsonl ? RowFormat::jsonl : RowFormat::csv;
    if (!options_.sensitivity.empty()) {
        figures_.assign(static_cast<std::size_t>(record_.points), std::numeric_limits<double>::quiet_NaN());
        auto const at = std::find(record_.columns.begin(), record_.columns.end(), options_.sensitivity);
        metric_ = static_cast<std::size_t>(at - record_.columns.begin());
    }
    if (!is_streamed(options_.format)) return;
    if (options_.file.empty())
        lines_ = header_line(record_);
    else
        file_ = std::make_unique<ResultFile>(options_.file, record_, options_.existing,
                                             [this](SweepRow const& row) { note(row); });
}

void SweepOutput::note(SweepRow const& row) {
    switch (row.status) {
        case PointStatus::done: ++counts_.done; break;
        case PointStatus::answer_is_no: ++counts_.answer_is_no; break;
        case PointStatus::failed: ++counts_.failed; break;
    }
    if (!figures_.empty()) figures_[static_cast<std::size_t>(row.point)] = figure_in(row.cells[metric_]);
}

void SweepOutput::add(SweepRow&& row) {
    row.cells.resize(record_.columns.size());  // of a worker that died there are none
    note(row);
    if (is_streamed(options_.format))
        lines_ += row_line(record_, row);
    else
        table_.rows.push_back(std::move(row));
}

void SweepOutput::flush() {
    if (lines_.empty()) return;
    if (file_)
        file_->append(lines_);
    else
        context_.out << lines_ << std::flush;
    lines_.clear();
}

void SweepOutput::finish(End end) {
    flush();
    table_.interrupted = end == End::interrupted;
    if (!figures_.empty())
        table_.sensitivity = sensitivity_of(options_.sensitivity, record_.axes, record_.groups, figures_);
    if (!is_streamed(options_.format)) {
        std::string const report = sweep_report(table_, options_.format);
        if (options_.file.empty())
            context_.out << (options_.format == SweepFormat::text ? for_terminal(report, terminal_of(context_.out))
                                                                  : report);
        else
            write_text_file(options_.file, report);
        if (options_.format != SweepFormat::markdown) return;  // the sensitivity is in the report
    }
    if (!table_.sensitivity) return;
    // Standard output may hold the rows.
    std::ostream& out = options_.file.empty() ? context_.err : context_.out;
    out << for_terminal(sensitivity_text(*table_.sensitivity), terminal_of(out));
}

}  // namespace sextant::cli
