#include "simulator/serving/serving_simulation.hpp"

#include "simulator/serving/serving_run.hpp"

namespace sextant {

ServingOutcome simulate_serving(ServingSetup const& setup, ServiceModel const& service, RequestSource& source,
                                ServingHooks const& hooks) {
    check_serving_setup(setup);
    ServingRun run(setup, service, source, hooks, Carrier::here);
    run.begin();
    while (run.goes_on())
        run.advance();
    return run.conclude();
}

}  // namespace sextant
