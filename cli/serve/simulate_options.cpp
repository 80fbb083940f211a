#include "cli/serve/simulate_options.hpp"

#include "cli/options/seed_option.hpp"
#include "cli/options/written_file.hpp"

#include <CLI/App.hpp>

namespace sextant::cli {
namespace {

void add_load_options(CLI::App& app, ServeSimulateOptions& o) {
    app.add_option("--rate", o.rate, "requests a second, of all replicas together")->option_text("R");
    app.add_option("--arrivals", o.arrivals, "poisson (default), gamma (bursts) or deterministic")->option_text("NAME");
    app.add_option("--cv", o.variation, "standard deviation of the intervals over their mean, of gamma (default: 2)")
        ->option_text("RATIO");
    app.add_option("--concurrency", o.concurrency, "requests in flight at all times, instead of a rate")
        ->option_text("N");
    app.add_option("--trace", o.trace,
                   "recorded requests: columns arrival_s, prompt, output[, prefix_id, prefix_tokens][, tenant][, "
                   "priority][, adapter]")
        ->option_text("FILE.csv");
    app.add_option("--prompt", o.prompt, "tokens: 1024 (default), uniform:A-B, lognormal:MEAN,CV, exponential:MEAN")
        ->option_text("LENGTH");
    app.add_option("--output-tokens", o.output_tokens, "the same of an answer (default: 256)")->option_text("LENGTH");
    app.add_option("--prefixes", o.prefixes, "different shared prefixes, one before each prompt (default: none)")
        ->option_text("N");
    app.add_option("--prefix-tokens", o.prefix_tokens, "of each, besides the prompt")->option_text("TOKENS");
    app.add_option("--tenants", o.tenants, "so many alike, or NAME:SHARE,NAME:SHARE,... of the requests")
        ->option_text("N|LIST");
    app.add_option("--count", o.count, "requests (default: 10000, twice --concurrency if that is more)")
        ->option_text("N");
    app.add_option("--warmup", o.warmup,
                   "share of the requests not measured, the first ones (default: 0.1; of a --trace with --autoscale 0)")
        ->option_text("SHARE");
    add_seed_option(app, o.seed, "of chance (default: 1)");
}

void add_replica_options(CLI::App& app, ServeSimulateOptions& o) {
    app.add_option("--replicas", o.replicas, "copies of the model (default: 1)")->option_text("N");
    app.add_option("--prefill-replicas", o.prefill_replicas,
                   "replicas that process prompts only, instead of --replicas")
        ->option_text("N");
    app.add_option("--decode-replicas", o.decode_replicas, "replicas that get their caches and decode")
        ->option_text("N");
    add_prefill_options(app, o.prefill);
    app.add_option("--network", o.network,
                   "of these caches: fair (default; transfers share links, max-min) or ideal (each as if alone)")
        ->option_text("fair|ideal");
    app.add_option(
           "--events", o.events,
           "who orders the events: loop (default), or simgrid (router and replicas as actors, caches as flows: the "
           "same answer from another clock, some times slower)")
        ->option_text("loop|simgrid");
    app.add_option("--router", o.router,
                   "least-loaded (default), round-robin, or prefix-aware (where the prefix of a request was before)")
        ->option_text("NAME");
    app.add_option(
           "--scheduler", o.scheduler,
           "chunked, fcfs (whole prompts), prefill-first, priority, fair (tenants); default: chunked, or prefill-first "
           "where the engine's profile says that prompts go first (sglang)")
        ->option_text("NAME");
    app.add_option("--watermark", o.watermark,
                   "share of the cache kept free when a request is admitted (default: 0.01)")
        ->option_text("SHARE");
    app.add_flag("--no-prefix-caching", o.no_prefix_caching, "compute shared prefixes again each time");
    app.add_option("--preemption", o.preemption,
                   "what makes room in a full cache: recompute (default) or swap, to host memory and back")
        ->option_text("NAME");
    app.add_option("--host-cache", o.host_cache, "host memory of each accelerator for that (default: 4 GiB)")
        ->option_text("SIZE");
    app.add_option("--host-prefixes", o.host_prefixes,
                   "host memory of each accelerator for prefixes that give way in the cache, as SGLang's HiCache, "
                   "vLLM's --kv-offloading-size and LMCache have it (default: none)")
        ->option_text("SIZE");
    app.add_option("--adapters", o.adapters, "different low-rank adapters (LoRA), one for each request (default: none)")
        ->option_text("N");
    app.add_option("--adapter-rank", o.adapter_rank, "of each (default: 16)")->option_text("R");
    app.add_option("--adapter-slots", o.adapter_slots,
                   "adapters resident on every rank, their memory taken from its cache (default: 8, at most all)")
        ->option_text("K");
    app.add_option("--speculate", o.speculate, "tokens guessed per step and sequence, checked together (default: 0)")
        ->option_text("K");
    app.add_option("--acceptance", o.acceptance, "probability that a guess is right, when those before it are")
        ->option_text("SHARE");
    app.add_option("--draft-cost", o.draft_cost, "time of one guess over that of a plain decode iteration (default: 0)")
        ->option_text("RATIO");
    app.add_option("--slo-ttft", o.slo_ttft, "longest time to the first token that counts as good")
        ->option_text("TIME");
    app.add_option("--slo-tpot", o.slo_tpot, "longest mean time per later token that counts as good")
        ->option_text("TIME");
}

void add_fleet_options(CLI::App& app, ServeSimulateOptions& o) {
    app.add_option("--autoscale", o.autoscale, "replicas that follow the load, instead of --replicas")
        ->option_text("MIN..MAX");
    app.add_option("--scale-target", o.scale_target,
                   "of a replica: waiting:N or requests:N (default: half of --max-batch), or busy:SHARE of the time")
        ->option_text("WHAT:N");
    app.add_option("--scale-every", o.scale_every, "time between two looks (default: 15 s)")->option_text("TIME");
    app.add_option("--scale-down-after", o.scale_down_after,
                   "how long fewer replicas have to be enough before some go (default: 300 s)")
        ->option_text("TIME");
    app.add_option("--cold-start", o.cold_start, "until a new replica serves (default: by its weights and the storage)")
        ->option_text("TIME");
    app.add_option("--weights-from", o.weights_from,
                   "storage that weights are read from: local-nvme (default), parallel-fs, object-store, host-memory")
        ->option_text("NAME");
    app.add_option("--replica-mtbf", o.replica_mtbf,
                   "mean time in service of a replica until it fails (default: never)")
        ->option_text("TIME");
    app.add_option("--replica-repair", o.replica_repair, "until it serves again (default: a cold start)")
        ->option_text("TIME");
    app.add_option("--drain-at", o.drains, "takes a replica out (default: the first, the second, ...); may be repeated")
        ->option_text("TIME[:REPLICA]");
    app.add_option("--drain-for", o.drain_for, "until drained replicas serve again (default: never)")
        ->option_text("TIME");
}

}  // namespace

void add_serve_simulate_options(CLI::App& app, ServeSimulateOptions& o) {
    add_serve_options(app, o.serve);
    add_replica_options(app, o);
    add_load_options(app, o);
    add_fleet_options(app, o);
    written(app.add_option("--requests", o.requests_file, "a row per request, written there (how many: --count)"),
            "how many requests is --count")
        ->option_text("FILE.csv");
    written(app.add_option("--timeline", o.timeline, "queue, batch, cache and tokens over time, for Perfetto"))
        ->option_text("FILE.json");
    written(
        app.add_option("--plots", o.plots, "pictures of latencies, load and cost, and over_time.csv, into this folder"))
        ->option_text("FOLDER");
    app.add_flag("--progress", o.progress, "progress on stderr, even if it is no terminal");
}

}  // namespace sextant::cli
