#include "cost_models/serving/joint_step.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

/// Tokens of so many other groups, of which so many have prompts.
double tokens_of(PromptMix const& mix, RequestShape const& request, double groups, double with_prompts) {
    return with_prompts * (mix.beside + mix.prompts * fresh_tokens(request)) + (groups - with_prompts) * mix.decodes;
}

/// What is left of a prompt for its last chunk, as a share of it.
double last_chunk(PromptMix const& mix) { return 1 - (std::ceil(1 / mix.most - 1e-9) - 1) * mix.most; }

/// Share of the iterations with prompts of a group that are full.
double full_share(PromptMix const& mix) {
    double const rest = last_chunk(mix);
    return rest < 0.999 * mix.most ? std::clamp((mix.prompts - rest) / (mix.most - rest), 0.0, 1.0) : 1;
}

/// Share of the iterations in which one of so many groups has a full chunk.
double any_full(PromptMix const& mix, double carrying, double groups) {
    return 1 - std::pow(1 - std::min(1.0, carrying) * full_share(mix), groups);
}

/// A full chunk in such a share of the cases, else what is left of a prompt.
IterationTime full_or_rest(IterationModel const& model, RequestShape const& request, PromptMix const& mix, double full,
                           double elsewhere) {
    IterationTime time = full * beside_others(model, request, mix, mix.most, elsewhere);
    if (full < 1) time += (1 - full) * beside_others(model, request, mix, last_chunk(mix), elsewhere);
    return time;
}

}  // namespace

double attention_groups(IterationModel const& model) { return static_cast<double>(model.what().plan.attention_dp); }

IterationTime with_prompts(IterationModel const& model, RequestShape const& request, PromptMix const& mix,
                           double prompts, double elsewhere) {
    return model({.prefill_tokens = prompts * fresh_tokens(request),
                  .prefill_attention = prompts * mix.prompt_attention,
                  .decodes = mix.beside,
                  .decode_context = mix.beside * mean_context(request),
                  .samples = mix.beside + std::min(1.0, prompts),
                  .elsewhere = elsewhere,
                  .decode_attention = mix.beside > 0 ? mix.decode_attention : Seconds{}});
}

double carrying_of(PromptMix const& mix, double share) { return mix.apart ? share / (1 + share) : share; }

double carrying_of(PromptMix const& mix) { return carrying_of(mix, mix.share); }

IterationTime beside_others(IterationModel const& model, RequestShape const& request, PromptMix const& mix,
                            double prompts, double elsewhere) {
    IterationTime const time = with_prompts(model, request, mix, prompts, elsewhere);
    bool const others_decode = mix.apart && attention_groups(model) > 1;
    return others_decode && mix.plain.total() > time.total() ? mix.plain : time;
}

IterationTime step_with(IterationModel const& model, RequestShape const& request, PromptMix const& mix, double prompts,
                        double carrying) {
    double const others = attention_groups(model) - 1;
    double const elsewhere = tokens_of(mix, request, others, others * carrying);
    IterationTime const own = beside_others(model, request, mix, prompts, elsewhere);
    if (others < 1 || mix.most >= 1 || prompts >= mix.most) return own;
    double const full = any_full(mix, carrying, others);
    IterationTime time = (1 - full) * own;
    return time += full * beside_others(model, request, mix, mix.most, elsewhere);
}

IterationTime own_step(IterationModel const& model, RequestShape const& request, PromptMix const& mix,
                       double carrying) {
    double const others = attention_groups(model) - 1;
    if (others < 1 || mix.most >= 1) return step_with(model, request, mix, mix.prompts, carrying);
    double const full = 1 - (1 - full_share(mix)) * (1 - any_full(mix, carrying, others));
    return full_or_rest(model, request, mix, full, tokens_of(mix, request, others, others * carrying));
}

IterationTime carried_by(IterationModel const& model, RequestShape const& request, PromptMix const& mix,
                         double carrying, double groups, double any) {
    double const loaded = any > 0 ? groups * carrying / any : 1;
    double const elsewhere = tokens_of(mix, request, attention_groups(model) - 1, loaded - 1);
    if (mix.most >= 1) return beside_others(model, request, mix, mix.prompts, elsewhere);
    double const full = any > 0 ? std::min(1.0, any_full(mix, carrying, groups) / any) : full_share(mix);
    return full_or_rest(model, request, mix, full, elsewhere);
}

}  // namespace sextant
