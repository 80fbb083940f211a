#pragma once

#include "cli/output.hpp"
#include "core/graph/step_graph.hpp"

#include <string>
#include <vector>

namespace sextant::cli {

/// What the FLOP sheet is about.
struct FlopsSheet {
    ModelSpec const& model;
    StepGraph graph;
};

/// One op of one block as the sheet shows it, in base units.
struct FlopsRow {
    std::string block;
    std::string op;
    std::string shape;
    Work forward;
    Work backward;
};
std::vector<FlopsRow> flops_rows(FlopsSheet const& sheet);

/// A step's FLOPs and the formulas the field uses for it.
struct FlopsTotals {
    Flops model;      ///< as MFU counts: attention over the full square, no recompute
    Flops executed;   ///< what kernels run on all accelerators, recompute and vocabulary padding included
    Flops recompute;  ///< of which recompute
    Flops six_n_d;
    Flops gpt_72;  ///< 72 L h^2 per token and the attention and vocabulary terms; zero unless the model is GPT-shaped
    Flops megatron_96;  ///< with full recompute; zero unless GPT-shaped
};
FlopsTotals flops_totals(FlopsSheet const& sheet);

std::string flops_text(FlopsSheet const& sheet);
Table flops_table(FlopsSheet const& sheet);
std::string flops_json(FlopsSheet const& sheet);

}  // namespace sextant::cli
