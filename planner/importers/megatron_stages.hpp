#pragma once

#include "planner/importers/argument_reader.hpp"

namespace sextant {

/// Megatron-LM's virtual stages and the layers that each holds, by all the ways it has to say them, on the `pp` stages
/// of `out`. @throws InputError where Megatron-LM refuses them.
void read_megatron_stages(ArgumentReader& in, ForeignPlan& out, ModelSpec const& model);

/// Megatron-LM divides the layers evenly where it is told nothing, with prediction modules too: then that is not what a
/// plan has that leaves them open.
void settle_megatron_stages(ForeignPlan& out, ModelSpec const& model);

}  // namespace sextant
