#include "cli/calibrate/calibration_file.hpp"

#include "core/error.hpp"
#include "core/is_one_of.hpp"
#include "core/nearest.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/hardware_json.hpp"
#include "core/spec/kernel_catalog.hpp"
#include "core/spec/profile_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>

namespace sextant::cli {
namespace {

std::string number_text(double value) { return fmt::format("{:.4g}", value); }

template <class Constants, class Fields>
void add_fields(std::vector<CalibrationConstant>& out, char const* part, NetworkSection<Constants> const& section,
                Fields const& fields) {
    for (auto const& field : fields) {
        auto const value = section.constants.*field.member;
        CalibrationConstant constant{.part = part, .key = std::string(field.key), .value = 0, .text = ""};
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, double>) {
            constant.value = value;
            constant.text = number_text(value);
        } else {
            constant.value = value.base();
            constant.text = human(value);
        }
        for (ConstantNote const& note : section.notes)
            if (note.key == field.key && note.basis != Basis::assumed) constant.spread = note.spread;
        out.push_back(std::move(constant));
    }
}

struct Constants {
    std::vector<CalibrationConstant> operator()(KernelCalibration const& file) const {
        std::vector<CalibrationConstant> out;
        for (KernelFit const& fit : file.fits) {
            auto const specs = kernel_constants(fit.kind);
            for (std::size_t i = 0; i < specs.size(); ++i)
                out.push_back(
                    {.part = fmt::format("{} {}", name_of(fit.kind), fit.variant),
                     .key = std::string(specs[i].name),
                     .value = fit.constants[i],
                     .text = specs[i].is_time ? human(fit.constants[i] * units::s) : number_text(fit.constants[i]),
                     .spread = i < fit.spreads.size() ? fit.spreads[i] : std::nullopt});
        }
        return out;
    }
    std::vector<CalibrationConstant> operator()(NetworkCalibration const& file) const {
        std::vector<CalibrationConstant> out;
        if (file.scale_up) {
            add_fields(out, "scale_up", *file.scale_up, scale_up_times);
            add_fields(out, "scale_up", *file.scale_up, scale_up_numbers);
        }
        if (file.scale_out) {
            add_fields(out, "scale_out", *file.scale_out, scale_out_times);
            add_fields(out, "scale_out", *file.scale_out, scale_out_numbers);
        }
        return out;
    }
    std::vector<CalibrationConstant> operator()(FrameworkProfile const& file) const {
        std::vector<CalibrationConstant> out;
        for (FrameworkTiming const& timing : file.timing)
            for (ProfileValue const& value : values_of(timing))
                out.push_back({.part = fmt::format("{} {}", timing.generation, timing.precision),
                               .key = value.key.substr(value.key.rfind('.') + 1),
                               .value = value.base,
                               .text = value.text});
        for (ProfileValue const& value : values_of(file.memory))
            out.push_back({.part = "memory",
                           .key = value.key.substr(value.key.rfind('.') + 1),
                           .value = value.base,
                           .text = value.text});
        return out;
    }
};

bool is_same(TimeInterval const& a, TimeInterval const& b) { return a.low == b.low && a.high == b.high; }

/// The widest of the bands, so that one line is true for all of them; but for the first and the last where these say
/// what holds beyond the rows.
TimeInterval widest_among_rows(KernelFit const& fit) {
    std::span<KernelInterval const> bands = fit.intervals;
    if (bands.size() > 1 && is_same(bands.front().factors, fit.outside)) bands = bands.subspan(1);
    if (bands.size() > 1 && is_same(bands.back().factors, fit.outside)) bands = bands.first(bands.size() - 1);
    if (bands.empty()) return fit.outside;
    TimeInterval out;
    for (KernelInterval const& band : bands)
        out = {.low = std::min(out.low, band.factors.low), .high = std::max(out.high, band.factors.high)};
    return out;
}

struct HeldOut {
    std::vector<HeldOutLine> operator()(KernelCalibration const& file) const {
        std::vector<HeldOutLine> out;
        for (KernelFit const& fit : file.fits) {
            HeldOutLine line{.part = fmt::format("{} {}", name_of(fit.kind), fit.variant),
                             .fitted_rows = fit.rows,
                             .rows = fit.held_out.rows,
                             .median_pct = fit.held_out.median_pct,
                             .p95_pct = fit.held_out.p95_pct,
                             .bias_pct = fit.held_out.bias_pct};
            TimeInterval const among = widest_among_rows(fit);
            line.low = among.low;
            line.high = among.high;
            line.beyond = fit.outside;
            out.push_back(line);
        }
        return out;
    }
    std::vector<HeldOutLine> operator()(NetworkCalibration const& file) const {
        std::vector<HeldOutLine> out;
        for (NetworkHeldOut const& e : file.provenance.held_out) {
            HeldOutLine line{
                .part = fmt::format("{}, {}, from {}", name_of(e.range),
                                    e.between_domains ? "between domains" : "in one domain", human(e.from)),
                .rows = e.rows,
                .median_pct = e.median_pct,
                .p95_pct = e.p95_pct,
                .bias_pct = e.bias_pct};
            for (NetworkInterval const& interval : file.intervals)
                if (interval.range == e.range && interval.between_domains == e.between_domains &&
                    interval.from == e.from) {
                    line.low = interval.low;
                    line.high = interval.high;
                }
            out.push_back(line);
        }
        return out;
    }
    std::vector<HeldOutLine> operator()(FrameworkProfile const& file) const {
        if (file.interval.rows == 0) return {};
        HeldOutLine line{.part = fmt::format("steps (interval: {} errors, fitted and left out)", file.interval.rows),
                         .low = file.interval.low,
                         .high = file.interval.high};
        for (FrameworkTiming const& timing : file.timing)
            line.fitted_rows += timing.steps.value_or(0);
        return {line};
    }
};

struct Shipped {
    std::string const& name;

