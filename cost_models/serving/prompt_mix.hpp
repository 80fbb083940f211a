#pragma once

#include "cost_models/serving/steady_state.hpp"

namespace sextant {

/// How prompts and decodes share the iterations of a group.
struct PromptMix {
    double decodes = 0;
    double chunks = 1;   ///< iterations that one prompt needs
    double prompts = 1;  ///< in an iteration that carries any, at least a chunk of one
    double most = 1;     ///< of them, as many as the token limit takes (a fraction: chunks of one)
    double share = 0;    ///< iterations with prompt tokens for each step of the decodes
    IterationTime plain;
    IterationTime mixed;    ///< of these; decodes pause where the engine's prompts go first
    IterationTime fullest;  ///< one with the most prompts
    Seconds mean;           ///< from one step of the decodes to the next
    bool apart = false;     ///< prompts have iterations of their own
};

/// The mix when `decodes` sequences of a group decode and `beginning` prompts begin for each of their steps.
///
/// Prompts that share iterations with decodes: a share f = min(1, q n) of the iterations carries q fresh / f tokens.
/// Prompts that go first: those that came since, at most the token limit, in an iteration of their own, f = q / k.
PromptMix mix_at(IterationModel const& model, RequestShape const& request, double decodes, double beginning);

/// The same where prompts begin `rate` times a second, at most as fast as iterations take them.
PromptMix mix_at_rate(IterationModel const& model, RequestShape const& request, double decodes, double rate);

/// What other prompts cost a request, on average, where an iteration is running when it comes.
struct PromptWait {
    Seconds before;  ///< to its first token, beyond its own iterations
    Seconds after;   ///< between its later tokens, beyond as many mean steps
};

/// Prompts come at random, `rate` a second. Before its own iterations one waits for the rest of what is running, the
/// next where engines plan ahead, and others: those that came since the running iteration began share the next. An
/// iteration of C seconds is followed by one of a + b N, N Poisson of mean rate C, so
///
///     mean c = a / (1 - u),   variance = rate b^2 c / (1 - u^2),   u = rate b,
///
/// and an arrival sees C* = c + variance / c. The steps after its own iteration of O seconds are longer than the mean,
/// c + u^i (O - c). Prompts beyond the token limit queue as in M/D/1, at what a full iteration takes for each.
PromptWait prompt_wait(IterationModel const& model, RequestShape const& request, PromptMix const& mix, double rate);

/// Iterations that a request decodes in: the last of its prompt makes the first token.
double decoding_iterations(RequestShape const& request);
double mean_context(RequestShape const& request);
double fresh_tokens(RequestShape const& request);

}  // namespace sextant
