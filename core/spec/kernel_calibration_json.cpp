#include "core/error.hpp"
#include "core/json/json_text.hpp"
#include "core/measurements/held_out.hpp"
#include "core/spec/kernel_calibration.hpp"
#include "core/spec/value_checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <string>

namespace sextant {
namespace {

using Json = nlohmann::ordered_json;

double number_between(ObjectReader& in, std::string_view key, double low, double high) {
    double const value = in.number(key);
    check_range(value, low, high, in, key);
    return value;
}

std::int64_t row_count(ObjectReader& in, std::string_view key = "rows",
                       std::optional<std::int64_t> otherwise = std::nullopt) {
    std::int64_t const rows = otherwise ? in.integer(key, *otherwise) : in.integer(key);
    check_range(static_cast<double>(rows), 0, 1e9, in, key);
    return rows;
}

bool read_quantising(ObjectReader& in) {
    std::string const how = in.text("quantising", "included");
    if (how != "included" && how != "apart")
        throw InputError("{}: unknown '{}' (allowed: included, apart)", in.path_to("quantising"), how);
    return how == "included";
}

TimeInterval read_interval(ObjectReader& in) {
    return {.low = number_between(in, "low", 1 / most_interval_factor, 1),
            .high = number_between(in, "high", 1, most_interval_factor)};
}

ResidualGrid read_grid(ObjectReader in) {
    std::vector<GridAxis> axes;
    for (ObjectReader& axis : in.objects("axes")) {
        axes.push_back({.name = axis.text("name"), .knots = axis.numbers("knots")});
        axis.finish();
    }
    double const step = in.number("step", 1);
    check_range(step, 1e-9, 1, in, "step");
    std::vector<double> values = in.numbers("values");
    for (double& value : values) {
        value *= step;
        check_range(value, -most_grid_value, most_grid_value, in, "values");
    }
    in.finish();
    try {
        return {std::move(axes), std::move(values)};
    } catch (InputError const& error) {
        throw InputError("{}: {}", in.where(), error.what());
    }
}

void read_constants(ObjectReader in, KernelFit& fit) {
    for (KernelConstant const& constant : kernel_constants(fit.kind)) {
        ObjectReader entry = in.object(constant.name);
        fit.constants.push_back(number_between(entry, "value", constant.low, constant.high));
        entry.allow("spread");
        fit.spreads.push_back(entry.has("spread") ? std::optional(number_between(entry, "spread", 0, 1e3))
                                                  : std::nullopt);
        entry.finish();
    }
    in.finish();
}

constexpr std::size_t mark_digits = 6;
static_assert(1U << (4 * mark_digits) == shape_marks);

/// Lines of marks, six hexadecimal digits each.
std::vector<std::uint32_t> read_marks(ObjectReader& in, std::string_view key) {
    std::vector<std::uint32_t> marks;
    for (std::string const& line : in.texts(key)) {
        bool const digits_only = line.find_first_not_of("0123456789abcdef") == std::string::npos;
        if (!digits_only || line.size() % mark_digits != 0)
            throw InputError("{}: '{}' is not in groups of {} digits from 0 to f", in.path_to(key), line.substr(0, 40),
                             mark_digits);
        for (std::size_t i = 0; i < line.size(); i += mark_digits)
            marks.push_back(static_cast<std::uint32_t>(std::stoul(line.substr(i, mark_digits), nullptr, 16)));
    }
    std::sort(marks.begin(), marks.end());
    return marks;
}

FittedSheet read_sheet(ObjectReader in) {
    FittedSheet out;
    ObjectReader peaks = in.object("peak");
    for (std::string const& key : peaks.keys())
        out.peak.emplace(precision_from(key, peaks.path_to(key)), peaks.quantity<FlopsPerSecond>(key));
    peaks.finish();
    out.memory_bandwidth = in.quantity<BytesPerSecond>("memory_bandwidth");
    out.l2 = in.quantity<Bytes>("l2");
    out.multiprocessors = in.integer("multiprocessors");
    in.finish();
    return out;
}

Json sheet_json(FittedSheet const& sheet) {
    Json peaks = Json::object();
    for (auto const& [precision, peak] : sheet.peak)
        peaks[std::string(name_of(precision))] = fmt::format("{:.6g} TFLOP/s", peak / (units::TFLOP / units::s));
    return {{"peak", peaks},
            {"memory_bandwidth", fmt::format("{:.6g} GB/s", sheet.memory_bandwidth / (units::GB / units::s))},
            {"l2", fmt::format("{:.6g} MB", sheet.l2 / units::MB)},
            {"multiprocessors", sheet.multiprocessors}};
}

KernelFit read_fit(ObjectReader in) {
    KernelFit fit;
    fit.kind = kernel_kind_from(in.text("kernel"), in.path_to("kernel"));
    fit.variant = in.text("variant");
    read_constants(in.object("constants"), fit);
    auto const read_optional_grid = [&](std::string_view key, ResidualGrid& grid) {
        in.allow(key);
        if (in.has(key)) grid = read_grid(in.object(key));
    };
    read_optional_grid("residual", fit.residual);
    if (fit.kind == KernelKind::gemm) read_optional_grid("waves", fit.waves);
    fit.large_efficiency = in.number("large_efficiency", 0);
    check_range(fit.large_efficiency, 0, 2, in, "large_efficiency");
    if (fit.kind == KernelKind::prefill) {
        fit.profile_efficiency = in.number("profile_efficiency", 0);
        check_range(fit.profile_efficiency, 0, 2, in, "profile_efficiency");
    }
    if (fit.kind == KernelKind::gemm) fit.with_quantising = read_quantising(in);
    fit.doubted = row_count(in, "doubted", 0);
    fit.rows = row_count(in);
    in.allow("sources");
    if (in.has("sources")) fit.sources = in.texts("sources");
    in.allow("seen");
    if (in.has("seen")) fit.seen = read_marks(in, "seen");
    ObjectReader held_out = in.object("held_out");
    fit.held_out = {.rows = row_count(held_out),
                    .median_pct = held_out.number("median_pct"),
                    .p95_pct = held_out.number("p95_pct"),
                    .bias_pct = held_out.number("bias_pct")};
    held_out.finish();
    auto const read_bands = [&](std::string_view key) {
        std::vector<KernelInterval> bands;
        for (ObjectReader& band : in.objects(key)) {
            bands.push_back(
                {.from_seconds = number_between(band, "from_seconds", 0, 1e3), .factors = read_interval(band)});
            band.finish();
        }
        return bands;
    };
    fit.intervals = read_bands("intervals");
    in.allow("cells");
    if (in.has("cells")) fit.cells = read_marks(in, "cells");
    in.allow("apart");
    if (in.has("apart")) fit.apart = read_bands("apart");
    ObjectReader outside = in.object("outside");
    fit.outside = read_interval(outside);
    outside.finish();
    in.finish();
    return fit;
}

std::string digits(double value) { return fmt::format("{:.5g}", value); }

std::string interval_json(TimeInterval const& factors) {
    return fmt::format("\"low\": {}, \"high\": {}", digits(factors.low), digits(factors.high));
}

std::string bands_json(std::vector<KernelInterval> const& bands) {
    std::string out = "[";
    for (KernelInterval const& band : bands)
        out += fmt::format("{}{{\"from_seconds\": {}, {}}}", out.size() > 1 ? ", " : "", digits(band.from_seconds),
                           interval_json(band.factors));
    return out + "]";
}

/// Two grids add up: with two decimals a file would be up to a per cent off the fit whose errors it states.
constexpr double grid_step = 0.001;

/// One line per run along the last axis, without a space: every command reads them. Whole steps are read in half the
/// time that fractions take.
std::string grid_json(ResidualGrid const& grid) {
    std::string out = "{\"axes\": [";
    for (std::size_t a = 0; a < grid.axes().size(); ++a) {
        std::vector<std::string> knots;
        for (double const knot : grid.axes()[a].knots)
            knots.push_back(digits(knot));
        out += fmt::format("{}{{\"name\": {}, \"knots\": [{}]}}", a > 0 ? ", " : "",
                           json_text(Json(grid.axes()[a].name)), fmt::join(knots, ", "));
    }
    out += fmt::format("],\n       \"step\": {}, \"values\": [", grid_step);
    std::size_t const run = grid.axes().back().knots.size();
    for (std::size_t i = 0; i < grid.values().size(); ++i) {
        if (i > 0) out += i % run == 0 ? ",\n" : ",";
        out += fmt::format("{}", std::lround(grid.values()[i] / grid_step));
    }
    return out + "]}";
}

std::string marks_json(std::vector<std::uint32_t> const& marks) {
    constexpr std::size_t per_line = 24;
    std::string out = "[";
    for (std::size_t i = 0; i < marks.size(); ++i) {
        if (i % per_line == 0) out += i > 0 ? "\",\n       \"" : "\"";
        out += fmt::format("{:06x}", marks[i]);
    }
    return out + "\"]";
}

std::string fit_json(KernelFit const& fit) {
    std::string out = fmt::format("    {{\"kernel\": {}, \"variant\": {}, \"rows\": {},\n",
                                  json_text(Json(name_of(fit.kind))), json_text(Json(fit.variant)), fit.rows);
    if (!fit.with_quantising) out += "     \"quantising\": \"apart\",\n";
    if (fit.doubted > 0) out += fmt::format("     \"doubted\": {},\n", fit.doubted);
    if (!fit.sources.empty()) out += fmt::format("     \"sources\": {},\n", json_text(Json(fit.sources)));
    out += "     \"constants\": {";
    auto const constants = kernel_constants(fit.kind);
    for (std::size_t i = 0; i < constants.size(); ++i) {
        out += fmt::format("{}\n       {}: {{\"value\": {}", i > 0 ? "," : "", json_text(Json(constants[i].name)),
                           digits(fit.constants[i]));
        if (i < fit.spreads.size() && fit.spreads[i]) out += fmt::format(", \"spread\": {:.3g}", *fit.spreads[i]);
        out += "}";
    }
    out += "},\n";
    if (!fit.seen.empty()) out += fmt::format("     \"seen\": {},\n", marks_json(fit.seen));
    if (!fit.residual.empty()) out += fmt::format("     \"residual\": {},\n", grid_json(fit.residual));
    if (!fit.waves.empty()) out += fmt::format("     \"waves\": {},\n", grid_json(fit.waves));
    if (fit.kind == KernelKind::prefill)
        out += fmt::format("     \"profile_efficiency\": {:.4g},\n", fit.profile_efficiency);
    out += fmt::format(
        "     \"large_efficiency\": {:.4g},\n"
        "     \"held_out\": {{\"rows\": {}, \"median_pct\": {:.3g}, \"p95_pct\": {:.3g}, \"bias_pct\": {:.3g}}},\n"
        "     \"intervals\": {},\n",
        fit.large_efficiency, fit.held_out.rows, fit.held_out.median_pct, fit.held_out.p95_pct, fit.held_out.bias_pct,
        bands_json(fit.intervals));
    if (!fit.cells.empty()) out += fmt::format("     \"cells\": {},\n", marks_json(fit.cells));
    if (!fit.apart.empty()) out += fmt::format("     \"apart\": {},\n", bands_json(fit.apart));
    return out + fmt::format("     \"outside\": {{{}}}}}", interval_json(fit.outside));
}

}  // namespace

KernelCalibration read_kernel_calibration(ObjectReader in) {
    in.format("kernel-calibration", 1);
    KernelCalibration out;
    out.name = in.text("name");
    out.title = in.text("title", out.name);
    out.devices = in.texts("devices");
    out.generation = in.text("generation", "");
    if (out.devices.empty() == out.generation.empty())
        throw InputError("{}: needs either devices or a generation", in.where());
    out.grid_multiprocessors = in.integer("grid_multiprocessors", 0);
    check_range(static_cast<double>(out.grid_multiprocessors), 0, 1e6, in, "grid_multiprocessors");
    out.profile.memory_efficiency = in.number("memory_efficiency", 0);
    check_range(out.profile.memory_efficiency, 0, 1, in, "memory_efficiency");
    out.profile.vector_share = in.number("vector_share", 0);
    check_range(out.profile.vector_share, 0, 1e3, in, "vector_share");
    out.profile.flops_per_joule = in.number("flops_per_joule", 0);
    check_range(out.profile.flops_per_joule, 0, 1e15, in, "flops_per_joule");
    in.allow("sheet");
    if (in.has("sheet")) out.sheet = read_sheet(in.object("sheet"));
    out.command = in.text("command");
    out.sources = in.texts("sources");
    for (ObjectReader const& fit : in.objects("fits"))
        out.fits.push_back(read_fit(fit));
    in.finish();
    return out;
}

std::string kernel_calibration_json(KernelCalibration const& calibration) {
    Json head{
        {"format", "kernel-calibration"}, {"version", 1}, {"name", calibration.name}, {"title", calibration.title}};
    if (calibration.is_class())
        head["generation"] = calibration.generation;
    else
        head["devices"] = calibration.devices;
    if (calibration.grid_multiprocessors > 0) head["grid_multiprocessors"] = calibration.grid_multiprocessors;
    auto const state = [&](char const* key, double value) {
        if (value > 0) head[key] = std::stod(digits(value));
    };
    state("memory_efficiency", calibration.profile.memory_efficiency);
    state("vector_share", calibration.profile.vector_share);
    state("flops_per_joule", calibration.profile.flops_per_joule);
    if (calibration.sheet) head["sheet"] = sheet_json(*calibration.sheet);
    head["command"] = calibration.command;
    head["sources"] = calibration.sources;
    std::string out = json_text(head, 2);
    out.resize(out.rfind('\n'));
    out += ",\n  \"fits\": [\n";
    for (std::size_t i = 0; i < calibration.fits.size(); ++i)
        out += fit_json(calibration.fits[i]) + (i + 1 < calibration.fits.size() ? ",\n" : "\n");
    return out + "  ]\n}\n";
}

}  // namespace sextant
