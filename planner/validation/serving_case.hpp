#pragma once

#include "core/measurements/row_cells.hpp"
#include "core/spec/cluster_spec.hpp"
#include "cost_models/serving/steady_state.hpp"
#include "planner/validation/server_setup.hpp"
#include "planner/validation/serving_row.hpp"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// How a measurement put its requests.
enum class ServedLoad : std::uint8_t {
    static_batch,  ///< one batch from beginning to end, no server
    closed_loop,   ///< so many requests at all times
    open_loop,     ///< so many a second
    unlimited      ///< all at once: the throughput of the largest batch
};
std::string_view name_of(ServedLoad load);

/// Times to the first and from token to token, and tokens a second.
struct ServedFigures {
    std::optional<Seconds> ttft;
    std::optional<Seconds> tpot;
    std::optional<double> output_tokens_per_s;
};

/// A row of measurements in the words of our models.
struct ServedCase {
    ServingCase what;
    ServedLoad load = ServedLoad::closed_loop;
    RequestShape request;
    double least_length = 1;     ///< requests are drawn evenly from this share of the longest to the longest
    double amount = 0;           ///< sequences, or requests a second; of all replicas
    double replicas = 1;         ///< data-parallel copies of the model
    double requests = INFINITY;  ///< of the whole run: no more are in flight
    /// The measured throughput is what requests in flight over their latency say, not what the whole run did.
    bool rate_in_flight = false;
    PromptCut cut = PromptCut::chunks;
    std::optional<PromptOrder> prompts;  ///< in which the row's server took them, if not the engine's
    ServedFigures measured;
    std::vector<std::string> assumptions;
    std::string key;  ///< cases of the same key have the same `what`
};

/// `engine` replaces the one of the row, if not null; `machine` is that of rows which name its accelerator, if not
/// null.
/// @throws RowSkip for a model, device or engine without a profile, and where the row does not state enough.
ServedCase served_case(ServingRow const& row, EngineProfile const* engine, ClusterSpec const* machine = nullptr);

/// The engine without what a server adds, as measurements of one batch see it.
EngineProfile without_server(EngineProfile engine);

/// Not one request fits the cache beside the weights.
class DoesNotFit : public RowSkip {
public:
    using RowSkip::RowSkip;
};

/// The case with what its memory holds at the most, for a row that did run where the defaults leave no place: 0.97 of
/// the memory, iterations of 2,048 tokens or a prompt, and places for the row's own sequences. Nothing where weights
/// alone are more than the memory.
std::optional<ServedCase> squeezed(ServingRow const& row, ServedCase c);

/// What the models say. `saturated` is set for a load above what can be served.
/// @throws RowSkip when the weights do not fit, DoesNotFit when not one request does.
struct ServedPrediction {
    Seconds ttft;
    Seconds tpot;
    double output_tokens_per_s = 0;
    bool saturated = false;
    bool queue_unknown = false;  ///< all requests come at once, and nobody says how many
};
ServedPrediction predict_served(IterationModel const& model, ServedCase const& c);

}  // namespace sextant
