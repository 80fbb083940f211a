#include "cost_models/serving/remembered_costs.hpp"

namespace sextant {
namespace {

template <class Key, class Value, class Ask>
Value const& once(std::map<Key, Value>& known, Key const& key, Ask const& ask) {
    auto const place = known.lower_bound(key);
    if (place != known.end() && place->first == key) return place->second;
    return known.emplace_hint(place, key, ask())->second;
}

}  // namespace

RememberedCosts::RememberedCosts(ServingCase const& what) : what_(what), costs_(what_) {}

LayerTime const& RememberedCosts::of_tokens(std::int64_t tokens) {
    return once(tokens_, tokens, [&] { return costs_.of_tokens(tokens); });
}

ExpertTime const& RememberedCosts::of_experts(double tokens) {
    return once(experts_, tokens, [&] { return costs_.of_experts(tokens); });
}

Seconds RememberedCosts::head(std::int64_t samples) {
    return once(head_, samples, [&] { return costs_.head(samples); });
}

Seconds RememberedCosts::prompt_attention(std::int64_t tokens) {
    return once(prompt_attention_, tokens, [&] { return costs_.prompt_attention(tokens); });
}

Seconds RememberedCosts::cache_attention(std::int64_t sequences, std::int64_t context) {
    return once(cache_attention_, std::pair(sequences, context),
                [&] { return costs_.cache_attention(sequences, context); });
}

Seconds RememberedCosts::query_products(std::int64_t context) {
    return once(query_products_, context, [&] { return costs_.query_products(context); });
}

}  // namespace sextant
