#include "simulator/serving/request_source.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace sextant {
namespace {

constexpr std::array processes{ArrivalProcess::poisson, ArrivalProcess::gamma, ArrivalProcess::deterministic,
                               ArrivalProcess::closed};
enum Purpose : std::uint64_t {
    of_arrivals = 101,
    of_prompts,
    of_outputs,
    of_prefixes,
    of_adapters = 106,
    of_tenants = 108
};

void in_range(double value, char const* flag, double least, double most) {
    if (!(value >= least && value <= most))
        throw InputError("{}: {:g} is out of range ({:g} to {:g})", flag, value, least, most);
}

/// Gamma of any shape: below one by Gamma(a) = Gamma(a + 1) U^(1/a). Source: Marsaglia and Tsang, section 6.
double gamma_of(RandomStream& random, double shape) {
    if (shape >= 1) return random.gamma(shape);
    double const larger = random.gamma(shape + 1);
    return larger * std::pow(random.uniform(), 1 / shape);
}

}  // namespace

std::string_view name_of(ArrivalProcess process) {
    switch (process) {
        case ArrivalProcess::poisson: return "poisson";
        case ArrivalProcess::gamma: return "gamma";
        case ArrivalProcess::deterministic: return "deterministic";
        case ArrivalProcess::closed: break;
    }
    return "closed";
}

ArrivalProcess arrival_process_from(std::string_view name, std::string_view where) {
    std::vector<std::string> known;
    for (ArrivalProcess const process : processes) {
        if (name == name_of(process)) return process;
        known.emplace_back(name_of(process));
    }
    throw InputError("{}: unknown arrival process '{}'{} (known: {})", where, name, did_you_mean(name, known),
                     join(known));
}

SyntheticSource::SyntheticSource(SyntheticWorkload const& workload)
    : workload_(workload),
      arrivals_(workload.seed, 0, of_arrivals),
      prompts_(workload.seed, 0, of_prompts),
      outputs_(workload.seed, 0, of_outputs),
      prefixes_(workload.seed, 0, of_prefixes),
      adapters_(workload.seed, 0, of_adapters),
      tenants_(workload.seed, 0, of_tenants) {
    in_range(static_cast<double>(workload.requests), "--count", 1, 1e9);
    if (workload.process != ArrivalProcess::closed) in_range(workload.rate, "--rate", 1e-6, 1e9);
    if (workload.process == ArrivalProcess::gamma) in_range(workload.variation, "--cv", 0.05, 20);
    in_range(static_cast<double>(workload.prefixes), "--prefixes", 0, 1e7);
    in_range(static_cast<double>(workload.adapters), "--adapters", 0, 1e6);
    double const least = workload.prompt.least() + workload.output.least() + workload.prefix_tokens;
    if (least > workload.longest)
        throw InputError("--prompt: the shortest request, {:g} tokens with its output, is longer than the {} that fit",
                         least, workload.longest);
}

Seconds SyntheticSource::interval() {
    double const mean = 1 / workload_.rate;
    switch (workload_.process) {
        case ArrivalProcess::poisson: return arrivals_.exponential(mean) * units::s;
        case ArrivalProcess::gamma: {
            double const shape = 1 / (workload_.variation * workload_.variation);
            return gamma_of(arrivals_, shape) / shape * mean * units::s;
        }
        case ArrivalProcess::deterministic: return mean * units::s;
        case ArrivalProcess::closed: break;
    }
    return {};
}

namespace {

/// With probabilities in proportion to the shares.
std::int32_t choose(std::vector<double> const& shares, RandomStream& random) {
    double left = random.uniform() * std::accumulate(shares.begin(), shares.end(), 0.0);
    for (std::size_t i = 0; i + 1 < shares.size(); ++i) {
        left -= shares[i];
        if (left <= 0) return static_cast<std::int32_t>(i);
    }
    return static_cast<std::int32_t>(shares.size() - 1);
}

}  // namespace

std::optional<ServingRequest> SyntheticSource::next() {
    if (given_ == workload_.requests) return std::nullopt;
    ++given_;
    now_ += interval();
    ServingRequest request{.arrival = now_};
    std::int64_t too_long = 0;
    std::int32_t const room = workload_.longest - workload_.prefix_tokens;
    request.output = workload_.output.draw(outputs_, room - 1, too_long);
    request.prompt = workload_.prompt.draw(prompts_, std::max(1, room - request.output), too_long);
    if (too_long > 0) ++cut_;
    if (workload_.prefixes > 0 && workload_.prefix_tokens > 0) {
        request.prefix = static_cast<std::int32_t>(prefixes_.below(workload_.prefixes));
        request.prefix_tokens = workload_.prefix_tokens;
        request.prompt += workload_.prefix_tokens;
    }
    if (!workload_.tenant_shares.empty()) request.tenant = choose(workload_.tenant_shares, tenants_);
    if (workload_.adapters > 0) request.adapter = static_cast<std::int32_t>(adapters_.below(workload_.adapters));
    return request;
}

}  // namespace sextant
