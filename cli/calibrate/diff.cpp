#include "cli/calibrate/diff.hpp"

#include "cli/calibrate/calibration_times.hpp"
#include "cli/calibrate/subcommand.hpp"
#include "cli/view/table.hpp"
#include "core/error.hpp"

#include <fmt/format.h>
#include <CLI/App.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

namespace sextant::cli {
namespace {

constexpr Format report_formats[] = {Format::text, Format::json, Format::markdown};

constexpr double same = 1e-3;  ///< relative: files hold four or five digits

std::string key_of(CalibrationConstant const& c) { return c.part + "|" + c.key; }

ConstantDifference difference(CalibrationConstant const& a, CalibrationConstant const& b) {
    ConstantDifference d{.part = a.part,
                         .key = a.key,
                         .first = a.text,
                         .second = b.text,
                         .first_spread = a.spread,
                         .second_spread = b.spread};
    if (a.value > 0 && b.value > 0) {
        d.ratio = b.value / a.value;
        if (a.spread && b.spread && *a.spread + *b.spread > 0)
            d.distance = std::abs(std::log(*d.ratio)) / std::hypot(*a.spread, *b.spread);
    }
    return d;
}

void compare_constants(CalibrationFile const& a, CalibrationFile const& b, CalibrationDiff& out) {
    std::map<std::string, CalibrationConstant> others;
    for (CalibrationConstant& c : constants_of(b))
        others.emplace(key_of(c), std::move(c));
    for (CalibrationConstant const& c : constants_of(a)) {
        auto const found = others.find(key_of(c));
        if (found == others.end()) {
            out.differences.push_back(
                {.part = c.part, .key = c.key, .first = c.text, .second = "", .first_spread = c.spread});
            continue;
        }
        ++out.constants;
        double const size = std::max(std::abs(c.value), std::abs(found->second.value));
        if (std::abs(c.value - found->second.value) > same * size)
            out.differences.push_back(difference(c, found->second));
        others.erase(found);
    }
    for (CalibrationConstant const& c : constants_of(b))
        if (others.contains(key_of(c)))
            out.differences.push_back(
                {.part = c.part, .key = c.key, .first = "", .second = c.text, .second_spread = c.spread});
}

void compare_times(std::vector<GridTime> const& a, std::vector<GridTime> const& b, CalibrationDiff& out) {
    std::map<std::string, Seconds> others;
    for (GridTime const& time : b)
        others[time.part + "|" + time.shape] = time.time;
    std::map<std::string, std::vector<std::pair<double, std::string>>> ratios;
    std::vector<std::string> order;
    for (GridTime const& time : a) {
        auto const found = others.find(time.part + "|" + time.shape);
        if (found == others.end() || !(time.time.base() > 0)) continue;
        auto& list = ratios[time.part];
        if (list.empty()) order.push_back(time.part);
        list.emplace_back(found->second / time.time, time.shape);
    }
    for (std::string const& part : order) {
        auto& list = ratios[part];
        std::sort(list.begin(), list.end());
        out.times.push_back({.part = part,
                             .shapes = list.size(),
                             .median = list[list.size() / 2].first,
                             .least = list.front().first,
                             .least_at = list.front().second,
                             .largest = list.back().first,
                             .largest_at = list.back().second});
    }
}

std::string with_spread(std::string const& value, std::optional<double> const& spread) {
    if (value.empty()) return "-";
    return spread ? fmt::format("{} ±{:.0f} %", value, 100 * (std::exp(*spread) - 1)) : value;
}

Table constant_table(CalibrationDiff const& diff) {
    Table table({{"fit"},
                 {"constant"},
                 {diff.first, Align::right},
                 {diff.second, Align::right},
                 {"ratio", Align::right},
                 {"apart", Align::right}});
    for (ConstantDifference const& d : diff.differences)
        table.add_row({d.part, d.key, with_spread(d.first, d.first_spread), with_spread(d.second, d.second_spread),
                       d.ratio ? fmt::format("{:.3g}", *d.ratio) : "",
                       d.distance ? fmt::format("{:.1f} s.d.", *d.distance) : ""});
    return table;
}

Table time_table(CalibrationDiff const& diff) {
    Table table({{"times of"},
                 {"shapes", Align::right},
                 {"median", Align::right},
                 {"least", Align::right},
                 {"at"},
                 {"largest", Align::right},
                 {"at"}});
    for (TimeRatio const& t : diff.times)
        table.add_row({t.part, fmt::to_string(t.shapes), fmt::format("{:.3f}", t.median),
                       fmt::format("{:.3f}", t.least), t.least_at, fmt::format("{:.3f}", t.largest), t.largest_at});
    return table;
}

std::string summary(CalibrationDiff const& diff) {
    return fmt::format("{}: {} against {}: {} constants in both, {} differ or are in one alone.", diff.format,
                       diff.second, diff.first, diff.constants, diff.differences.size());
}

std::string times_title(CalibrationDiff const& diff) {
    if (diff.times_on.empty()) return "No predicted times: " + diff.note + ".";
    return fmt::format("Predicted times on {}, {} / {}:", diff.times_on, diff.second, diff.first);
}

/// One of them may be the name of what ships instead of a file.
std::pair<CalibrationFile, CalibrationFile> read_both(std::string const& first, std::string const& second) {
    auto const is_name = [](std::string const& text) {
        std::error_code ignored;
        return !text.ends_with(".json") && !std::filesystem::exists(text, ignored);
    };
    if (is_name(first) && !is_name(second)) {
        CalibrationFile b = read_calibration(second);
        return {shipped_calibration(first, b), std::move(b)};
    }
    if (is_name(first) && is_name(second))
        throw InputError(
            "calibrate diff: neither '{}' nor '{}' is a file (at most one of the two is the name of what ships)", first,
            second);
    CalibrationFile a = read_calibration(first);
    CalibrationFile b = is_name(second) ? shipped_calibration(second, a) : read_calibration(second);
    return {std::move(a), std::move(b)};
}

}  // namespace

CalibrationDiff diff_of(DiffRequest const& request) {
    auto const [a, b] = read_both(request.first, request.second);
    if (a.index() != b.index())
        throw InputError("calibrate diff: {} is of format {}, {} of {}", request.first, format_of(a), request.second,
                         format_of(b));
    CalibrationDiff out{.format = format_of(a), .first = name_in(a), .second = name_in(b)};
    if (out.first == out.second) {
        out.first += " (first)";
        out.second += " (second)";
    }
    compare_constants(a, b, out);
    std::string machine = machine_of(a, request.on);
    if (machine.empty()) machine = machine_of(b, request.on);
    if (machine.empty()) {
        out.note = "neither file names a machine that is known (--on NAME or FILE.json)";
        return out;
    }
    out.times_on = machine;
    compare_times(grid_times(a, machine), grid_times(b, machine), out);
    auto const note = [&](CalibrationFile const& file, std::string const& name) {
        if (auto const others = fitted_to_others(file, machine); !others.empty())
            out.notes.push_back(
                fmt::format("{} was fitted to {}: on {} its times are a guess by constants of another device", name,
                            others, machine));
    };
    note(a, out.first);
    note(b, out.second);
    return out;
}

std::string calibration_diff(CalibrationDiff const& diff, Format format) {
    if (format == Format::json) return calibration_diff_json(diff);
    bool const markdown = format == Format::markdown;
    auto const render_table = [&](Table const& table) { return markdown ? table.markdown() : table.text(); };
    std::string out = markdown ? "# Difference of calibrations\n\n" : "";
    out += summary(diff) + "\n";
    if (!diff.differences.empty()) out += "\n" + render_table(constant_table(diff));
    out += "\n" + times_title(diff) + "\n";
    if (!diff.times.empty()) out += "\n" + render_table(time_table(diff));
    if (!diff.notes.empty()) out += "\n";
    for (std::string const& note : diff.notes)
        out += fmt::format("{}Note: {}.\n", markdown ? "- " : "", note);
    return out;
}

int diff_calibrations(DiffRequest const& request, CommandContext& context) {
    auto const format = request.output.format();
    deliver(request.output, context, calibration_diff(diff_of(request), format));
    return exit_code::done;
}

Subcommand describe_calibrate_diff(CLI::App& calibrate, CommandContext& context) {
    auto const request = std::make_shared<DiffRequest>();
    DiffRequest& r = *request;
    CLI::App& app = *calibrate.add_subcommand("diff", "what two files of fitted constants differ in");
    add_output_options(app, r.output, report_formats);
    app.add_option("first", r.first, "a calibration, or the name of one that ships")->required()->type_name("A.json");
    app.add_option("second", r.second, "another of the same format, or its name")->required()->type_name("B.json");
    app.add_option("--on", r.on, "the accelerator or cluster that times are compared on (default: whose it is)")
        ->option_text("NAME|FILE.json");
    app.footer(
        "Spreads are one standard deviation of the fit. Times are predicted over usual shapes and sizes.\n\nExamples:\n"
        "  sextant calibrate diff before.json after.json\n"
        "  sextant calibrate diff h100-sxm mine.json    # what your rows changed of what ships\n"
        "  sextant calibrate diff mine.json theirs.json --on host.json --format json\n");
    return {&app, [request, &context] { return diff_calibrations(*request, context); }};
}

}  // namespace sextant::cli
