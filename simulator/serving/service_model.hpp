#pragma once

#include "cost_models/serving/adapter_cost.hpp"
#include "cost_models/serving/iteration_model.hpp"
#include "simulator/serving/cache_network.hpp"

#include <optional>
#include <string>

namespace sextant {

/// How long iterations of a replica take: what the simulation asks of the cost model.
class ServiceModel {
public:
    struct Times {
        Seconds latency;   ///< until the tokens are there
        Seconds interval;  ///< until the first stage can begin another iteration; at most the latency
    };
    ServiceModel() = default;
    ServiceModel(ServiceModel const&) = delete;
    ServiceModel& operator=(ServiceModel const&) = delete;
    virtual ~ServiceModel() = default;
    /// Of one attention data-parallel group, while the others have theirs.
    [[nodiscard]] virtual Times iteration(IterationLoad const& load) const = 0;
    /// What `IterationLoad::prefill_attention` takes for a chunk of `tokens` after `past`.
    [[nodiscard]] virtual Seconds prefill_attention(double past, double tokens) const = 0;
    /// Between arrival and the queue of the scheduler.
    [[nodiscard]] virtual Seconds before_queue(double prompt_tokens) const = 0;
    /// Of replicas that process prompts only, where these are others than those that decode.
    [[nodiscard]] virtual ServiceModel const& of_prompts() const { return *this; }
    /// Of the cache of so many tokens from a group of one replica to one of another.
    [[nodiscard]] virtual CacheTransfer transfer(double tokens, CachePlace from, CachePlace to) const = 0;
    /// That transfers share.
    [[nodiscard]] virtual std::span<FabricLink const> links() const { return {}; }
    /// Of the cache of so many tokens to host memory, or back.
    [[nodiscard]] virtual Seconds host_copy(double tokens) const = 0;
    /// Of an adapter from host memory.
    [[nodiscard]] virtual Seconds adapter_load() const = 0;
    /// What adapters add to an iteration of a group in which so many different ones serve so many tokens.
    [[nodiscard]] virtual Times adapters(double different, double tokens) const = 0;
};

/// Between an accelerator and the memory of its host, one direction: of its profile, or 25 GB/s (PCIe 4.0 x16 after
/// protocol, assumed) where that has none.
Sourced<BytesPerSecond> host_link(AcceleratorProfile const& accelerator);

/// Why replicas cut in one way cannot go on with the caches of others, beginning with the option; nothing where they
/// can. Formats of the cache are the same in every engine. Source of the states: vLLM,
/// docs/features/nixl_connector_compatibility.md.
std::optional<std::string> handover_fault(ServingCase const& prompts, ServingCase const& decodes);

/// By `IterationModel`.
class ModelledService : public ServiceModel {
public:
    /// `model` must outlive this.
    /// @param adapters what they cost, if there are any
    explicit ModelledService(IterationModel const& model, std::optional<AdapterCost> adapters = {});
    [[nodiscard]] Times iteration(IterationLoad const& load) const override;
    [[nodiscard]] Seconds prefill_attention(double past, double tokens) const override {
        return model_.prefill_attention(past, tokens);
    }
    [[nodiscard]] Seconds before_queue(double prompt_tokens) const override;
    [[nodiscard]] ServiceModel const& of_prompts() const override { return prompts_ == nullptr ? *this : *prompts_; }
    /// Every rank of the receiving group gets what it keeps of the sequence, all at once (`CacheNetwork`).
    /// @pre `connect` was called
    [[nodiscard]] CacheTransfer transfer(double tokens, CachePlace from, CachePlace to) const override {
        return network_->transfer(from, to, cache_of(tokens));
    }
    [[nodiscard]] std::span<FabricLink const> links() const override {
        return network_ ? network_->links() : std::span<FabricLink const>{};
    }
    /// Places so many replicas on the cluster. @throws InputError when they do not fit it.
    void connect(std::int64_t replicas);
    /// So many that process prompts as `prompts` says, which must outlive this, and so many of this one that decode.
    /// @throws InputError when they do not fit the cluster, or a cache of the ones is none of the others.
    void connect(ModelledService const& prompts, std::int64_t prefill_replicas, std::int64_t decode_replicas);
    /// Every rank copies its part over its own link to the host, all at once.
    [[nodiscard]] Seconds host_copy(double tokens) const override { return cache_of(tokens) / host_link_; }
    [[nodiscard]] Seconds adapter_load() const override;
    [[nodiscard]] Times adapters(double different, double tokens) const override;

private:
    /// Of one sequence on one rank.
    [[nodiscard]] Bytes cache_of(double tokens) const {
        return model_.memory().cache_per_token * model_.memory().shape.copied(tokens);
    }

    IterationModel const& model_;
    std::optional<AdapterCost> adapters_;
    BytesPerSecond host_link_;
    std::optional<CacheNetwork> network_;
    ModelledService const* prompts_ = nullptr;
};

}  // namespace sextant
