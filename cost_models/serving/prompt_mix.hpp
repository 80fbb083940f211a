#pragma once

#include "cost_models/serving/steady_state.hpp"

namespace sextant {

/// How prompts and decodes share the iterations of a group.
struct PromptMix {
    double decodes = 0;
    double chunks = 1;         ///< iterations that one prompt needs, less of one that it shares with the next
    double prompts = 1;        ///< in an iteration that carries any, at least a chunk of one
    double most = 1;           ///< of them, as many as the token limit takes (a fraction: chunks of one)
    double share = 0;          ///< iterations with prompt tokens for each step of the decodes
    double beside = 0;         ///< decodes of these: none where the engine's prompts go first
    Seconds prompt_attention;  ///< of a prompt by itself, and of the decodes: what every iteration with them has
    Seconds decode_attention;
    IterationTime plain;
    IterationTime mixed;    ///< of these
    double any = 0;         ///< share of the iterations with prompts of any attention data-parallel group
    IterationTime carried;  ///< of these
    Seconds mean;           ///< from one step of the decodes to the next
    double own_pace = 1;    ///< share of a pipeline's time in which its batches do not wait for a slower one
    bool apart = false;     ///< prompts have iterations of their own
};

/// The mix when `decodes` sequences of a group decode and `beginning` prompts begin for each of their steps.
///
/// Prompts that share iterations with decodes: a share f = min(1, q n) of the iterations carries q fresh / f tokens.
/// Prompts that go first: those that came since, at most the token limit, in an iteration of their own, f = q / k.
///
/// The batches of a pipeline follow each other from stage to stage and none overtakes another: P of them go on at the
/// pace of the slowest, so that a share 1 - (1 - f)^P of the steps takes as long as an iteration with prompts.
///
/// G attention data-parallel groups step together. Prompts are in an iteration of one or the other in 1 - (1 - f)^G of
/// the cases, of G f / (1 - (1 - f)^G) groups then: the others wait for them, and the experts have them all.
///
/// A request that decodes meets the prompts of the others that hold a place, not its own: of c in a group 1 - 1 / c of
/// the group's.
/// @param requests c
PromptMix mix_at(IterationModel const& model, RequestShape const& request, double decodes, double beginning,
                 double requests);

/// Until a batch begins its next iteration, from a random time of a loop whose requests go round on their own.
Seconds rest_in_loop(IterationModel const& model, PromptMix const& mix);

/// Prompts a second of a group where nothing decodes: as many at a time as hold one of the `places` and as an iteration
/// takes.
double prompt_rate(IterationModel const& model, RequestShape const& request, double places);

/// Prompts that come at random, and what they cost a request.
struct RandomPrompts {
    PromptMix mix;
    Seconds before;  ///< to its first token, beyond its own iterations
    Seconds during;  ///< from the beginning of its first iteration to the end of its last
    Seconds after;   ///< between its later tokens, beyond as many mean steps
};

/// The same where prompts come at random, `rate` a second, at most as fast as iterations take them (`prompt_queue`).
///
/// Before its own iteration one waits for what is running and for the prompts that came before it, those that one
/// iteration does not take for a next; then for those that share its own. A prompt that has to be cut, or that begins
/// where the limit leaves room for a part of it, ends half its length in iterations after its middle. Engines that plan
/// ahead are one iteration later. Attention data-parallel groups have one queue, whose prompts are spread over them.
/// The steps after its own are longer than the mean: more prompts came meanwhile.
RandomPrompts random_prompts(IterationModel const& model, RequestShape const& request, double decodes, double rate);

/// Of the prompts of `requests`, the share that one of them meets: all but its own.
double others_of(double requests);

/// Iterations that a request decodes in: the last of its prompt makes the first token.
double decoding_iterations(RequestShape const& request);
double mean_context(RequestShape const& request);

/// Tokens that a request is counted with when it is admitted: those that it has in the mean while it runs, where others
/// make room later, or all that it asks for. Assumed: it gets as many as it asks for.
double admitted_context(EngineProfile const& engine, RequestShape const& request);
double fresh_tokens(RequestShape const& request);

}  // namespace sextant
