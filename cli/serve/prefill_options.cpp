#include "cli/serve/prefill_options.hpp"

#include "core/error.hpp"
#include "planner/serving/apart_candidates.hpp"
#include "simulator/serving/service_model.hpp"

#include <CLI/App.hpp>

namespace sextant::cli {

bool PrefillOptions::any() const {
    return tp || pp || ep || attention_dp || max_batch || max_batched_tokens || memory_utilisation || !weights.empty();
}

void add_prefill_options(CLI::App& app, PrefillOptions& o) {
    app.add_option("--prefill-tp", o.tp,
                   "tensor parallelism of the replicas for prompts (default, as of all these: "
                   "that of those which decode)")
        ->option_text("N");
    app.add_option("--prefill-pp", o.pp, "their pipeline stages")->option_text("N");
    app.add_option("--prefill-ep", o.ep,
                   "ranks that their experts are divided over (default: all of a stage where those which decode divide "
                   "them, else 1)")
        ->option_text("N");
    app.add_option("--prefill-attention-dp", o.attention_dp, "their attention groups")->option_text("N");
    app.add_option("--prefill-weights", o.weights, "format of their weights")->option_text("FORMAT");
    app.add_option("--prefill-max-batch", o.max_batch, "prompts in progress at a time in one of them")
        ->option_text("N");
    app.add_option("--prefill-max-batched-tokens", o.max_batched_tokens, "tokens of one of their iterations")
        ->option_text("N");
    app.add_option("--prefill-memory-utilisation", o.memory_utilisation, "share of memory that they take")
        ->option_text("SHARE");
}

ServingCase prefill_case_from(ServeOptions const& decodes, PrefillOptions const& o) {
    ServeOptions s = decodes;
    s.tp = o.tp.value_or(s.tp);
    s.pp = o.pp.value_or(s.pp);
    s.attention_dp = o.attention_dp.value_or(s.attention_dp);
    bool const divided = decodes.ep.value_or(1) > 1;
    s.ep = o.ep.value_or(divided ? s.tp * s.attention_dp : 1);
    if (*s.ep == 1) s.redundant_experts = 0;
    if (!o.weights.empty()) {
        s.weights = o.weights;
        s.weights_origin = FormatOrigin::given;
    }
    s.max_batch = o.max_batch.value_or(s.max_batch);
    s.max_batched_tokens = o.max_batched_tokens.value_or(s.max_batched_tokens);
    if (o.memory_utilisation) s.memory_utilisation = o.memory_utilisation;
    ServingCase const of_decodes = serving_case_from(decodes);
    try {
        ServingCase what = serving_case_from(s);
        if (auto const fault = handover_fault(what, of_decodes)) throw InputError("{}", *fault);
        return what;
    } catch (InputError const& error) {
        throw InputError("{}", of_prompts(error.what()));
    }
}

}  // namespace sextant::cli
