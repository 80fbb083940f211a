// Serving: requests simulated a second, of a 70B model on eight replicas of four devices.
#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "perf/goal.hpp"
#include "simulator/serving/serving_on_simgrid.hpp"

#include <cstdlib>

namespace sextant::perf {
namespace {

/// Wall time of so many requests through a deployment at about three quarters of its capacity.
double seconds_for(std::int64_t requests, std::string_view scheduler, IterationModel const& model,
                   decltype(&simulate_serving) simulation = simulate_serving) {
    ServingSetup setup;
    setup.replicas = 8;
    setup.limits = replica_limits(model.what(), model.memory());
    setup.limits.scheduler = scheduler_from(scheduler, "perf");
    SyntheticSource source({.rate = 60,
                            .prompt = length_distribution_from("lognormal:800,1", "perf"),
                            .output = length_distribution_from("lognormal:250,0.8", "perf"),
                            .requests = requests,
                            .longest = 32768});
    ModelledService const service(model);
    auto const start = Clock::now();
    ServingOutcome const outcome = simulation(setup, service, source, {});
    double const elapsed = seconds_since(start);
    if (outcome.whole.finished != requests) std::abort();
    return elapsed;
}

/// Wall time of so many requests through three pools of prefill replicas and five that decode, whose caches meet on the
/// uplinks of a fat tree.
double seconds_apart(std::int64_t requests, IterationModel const& model, decltype(&simulate_serving) simulation) {
    ServingSetup setup;
    setup.replicas = 8;
    setup.prefill_replicas = 3;
    setup.limits = replica_limits(model.what(), model.memory());
    ModelledService service(model);
    service.connect(setup.replicas);
    SyntheticSource source({.rate = 20,
                            .prompt = length_distribution_from("lognormal:800,1", "perf"),
                            .output = length_distribution_from("lognormal:250,0.8", "perf"),
                            .requests = requests,
                            .longest = 32768});
    auto const start = Clock::now();
    ServingOutcome const outcome = simulation(setup, service, source, {});
    double const elapsed = seconds_since(start);
    if (outcome.whole.finished != requests) std::abort();
    return elapsed;
}

}  // namespace

void serving_goals() {
    ServingCase what;
    what.model = find_model("llama-3.1-70b");
    what.cluster = find_cluster("h100-sxm", "perf");
    what.engine = find_engine("vllm", "perf");
    what.plan.tp = 4;
    auto const start = Clock::now();
    IterationModel const model(what);
    print("serving: tables of the iteration model, 70B", 1e3 * seconds_since(start), "ms", 50, "<=");
    print("serving: 10,000 requests through 8 replicas of a 70B", seconds_for(10000, "chunked", model), "s", 1, "<=");
    double const million = seconds_for(1000000, "chunked", model);
    print("serving: 1,000,000 requests of the same, one core", million, "s", 60, "<=");
    print("serving: rate of these", 1e6 / million, "requests/s", 50000, ">=");
    for (char const* scheduler : {"fcfs", "prefill-first"})
        print(fmt::format("serving: rate with scheduler {}", scheduler).c_str(),
              2e5 / seconds_for(200000, scheduler, model), "requests/s", 50000, ">=");
    print("serving on SimGrid: 10,000 requests of the same",
          seconds_for(10000, "chunked", model, simulate_serving_on_simgrid), "s", 1, "<=");
    double const actors = seconds_for(1000000, "chunked", model, simulate_serving_on_simgrid);
    print("serving on SimGrid: 1,000,000 requests of the same, one core", actors, "s", 60, "<=");
    print("serving on SimGrid: rate of these", 1e6 / actors, "requests/s", 1e6 / 60, ">=");
    what.cluster.scale_out->topology = ScaleOutTopology::fat_tree;
    what.cluster.scale_out->pod_domains = 2;
    what.cluster.scale_out->oversubscription.value = 4;
    IterationModel const joined(what);
    print("serving: rate with caches over a fat tree", 2e5 / seconds_apart(200000, joined, simulate_serving),
          "requests/s", 50000, ">=");
    print("serving on SimGrid: the same", 2e5 / seconds_apart(200000, joined, simulate_serving_on_simgrid),
          "requests/s", 1e6 / 60, ">=");
}

}  // namespace sextant::perf
