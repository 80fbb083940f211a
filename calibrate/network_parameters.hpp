#pragma once

#include "calibrate/least_squares.hpp"
#include "core/spec/network_calibration.hpp"

#include <optional>
#include <span>
#include <vector>

namespace sextant {

/// How far a fit may move constants from where it starts, as standard deviations of their logarithms.
struct NetworkPriorSpreads {
    double latency = 0.7;
    double rate = 0.5;  ///< rates that rows of large messages give directly
    double hop = 0.7;   ///< steps of the network; `latency_scale` takes what all of them share
    double latency_scale = 0.7;
    /// Rate of trees where gathers or broadcasts tell that of rings, and where all-reduces over two domains are all
    /// there is (`shared_rate`); absent, and elsewhere: a quarter of `rate`, as rings and trees of one network reach
    /// the same.
    std::optional<double> tree{};
    /// Latencies between domains are free only where at the start constants they are this share of the time of some
    /// row: large messages say nothing of them, and a slow network would be taken for a late one. Zero: always free.
    double least_latency_share = 0;
    /// In a fit to several clusters: how far one of them lies from what they share, in its latencies and in its rates
    /// of large messages. Zero: all are alike.
    double cluster_latency = 0;
    double cluster_rate = 0;
    /// In a fit to one cluster: a factor on all rates of large messages together. A slow network is slow for every
    /// collective, also for those of which there are no rows; not where all-reduces over two domains are all there is,
    /// which may be rings where the model has trees. Zero: each rate for itself.
    double shared_rate = 0;
};

/// NCCL's own constants where its tuner has one (docs/collectives.md), else values of the same order; what every fit
/// starts from that has nothing nearer.
ScaleUpConstants tuner_scale_up();
ScaleOutConstants tuner_scale_out();

/// Whether a constant is a latency of the network between domains: times but the ramp, and their scale.
bool is_scale_out_latency(std::string_view key);

/// The constants of one section as unknowns of a fit, on logarithmic scales with priors at `start`.
template <class Constants>
class NetworkParameters {
public:
    /// `keys`: those that are free; the others keep the value of `start`.
    NetworkParameters(Constants const& start, std::vector<std::string_view> keys, NetworkPriorSpreads const& spreads);
    [[nodiscard]] std::vector<FitParameter> const& parameters() const { return parameters_; }
    [[nodiscard]] Constants with(std::span<double const> values) const;
    /// What the fit says of each constant: fitted where the rows narrowed the prior, else assumed.
    [[nodiscard]] std::vector<ConstantNote> notes(FitResult const& fit) const;

private:
    Constants start_;
    std::vector<FitParameter> parameters_;
    std::vector<bool> free_;  ///< of all fields, in their order
};

extern template class NetworkParameters<ScaleUpConstants>;
extern template class NetworkParameters<ScaleOutConstants>;

}  // namespace sextant
