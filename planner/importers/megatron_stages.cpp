#include "planner/importers/megatron_stages.hpp"

#include "core/error.hpp"
#include "core/graph/plan_check.hpp"
#include "core/graph/stage_layout.hpp"

#include <algorithm>

namespace sextant {
namespace {

constexpr std::int64_t most_staged_layers = 1 << 16;

InputError wrong_layout(ArgumentReader const& in, std::string const& layout, char const* why) {
    return InputError("{}: --pipeline-model-parallel-layout: '{}' {} (such as 'Et*3|(t*4|)*6t*3L')", in.where(), layout,
                      why);
}

/// The number after text[at] == '*', one where there is none; `at` goes behind it.
std::int64_t times_after(std::string const& text, std::size_t& at) {
    if (at >= text.size() || text[at] != '*') return 1;
    std::int64_t times = 0;
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
        times = std::min(8 * most_staged_layers, 10 * times + (text[at] - '0'));
    return times;
}

/// A layout with its repetitions written out: first "(tt|)*3", then "t*4".
std::string unrolled(ArgumentReader const& in, std::string const& layout) {
    std::string flat;
    for (std::size_t at = 0; at < layout.size();) {
        if (layout[at] == ',') {
            ++at;
            continue;
        }
        std::string unit(1, layout[at++]);
        if (unit == "(") {
            std::size_t const end = layout.find(')', at);
            if (end == std::string::npos) throw wrong_layout(in, layout, "has a '(' without ')'");
            unit = unrolled(in, layout.substr(at, end - at));
            at = end + 1;
        }
        std::int64_t const times = times_after(layout, at);
        if (times * static_cast<std::int64_t>(unit.size()) + static_cast<std::int64_t>(flat.size()) >
            4 * most_staged_layers)
            throw wrong_layout(in, layout, "is too long");
        for (std::int64_t k = 0; k < times; ++k)
            flat += unit;
    }
    return flat;
}

/// Layers of each stage of "E|t*4|(tt|)*3tL".
std::vector<std::int64_t> layout_layers(std::string const& layout, ArgumentReader const& in) {
    std::vector<std::int64_t> layers{0};
    for (char const c : unrolled(in, layout)) {
        if (c == '|') layers.push_back(0);
        if (c == 't') ++layers.back();
        if (std::string_view("|tELm").find(c) == std::string_view::npos)
            throw wrong_layout(in, layout, "has a letter that is none of E, t, m, L and |");
    }
    return layers;
}

/// Ranks of a pipeline that hold other numbers of layers, or embedding and loss in the place of a layer.
struct PipelineEnds {
    std::optional<std::int64_t> first, last;
    bool counts_embedding = false;
    bool counts_loss = false;
    [[nodiscard]] bool uneven() const { return first || last; }
    [[nodiscard]] std::int64_t counted() const { return (counts_embedding ? 1 : 0) + (counts_loss ? 1 : 0); }
    [[nodiscard]] bool stated() const { return uneven() || counted() > 0; }
};

PipelineEnds read_ends(ArgumentReader& in) {
    PipelineEnds const ends{.first = in.integer("--decoder-first-pipeline-num-layers", 1, most_staged_layers),
                            .last = in.integer("--decoder-last-pipeline-num-layers", 1, most_staged_layers),
                            .counts_embedding = in.flag("--account-for-embedding-in-pipeline-split"),
                            .counts_loss = in.flag("--account-for-loss-in-pipeline-split")};
    if (ends.uneven() && ends.counted() > 0)
        throw InputError(
            "{}: --decoder-first-pipeline-num-layers and --decoder-last-pipeline-num-layers do not go with "
            "--account-for-embedding-in-pipeline-split nor --account-for-loss-in-pipeline-split",
            in.where());
    return ends;
}

/// Layers of each chunk in model order. What ranks hold is spread evenly over their chunks; embedding and loss that
/// count stand for a layer of the first and of the last. Source: get_num_layers_to_build of Megatron-Core 0.15,
/// transformer_block.py.
std::vector<std::int64_t> layers_by_ends(ArgumentReader const& in, PipelineEnds const& ends, std::int64_t layers,
                                         std::int64_t pp, std::int64_t vpp) {
    auto const refuse = [&](std::string const& why) {
        throw InputError("{}: {} layers on pp {}: {}", in.where(), layers, pp, why);
    };
    std::int64_t const counted = layers + ends.counted();
    if (pp > counted || vpp > counted / pp) refuse(fmt::format("fewer than {} virtual stages on each", vpp));
    std::int64_t const others = pp - (ends.first ? 1 : 0) - (ends.last ? 1 : 0);
    std::int64_t const rest = counted - ends.first.value_or(0) - ends.last.value_or(0);
    if (rest < 0 || (others == 0 ? rest > 0 : rest % others != 0))
        refuse(fmt::format("{} cannot be spread evenly over {} stages", rest, others));
    std::vector<std::int64_t> ranks(static_cast<std::size_t>(pp), others > 0 ? rest / others : 0);
    if (ends.first) ranks.front() = *ends.first;
    if (ends.last) ranks.back() = *ends.last;
    std::vector<std::int64_t> chunks;
    for (std::int64_t round = 0; round < vpp; ++round)
        for (std::int64_t const held : ranks) {
            if (held % vpp != 0) refuse(fmt::format("{} of a stage are no multiple of {} virtual stages", held, vpp));
            chunks.push_back(held / vpp);
        }
    if (ends.counts_embedding) --chunks.front();
    if (ends.counts_loss) --chunks.back();
    if (std::min(chunks.front(), chunks.back()) < 0) refuse("an end of the pipeline is left without room");
    return chunks;
}

}  // namespace

void read_megatron_stages(ArgumentReader& in, ForeignPlan& out, ModelSpec const& model) {
    ParallelPlan& p = out.plan;
    PipelineEnds const ends = read_ends(in);
    auto const layout = in.text("--pipeline-model-parallel-layout");
    auto const chunks = in.integer("--num-virtual-stages-per-pipeline-rank", 1, most_staged_layers);
    auto const each = in.integer("--num-layers-per-virtual-pipeline-stage", 1, most_staged_layers);
    if (layout && ends.stated())
        throw InputError(
            "{}: --pipeline-model-parallel-layout says all that --decoder-first-pipeline-num-layers and the like do "
            "(leave them out)",
            in.where());
    if (each && ends.uneven())
        throw InputError(
            "{}: --num-layers-per-virtual-pipeline-stage does not go with stages of other numbers of layers "
            "(--num-virtual-stages-per-pipeline-rank)",
            in.where());
    if (layout) {
        p.stage_layers = layout_layers(*layout, in);
        auto const stages = static_cast<std::int64_t>(p.stage_layers.size());
        if (stages % p.pp != 0)
            throw InputError("{}: --pipeline-model-parallel-layout: {} stages are no multiple of pp {}", in.where(),
                             stages, p.pp);
        p.vpp = stages / p.pp;
    } else if (chunks) {
        p.vpp = *chunks;
    } else if (each) {
        std::int64_t const counted = model.layer_count() + ends.counted();
        if (counted % (p.pp * *each) != 0)
            throw InputError("{}: --num-layers-per-virtual-pipeline-stage: {} layers are no multiple of pp {} x {}",
                             in.where(), counted, p.pp, *each);
        p.vpp = counted / (p.pp * *each);
    }
    if (p.pp > 1 && ends.stated()) p.stage_layers = layers_by_ends(in, ends, model.layer_count(), p.pp, p.vpp);
    if (p.pp == 1 && p.vpp > 1) {
        out.warnings.push_back("virtual stages without a pipeline have no effect");
        p.vpp = 1;
        p.stage_layers.clear();
    }
    p.schedule = p.vpp > 1 ? Schedule::interleaved : Schedule::one_f_one_b;
}

void settle_megatron_stages(ForeignPlan& out, ModelSpec const& model) {
    ParallelPlan& p = out.plan;
    std::int64_t const modules = out.mtp_modules.value_or(model.mtp_modules);
    std::int64_t const layers = model.layer_count(), chunks = p.pp * p.vpp;
    if (p.stage_layers.empty() && modules > 0 && layers % chunks == 0)
        p.stage_layers.assign(static_cast<std::size_t>(chunks), layers / chunks);
    if (can_split(layers, p.pp, p.vpp, modules) && p.stage_layers == balanced_split(layers, p.pp, p.vpp, modules))
        p.stage_layers.clear();
}

}  // namespace sextant