    [[noreturn]] void refuse(std::string_view what, std::vector<std::string> const& known) const {
        throw InputError("calibrate diff: '{}' is no file and no {} that ships{} (known: {})", name, what,
                         did_you_mean(name, known), join(known));
    }

    CalibrationFile operator()(KernelCalibration const& /*like*/) const {
        if (auto const found = shipped_kernel_calibration(name)) return *found;
        std::vector<std::string> known;
        for (AcceleratorProfile const& device : all_accelerators())
            if (device.kernels && !is_one_of(known, device.kernels->name)) known.push_back(device.kernels->name);
        refuse("calibration of kernels", known);
    }
    CalibrationFile operator()(NetworkCalibration const& like) const {
        std::vector<std::string> known;
        for (NetworkCalibration const& shipped : all_network_calibrations()) {
            auto const is_of = [&](auto const& section, bool wanted) {
                return wanted && section && is_one_of(section->scope.clusters, name);
            };
            if (shipped.name == name || is_of(shipped.scale_out, like.scale_out.has_value()) ||
                is_of(shipped.scale_up, like.scale_up.has_value() && !like.scale_out))
                return shipped;
            known.push_back(shipped.name);
        }
        refuse("calibration of collectives", known);
    }
    CalibrationFile operator()(FrameworkProfile const& /*like*/) const {
        return find_framework(name, "calibrate diff");
    }
};

}  // namespace

CalibrationFile read_calibration(std::string const& path) {
    JsonDocument const document = JsonDocument::from_file(path);
    std::string const format = ObjectReader(document).text("format", "");
    if (format == "kernel-calibration") return read_kernel_calibration(ObjectReader(document));
    if (format == "network-calibration") return read_network_calibration(ObjectReader(document));
    if (format == "framework") return read_framework(ObjectReader(document));
    throw InputError("{}: format is '{}' (kernel-calibration, network-calibration or framework)", path, format);
}

CalibrationFile shipped_calibration(std::string const& name, CalibrationFile const& like) {
    return std::visit(Shipped{name}, like);
}

std::string sheet_warning(CalibrationFile const& file, std::string const& device) {
    auto const* const kernels = std::get_if<KernelCalibration>(&file);
    if (kernels == nullptr || kernels->is_class()) return "";
    if (device.empty() && known_accelerator(kernels->devices.front()) == nullptr) return "";
    AcceleratorProfile profile = find_accelerator(device.empty() ? kernels->devices.front() : device, "--device");
    profile.kernels = std::make_shared<KernelCalibration const>(*kernels);
    std::string const note = sheet_note(profile);
    return note.empty() ? "" : "warning: " + note + "\n";
}

std::string format_of(CalibrationFile const& file) {
    constexpr char const* names[] = {"kernel-calibration", "network-calibration", "framework"};
    return names[file.index()];
}

std::string name_in(CalibrationFile const& file) {
    return std::visit([](auto const& f) { return f.name; }, file);
}

std::string title_in(CalibrationFile const& file) {
    return std::visit([](auto const& f) { return f.title.empty() ? f.name : f.title; }, file);
}

std::vector<CalibrationConstant> constants_of(CalibrationFile const& file) { return std::visit(Constants{}, file); }

std::vector<HeldOutLine> held_out_of(CalibrationFile const& file) { return std::visit(HeldOut{}, file); }

}  // namespace sextant::cli
