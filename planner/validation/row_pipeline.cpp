#include "planner/validation/row_pipeline.hpp"

#include "core/error.hpp"
#include "core/graph/model_flops.hpp"
#include "core/graph/stage_layout.hpp"
#include "core/graph/usual_stages.hpp"
#include "core/spec/schedule_traits.hpp"
#include "core/text.hpp"
#include "planner/framework_rules.hpp"
#include "planner/validation/pipeline_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>

namespace sextant {
namespace {

/// "stages hold [7, 9, 9, 9] units counting embedding and head as one each".
std::vector<std::int64_t> stated_stages(TrainingRow const& row, std::int64_t layers) {
    constexpr std::string_view key = "stages hold [";
    auto at = row.notes.find(key);
    if (at == std::string::npos) return {};
    std::vector<std::int64_t> stages;
    for (at += key.size(); at < row.notes.size() && row.notes[at] != ']';) {
        std::int64_t value = 0;
        auto const [end, error] = std::from_chars(row.notes.data() + at, row.notes.data() + row.notes.size(), value);
        if (error != std::errc{}) throw RowSkip("the list of layers per stage in the notes cannot be read");
        stages.push_back(value);
        at = static_cast<std::size_t>(end - row.notes.data());
        while (at < row.notes.size() && (row.notes[at] == ',' || row.notes[at] == ' '))
            ++at;
    }
    if (stages.empty()) return {};
    --stages.front();
    --stages.back();
    if (std::accumulate(stages.begin(), stages.end(), std::int64_t{0}) != layers)
        throw RowSkip("stages in the notes hold another number of layers than the model has");
    return stages;
}

/// The smallest interleaving that divides the layers evenly, 1 if there is none.
std::int64_t smallest_interleaving(std::int64_t layers, std::int64_t pp) {
    for (std::int64_t vpp = 2; vpp * pp <= layers; ++vpp)
        if (layers % (vpp * pp) == 0) return vpp;
    return 1;
}

/// Layers of each chunk where the notes give Megatron-Core's layout. Ours holds the embedding with the first chunk, and
/// prediction modules and loss with the last.
std::vector<std::int64_t> layout_in_notes(TrainingRow const& row, TrainingCase const& out) {
    constexpr std::string_view key = "pipeline-model-parallel-layout=";
    auto const at = row.notes.find(key);
    if (at == std::string::npos) return {};
    auto const begin = at + key.size();
    std::vector<LayoutStage> const stages =
        pipeline_layout(trimmed(std::string_view(row.notes).substr(begin, row.notes.find(';', begin) - begin)));
    std::vector<std::int64_t> layers;
    LayoutStage sum;
    for (LayoutStage const& stage : stages) {
        layers.push_back(stage.layers);
        sum.layers += stage.layers;
        sum.predictions += stage.predictions;
    }
    if (sum.layers != out.model.layer_count() || sum.predictions != out.model.mtp_modules)
        throw RowSkip("pipeline layout of another number of layers than the model has");
    if (stages.front().embeddings != 1 || stages.back().losses != 1 ||
        stages.back().predictions != out.model.mtp_modules)
        throw RowSkip("pipeline layout with prediction modules on a stage of their own");
    if (static_cast<std::int64_t>(stages.size()) % out.plan.pp != 0)
        throw RowSkip("pipeline layout of a number of chunks that pp does not divide");
    return layers;
}

/// The schedule that a row names as a plan would, with any punctuation, and a remark in parentheses behind it ("ZBH1",
/// "DualPipe (DeepSeek)").
std::optional<Schedule> named_schedule(std::string const& name) {
    struct OtherName {
        std::string_view name;
        Schedule schedule;
    };
    // PyTorch's classes, and those of the zero-bubble papers: ZB-1p and ZB-2p hold as much as ZB-H1 and ZB-H2.
    constexpr std::array others{OtherName{"zb1p", Schedule::zb_h1},
                                OtherName{"zb2p", Schedule::zb_h2},
                                OtherName{"schedulezbvzerobubble", Schedule::zb_v},
                                OtherName{"zbvzerobubble", Schedule::zb_v},
                                OtherName{"bfs", Schedule::breadth_first},
                                OtherName{"loopedbfs", Schedule::breadth_first},
                                OtherName{"zerobubble", Schedule::zb_h1},
                                OtherName{"zb", Schedule::zb_h1}};
    auto const begin = std::min(name.find('('), name.size());
    std::string const wanted = letters_and_digits(std::string_view(name).substr(0, begin));
    std::string const remark = letters_and_digits(std::string_view(name).substr(begin));
    for (std::string const& word : {remark, wanted}) {
        for (Schedule const schedule : {Schedule::overlapped, Schedule::breadth_first, Schedule::zb_h1, Schedule::zb_h2,
                                        Schedule::zb_v, Schedule::dualpipe, Schedule::dualpipe_v})
            if (word == letters_and_digits(name_of(schedule))) return schedule;
        for (OtherName const& other : others)
            if (word == other.name) return other.schedule;
    }
    return {};
}

/// Stages where the notes say how many layers the first or last holds; the others hold as many each. Where they say the
/// first alone and the rest cannot be spread, the last holds as many as the first.
void apply_ends(TrainingRow const& row, TrainingCase& out) {
    std::int64_t const pp = out.plan.pp;
    auto const first = row.note_number("decoder-first-pipeline-num-layers=");
    auto last = row.note_number("decoder-last-pipeline-num-layers=");
    if (!first && !last) return;
    for (auto const& end : {first, last})
        if (end && (*end < 0 || *end > out.model.layer_count()))
            throw RowSkip("an end of the pipeline holds more layers than the model has");
    std::int64_t const after_first = out.model.layer_count() - first.value_or(0);
    if (first && !last && pp > 2 && after_first % (pp - 1) != 0) {
        last = first;
        out.assumptions.emplace_back("as many layers on the last stage as on the first");
    }
    std::int64_t const others = pp - (first ? 1 : 0) - (last ? 1 : 0);
    std::int64_t const rest = after_first - last.value_or(0);
    if (others <= 0 || rest < 0 || rest % others != 0)
        throw RowSkip("layers of the first stage leave a rest that cannot be spread evenly");
    out.plan.stage_layers.assign(static_cast<std::size_t>(pp), rest / others);
    if (first) out.plan.stage_layers.front() = *first;
    if (last) out.plan.stage_layers.back() = *last;
}

/// Layers moved off the last stage, whose output matrix counts as the layers that have its FLOPs, until the longest
/// stage is as short as it gets; no more than it takes. What the others cannot share evenly the last of them hold,
/// which have the fewest microbatches in flight. Source: the redistribution that arXiv:2411.05288 compares with; the
/// first stage is as full as without it in its measurements.
std::vector<std::int64_t> moved_off_the_head(ModelSpec const& model, std::int64_t sequence, std::int64_t pp) {
    ModelSpec ends = model;
    ends.layers.clear();
    Flops const output = forward_flops_per_token(ends, sequence);
    std::int64_t const layers = model.layer_count();
    Flops const layer = (forward_flops_per_token(model, sequence) - output) / static_cast<double>(layers);
    double const head = output / layer;
    auto const others = [&](std::int64_t last) { return (layers - last + pp - 2) / (pp - 1); };  // the most of them
    auto const longest = [&](std::int64_t last) {
        return std::max(static_cast<double>(others(last)), static_cast<double>(last) + head);
    };
    std::int64_t best = layers / pp;
    for (std::int64_t last = best; last >= 0; --last)
        if (longest(last) < longest(best)) best = last;
    std::vector<std::int64_t> stages(static_cast<std::size_t>(pp), (layers - best) / (pp - 1));
    std::fill_n(stages.rbegin() + 1, (layers - best) % (pp - 1), others(best));
    stages.back() = best;
    return stages;
}

void apply_stages(TrainingRow const& row, TrainingCase& out) {
    ParallelPlan& plan = out.plan;
    std::string const schedule = lower_case(row.pp_schedule);
    plan.stage_layers = stated_stages(row, out.model.layer_count());
    if (plan.pp == 1) return;
    if (row.notes_have("method redis")) {
        plan.stage_layers = moved_off_the_head(out.model, out.workload.sequence, plan.pp);
        out.assumptions.emplace_back("layers moved off the last stage by their FLOPs and the output matrix's");
    }
    if (auto layout = layout_in_notes(row, out); !layout.empty()) {
        plan.vpp = static_cast<std::int64_t>(layout.size()) / plan.pp;
        plan.stage_layers = std::move(layout);
        if (plan.vpp > 1) plan.schedule = Schedule::interleaved;
        return;
    }
    std::int64_t const layers = out.model.layer_count();
    if (plan.pp > layers) throw RowSkip("more pipeline stages than layers");
    if (auto const named = named_schedule(schedule)) {
        plan.schedule = *named;
        plan.vpp = row.vpp.value_or(traits_of(*named).usual_chunks());
        return;
    }
    auto const has_one_of = [&](std::initializer_list<std::string_view> words) {
        return std::any_of(words.begin(), words.end(),
                           [&](std::string_view word) { return schedule.find(word) != std::string::npos; });
    };
    bool const known =
        schedule.empty() || schedule == "-" ||
        has_one_of({"1f1b", "interleav", "gpipe", "afab", "dapple", "flush", "default", "none", "virtual", "vpp",
                    "one-forward", "fill-drain", "fill drain", "all-forward", "all forward", "circular"});
    if (!known || has_one_of({"vocab", "interlaced", "zero", "zb", "dualpipe", "bidirectional"}))
        throw RowSkip("schedule '" + row.pp_schedule + "' is not modelled");
    if (has_one_of({"gpipe", "afab", "fill-drain", "fill drain", "all-forward", "all forward"}))
        plan.schedule = Schedule::gpipe;
    plan.vpp = std::max<std::int64_t>(1, row.vpp.value_or(1));
    bool const interleaved =
        has_one_of({"interleaved", "virtual", "vpp", "circular"}) && !has_one_of({"non-interleav", "noninterleav"});
    // The runs of Megatron-LM's README overlap the sends of a pipeline ("enabled by default"), which arguments.py turns
    // off where nothing is interleaved.
    bool const by_source =
        row.notes_have("interleaving used for PP>1") ||
        (row.source_id == "megatron-lm-readme" && row.notes_have("virtual pipeline size not stated"));
    if (!row.vpp && (interleaved || by_source)) {
        plan.vpp = smallest_interleaving(layers, plan.pp);
        out.assumptions.emplace_back("smallest even interleaving, degree not stated");
    }
    if (plan.vpp > 1 || row.pp_schedule.empty()) plan.schedule = usual_schedule(launcher_of(*out.framework), plan.vpp);
    if (plan.vpp > 1 && plan.vpp <= layers && plan.stage_layers.empty() && !can_split(layers, plan.pp, plan.vpp)) {
        plan.stage_layers = short_ended(layers, plan.pp * plan.vpp);
        if (!plan.stage_layers.empty())
            out.assumptions.emplace_back("full chunks with short ends, as in the recipes of Megatron-Bridge");
    }
    if (row.pp_schedule.empty() && !row.vpp) {
        bool const first_forwards = launcher_of(*out.framework) == Launcher::maxtext;
        out.assumptions.push_back(
            fmt::format("schedule {} where none is stated", first_forwards ? name_of(plan.schedule) : "1F1B"));
    }
    if (plan.vpp == 1) apply_ends(row, out);
    if (is_framework(*out.framework, "nanotron") && plan.stage_layers.empty() && row.notes_have("after_pp_fix=False"))
        plan.stage_layers = cost_balanced_layers(out.model, plan.pp, Tie::same_stage);
    plan.stage_layers = usual_stage_layers(*out.framework, out.model, plan);
}

}  // namespace

void apply_pipeline(TrainingRow const& row, TrainingCase& out) {
    apply_stages(row, out);
    bool const overlaps = row.notes_have("MoE all-to-all overlap on") || row.notes_have("1F1B all-to-all overlap") ||
                          row.notes_have("EP comm overlap=on");
    if (overlaps && out.plan.ep > 1) out.plan.schedule = Schedule::overlapped;
}

}  // namespace sextant
