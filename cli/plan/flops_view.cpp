#include "cli/plan/flops_view.hpp"

#include "cli/plan/report_view.hpp"
#include "core/graph/executed_flops.hpp"
#include "core/graph/model_flops.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/parameters.hpp"
#include "planner/explain.hpp"
#include "planner/left_out.hpp"

#include <fmt/format.h>

namespace sextant::cli {
namespace {

std::string shape_of(Op const& op) {
    struct Visitor {
        std::string operator()(Gemm const& g) const { return fmt::format("[{}, {}] x [{}, {}]", g.m, g.k, g.k, g.n); }
        std::string operator()(GroupedGemm const& g) const {
            return fmt::format("{} x [{}, {}] x [{}, {}]", g.groups, g.m / g.groups, g.k, g.k, g.n);
        }
        std::string operator()(Attention const& a) const {
            return fmt::format("b{} h{}/{} q{} k{} d{}", a.batch, a.heads, a.kv_heads, a.queries, attended_keys(a),
                               a.head_dim);
        }
        std::string operator()(Recurrence const& r) const {
            return fmt::format("b{} h{}/{} s{} d{} x {}", r.batch, r.heads, r.key_heads, r.tokens, r.key_dim,
                               r.value_dim);
        }
        std::string operator()(Streaming const&) const { return ""; }
        std::string operator()(Collective const& c) const {
            return fmt::format("{} {}", name_of(c.kind), name_of(c.group));
        }
    };
    return std::visit(Visitor{}, op.what);
}

/// GPT-shaped: no gate, full attention heads, feed-forward four times the width: what the 72 L h^2 formula assumes.
bool is_gpt_shaped(ModelSpec const& m) {
    return !m.moe && !m.mlp.gated && !m.attention.latent && m.attention.kv_heads == m.attention.heads &&
           m.attention.heads * m.attention.head_dim == m.hidden && m.mlp.intermediate == 4 * m.hidden;
}

std::string or_dash(Flops flops) { return flops > Flops{} ? human(flops) : "-"; }
std::string or_dash(Bytes bytes) { return bytes > Bytes{} ? human(bytes) : "-"; }

}  // namespace

std::vector<FlopsRow> flops_rows(FlopsSheet const& sheet) {
    std::vector<FlopsRow> rows;
    auto const add = [&](Block const& block) {
        for (Op const& op : block.ops)
            rows.push_back({block.name, std::string(op.name), shape_of(op), work_of(op, Pass::forward),
                            work_of(op, Pass::backward)});
    };
    add(sheet.graph.blocks.embedding);
    for (Block const& layer : sheet.graph.blocks.layers)
        add(layer);
    add(sheet.graph.blocks.head);
    add(sheet.graph.blocks.mtp);
    return rows;
}

FlopsTotals flops_totals(FlopsSheet const& sheet) {
    StepGraph const& g = sheet.graph;
    FlopsTotals totals;
    totals.model = model_flops_per_step(sheet.model, g.workload, g.plan.adapters);
    totals.six_n_d = six_n_d(sheet.model, g.workload);
    ExecutedFlops const executed = executed_flops_per_step(g);
    totals.executed = executed.total;
    totals.recompute = executed.recompute;
    if (is_gpt_shaped(sheet.model)) {
        // 72 L h^2 (1 + s / 6h + V / 12 L h) per token: forward and backward without recompute (arXiv:2104.04473 app.
        // A, 96 with it).
        auto const h = static_cast<double>(sheet.model.hidden);
        auto const l = static_cast<double>(sheet.model.layer_count());
        auto const s = static_cast<double>(g.workload.sequence);
        auto const v = static_cast<double>(sheet.model.outputs());
        totals.gpt_72 = 72 * l * h * h * (1 + s / (6 * h) + v / (12 * l * h)) *
                        static_cast<double>(g.workload.tokens()) * units::flop;
        totals.megatron_96 = megatron_step_flops(sheet.model, g.workload);
    }
    return totals;
}

std::string flops_text(FlopsSheet const& sheet) {
    StepGraph const& g = sheet.graph;
    std::string text = fmt::format("{}, seq {}{}, global batch {}, plan {}, {}; one rank, one microbatch\n\n",
                                   named(sheet.model), g.workload.sequence, documents_text(g.workload),
                                   g.workload.global_batch, plan_label(g.plan), name_of(g.plan.precision));
    Table ops({{"block"},
               {"op"},
               {"shape"},
               {"forward", Align::right},
               {"backward", Align::right},
               {"bytes f", Align::right},
               {"bytes b", Align::right},
               {"sent", Align::right}});
    for (FlopsRow const& row : flops_rows(sheet))
        ops.add_row({row.block, row.op, row.shape, or_dash(row.forward.executed), or_dash(row.backward.executed),
                     or_dash(row.forward.moved), or_dash(row.backward.moved),
                     or_dash(row.forward.sent + row.backward.sent)});
    text += ops.text() + "\n";
    Table stages({{"stage", Align::right},
                  {"layers", Align::right},
                  {"forward", Align::right},
                  {"backward", Align::right},
                  {"recompute", Align::right},
                  {"parameters held", Align::right}});
    for (std::size_t i = 0; i < g.layout.stages.size(); ++i)
        stages.add_row({fmt::format("{}", i), fmt::format("{}", g.layout.stages[i].layers),
                        human(stage_work(g, i, Pass::forward).executed),
                        human(stage_work(g, i, Pass::backward).executed), or_dash(stage_rerun_work(g, i).executed),
                        human_count(stage_parameters(g, i).total() + stage_frozen_weights(g, i).total())});
    text += stages.text() + "\n";
    FlopsTotals const t = flops_totals(sheet);
    Table totals({{"step, all accelerators"}, {"FLOPs", Align::right}, {"against model FLOPs", Align::right}});
    auto const add = [&](char const* name, Flops flops) {
        if (flops > Flops{}) totals.add_row({name, human(flops), fmt::format("{:.4f}", flops / t.model)});
    };
    add(g.plan.adapters.on() ? "model FLOPs (full attention square; forward, input gradients, adapters)"
                             : "model FLOPs (as MFU counts: full attention square)",
        t.model);
    add("executed (causal kernels, recompute, padding)", t.executed);
    add("  of which recompute", t.recompute);
    add("6 N D (active parameters)", t.six_n_d);
    add("72 L h^2 (1 + s/6h + V/12Lh) per token", t.gpt_72);
    add("96 B s l h^2 (1 + s/6h + V/16lh), full recompute", t.megatron_96);
    text += totals.text();
    text += fmt::format("forward FLOPs per token {} ({} with a causal kernel){}\n",
                        human(forward_flops_per_token(sheet.model, g.workload.shape())),
                        human(causal_forward_flops_per_token(sheet.model, g.workload.shape())),
                        sheet.model.mtp_modules > 0 ? ", without the prediction modules" : "");
    text += fmt::format("graph digest {}\n", digest(g));
    return text;
}

Table flops_table(FlopsSheet const& sheet) {
    Table table({{"block"},
                 {"op"},
                 {"shape"},
                 {"forward_flops", Align::right},
                 {"backward_flops", Align::right},
                 {"forward_bytes", Align::right},
                 {"backward_bytes", Align::right},
                 {"forward_sent_bytes", Align::right},
                 {"backward_sent_bytes", Align::right}});
    for (FlopsRow const& row : flops_rows(sheet)) {
        std::vector<std::string> cells{row.block, row.op, row.shape};
        for (double const value : {row.forward.executed.base(), row.backward.executed.base(), row.forward.moved.base(),
                                   row.backward.moved.base(), row.forward.sent.base(), row.backward.sent.base()})
            cells.push_back(fmt::format("{:.0f}", value));
        table.add_row(std::move(cells));
    }
    return table;
}

}  // namespace sextant::cli
