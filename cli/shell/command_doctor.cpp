#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/shell/doctor.hpp"
#include "core/error.hpp"
#include "core/nearest.hpp"

#include <CLI/App.hpp>

#include <algorithm>
#include <memory>
#include <ostream>

namespace sextant::cli {
namespace {

constexpr Format formats[] = {Format::text, Format::json};

struct Options {
    std::vector<std::string> required;
    OutputOptions output;
};

/// Whether everything that was asked for is there; what is not is named on `err`.
int check(DoctorReport const& report, std::vector<std::string> const& required, CommandContext& context) {
    std::vector<std::string> known;
    for (Finding const& finding : report.findings)
        known.push_back(finding.name);
    int code = exit_code::done;
    for (std::string const& name : required) {
        auto const found = std::find(known.begin(), known.end(), name);
        if (found == known.end())
            throw InputError("--require: unknown '{}'{} (known: {})", name, did_you_mean(name, known), join(known));
        Finding const& finding = report.findings[static_cast<std::size_t>(found - known.begin())];
        if (finding.present) continue;
        context.err << fmt::format("sextant: {} is missing ({}): {}\n", name, finding.what, finding.remedy);
        code = exit_code::unavailable;
    }
    return code;
}

Action describe(CLI::App& app, CommandContext& context) {
    auto const o = std::make_shared<Options>();
    app.add_option("--require", o->required, "exit with 3 if one of these is missing, such as mpi,plotly")
        ->delimiter(',')
        ->option_text("NAME[,NAME...]");
    add_output_options(app, o->output, formats);
    app.footer(
        "Planning, estimates and simulation need nothing but the program. Exit code 0, or 3 when something that\n"
        "--require names is missing.\n\nExamples:\n"
        "  sextant doctor\n"
        "  sextant doctor --format json\n"
        "  sextant doctor --require simgrid,mpi\n");
    return [o, &context] {
        DoctorReport const report = examine();
        Format const format = o->output.format();
        int const code = check(report, o->required, context);
        deliver(o->output, context, format == Format::json ? doctor_json(report) : doctor_text(report));
        return code;
    };
}

}  // namespace

extern constinit CommandEntry const doctor_command;
constinit CommandEntry const doctor_command{
    .name = "doctor",
    .summary = "what this build and this machine have, what is missing, and how to get it",
    .describe = describe,
};

}  // namespace sextant::cli
