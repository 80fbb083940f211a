#pragma once

#include "simulator/serving/serving_simulation.hpp"

namespace sextant {

/// Iterations that take so long, whatever is in them, and so much for each prompt token.
class FixedService : public ServiceModel {
public:
    explicit FixedService(Seconds iteration, Seconds prompt_token = {}, Seconds before = {}, double stages = 1)
        : iteration_(iteration), prompt_token_(prompt_token), before_(before), stages_(stages) {}
    [[nodiscard]] Times iteration(IterationLoad const& load) const override {
        Seconds const latency = iteration_ + prompt_token_ * load.prefill_tokens;
        return {latency, latency / stages_};
    }
    [[nodiscard]] Seconds prefill_attention(double, double) const override { return {}; }
    [[nodiscard]] Seconds before_queue(double) const override { return before_; }
    [[nodiscard]] ServiceModel const& of_prompts() const override { return prompts == nullptr ? *this : *prompts; }
    FixedService const* prompts = nullptr;  ///< those of replicas for prompts, if these are others
    [[nodiscard]] CacheTransfer transfer(double tokens, CachePlace from, CachePlace to) const override {
        if (fabric.empty()) return {.latency = tokens * transfer_token};
        auto const link = [](CachePlace place) { return static_cast<std::int32_t>(place.replica); };
        return {.links = {link(from), link(to)},
                .rate = rate,
                .bytes = tokens * units::MB,
                .latency = tokens * transfer_token};
    }
    [[nodiscard]] std::span<FabricLink const> links() const override { return fabric; }
    std::vector<FabricLink> fabric;  ///< one for each replica, a megabyte a token goes over that of sender and receiver
    BytesPerSecond rate = 10 * units::GB / units::s;
    [[nodiscard]] Seconds host_copy(double tokens) const override { return tokens * copied_token; }
    [[nodiscard]] Seconds adapter_load() const override { return adapter_copy; }
    [[nodiscard]] Times adapters(double different, double tokens) const override {
        Seconds const time = per_adapter * different + per_adapter_token * tokens;
        return {time, time / stages_};
    }
    Seconds adapter_copy{}, per_adapter{}, per_adapter_token{};
    Seconds transfer_token = 0.01 * units::ms;
    Seconds copied_token = 0.002 * units::ms;

private:
    Seconds iteration_, prompt_token_, before_;
    double stages_;
};

/// A replica that serves one request at a time.
inline ServingSetup one_at_a_time() {
    ServingSetup setup;
    setup.limits.max_batch = 1;
    setup.limits.max_batched_tokens = 1 << 20;
    setup.limits.blocks = 1 << 20;
    return setup;
}

}  // namespace sextant
