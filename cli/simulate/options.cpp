#include "cli/simulate/options.hpp"

#include "cli/options/named_factor.hpp"
#include "cli/options/seed_option.hpp"
#include "core/error.hpp"
#include "core/quantity_text.hpp"

#include <CLI/App.hpp>

#include <charconv>

namespace sextant::cli {
namespace {

std::int64_t index_of(std::string const& text, std::string_view flag, std::string_view what, std::int64_t count) {
    std::int64_t value = 0;
    auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || stop != text.data() + text.size() || value < 0 || value >= count)
        throw InputError("{}: there is no {} '{}' (0 to {})", flag, what, text, count - 1);
    return value;
}

void require_share(double value, std::string_view flag) {
    if (!(value >= 0 && value < 1)) throw InputError("{}: {} is out of range (0 to below 1)", flag, value);
}

std::vector<Straggler> stragglers_of(SimulateOptions const& o, ParallelPlan const& plan, ClusterSpec const& cluster) {
    std::vector<Straggler> stragglers;
    for (std::string const& text : o.stragglers) {
        NamedFactor const f = named_factor(text, "--straggler", "3:1.3x: 30 % slower");
        stragglers.push_back({.rank = index_of(f.name, "--straggler", "rank", plan.world_size()), .factor = f.factor});
    }
    std::int64_t const nodes = (plan.world_size() + cluster.domain_size - 1) / cluster.domain_size;
    for (std::string const& text : o.slow_nodes) {
        NamedFactor const f = named_factor(text, "--slow-node", "1:1.2x: 20 % slower");
        std::int64_t const node = index_of(f.name, "--slow-node", "node", nodes);
        for (std::int64_t r = node * cluster.domain_size;
             r < std::min((node + 1) * cluster.domain_size, plan.world_size()); ++r)
            stragglers.push_back({.rank = r, .factor = f.factor});
    }
    return stragglers;
}

LinkFailure failure_of(std::string const& text) {
    auto const at = text.rfind('@');
    LinkFailure failure{.link = text.substr(0, at), .at = {}};
    if (at != std::string::npos) failure.at = parse_quantity<Seconds>(text.substr(at + 1), "--fail-link");
    if (failure.link.empty() || failure.at < Seconds{})
        throw InputError("--fail-link: '{}' (a link and a time such as node0.gpu1.nic.out@0.2s)", text);
    return failure;
}

}  // namespace

void add_simulate_options(CLI::App& app, SimulateOptions& o) {
    auto const simulation = "Simulation";
    auto const what_if = "What if";
    app.add_option("--network", o.network, "fair: transfers share links, max-min; ideal: nothing is contended")
        ->option_text("fair|ideal")
        ->group(simulation);
    app.add_option("--granularity", o.granularity,
                   "op, layer or stage (default: op; layer when every rank is simulated)")
        ->option_text("NAME")
        ->group(simulation);
    app.add_option("--steps", o.steps, "training steps, one after another (default: 1)")
        ->option_text("N")
        ->group(simulation);
    app.add_option("--prefetch", o.prefetch, "layers whose weights ZeRO 3 gathers ahead (default: 1)")
        ->option_text("N")
        ->group(simulation);
    app.add_flag("--fold", o.fold, "one rank per pipeline stage stands for all of it (default where ranks are alike)")
        ->group(simulation);
    app.add_flag("--unfold", o.unfold, "simulate every rank")->group(simulation);
    app.add_option("--comm-sms", o.communication_sms,
                   "share of a rank's compute that a running collective takes (default: 0)")
        ->option_text("SHARE")
        ->group(simulation);
    app.add_option("--time-limit", o.time_limit, "for one run, of wall-clock time (default: 600 s)")
        ->option_text("TIME")
        ->group(simulation);
    app.add_option("--jitter", o.jitter, "spread of every compute task's time (standard deviation of its logarithm)")
        ->option_text("SHARE")
        ->group(what_if);
    app.add_option("--straggler", o.stragglers, "a rank that computes slower; may be repeated")
        ->option_text("RANK:1.3x")
        ->group(what_if);
    app.add_option("--slow-node", o.slow_nodes, "all ranks of a node (scale-up domain); may be repeated")
        ->option_text("NODE:1.2x")
        ->group(what_if);
    app.add_option("--degrade-link", o.degraded, "a link with less bandwidth, * for any text; may be repeated")
        ->option_text("NAME:0.5")
        ->group(what_if);
    app.add_option("--fail-link", o.failed, "a link that fails at that time; may be repeated")
        ->option_text("NAME[@TIME]")
        ->group(what_if);
    app.add_option("--other-traffic", o.other_traffic, "share of the scale-out network that others use")
        ->option_text("SHARE")
        ->group(what_if);
    add_seed_option(app, o.seed, "of the jitter (default: 1)")->group(what_if);
    app.add_option("--repeat", o.repetitions,
                   "runs with seeds one after another; the report has quantiles (default: 1)")
        ->option_text("N")
        ->group(what_if);
    app.add_option("--threads", o.threads, "runs at the same time (default: 0, all cores)")
        ->option_text("N")
        ->group(what_if);
}

