// What nccl-tests and rccl-tests print, as rows of the table of collectives.
#include "calibrate/import/importer.hpp"
#include "calibrate/import/nccl_tests_log.hpp"

#include <fmt/format.h>

namespace sextant {
namespace {

bool recognises(std::string_view text) {
    return text.find("out-of-place") != std::string_view::npos || text.find("# nccl-tests") != std::string_view::npos ||
           text.find("# nThread") != std::string_view::npos;
}

/// @throws RowSkip where the list of ranks names no device, and the request neither.
void add_row(NcclTestsLog const& log, CollectiveRow const& row, ImportRequest const& request, ImportedTables& out) {
    std::optional<double> in_place;
    if (row.in_place) in_place = row.in_place->in(units::us);
    out.add(ImportedCollective{.run = row.run_id,
                               .source = source_of(request, "nccl-tests " + request.name),
                               .device = device_of(request, log.device),
                               .library_version = log.library_version,
                               .collective = log.collective,
                               .nodes = log.hosts,
                               .per_node = log.ranks / log.hosts,
                               .bytes = row.bytes.base(),
                               .microseconds = row.out_of_place.value_or(*row.measured).in(units::us),
                               .in_place = in_place,
                               .intra_link = row.machine.intra_link});
}

void add_run(NcclTestsLog const& log, ImportRequest const& request, ImportedTables& out) {
    for (auto const& [reason, lines] : log.skipped)
        out.skipped[reason] += lines;
    try {
        static_cast<void>(collective_kind_of(log.collective));
    } catch (RowSkip const& skip) {
        if (!log.rows.empty()) out.skipped[skip.what()] += log.rows.size();
        return;
    }
    for (CollectiveRow const& row : log.rows) {
        if (!row.measured) {
            ++out.skipped["has no time"];
            continue;
        }
        out.or_skip([&] { add_row(log, row, request, out); });
    }
}

ImportedTables read(std::string_view text, ImportRequest const& request) {
    ImportedTables out;
    auto const collective = request.cells.find("collective");
    std::string const unsaid = collective != request.cells.end() ? collective->second : "";
    for (NcclTestsLog const& run : read_nccl_tests_log(text, request.name, unsaid))
        add_run(run, request, out);
    return out;
}

}  // namespace

extern constinit Importer const nccl_tests_importer;
constinit Importer const nccl_tests_importer{
    .name = "nccl-tests",
    .summary = "the text that nccl-tests and rccl-tests print",
    .source = "github.com/NVIDIA/nccl-tests",
    .recognises = recognises,
    .read = read,
};

}  // namespace sextant
