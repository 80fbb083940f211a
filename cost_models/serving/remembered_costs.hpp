#pragma once

#include "cost_models/serving/layer_cost.hpp"

#include <cstdint>
#include <map>
#include <utility>

namespace sextant {

/// `LayerCosts`, each of them worked out once: for replicas that differ in the limits of a batch at most, whose tables
/// have most of their points in common.
class RememberedCosts {
public:
    explicit RememberedCosts(ServingCase const& what);
    RememberedCosts(RememberedCosts const&) = delete;  // the costs refer to the case in it
    RememberedCosts& operator=(RememberedCosts const&) = delete;

    [[nodiscard]] LayerTime const& of_tokens(std::int64_t tokens);
    [[nodiscard]] ExpertTime const& of_experts(double tokens);
    [[nodiscard]] Seconds head(std::int64_t samples);
    [[nodiscard]] Seconds prompt_attention(std::int64_t tokens);
    [[nodiscard]] Seconds cache_attention(std::int64_t sequences, std::int64_t context);
    [[nodiscard]] Seconds query_products(std::int64_t context);

private:
    ServingCase what_;
    LayerCosts costs_;
    std::map<std::int64_t, LayerTime> tokens_;
    std::map<double, ExpertTime> experts_;
    std::map<std::int64_t, Seconds> head_, prompt_attention_, query_products_;
    std::map<std::pair<std::int64_t, std::int64_t>, Seconds> cache_attention_;
};

}  // namespace sextant
