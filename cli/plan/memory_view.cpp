#include "cli/plan/memory_view.hpp"

#include "cli/plan/report_view.hpp"
#include "core/graph/step_graph.hpp"
#include "core/quantity_text.hpp"
#include "planner/explain.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sextant::cli {
namespace {

std::string exact(Bytes bytes) { return fmt::format("{:.0f}", bytes.base()); }

bool has_reference(MemorySheet const& s) { return s.stages.front().reference > Bytes{}; }

std::string stages_text(MemorySheet const& s) {
    Table table({{"stage", Align::right},
                 {"layers", Align::right},
                 {"in flight", Align::right},
                 {has_reference(s) ? "state and reference" : "state", Align::right},
                 {"activations", Align::right},
                 {"logits", Align::right},
                 {"buffers", Align::right},
                 {"allocated", Align::right},
                 {"reserved", Align::right}});
    for (std::size_t i = 0; i < s.stages.size(); ++i) {
        StageMemory const& m = s.stages[i];
        bool const repeats =
            i > 0 && i + 1 < s.stages.size() && s.stages.size() > 12 && s.stages[i - 1].reserved() == m.reserved();
        if (repeats) continue;
        table.add_row({fmt::format("{}", i), fmt::format("{}", s.graph.layout.stages[i].layers),
                       fmt::format("{:.4g}", m.in_flight), human(m.state() + m.reference), human(m.activations),
                       human(m.logits), human(m.buffers + m.workspaces), human(m.allocated()), human(m.reserved())});
    }
    return table.text();
}

std::string state_text(MemorySheet const& s, std::size_t stage) {
    LocalParameters const p = stage_parameters(s.graph, stage);
    StageMemory const& m = s.stages[stage];
    Table table({{"state of stage " + std::to_string(stage)},
                 {"exact bytes", Align::right},
                 {"bytes per parameter held", Align::right}});
    FrozenWeights const frozen = stage_frozen_weights(s.graph, stage);
    bool const adapters = s.plan.adapters.on();
    if (adapters) {
        double const stored = frozen_bytes(frozen, s.plan).base() / (s.plan.zero >= 3 ? dense_shards(s.plan) : 1);
        table.add_row({"frozen parameters", fmt::format("({:.0f})", frozen.total()),
                       fmt::format("{:.4g}", stored / frozen.total())});
    }
    table.add_row({adapters ? "trained parameters" : "parameters held", fmt::format("({:.0f})", p.total()),
                   p.expert > 0 ? fmt::format("{:.0f} of experts", p.expert) : ""});
    auto const add = [&](char const* what, Bytes bytes, double parameters) {
        table.add_row({what, exact(bytes), parameters > 0 ? fmt::format("{:.4g}", bytes.base() / parameters) : "-"});
    };
    add("weights", m.weights, p.total() + (adapters ? frozen.total() : 0));
    add("gradients", m.gradients, p.total());
    add("optimizer", m.optimizer, p.total());
    return table.text();
}

/// The formula is of 16 bit.
std::string formula_of(SavedTensor const& t, KeptFormats const& formats) {
    if (formats.worst_case && t.worst_case != 1) {
        SavedTensor even = t;
        even.worst_case = 1;
        return fmt::format("{:g} x {}", t.worst_case, formula_of(even, formats));
    }
    if (t.copy != KeptCopy::none) return fmt::format("{:g} {}", formats.of(t.copy), t.formula);
    if (t.narrow == NarrowInput::no || formats.narrow_input >= 2) return std::string(t.formula);
    return fmt::format("{}{}, {:g}-byte inputs", t.formula, t.narrow == NarrowInput::beside ? " and a copy" : "",
                       t.narrow_bytes(formats));
}

/// Policies that run a tensor's block again and drop it. @param again whether some policy does
std::string dropped_by(Rerun rerun, Switch again) {
    if (again == Switch::off) return "";
    switch (rerun) {
        case Rerun::selective: return "selective, full";
        case Rerun::never: return "";
        default: return "full";
    }
}

/// Per microbatch over the stage's layers, and what recompute does to it.
std::string tensors_text(MemorySheet const& s, std::size_t stage) {
    Table table({{"block"},
                 {"tensor"},
                 {"bytes per layer"},
                 {"value", Align::right},
                 {"layers", Align::right},
                 {"dropped by"}});
    for (KeptTensor const& t : kept_tensors(s, stage))
        table.add_row({t.block, t.tensor, t.formula, exact(t.per_layer), fmt::format("{}", t.layers),
                       t.dropped_by.empty() ? "-" : t.dropped_by});
    return table.text();
}

}  // namespace

std::size_t fullest_stage(std::vector<StageMemory> const& stages) {
    auto const found = std::max_element(stages.begin(), stages.end(), [](StageMemory const& a, StageMemory const& b) {
        return a.reserved() < b.reserved();
    });
    return static_cast<std::size_t>(found - stages.begin());
}