SimulationRequest simulation_request(SimulateOptions const& o, ParallelPlan const& plan, ClusterSpec const& cluster) {
    if (o.fold && o.unfold) throw InputError("--fold: cannot go together with --unfold (choose one)");
    if (o.threads < 0 || o.threads > 1024)
        throw InputError("--threads: {} is out of range (0 for all, up to 1024)", o.threads);
    require_share(o.other_traffic, "--other-traffic");
    require_share(o.communication_sms, "--comm-sms");
    SimulationRequest request;
    request.graph.steps = o.steps;
    request.graph.prefetch = o.prefetch;
    request.graph.jitter = o.jitter;
    request.graph.seed = o.seed;
    request.graph.stragglers = stragglers_of(o, plan, cluster);
    request.engine.network = network_mode_from(o.network, "--network");
    request.engine.communication_sms = o.communication_sms;
    request.engine.other_traffic = o.other_traffic;
    request.engine.time_limit = parse_quantity<Seconds>(o.time_limit, "--time-limit");
    if (!(request.engine.time_limit > Seconds{}))
        throw InputError("--time-limit: '{}' (it must be above 0)", o.time_limit);
    for (std::string const& text : o.degraded) {
        NamedFactor const f = named_factor(text, "--degrade-link", "'node0.*.nic.out:0.5'");
        request.degraded.push_back({.pattern = f.name, .factor = f.factor});
    }
    for (std::string const& text : o.failed)
        request.engine.failures.push_back(failure_of(text));
    bool const network_matters = !o.degraded.empty() || !o.failed.empty() || o.other_traffic > 0;
    if (network_matters && request.engine.network == NetworkMode::ideal)
        throw InputError("--network: ideal knows no links (degraded and failed links and other traffic need fair)");
    if (o.prefetch != SimulateOptions{}.prefetch && plan.zero < 3)
        throw InputError("--prefetch: {} (only ZeRO 3 gathers weights layer by layer: --zero 3)", o.prefetch);
    if (o.repetitions > 1 && o.jitter == 0)
        throw InputError("--repeat: {} runs would all be the same (it needs --jitter)", o.repetitions);
    request.repetitions = o.repetitions;
    request.threads = static_cast<unsigned>(o.threads);
    if (o.fold) request.folding = Folding::folded;
    if (o.unfold) request.folding = Folding::unfolded;
    bool const every_rank = o.unfold || (!o.fold && breaks_symmetry(request));
    request.graph.granularity = !o.granularity.empty() ? granularity_from(o.granularity, "--granularity")
                                : every_rank           ? Granularity::layer
                                                       : Granularity::op;
    return request;
}

}  // namespace sextant::cli
