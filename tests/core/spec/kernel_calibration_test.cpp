#include "core/spec/kernel_calibration.hpp"

#include "core/embedded_text.hpp"
#include "core/error.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/hardware_json.hpp"
#include "core/spec/kernel_catalog.hpp"
#include "tests/catch.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <nlohmann/json.hpp>

#include <cmath>

using namespace sextant;

namespace {

KernelCalibration read(std::string const& text) {
    auto const document = JsonDocument::from_text(text, "test.json");
    return read_kernel_calibration(ObjectReader(document));
}

KernelCalibration sample() {
    KernelCalibration c;
    c.name = "test";
    c.title = "Test \"device\"";
    c.devices = {"h100-sxm"};
    c.command = "sextant calibrate fit";
    c.sources = {"somewhere"};
    KernelFit fit;
    fit.kind = KernelKind::prefill;
    fit.variant = "bf16/fp8";
    for (KernelConstant const& constant : kernel_constants(fit.kind)) {
        fit.constants.push_back(constant.start);
        fit.spreads.push_back(fit.spreads.empty() ? std::optional(0.25) : std::nullopt);
    }
    fit.residual = ResidualGrid({{"a", {0, 1.5}}, {"b", {2, 3, 4}}}, {0.01, -0.5, 0, 1.234, 0.25, -0.127});
    fit.rows = 40;
    for (std::uint32_t mark = 1; mark <= 40; ++mark)
        fit.seen.push_back(mark * mark * 10000);
    fit.held_out = {.rows = 4, .median_pct = 3, .p95_pct = 9, .bias_pct = -1};
    fit.intervals = {{.from_seconds = 0, .factors = {.low = 0.9, .high = 1.2}}};
    c.fits = {fit};
    return c;
}

std::string replaced(std::string text, std::string const& from, std::string const& to) {
    auto const at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("kernel calibration: what is written is read back") {
    KernelCalibration const back = read(kernel_calibration_json(sample()));
    CHECK(back.title == sample().title);
    REQUIRE(back.fits.size() == 1);
    KernelFit const& fit = *back.find(KernelKind::prefill, "bf16/fp8");
    CHECK(fit.constants == sample().fits[0].constants);
    CHECK(fit.spreads[0] == 0.25);
    CHECK_FALSE(fit.spreads[1]);
    CHECK(fit.residual.values() == sample().fits[0].residual.values());
    CHECK(fit.residual.axes()[1].knots == std::vector<double>{2, 3, 4});
    CHECK(fit.intervals[0].factors.high == 1.2);
    CHECK(fit.held_out.bias_pct == -1);
    CHECK(fit.seen == sample().fits[0].seen);
    CHECK(back.find(KernelKind::prefill, "bf16/bf16") == nullptr);
}

TEST_CASE("kernel calibration: marks of shapes are six hexadecimal digits each, and may be missing") {
    KernelCalibration few = sample();
    few.fits[0].seen = {0, 0xabcdef};
    std::string const text = kernel_calibration_json(few);
    CHECK(text.find("\"000000abcdef\"") != std::string::npos);
    CHECK(read(replaced(text, "000000abcdef", "abcdef000000")).fits[0].seen == few.fits[0].seen);  // in order again
    CHECK_THROWS_WITH(read(replaced(text, "000000abcdef", "000000abcde")), contains("groups of 6 digits"));
    CHECK_THROWS_WITH(read(replaced(text, "000000abcdef", "000000ABCDEF")), contains("groups of 6 digits"));
    few.fits[0].seen.clear();
    CHECK(read(kernel_calibration_json(few)).fits[0].seen.empty());
}

TEST_CASE("kernel calibration: grids of a class belong to devices of about as many multiprocessors") {
    CHECK(sample().grids_hold(7));  // of a device: whatever its profile is changed to
    KernelCalibration of_class = sample();
    of_class.devices.clear();
    of_class.generation = "hopper";
    CHECK_FALSE(read(kernel_calibration_json(of_class)).grids_hold(132));
    of_class.grid_multiprocessors = 132;
    KernelCalibration const back = read(kernel_calibration_json(of_class));
    CHECK(back.grid_multiprocessors == 132);
    CHECK(back.grids_hold(132));
    CHECK(back.grids_hold(128));
    CHECK_FALSE(back.grids_hold(114));
    CHECK_FALSE(back.grids_hold(144));
    CHECK_THROWS_WITH(read(replaced(kernel_calibration_json(of_class), "processors\": 132", "processors\": -1")),
                      contains("grid_multiprocessors"));
}

TEST_CASE("kernel calibration: a class says what the profiles of its devices state") {
    KernelCalibration of_class = sample();
    of_class.devices.clear();
    of_class.generation = "hopper";
    CHECK(read(kernel_calibration_json(of_class)).profile.memory_efficiency == 0);
    of_class.profile = {.memory_efficiency = 0.85, .vector_share = 0.0676, .flops_per_joule = 1.4e12};
    std::string const text = kernel_calibration_json(of_class);
    CHECK(read(text).profile.memory_efficiency == 0.85);
    CHECK(read(text).profile.vector_share == 0.0676);
    CHECK(read(text).profile.flops_per_joule == 1.4e12);
    CHECK_THROWS_WITH(read(replaced(text, "efficiency\": 0.85", "efficiency\": 1.85")), contains("memory_efficiency"));
    for (char const* const name : {"class-any", "class-ampere", "class-hopper", "class-ada", "class-blackwell"}) {
        CAPTURE(name);
        CHECK(shipped_kernel_calibration(name)->profile.memory_efficiency > 0.8);
        CHECK(shipped_kernel_calibration(name)->profile.vector_share > 0.03);
        CHECK(shipped_kernel_calibration(name)->profile.flops_per_joule > 5e11);
    }
}

TEST_CASE("kernel calibration: a fit says whether its products hold their quantising, and what it doubted") {
    KernelCalibration file = sample();
    KernelFit fit = file.fits[0];
    fit.kind = KernelKind::gemm;
    fit.variant = "int8";
    fit.constants.clear();
    for (KernelConstant const& constant : kernel_constants(fit.kind))
        fit.constants.push_back(constant.start);
    fit.with_quantising = false;
    fit.doubted = 3;
    file.fits.push_back(fit);
    std::string const text = kernel_calibration_json(file);
    CHECK_FALSE(read(text).fits.back().with_quantising);
    CHECK(read(text).fits.back().doubted == 3);
    CHECK(read(text).fits.front().with_quantising);
    CHECK(read(text).fits.front().doubted == 0);
    CHECK_THROWS_WITH(read(replaced(text, "\"apart\"", "\"beside\"")), contains("beside"));
}

TEST_CASE("kernel calibration: of the shipped classes each is of one chip, and decodes carry nothing over") {
    for (char const* const generation : {"ampere", "hopper", "ada", "blackwell"}) {
        CAPTURE(generation);
        auto const of_class = shipped_kernel_calibration(std::string("class-") + generation);
        REQUIRE(of_class);
        CHECK(of_class->grid_multiprocessors > 0);
        for (KernelFit const& fit : of_class->fits)
            CHECK(fit.residual.empty() == (fit.kind == KernelKind::decode));
    }
    CHECK(shipped_kernel_calibration("class-any")->grid_multiprocessors == 0);
}

TEST_CASE("kernel calibration: products alone have a grid of waves") {
    KernelCalibration with_product = sample();
    KernelFit fit = with_product.fits[0];
    fit.kind = KernelKind::gemm;
    fit.variant = "bf16";
    fit.constants.clear();
    for (KernelConstant const& constant : kernel_constants(fit.kind))
        fit.constants.push_back(constant.start);
    fit.waves = ResidualGrid({{"log2_waves", {0, 2}}}, {0.2, -0.1});
    with_product.fits.push_back(fit);
    std::string const text = kernel_calibration_json(with_product);
    KernelCalibration const back = read(text);
    CHECK(back.find(KernelKind::gemm, "bf16")->waves.values() == fit.waves.values());
    CHECK(back.find(KernelKind::prefill, "bf16/fp8")->waves.empty());
    with_product.fits[0].waves = fit.waves;
    CHECK_THROWS_WITH(read(kernel_calibration_json(with_product)), contains("waves"));
}

TEST_CASE("kernel calibration: wrong files are refused with what is wrong") {
    std::string const text = kernel_calibration_json(sample());
    CHECK_THROWS_WITH(read(replaced(text, "\"launch\"", "\"lanch\"")), contains("launch"));
    CHECK_THROWS_WITH(read(replaced(text, "\"value\": 1e-05", "\"value\": 7")), contains("launch"));
    CHECK_THROWS_WITH(read(replaced(text, "[0, 1.5]", "[1.5, 0]")), contains("do not rise"));
    CHECK_THROWS_WITH(read(replaced(text, "10,-500", "-500")), contains("5 values for 6"));
    CHECK_THROWS_WITH(read(replaced(text, "\"low\": 0.9", "\"low\": 1.1")), contains("low"));
    CHECK_THROWS_WITH(read(replaced(text, "\"version\": 1", "\"version\": 9")), contains("version"));
    CHECK_THROWS_WITH(read(replaced(text, "\"h100-sxm\"", "")), contains("needs either devices or a generation"));
    CHECK_THROWS_AS(read(text.substr(0, text.size() / 2)), InputError);
    CHECK_THROWS_AS(read(""), InputError);
}

TEST_CASE("kernel calibration: every shipped one is read, and a device gets its own before that of its generation") {
    CHECK(find_accelerator("h100-sxm", "test").kernels->name == "h100-sxm");
    CHECK(find_accelerator("h20-sxm", "test").kernels->name == "class-hopper");
    CHECK(find_accelerator("mi300x", "test").kernels->name == "class-any");
    for (AcceleratorProfile const& a : all_accelerators()) {
        REQUIRE(a.kernels);
        CAPTURE(a.name, a.kernels->name);
        for (KernelFit const& fit : a.kernels->fits) {
            CAPTURE(fit.variant);
            CHECK(fit.rows >= 30);
            CHECK(fit.constants.size() == kernel_constants(fit.kind).size());
            CHECK(fit.outside.low < 1);
            CHECK(fit.outside.high > 1);
            if (!a.kernels->is_class()) CHECK(fit.residual.empty() == false);
        }
    }
}

TEST_CASE("kernel calibration: a device that only bears a shipped name has the kernels of its class, and says so") {
    std::string text;
    for (EmbeddedText const& entry : embedded_accelerators())
        if (entry.name == "h100-sxm") text = entry.text;
    auto const device = [](std::string const& file) {
        return read_accelerator(ObjectReader(JsonDocument::from_text(file, "mine.json")));
    };
    AcceleratorProfile const shipped = device(text);
    CHECK(shipped.kernels->name == "h100-sxm");
    CHECK(namesake_note(shipped).empty());
    CHECK(namesake_note(find_accelerator("h20-sxm", "test")).empty());
    auto const json = nlohmann::json::parse(text);
    auto const other = [&](auto const& change) {
        nlohmann::json own = json;
        change(own);
        return device(own.dump());
    };
    auto const fewer = other([](auto& own) { own["multiprocessors"] = 78; });
    CHECK(fewer.kernels->name == "class-hopper");
    CHECK_THAT(namesake_note(fewer), contains("multiprocessors 78 (shipped: 132)"));
    CHECK_THAT(namesake_note(fewer), contains("calibrate fit --kernels"));
    auto const slower = other([](auto& own) { own["peak"]["bf16"] = "500 TFLOP/s"; });
    CHECK(slower.kernels->name == "class-hopper");
    CHECK_THAT(namesake_note(slower), contains("bf16 peak"));
    auto const wider = other([](auto& own) { own["memory_bandwidth"] = "4.8 TB/s"; });
    CHECK(wider.kernels->name == "class-hopper");
    CHECK_THAT(namesake_note(wider), contains("memory bandwidth 4.8 TB/s"));
    // Another memory, price or title is the same chip; so is a peak as another data sheet rounds it.
    auto const same = other([](auto& own) {
        own["memory_capacity"] = "94 GB";
        own["peak"]["bf16"] = "990 TFLOP/s";
    });
    CHECK(same.kernels->name == "h100-sxm");
    CHECK(namesake_note(same).empty());
    auto named = fewer;
    named.kernels = shipped.kernels;  // a calibration of its own
    CHECK(namesake_note(named).empty());
}

TEST_CASE("kernel calibration: one that was fitted with another data sheet of the device says so where it is used") {
    ScratchFolder const folder("sheet");
    AcceleratorProfile const device = find_accelerator("h100-sxm", "test");
    KernelCalibration own = *device.kernels;
    CHECK_FALSE(own.sheet);  // what ships is of the shipped profiles
    own.sheet = sheet_of(device);
    std::string const file = folder.file("own.json", kernel_calibration_json(own));
    KernelCalibration const again = read_kernel_calibration_file(file);
    REQUIRE(again.sheet);
    CHECK(again.sheet->peak.at(Precision::bf16).base() == Approx(device.peak_of(Precision::bf16).value.base()));
    CHECK(again.sheet->memory_bandwidth.base() == Approx(device.memory_bandwidth.value.base()));
    CHECK(again.sheet->l2.base() == Approx(device.l2.value.base()));
    CHECK(again.sheet->multiprocessors == device.multiprocessors.value);
    auto const note = [&](std::string const& changes) {
        return namesake_note(find_cluster("h100-sxm:calibration=" + file + changes, "test").accelerator);
    };
    CHECK(note("").empty());
    CHECK(note(":peak=x0.5:hbm_bandwidth=x0.5").empty());  // on purpose
    own.sheet->peak[Precision::bf16] = 2 * device.peak_of(Precision::bf16).value;
    own.sheet->multiprocessors = 120;
    static_cast<void>(folder.file("own.json", kernel_calibration_json(own)));
    CHECK_THAT(note(""), contains("fitted with another data sheet") && contains("bf16 peak 1.979 PFLOP/s") &&
                             contains("multiprocessors 120 (now 132)"));
}