std::vector<KeptTensor> kept_tensors(MemorySheet const& s, std::size_t stage) {
    StageContent const& content = s.graph.layout.stages[stage];
    KeptFormats const formats = kept_formats(s.question.framework.memory);
    std::vector<KeptTensor> out;
    auto const add = [&](Block const& block, std::int64_t times, Switch again) {
        if (times == 0) return;
        if (block.input > Bytes{})
            out.push_back({.block = block.name,
                           .tensor = "input",
                           .formula = "2 T h [/t with SP]",
                           .per_layer = block.input,
                           .layers = times,
                           .dropped_by = ""});
        for (SavedTensor const& t : block.saved) {
            if (t.kept(formats) == Bytes{}) continue;
            out.push_back({.block = t.copy == KeptCopy::none ? block.name : "framework",
                           .tensor = std::string(t.name),
                           .formula = formula_of(t, formats),
                           .per_layer = t.kept(formats),
                           .layers = times,
                           .dropped_by = dropped_by(t.dropped_by, again)});
        }
    };
    BlockSet const& blocks = s.graph.blocks;
    if (content.embedding) add(blocks.embedding, 1, Switch::off);
    for (std::size_t k = 0; k < blocks.layers.size(); ++k)
        add(blocks.layers[k], content.layers_of_kind[k], Switch::on);
    if (content.head) {
        add(blocks.head, 1, Switch::off);
        // Not with the layers of a stage where some of these are counted (`recompute_of_mtp`).
        Switch const again = s.plan.recompute_layers > 0 ? Switch::off : Switch::on;
        add(blocks.mtp, blocks.mtp.saved.empty() ? 0 : 1, again);
    }
    return out;
}

std::string memory_text(MemorySheet const& s) {
    std::size_t const worst = fullest_stage(s.stages);
    StageMemory const& m = s.stages[worst];
    std::string text = wrapped(headline(s.question, s.plan.world_size(), s.plan.precision));
    text += fmt::format("plan: {}, {} microbatches, {}\n", plan_label(s.plan), s.graph.microbatches,
                        name_of(s.plan.schedule));
    if (!s.not_expressed.empty()) text += wrapped(refusal_sentence(s.question.framework, s.not_expressed), "  ");
    text += "\n";
    text += stages_text(s);
    text +=
        "\n" + wrapped(fmt::format(
                   "stage {} is the fullest: {} allocated, {} reserved (80 %: {} to {}) of {} usable, {} capacity: {}",
                   worst, human(m.allocated()), human(m.reserved()), human(m.reserved_low), human(m.reserved_high),
                   human(s.limit.usable), human(s.limit.capacity), fit_words(m, s.limit)));
    if (m.host > Bytes{})
        text += fmt::format("host memory: {} of {} per accelerator\n", human(m.host), human(s.limit.host));
    text += "\n" + state_text(s, worst);
    text += "\n" + wrapped(fmt::format("activations kept of one microbatch on stage {} ({:.4g} in flight); T tokens, t "
                                       "tp, s sequence, b micro-batch:",
                                       worst, m.in_flight));
    text += tensors_text(s, worst);
    text += "\nwhat would change (fullest stage):\n";
    Table variants(
        {{"plan"}, {"allocated", Align::right}, {"reserved", Align::right}, {"change", Align::right}, {"fits"}});
    for (MemorySheet::Variant const& v : s.variants) {
        Bytes const change = v.fullest.reserved() - m.reserved();
        std::string const sign = change > Bytes{} ? "+" : change < Bytes{} ? "-" : "";
        variants.add_row({v.name, human(v.fullest.allocated()), human(v.fullest.reserved()),
                          sign + human(change < Bytes{} ? -change : change), s.limit.admits(v.fullest) ? "yes" : "no"});
    }
    text += variants.text();
    text += fmt::format("graph digest {}\n", s.digest);
    return text;
}

Table memory_table(MemorySheet const& s) {
    Table table({{"stage", Align::right},
                 {"layers", Align::right},
                 {"in_flight", Align::right},
                 {"weights_bytes", Align::right},
                 {"gradients_bytes", Align::right},
                 {"optimizer_bytes", Align::right},
                 {"reference_bytes", Align::right},
                 {"layer_activations_bytes", Align::right},
                 {"logits_bytes", Align::right},
                 {"buffers_bytes", Align::right},
                 {"workspaces_bytes", Align::right},
                 {"allocated_bytes", Align::right},
                 {"reserved_bytes", Align::right},
                 {"reserved_low_bytes", Align::right},
                 {"reserved_high_bytes", Align::right},
                 {"host_bytes", Align::right}});
    for (std::size_t i = 0; i < s.stages.size(); ++i) {
        StageMemory const& m = s.stages[i];
        table.add_row({fmt::format("{}", i), fmt::format("{}", s.graph.layout.stages[i].layers),
                       fmt::format("{:.4g}", m.in_flight), exact(m.weights), exact(m.gradients), exact(m.optimizer),
                       exact(m.reference), exact(m.activations), exact(m.logits), exact(m.buffers), exact(m.workspaces),
                       exact(m.allocated()), exact(m.reserved()), exact(m.reserved_low), exact(m.reserved_high),
                       exact(m.host)});
    }
    return table;
}

}  // namespace sextant::cli
