#pragma once

#include "cost_models/serving/prompt_mix.hpp"
#include "cost_models/serving/prompt_queue.hpp"

namespace sextant {

/// What the `count` steps of a request after its prompt take beyond as many mean ones, in an engine that plans ahead
/// and whose iteration takes a prompt or more.
///
/// A prompt that comes while an iteration runs is in the one after the next. So the iteration after one's own has what
/// came in the one before one's own, which is a mean one of requests that always decode, or nothing where the engine
/// slept; the next has what came in one's own, and so on. Where prompts go first, a step has all iterations with
/// prompts before it, until one without any is planned. Prompts that an iteration does not take are there for the next.
///
/// What is far from one's own prompt is a mean step as far as others decode meanwhile (1 - e^-D, squared: assumed);
/// those that end the engine's sleep, which the mean has, are met by nobody.
/// @param rate of prompts, a second
Seconds ahead_steps(PromptQueue const& queue, PromptIterations const& steps, PromptMix const& mix, double count,
                    double rate);

/// As far as `ahead_steps` decides: up to ten steps; from twenty on what waited for the own prompt, all told, says more
/// (in between a share: assumed).
double short_answer(double count);

}  // namespace sextant
