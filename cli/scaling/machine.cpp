#include "cli/scaling/machine.hpp"

#include "cli/options/number_text.hpp"
#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/hourly_price.hpp"
#include "planner/price_words.hpp"

#include <CLI/App.hpp>

#include <cmath>

namespace sextant::cli {

void add_machine_options(CLI::App& app, ScalingMachineOptions& o) {
    auto const group = "Machines";
    app.add_option("-c,--cluster", o.cluster, "whose peak and price FLOPs have (see 'sextant hardware')")
        ->option_text("NAME|FILE.json")
        ->group(group);
    app.add_option("-n,--gpus", o.gpus, "accelerators, for days")->option_text("N")->group(group);
    app.add_option("--mfu", o.mfu, "useful FLOPs over peak in training (default: 0.4)")
        ->option_text("SHARE")
        ->group(group);
    app.add_option("--price", o.price, "US dollars per accelerator and hour (default: the profile's, indicative)")
        ->option_text("USD")
        ->group(group);
    app.add_option("--precision", o.precision, "of the matrix products, for the peak (default: bf16)")
        ->option_text("NAME")
        ->group(group);
}

std::optional<ScalingMachine> machine_from(ScalingMachineOptions const& o) {
    Precision const precision = precision_from(o.precision, "--precision");
    if (o.cluster.empty()) {
        if (o.gpus || o.price || o.mfu)
            throw InputError("{}: needs --cluster (whose peak is it?)",
                             o.gpus ? "--gpus" : (o.price ? "--price" : "--mfu"));
        return std::nullopt;
    }
    ClusterSpec const cluster = find_cluster(o.cluster, "--cluster");
    ScalingMachine out;
    out.cluster = cluster.name;
    out.machines.peak = cluster.accelerator.peak_of(precision).value;
    out.machines.mfu = share_from(o.mfu.value_or(usual_mfu), "--mfu");
    if (!o.mfu) out.assumptions.push_back("MFU 40 % (assumed: --mfu)");
    out.text = fmt::format("{}: {} {}, MFU {:.3g} %", cluster.name, human(out.machines.peak), o.precision,
                           100 * out.machines.mfu);
    if (o.gpus) {
        if (!(*o.gpus >= 1 && *o.gpus <= 1e7 && *o.gpus == std::floor(*o.gpus)))
            throw InputError("--gpus: {} (a whole number, 1 to 1e7)", *o.gpus);
        if (cluster.max_accelerators > 0 && *o.gpus > static_cast<double>(cluster.max_accelerators))
            throw InputError("--gpus: {} is more than {} has ({})", *o.gpus, cluster.name, cluster.max_accelerators);
        out.machines.accelerators = *o.gpus;
        out.text = fmt::format("{:g} x {}", *o.gpus, out.text);
    }
    if (auto const price = o.price ? given_price(*o.price) : hourly_price(cluster)) {
        out.assumptions.push_back(price_assumption(*price));
        out.usd_per_hour = price->value;
        out.machines.price = price->value * units::USD / units::hour;
        out.text += fmt::format(", {:.2f} USD/h", price->value);
    }
    return out;
}

CLI::Option* add_positive(CLI::App& app, std::string const& flag, double& target, std::string const& what) {
    return app.add_option_function<double>(
        flag,
        [&target, flag](double value) {
            if (!(value > 0)) throw InputError("{}: {} (above 0)", flag, value);
            target = value;
        },
        what);
}

}  // namespace sextant::cli
