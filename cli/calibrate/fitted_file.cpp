#include "cli/calibrate/fitted_file.hpp"

#include "core/error.hpp"
#include "core/json/object_reader.hpp"
#include "core/json/text_file.hpp"
#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_json.hpp"
#include "core/spec/kernel_calibration.hpp"
#include "core/spec/network_calibration.hpp"

namespace sextant::cli {
namespace {

void read_back(std::string const& text, std::string const& path) {
    JsonDocument const document = JsonDocument::from_text(text, path);
    ObjectReader in(document);
    std::string const format = ObjectReader(document).text("format", "");
    if (format == "kernel-calibration")
        static_cast<void>(read_kernel_calibration(std::move(in)));
    else if (format == "network-calibration")
        static_cast<void>(read_network_calibration(std::move(in)));
    else if (format == "framework")
        static_cast<void>(read_framework(std::move(in)));
    else
        static_cast<void>(read_engine(std::move(in)));
}

}  // namespace

void write_fitted(std::string const& path, std::string const& text) {
    try {
        read_back(text, path);
    } catch (InputError const& error) {
        throw InputError(
            "calibrate fit: the rows give what no file of ours may hold, and nothing is written: {} (are they of this "
            "machine, and in the units of their columns?)",
            error.what());
    }
    write_text_file(path, text);
}

}  // namespace sextant::cli
