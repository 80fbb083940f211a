#include "cli/calibrate/fit_kernels.hpp"

#include "calibrate/class_profile.hpp"
#include "calibrate/kernel_fit.hpp"
#include "calibrate/kernel_intervals.hpp"
#include "calibrate/kernel_screen.hpp"
#include "cli/calibrate/fitted_file.hpp"
#include "cli/calibrate/import.hpp"
#include "cli/calibrate/kernel_warnings.hpp"
#include "cli/calibrate/named_otherwise.hpp"
#include "cli/calibrate/shipped_kernels.hpp"
#include "cli/progress.hpp"
#include "cli/shell/fit_text.hpp"
#include "cli/view/table.hpp"
#include "core/error.hpp"
#include "core/measurements/source_name.hpp"
#include "core/quantile.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/kernel_catalog.hpp"
#include "cost_models/kernel_estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <ostream>
#include <set>

namespace sextant::cli {
namespace {

struct DeviceRows {
    std::string name;
    std::string title;
    std::string generation;
    std::vector<KernelMeasurement> rows;
    std::set<std::string> sources;
};

std::string why_not_fitted(KernelCase const& row, AcceleratorProfile const& device) {
    if (!row.measured) return "has no time";
    if (row.products > 1) return "products in a batch (single ones are fitted)";
    GemmFormat const* const format = find_gemm_format(row.variant);
    if (std::holds_alternative<Gemm>(row.what) && format != nullptr && !device.multiplies(*format))
        return fmt::format("{} states no peak in {}", device.name, format->name);
    return "no kernel that has constants to fit";
}

std::vector<DeviceRows> read_rows(KernelFitRequest const& request, AcceleratorProfile const* device,
                                  CommandContext& context) {
    std::vector<DeviceRows> devices;
    SkipCounts skipped;
    NamedOtherwise named_otherwise;  // rows that --device takes for its own
    std::map<std::string, std::size_t> assumed;
    std::vector<CsvTable> tables;
    for (std::string const& file : request.tables)
        for (CsvTable& table : kernel_tables_of(file, device != nullptr ? device->name : "", context))
            tables.push_back(std::move(table));
    for (CsvTable const& table : tables) {
        KernelTable const kind = kernel_table_of(table);
        for (CsvRecord const& record : table.records) {
            try {
                KernelCase const row =
                    kernel_case(kind, RowCells(table, record), device != nullptr ? device->name : "");
                AcceleratorProfile const* const profile = device != nullptr ? device : known_accelerator(row.device);
                if (profile == nullptr)
                    throw RowSkip(
                        fmt::format("no profile for device '{}' (--device NAME, or FILE.json with one of "
                                    "your own: docs/recipes.md, \"Add my GPU\")",
                                    row.device));
                auto measurement = kernel_measurement(row, *profile);
                if (!measurement) throw RowSkip(why_not_fitted(row, *profile));
                count_named_otherwise(named_otherwise, row.device, *profile);
                auto found = std::find_if(devices.begin(), devices.end(),
                                          [&](DeviceRows const& d) { return d.name == profile->name; });
                if (found == devices.end())
                    found = devices.insert(devices.end(), {.name = profile->name,
                                                           .title = profile->title,
                                                           .generation = profile->generation,
                                                           .rows = {},
                                                           .sources = {}});
                found->sources.insert(source_name(row.source));
                for (std::string const& assumption : row.assumptions)
                    ++assumed[assumption];
                measurement->place = fmt::format("{} line {}", table.name, record.line);
                found->rows.push_back(std::move(*measurement));
            } catch (RowSkip const& skip) {
                count_skip(skipped, skip);
            }
        }
    }
    for (DeviceRows& of_device : devices)
        if (std::size_t const repeats = drop_repeats(of_device.rows); repeats > 0)
            skipped["each says what another row says"] += repeats;
    for (auto const& [reason, count] : skipped)
        context.err << fmt::format("{} rows left out: {}\n", count, reason);
    for (auto const& [assumption, count] : assumed)
        context.err << fmt::format("{} rows, assumed: {}\n", count, assumption);
    if (device != nullptr) context.err << named_otherwise_text(named_otherwise, device->name, "as --device says");
    if (devices.empty()) throw InputError("calibrate fit: no usable rows in the tables of --kernels");
    return devices;
}

Table fit_table() {
    return Table({{"device"},
                  {"kernel"},
                  {"rows", Align::right},
                  {"held out", Align::right},
                  {"median %", Align::right},
                  {"p95 %", Align::right},
                  {"bias %", Align::right}});
}

void add_line(Table& table, std::string const& device, KernelFit const& fit) {
    auto const error = [&](double value, bool is_signed) {
        if (fit.held_out.rows == 0) return std::string();
        return is_signed ? fmt::format("{:+.1f}", value) : fmt::format("{:.1f}", value);
    };
    table.add_row({device, fmt::format("{} {}", name_of(fit.kind), fit.variant), fmt::format("{}", fit.rows),
                   fmt::format("{}", fit.held_out.rows), error(fit.held_out.median_pct, false),
                   error(fit.held_out.p95_pct, false), error(fit.held_out.bias_pct, true)});
}

/// Whether what a measured device leaves of the formula is taken for other devices of its chip. Decodes of H100 and
/// H200 tell of one another (14.8 -> 5.7 %), but what engines on GH200 and A100 40GB are known to reach is predicted
/// better without (throughput 3.1 and 7.6 %, with 4.1 and 8.4).
bool carries_over(KernelKind kind) { return kind != KernelKind::decode; }

enum class Whose : std::uint8_t { device, class_of_devices };

/// Kernels that cannot be fitted are left out. @throws InputError with the first reason when that is all of them.
KernelCalibration fit_rows(std::string const& name, Whose whose, std::vector<KernelMeasurement> const& rows,
                           KernelFitChoices const& choices, ShippedFits const& shipped, Table& table,
                           CommandContext& context) {
    KernelCalibration out;
    std::string reason;
    out.name = name;
    auto const fit_group = [&](KernelKind kind, std::string const& variant, auto const& group, KernelFitChoices how) {
        if (shipped) shipped(kind, variant, how);
        try {
            begin_step(context, fmt::format("fitting {}: {} {}", name, name_of(kind), variant));
            out.fits.push_back(fit_kernel(group, how));
            out.fits.back().variant = variant;
            add_line(table, name, out.fits.back());
            if (std::int64_t const doubted = out.fits.back().doubted; doubted > 0)
                context.err << fmt::format("{}: {} {}: {} row{} too far from their neighbours for the residual\n", name,
                                           name_of(kind), variant, doubted, doubted == 1 ? "" : "s");
            warn_of_peak(out.fits.back(), name, context);
            if (how.shipped != nullptr) warn_of_waits(out.fits.back(), *how.shipped, name, context);
        } catch (InputError const& error) {
            context.err << fmt::format("{}: left out: {}\n", name, error.what());
            if (reason.empty()) reason = error.what();
        }
    };
    std::vector<KernelMeasurement> memory;
    for (KernelMeasurement const& row : rows)
        if (row.kind == KernelKind::memory) memory.push_back(row);
    std::optional<KernelFit> any;
    if (!memory.empty()) {
        KernelFitChoices together = choices;
        together.with_residual = false;  // its kernels differ at the same bytes
        fit_group(KernelKind::memory, std::string(any_memory_kernel), memory, together);
        if (!out.fits.empty()) any = out.fits.back();
    }
    for (KernelGroup const& group : group_kernels(rows)) {
        KernelFitChoices own = choices;
        if (group.kind == KernelKind::memory && any) own.kin = &*any;
        if (whose == Whose::class_of_devices && !carries_over(group.kind)) own.with_residual = false;
        fit_group(group.kind, group.variant, group.rows, own);
    }
    if (out.fits.empty()) throw InputError("{}: no kernel could be fitted: {}", name, reason);
    return out;
}

/// 80 % of log(measured / predicted), as factors on a prediction.
TimeInterval interval_of(std::vector<double> const& errors) {
    return {.low = std::min(0.99, std::exp(quantile_of(errors, 0.1))),
            .high = std::max(1.01, std::exp(quantile_of(errors, 0.9)))};
}

/// Of a class the intervals are what a device of it can expect that was not in the fit: another chip (outside of its
/// grids), or the same.
void set_transfer_intervals(KernelCalibration& calibration, std::vector<KernelMeasurement> const& rows,
                            KernelFitChoices const& choices, KernelCalibration const* wider) {
    KernelFitChoices bare = choices;
    bare.with_residual = false;
    for (KernelFit& fit : calibration.fits) {
        std::vector<KernelMeasurement> same;
        for (KernelMeasurement const& row : rows)
            if (row.kind == fit.kind && row.variant == fit.variant) same.push_back(row);
        std::vector<double> errors = transfer_errors(same, bare);
        fit.held_out = {};
        if (errors.empty()) {
            KernelFit const* const from = wider != nullptr ? wider->find(fit.kind, fit.variant) : nullptr;
            fit.outside = from != nullptr ? from->outside : TimeInterval{0.5, 2};
        } else {
            fit.outside = interval_of(errors);
            fit.held_out = error_of(errors);
        }
        fit.intervals = {{.from_seconds = 0, .factors = fit.outside}};
        if (calibration.grid_multiprocessors == 0 || errors.empty() || !carries_over(fit.kind)) continue;
        errors = transfer_errors(same, choices);
        fit.intervals.front().factors = interval_of(errors);
        fit.outside = hull_of(fit.outside, fit.intervals.front().factors);
        fit.held_out = error_of(errors);
    }
}

/// Multiprocessors of the devices of the rows, where all have as many; else 0.
std::int64_t common_multiprocessors(std::vector<KernelMeasurement> const& rows) {
    std::int64_t const first = rows.empty() ? 0 : rows.front().device->multiprocessors.value;
    bool const all = std::all_of(rows.begin(), rows.end(), [&](KernelMeasurement const& row) {
        return row.device->multiprocessors.value == first;
    });
    return all ? first : 0;
}

void finish_class(KernelCalibration& calibration, std::string const& generation, std::string const& title,
                  std::set<std::string> const& sources, std::string const& command) {
    calibration.generation = generation;
    calibration.title = title;
    calibration.sources.assign(sources.begin(), sources.end());
    calibration.command = command;
    for (KernelFit& fit : calibration.fits)
        fit.seen.clear();  // of several devices: no row is scored against it
}

/// The rows of kernels that can have read what they say: what others of the class may expect.
std::vector<KernelMeasurement> credible_rows(DeviceRows const& device, CommandContext& context) {
    std::vector<KernelMeasurement> out;
    for (KernelGroup const& group : group_kernels(device.rows))
        if (outruns_memory(group.rows))
            context.err << fmt::format(
                "{}: {} {} reads faster than its memory: fitted for this device, left out of its class\n", device.name,
                name_of(group.kind), group.variant);
        else
            out.insert(out.end(), group.rows.begin(), group.rows.end());
    return out;
}

/// The other devices of a device's chip.
std::vector<DeviceRows const*> twins_of(DeviceRows const& device, std::vector<DeviceRows> const& devices) {
    auto const multiprocessors = [](DeviceRows const& d) { return d.rows.front().device->multiprocessors.value; };
    std::vector<DeviceRows const*> twins;
    for (DeviceRows const& other : devices)
        if (other.name != device.name && other.generation == device.generation &&
            multiprocessors(other) == multiprocessors(device))
            twins.push_back(&other);
    return twins;
}

/// Names the sources of a fit whose rows are of some of the device's only.
void name_sources(KernelCalibration& calibration, DeviceRows const& device) {
    for (KernelGroup const& group : group_kernels(device.rows)) {
        std::set<std::string> of_group;
        for (KernelMeasurement const& measured : group.rows)
            of_group.insert(source_name(measured.row.source));
        if (of_group == device.sources) continue;
        for (KernelFit& fit : calibration.fits)
            if (fit.kind == group.kind && fit.variant == group.variant)
                fit.sources.assign(of_group.begin(), of_group.end());
    }
}

int fit_catalogue(KernelFitRequest const& request, CommandContext& context) {
    auto const devices = read_rows(request, nullptr, context);
    std::string const command = "sextant calibrate fit --kernels FILE.csv... --catalogue FOLDER";
    Table table = fit_table();
    auto const write = [&](KernelCalibration const& c) {
        write_fitted(request.catalogue + "/" + c.name + ".json", kernel_calibration_json(c));
    };
    KernelFitChoices choices{.threads = request.threads};
    std::map<std::string, std::vector<KernelMeasurement>> by_generation;
    std::map<std::string, std::set<std::string>> sources;
    for (DeviceRows const& d : devices) {
        std::vector<DeviceRows const*> const twins = twins_of(d, devices);
        std::vector<KernelMeasurement> twin_rows;
        for (DeviceRows const* twin : twins)
            twin_rows.insert(twin_rows.end(), twin->rows.begin(), twin->rows.end());
        choices.twins = &twin_rows;
        KernelCalibration own;
        try {
            own = fit_rows(d.name, Whose::device, d.rows, choices, {}, table, context);
        } catch (InputError const& error) {
            context.err << fmt::format("left out: {}\n", error.what());
            continue;
        }
        own.title = d.title;
        own.devices = {d.name};
        own.command = command;
        own.sources.assign(d.sources.begin(), d.sources.end());
        name_sources(own, d);
        for (DeviceRows const* twin : twins)
            own.sources.push_back(
                fmt::format("{}, of the same chip: beside its rows where attention is not measured", twin->name));
        write(own);
        std::vector<KernelMeasurement> const credible = credible_rows(d, context);
        for (std::string const& generation : {d.generation, std::string("*")}) {
            auto& rows = by_generation[generation];
            rows.insert(rows.end(), credible.begin(), credible.end());
            sources[generation].insert(d.sources.begin(), d.sources.end());
        }
    }
    choices = {.threads = request.threads, .with_residual = false};
    Table classes = fit_table();
    KernelCalibration any =
        fit_rows("class-any", Whose::class_of_devices, by_generation["*"], choices, {}, classes, context);
    any.profile = class_profile(by_generation["*"]);
    set_transfer_intervals(any, by_generation["*"], choices, nullptr);
    finish_class(any, "*", "any device", sources["*"], command);
    write(any);
    for (KernelFit const& fit : any.fits)
        add_line(table, any.name, fit);
    for (auto const& [generation, rows] : by_generation) {
        if (generation == "*") continue;
        std::int64_t const chip = common_multiprocessors(rows);
        choices.with_residual = chip > 0;
        KernelCalibration of_class =
            fit_rows("class-" + generation, Whose::class_of_devices, rows, choices, {}, classes, context);
        of_class.grid_multiprocessors = chip;
        of_class.profile = class_profile(rows);
        set_transfer_intervals(of_class, rows, choices, &any);
        finish_class(of_class, generation, generation + " devices", sources[generation], command);
        write(of_class);
        for (KernelFit const& fit : of_class.fits)
            add_line(table, of_class.name, fit);
    }
    context.out << for_terminal(table.text(), terminal_of(context.out));
    return exit_code::done;
}

/// The command that fits these rows again.
std::string kernel_fit_command(KernelFitRequest const& request, std::string const& device) {
    std::string out = "sextant calibrate fit";
    for (std::string const& file : request.tables)
        out += fmt::format(" --kernels {}", std::filesystem::path(file).filename().string());
    return out + " --device " + (request.device.empty() ? device : request.device);
}

}  // namespace

int fit_kernel_tables(KernelFitRequest const& request, CommandContext& context) {
    if (!request.catalogue.empty()) return fit_catalogue(request, context);
    if (request.out.empty()) throw InputError("--out: is missing (the calibration is written there)");
    std::optional<AcceleratorProfile> device;
    if (!request.device.empty()) device = find_accelerator(request.device, "--device");
    auto devices = read_rows(request, device ? &*device : nullptr, context);
    if (devices.size() > 1)
        throw InputError(
            "--kernels: rows of {} devices ({}, {}, ...): one calibration is of one device "
            "(one call for each, with a file of its rows; --device NAME takes all rows as that device's)",
            devices.size(), devices[0].name, devices[1].name);
    Table table = fit_table();
    DeviceRows& d = devices.front();
    for (auto const& [reason, count] : drop_impossible(d.rows))
        context.err << fmt::format("{} rows left out: {}\n", count, reason);
    for (RepeatSpread const& repeats : contradicting_repeats(d.rows))
        context.err << fmt::format(
            "warning: {}: {} shapes are measured more than once, with times that differ by {:.0f} % in the median (two "
            "libraries or devices? One calibration is of one of them)\n",
            repeats.kernel, repeats.shapes, repeats.median_pct);
    AcceleratorProfile const profile = device ? *device : find_accelerator(d.name, "device");
    KernelCalibration own =
        fit_rows(d.name, Whose::device, d.rows, {.threads = request.threads}, shipped_fits(profile), table, context);
    own.title = d.title;
    own.devices = {d.name};
    own.sheet = sheet_of(profile);
    own.command = kernel_fit_command(request, d.name);
    own.sources.assign(d.sources.begin(), d.sources.end());
    keep_others(own, profile, context);
    write_fitted(request.out, kernel_calibration_json(own));
    context.out << for_terminal(table.text(), terminal_of(context.out));
    return exit_code::done;
}

}  // namespace sextant::cli
