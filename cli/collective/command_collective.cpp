#include "cli/collective/view.hpp"
#include "cli/interrupt.hpp"
#include "cli/options/named_factor.hpp"
#include "cli/output.hpp"
#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "cost_models/collective_time.hpp"

#include <CLI/App.hpp>

#include <algorithm>
#include <memory>

namespace sextant::cli {
namespace {

struct Options {
    std::string cluster;
    std::int64_t gpus = 0;
    std::int64_t stride = 1;
    std::string kind = "all-reduce";
    std::string sizes = "1 GiB";
    std::string algorithm = "all";
    std::string network = "fair";
    std::vector<std::string> degraded;
    double other_traffic = 0;
    OutputOptions output;
};

/// More would take minutes and gigabytes.
constexpr std::int64_t most_gpus = 65536;
constexpr std::size_t most_sizes = 100;
constexpr Bytes largest_buffer = 1e6 * units::TB;

std::vector<Bytes> sizes_from(std::string const& list) {
    std::vector<Bytes> sizes;
    for (std::size_t begin = 0; begin <= list.size();) {
        std::size_t const end = std::min(list.find(',', begin), list.size());
        std::size_t const first = std::min(list.find_first_not_of(' ', begin), end);
        std::string const text = list.substr(first, end - first);
        bool const is_count = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
        auto const bytes = parse_quantity<Bytes>(is_count ? text + " B" : text, "--bytes");
        if (!(bytes >= 1 * units::B && bytes <= largest_buffer))
            throw InputError("--bytes: '{}' (1 B to {})", text, human(largest_buffer));
        sizes.push_back(bytes);
        if (sizes.size() > most_sizes) throw InputError("--bytes: more than {} sizes", most_sizes);
        begin = end + 1;
    }
    return sizes;
}

std::string range_words(CalibrationRange range) {
    switch (range) {
        case CalibrationRange::inside: return "measured on this platform, as many ranks";
        case CalibrationRange::outside: return "measured on this platform, other collectives or ranks";
        case CalibrationRange::by_class: break;
    }
    return "measured on other machines of its class";
}

/// Full domains, and one with the rest: as the algorithms run, in racks too.
GroupPlacement group_of(CollectiveShape const& shape, ClusterSpec const& cluster) {
    GroupPlacement group = place_group(shape.ranks, shape.stride, cluster, shape.accelerators());
    group.fewest = shape.ranks % group.ranks_per_domain;
    return group;
}

CollectiveReport question_of(Options const& o, ClusterSpec const& cluster) {
    bool const reduces = o.kind == "reduce";
    CollectiveKind const kind = reduces ? CollectiveKind::broadcast : collective_kind_from(o.kind, "--kind");
    if (o.gpus < 2 || o.gpus > most_gpus) throw InputError("--gpus: {} (2 to {})", o.gpus, most_gpus);
    if (o.stride < 1 || o.stride > most_gpus / o.gpus)
        throw InputError("--stride: {} (1 to {} for groups of {})", o.stride, most_gpus / o.gpus, o.gpus);
    CollectiveReport report{.cluster = cluster, .shape = collective_shape(cluster, kind, o.gpus, "--gpus", o.stride)};
    report.network = network_mode_from(o.network, "--network");
    report.sizes = sizes_from(o.sizes);
    for (std::string const& text : o.degraded) {
        NamedFactor const f = named_factor(text, "--degrade-link", "'node0.gpu0.nic.out:0.5'");
        report.degraded.push_back({.pattern = f.name, .factor = f.factor});
    }
    report.other_traffic = o.other_traffic;
    if (!(o.other_traffic >= 0 && o.other_traffic < 1))
        throw InputError("--other-traffic: {} (a share from 0 up to, but not, 1)", o.other_traffic);
    if (report.network == NetworkMode::ideal && (!report.degraded.empty() || report.other_traffic > 0))
        throw InputError("--network: ideal knows no links (degraded links and other traffic need fair)");
    GroupPlacement const group = group_of(report.shape, cluster);
    CollectiveCurve const curve = collective_curve(cluster, kind, group);
    NetworkModel const* const model = cluster.network_model.get();
    for (Bytes const bytes : report.sizes) {
        report.closed_form.push_back(curve.time(bytes));
        report.jump.push_back(model != nullptr ? jump_factor(*model, kind, group, bytes) : 1);
        report.interval.push_back(interval_of(cluster, kind, group, bytes));
    }
    report.basis = group.bridged      ? "assumed: no measurements of links that a pair has to itself"
                   : model != nullptr ? range_words(range_of(*model, kind, group))
                                      : "assumed: no measurements of this network or its class";
    if (model != nullptr &&
        is_larger_than_measured(*model, kind, group, *std::max_element(report.sizes.begin(), report.sizes.end())))
        report.basis += "; no sizes as large as the largest";
    if (model != nullptr && group.domains > 1 && group.ranks_per_domain > 1 && model->up_part.basis == Basis::assumed)
        report.basis += "; what stays inside a domain: assumed";
    if (reduces) report.basis += "; of a broadcast, which is a reduce the other way round";
    return report;
}

void run_algorithms(CollectiveReport& report, std::string const& name, std::atomic<bool> const& stop) {
    CollectiveRunOptions options{.degraded = report.degraded, .degraded_where = "--degrade-link"};
    options.engine.network = report.network;
    options.engine.other_traffic = report.other_traffic;
    options.engine.stop = &stop;
    report.without_flows = why_no_flows(report.shape);
    if (report.without_flows && name == "all") return;
    if (name != "all") {
        CollectiveAlgorithm const& algorithm = find_collective(name, "--algorithm");
        if (report.without_flows)
            throw InputError("--algorithm: {} with --stride {}: {} (without --algorithm: the closed form)", name,
                             report.shape.stride, *report.without_flows);
        if (auto const reason = why_not(algorithm, report.shape))
            throw InputError("--algorithm: {} cannot run {}", name, *reason);
        report.runs.push_back(run_collective(report.cluster, algorithm, report.shape, report.sizes, options));
        if (auto const& reason = report.runs.front().reason)
            throw InputError("--algorithm: {} cannot run {}", name, *reason);
        return;
    }
    options.most_meetings = meetings_of_ten_seconds;
    for (CollectiveAlgorithm const* algorithm : collective_catalog()) {
        auto const& kinds = algorithm->kinds;
        if (std::find(kinds.begin(), kinds.end(), report.shape.kind) == kinds.end()) continue;
        if (stop) return;
        report.runs.push_back(run_collective(report.cluster, *algorithm, report.shape, report.sizes, options));
    }
}

int exit_code_of(CollectiveReport const& report) {
    bool any = report.without_flows.has_value();
    bool all_finished = true;
    for (CollectiveRun const& run : report.runs) {
        any = any || run.takes_long;
        for (CollectiveTiming const& timing : run.timings) {
            if (timing.state == Simulation::State::interrupted) return interrupted_exit;
            any = true;
            all_finished = all_finished && timing.state == Simulation::State::finished;
        }
    }
    return any && all_finished ? exit_code::done : exit_code::answer_is_no;
}

int collective(Options const& options, CommandContext& context) {
    Format const format = options.output.format();
    ClusterSpec const cluster = find_cluster(options.cluster, "--cluster");
    CollectiveReport report = question_of(options, cluster);
    InterruptGuard const interrupt(context);
    run_algorithms(report, options.algorithm, interrupt.flag());
    if (interrupt.flag()) context.err << "interrupted: algorithms that were not run by then are left out\n";
    switch (format) {
        case Format::json: deliver(options.output, context, collective_json(report)); break;
        case Format::text: deliver(options.output, context, collective_text(report)); break;
        default:
            deliver(options.output, context,
                    render(collective_table(report), format,
                           {{"cluster", cluster.name},
                            {"kind", std::string(name_of(report.shape.kind))},
                            {"gpus", fmt::format("{}", report.shape.ranks)}}));
            break;
    }
    return interrupt.flag() ? interrupted_exit : exit_code_of(report);
}

Action describe(CLI::App& app, CommandContext& context) {
    auto const o = std::make_shared<Options>();
    app.add_option("-c,--cluster", o->cluster, "cluster (see 'sextant hardware') or a cluster file")
        ->required()
        ->option_text("NAME|FILE.json");
    app.add_option("-n,--gpus", o->gpus, "accelerators that take part, the first ones of the cluster")
        ->required()
        ->option_text("N");
    app.add_option("--stride", o->stride,
                   "every K-th accelerator, in K such groups at work at once on N x K: data parallelism beside tensor "
                   "parallelism of K (default: 1)")
        ->option_text("K");
    app.add_option(
           "--kind", o->kind,
           "all-reduce, all-gather, reduce-scatter, all-to-all, broadcast, send-receive, or reduce, which is priced "
           "as a broadcast (default: all-reduce)")
        ->option_text("KIND");
    app.add_option("--bytes", o->sizes,
                   "buffer as nccl-tests counts it, without a unit in bytes; a list asks for each (default: 1 GiB)")
        ->option_text("SIZE[,SIZE...]");
    app.add_option("--algorithm", o->algorithm, "one algorithm (default: all that do this kind)")
        ->option_text("NAME|all");
    app.add_option("--network", o->network,
                   "fair: flows that meet on a link share it; ideal: each has its links for itself (default: fair)")
        ->option_text("fair|ideal");
    app.add_option("--degrade-link", o->degraded,
                   "a link with less bandwidth, * for any text in its name; may be repeated")
        ->option_text("NAME:0.5");
    app.add_option("--other-traffic", o->other_traffic, "share of the scale-out network that others use")
        ->option_text("SHARE");
    add_output_options(app, o->output);
    app.footer(
        "algbw is bytes over time, busbw that times 2 (n-1)/n or (n-1)/n, as nccl-tests has it. docs/collectives.md\n"
        "explains the algorithms, docs/network.md the links. What would take longer than about ten seconds to "
        "simulate\n"
        "is left out, with a note, unless --algorithm names it. Exit code 1 when an algorithm did not finish or none\n"
        "can run.\n\nExamples:\n"
        "  sextant collective --cluster h100-sxm --gpus 1024\n"
        "  sextant collective --cluster h100-sxm --gpus 64 --kind all-to-all --bytes '64 MiB,1 GiB'\n"
        "  sextant collective --cluster h100-sxm --gpus 16 --stride 8 --kind reduce-scatter\n"
        "  sextant collective --cluster h100-sxm --gpus 32 --algorithm ring --degrade-link 'node1.gpu3.nic.*:0.5'\n"
        "  sextant collective --cluster tpu-v5p --gpus 256 --kind all-gather --algorithm torus --format json\n");
    return [o, &context] { return collective(*o, context); };
}

}  // namespace

extern constinit CommandEntry const collective_command;
constinit CommandEntry const collective_command{
    .name = "collective",
    .summary = "one collective over a cluster: by closed form, and by each algorithm as flows on the simulated network",
    .describe = describe,
};

}  // namespace sextant::cli
