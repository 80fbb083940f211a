#pragma once

#include "cost_models/serving/prompt_mix.hpp"

namespace sextant {

// Attention data-parallel groups of a stage step together: an iteration takes as long as the group that takes longest.
// Where prompts are cut, each group that has one has a full chunk or what is left of a prompt, and the longest is a
// full one wherever any has that: of n groups that carry prompts in a share f of their iterations, a share s of these
// full, in 1 - (1 - f s)^n of the cases.

double attention_groups(IterationModel const& model);

/// An iteration of one group with so many prompts.
/// @param elsewhere tokens of the other attention data-parallel groups
IterationTime with_prompts(IterationModel const& model, RequestShape const& request, PromptMix const& mix,
                           double prompts, double elsewhere);

/// Share of the iterations that carry prompts of one group, where `share` are for each step of its decodes.
double carrying_of(PromptMix const& mix, double share);
double carrying_of(PromptMix const& mix);

/// An iteration with `prompts` of one group, and so many tokens elsewhere. Where prompts go first, groups without any
/// decode meanwhile.
IterationTime beside_others(IterationModel const& model, RequestShape const& request, PromptMix const& mix,
                            double prompts, double elsewhere);

/// An iteration with `prompts` of one group beside whatever the others have, which carry some in a share of theirs.
IterationTime step_with(IterationModel const& model, RequestShape const& request, PromptMix const& mix, double prompts,
                        double carrying);
/// The same with as many as there are in the mean.
IterationTime own_step(IterationModel const& model, RequestShape const& request, PromptMix const& mix, double carrying);
/// An iteration with prompts in one group or more of so many.
/// @param any share of the iterations in which there are
IterationTime carried_by(IterationModel const& model, RequestShape const& request, PromptMix const& mix,
                         double carrying, double groups, double any);

}  // namespace sextant
