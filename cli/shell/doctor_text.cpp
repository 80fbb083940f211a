// sextant 0.1.0, built with GCC 12.2.0; 2 cores, 25.2 GB
//
// build          found     what
// -------------  --------  ------------------------------------------
// simgrid        3.32      SimGrid, discrete events of 'simulate'
// cuda           missing   CUDA benchmarks of kernels/
#include "cli/shell/doctor.hpp"
#include "cli/view/table.hpp"
#include "core/quantity_text.hpp"
#include "core/units.hpp"

#include <fmt/format.h>

namespace sextant::cli {
namespace {

std::string heading(DoctorReport const& report) {
    std::string const memory = report.memory_bytes > 0 ? ", " + human(report.memory_bytes * units::B) : "";
    return fmt::format("sextant {}, built with {}; {} core{}{}\n", report.version, report.compiler, report.cores,
                       report.cores == 1 ? "" : "s", memory);
}

}  // namespace

std::string doctor_text(DoctorReport const& report) {
    std::string out = heading(report);
    std::vector<std::pair<std::string, std::string>> remedies;
    for (char const* const kind : {"build", "machine", "data"}) {
        Table table({{kind}, {"found"}, {"what"}});
        for (Finding const& finding : report.findings) {
            if (finding.kind != kind) continue;
            table.add_row({finding.name, finding.present ? finding.version : "missing", finding.what});
            if (!finding.present) remedies.emplace_back(finding.name, finding.remedy);
        }
        out += "\n" + table.text();
    }
    if (remedies.empty()) return out + "\nnothing is missing\n";
    return out + "\nEverything else works without what is missing. To get it:\n" + aligned_pairs(remedies, "  ");
}

}  // namespace sextant::cli
