#include "cli/calibrate/fit_collectives.hpp"
#include "cli/calibrate/fit_kernels.hpp"
#include "cli/calibrate/fit_serving.hpp"
#include "cli/calibrate/fit_train.hpp"
#include "cli/calibrate/subcommand.hpp"
#include "cli/options/written_file.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"

#include <CLI/App.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <ostream>

namespace sextant::cli {
namespace {

/// What `calibrate fit` was asked to do.
struct FitRequest {
    std::vector<std::string> collectives;
    std::vector<std::string> logs;
    std::vector<std::string> kernels;
    std::string device;
    std::vector<std::string> train;
    std::string framework;
    std::vector<std::string> serving;
    std::string engine;
    std::string cluster;
    std::string catalogue;
    std::string out;
    std::string rows;
    std::vector<std::string> only;
    double held_out = 0;
};

/// What is fitted, by the options that name its measurements.
enum class Fitted : std::uint8_t { kernels, collectives, training, serving };
constexpr char const* tables_of(Fitted what) {
    switch (what) {
        case Fitted::kernels: return "--kernels";
        case Fitted::collectives: return "--collectives and --nccl-log";
        case Fitted::training: return "--train";
        case Fitted::serving: return "--serving";
    }
    return "";
}

std::vector<Fitted> asked(FitRequest const& r) {
    std::vector<Fitted> out;
    if (!r.kernels.empty()) out.push_back(Fitted::kernels);
    if (!r.collectives.empty() || !r.logs.empty()) out.push_back(Fitted::collectives);
    if (!r.train.empty()) out.push_back(Fitted::training);
    if (!r.serving.empty()) out.push_back(Fitted::serving);
    return out;
}

/// @throws InputError unless there are measurements of one kind, and no option that belongs to another.
Fitted what_to_fit(FitRequest const& r) {
    std::vector<Fitted> const kinds = asked(r);
    if (kinds.empty())
        throw InputError(
            "calibrate fit: nothing to fit to (--kernels, --collectives, --train or --serving FILE.csv, or --nccl-log "
            "FILE)");
    Fitted const what = kinds.front();
    if (kinds.size() > 1)
        throw InputError("{}: cannot be beside {} (one call fits one kind of measurements)", tables_of(kinds[1]),
                         tables_of(what));
    struct Option {
        char const* flag;
        bool is_given;
        Fitted of;
    };
    for (Option const& option :
         {Option{"--device", !r.device.empty(), Fitted::kernels},
          Option{"--held-out", r.held_out != 0, Fitted::collectives},
          Option{"--only", !r.only.empty(), Fitted::collectives},
          Option{"--framework", !r.framework.empty(), Fitted::training},
          Option{"--rows", !r.rows.empty(), Fitted::training}, Option{"--engine", !r.engine.empty(), Fitted::serving}})
        if (option.is_given && option.of != what)
            throw InputError("{}: is of {}, and this fit is of {} (leave it out)", option.flag, tables_of(option.of),
                             tables_of(what));
    if (!r.cluster.empty() && what == Fitted::kernels)
        throw InputError("--cluster: is of {}, {} and {}, and this fit is of {} (leave it out)",
                         tables_of(Fitted::collectives), tables_of(Fitted::training), tables_of(Fitted::serving),
                         tables_of(what));
    if (!r.cluster.empty() && what != Fitted::collectives && !r.catalogue.empty())
        throw InputError("--cluster: what ships is fitted on the usual machines (leave it out of --catalogue)");
    return what;
}

/// A fit takes minutes: that its result cannot be written is said before.
void require_writable(FitRequest const& request) {
    auto const probe = [](std::string const& file) {
        write_text_file(file, [](std::ostream& /*out*/) { return Keep::no; });
    };
    if (!request.out.empty()) probe(request.out);
    if (!request.rows.empty()) probe(request.rows);
    if (request.catalogue.empty()) return;
    if (!std::filesystem::is_directory(request.catalogue))
        throw InputError("--catalogue: '{}' is no folder (make it first)", request.catalogue);
    probe(request.catalogue + "/probe.json");
}

int fit(FitRequest const& request, CommandContext& context) {
    Fitted const what = what_to_fit(request);
    require_writable(request);
    if (what == Fitted::kernels)
        return fit_kernel_tables(
            {.tables = request.kernels, .device = request.device, .out = request.out, .catalogue = request.catalogue},
            context);
    if (what == Fitted::training)
        return fit_training_tables({.tables = request.train,
                                    .framework = request.framework,
                                    .cluster = request.cluster,
                                    .out = request.out,
                                    .catalogue = request.catalogue,
                                    .rows = request.rows},
                                   context);
    if (what == Fitted::serving)
        return fit_serving_tables({.tables = request.serving,
                                   .engine = request.engine,
                                   .cluster = request.cluster,
                                   .out = request.out,
                                   .catalogue = request.catalogue},
                                  context);
    return fit_collective_tables({.tables = request.collectives,
                                  .logs = request.logs,
                                  .cluster = request.cluster,
                                  .out = request.out,
                                  .catalogue = request.catalogue,
                                  .only = request.only,
                                  .held_out = request.held_out},
                                 context);
}

}  // namespace

Subcommand describe_calibrate_fit(CLI::App& calibrate, CommandContext& context) {
    auto const request = std::make_shared<FitRequest>();
    FitRequest& r = *request;
    CLI::App& app = *calibrate.add_subcommand("fit", "constants of the cost models from measurements");
    app.add_option("--collectives", r.collectives,
                   "table of nccl-tests runs, columns as in docs/validation.md; may be repeated")
        ->option_text("FILE.csv");
    app.add_option("--nccl-log", r.logs, "what nccl-tests printed; may be repeated")->option_text("FILE");
    app.add_option(
           "--kernels", r.kernels,
           "table of kernel times (docs/formats.md), rows of sextant-bench or any format of import; may be repeated")
        ->option_text("FILE");
    app.add_option("--device", r.device,
                   "the accelerator that --kernels were measured on, or its file (default: as the rows say)")
        ->option_text("NAME|FILE.json");
    app.add_option("--train", r.train, "table of training steps, columns as in docs/validation.md; may be repeated")
        ->option_text("FILE.csv");
    app.add_option("--framework", r.framework, "of --train, the rows of this framework alone")->option_text("NAME");
    written(
        app.add_option("--rows", r.rows,
                       "of --train, a CSV of the rows fitted: measured, predicted, and predicted without their source"))
        ->option_text("FILE.csv");
    app.add_option("--serving", r.serving,
                   "table of serving measurements, columns as in docs/validation.md; may be repeated")
        ->option_text("FILE.csv");
    app.add_option("--engine", r.engine, "of --serving, the rows of this engine alone")->option_text("NAME");
    app.add_option("-c,--cluster", r.cluster,
                   "the cluster it was measured on, or a cluster file; of --train and --serving, that of the rows "
                   "which name its "
                   "accelerator "
                   "(default: the usual one of each row's device)")
        ->option_text("NAME|FILE.json");
    written(app.add_option("--out", r.out,
                           "the fitted constants: a calibration, or the profile of a framework or an engine"))
        ->option_text("FILE.json");
    app.add_option(
           "--held-out", r.held_out,
           "of --collectives and --nccl-log: share of the runs, chosen by their names, that judge and are never fitted "
           "(default: 0, each is fitted and judged by a fit without it)")
        ->option_text("SHARE");
    written(
        app.add_option("--catalogue", r.catalogue,
                       "fits every calibration that the program ships anew, from these rows alone, into this folder"))
        ->option_text("FOLDER");
    app.add_option("--only", r.only, "of --collectives with --catalogue, these")->option_text("NAME");
    app.footer(
        "What is fitted is used by its file: a calibration behind a cluster's name, in every command\n"
        "(--cluster h100-sxm:calibration=mine.json; two where both kernels and collectives were fitted), a framework\n"
        "and an engine as --framework FILE.json and --engine FILE.json. docs/collectives.md and docs/calibration.md\n"
        "explain the constants and how rows are held out. One framework, engine or cluster is fitted around what is "
        "shipped\n"
        "of it: a few rows of your own move what they say something of, the rest stays.\n\nExamples:\n"
        "  sextant calibrate fit --kernels gemm.csv --kernels attention.csv --device h100-sxm --out mine.json\n"
        "  sextant calibrate fit --collectives runs.csv --cluster h100-sxm --out mine.json\n"
        "  sextant calibrate fit --train my-runs.csv --framework fsdp --out my-fsdp.json --rows predicted.csv\n"
        "  sextant calibrate fit --train my-runs.csv --framework fsdp --cluster my-machine.json --out my-fsdp.json\n"
        "  sextant calibrate fit --serving runs.csv --engine vllm --out my-vllm.json\n"
        "  sextant calibrate fit --nccl-log all_reduce.log --cluster h100-sxm --out mine.json\n");
    return {&app, [request, &context] { return fit(*request, context); }};
}

}  // namespace sextant::cli
