#include "cli/goodput/options.hpp"

#include <CLI/App.hpp>

namespace sextant::cli {
namespace {

void add_run_options(CLI::App& app, GoodputOptions& o) {
    app.add_option("-n,--gpus", o.gpus, "accelerators that train")->required()->option_text("N");
    app.add_option("-m,--model", o.model, "preset or Hugging Face config.json: its checkpoint is counted exactly")
        ->option_text("NAME|FILE");
    app.add_option("--parameters", o.parameters, "or a number of parameters")->option_text("N");
    app.add_option("--checkpoint-size", o.checkpoint_size, "or the bytes of a checkpoint")->option_text("SIZE");
    app.add_option("-c,--cluster", o.cluster, "cluster: node size, host bandwidth, price")
        ->option_text("NAME|FILE.json");
    app.add_option("--price", o.price, "US dollars per accelerator and hour (default: the profile's, indicative)")
        ->option_text("USD");
    app.add_option("--gpus-per-node", o.gpus_per_node, "accelerators of a node (default: 8)")->option_text("N");
    app.add_option("--framework", o.framework, "whose state layout (default: megatron)")->option_text("NAME");
    app.add_option("--optimizer", o.optimizer,
                   "adamw, adamw-bf16 (moments), adamw-8bit (moments), adamw-pure-bf16 (no fp32 copy of the weights), "
                   "sgd, muon, lion, lion-8bit or adafactor")
        ->option_text("NAME");
    app.add_option("--precision", o.precision, "bf16 (default), fp16, fp8, fp32, ...")->option_text("NAME");
    for (auto const& [flag, target] : {std::pair{"--tp", &o.tp}, {"--pp", &o.pp}, {"--cp", &o.cp}, {"--ep", &o.ep}})
        app.add_option(flag, *target, "of the plan: what each rank writes")->option_text("N");
    app.add_option("--dp", o.dp, "data-parallel replicas, for --elastic (default: what is left)")->option_text("N");
    app.add_option("--days", o.days, "of work without failures and checkpoints (default: 30)")->option_text("D");
    app.add_option("--steps", o.steps, "or steps, with --step-time")->option_text("N");
    app.add_option("--step-time", o.step_time, "of one step")->option_text("TIME");
    app.add_option("--tokens", o.tokens, "or tokens, with --tokens-per-second")->option_text("N");
    app.add_option("--tokens-per-second", o.tokens_per_second, "of the whole run")->option_text("N");
}

void add_failure_options(CLI::App& app, GoodputOptions& o) {
    auto const add = [&](char const* flag, auto& target, char const* text, char const* value) {
        app.add_option(flag, target, text)->option_text(value)->group("Failures");
    };
    add("--failures", o.failures,
        "published rates: llama3 (default), meta-rsc1, meta-rsc2, opt-175b, bloom-176b, or none", "NAME");
    add("--gpu-mtbf", o.gpu_mtbf, "mean time between failures of one accelerator, instead", "TIME");
    add("--node-mtbf", o.node_mtbf, "of one node (without its accelerators)", "TIME");
    add("--fabric-mtbf", o.fabric_mtbf, "of the network, per node", "TIME");
    add("--software-mtbf", o.software_mtbf, "of the software of the whole job", "TIME");
    add("--weibull-shape", o.weibull_shape, "of accelerators and nodes; 1: exponential, below: early failures", "K");
    add("--fleet", o.fleet, "running: parts of all ages; fresh: all new (matters with --weibull-shape)", "AGE");
    add("--detection", o.detection, "until a failure is noticed (default: 10 min)", "TIME");
    add("--restart", o.restart, "to schedule and start again, without loading (default: 5 min)", "TIME");
    add("--spares", o.spares, "nodes held ready (default: never short)", "N");
    add("--repair-time", o.repair_time, "until a broken node is a spare again (default: 1 day)", "TIME");
    app.add_flag("--elastic", o.elastic, "drop a data-parallel replica when spares run out, instead of waiting")
        ->group("Failures");
    add("--spikes", o.spikes, "loss spikes over the run that are rolled back", "N");
    add("--spike-rewind", o.spike_rewind, "how far before the spike, at least (default: 30 min)", "TIME");
    add("--spike-rewind-steps", o.spike_rewind_steps, "the same in steps, with --step-time", "N");
    add("--maintenance-every", o.maintenance_every, "wall-clock time between planned stops", "TIME");
    add("--maintenance-duration", o.maintenance_duration, "of one", "TIME");
    app.add_option("--inject", o.injected,
                   "a fault to happen in every trial: process, gpu, node, fabric or spike; comma-separated")
        ->delimiter(',')
        ->option_text("WHAT@TIME,...")
        ->group("Failures");
    app.add_flag("--only-injected", o.only_injected, "nothing happens by chance: one trial")->group("Failures");
}

void add_checkpoint_options(CLI::App& app, GoodputOptions& o) {
    auto const add = [&](char const* flag, std::string& target, char const* text, char const* value) {
        app.add_option(flag, target, text)->option_text(value)->group("Checkpoints");
    };
    add("--checkpoint", o.checkpoint, "sync, async (default) or in-memory (a neighbour's host memory, over a storage)",
        "MODE");
    add("--storage", o.storage, "parallel-fs (default), local-nvme (drained into it) or object-store", "NAME");
    add("--write-bandwidth", o.write_bandwidth, "of each node to the storage, reading alike", "RATE");
    add("--aggregate-bandwidth", o.aggregate_bandwidth, "of all nodes together", "RATE");
    add("--stall", o.stall, "training stands still for one checkpoint of any tier, instead of the computed time",
        "TIME");
    add("--write-time", o.write_time, "of one write to --storage, likewise (sync: training stands still for it)",
        "TIME");
    add("--load-time", o.load_time, "of reading one back from --storage, likewise", "TIME");
    add("--interval", o.interval, "work between two checkpoints (default: auto, the optimum)", "TIME|auto");
    add("--storage-interval", o.storage_interval, "of the second tier (in-memory, local-nvme)", "TIME|auto");
}

}  // namespace

void add_goodput_options(CLI::App& app, GoodputOptions& o) {
    add_run_options(app, o);
    add_failure_options(app, o);
    add_checkpoint_options(app, o);
}

}  // namespace sextant::cli
