#include "simulator/step_program.hpp"

#include "core/error.hpp"
#include "core/graph/recomputed_layers.hpp"
#include "core/graph/step_graph.hpp"
#include "core/spec/named_values.hpp"
#include "core/spec/schedule_traits.hpp"
#include "simulator/hidden_layout.hpp"
#include "simulator/schedule_walk.hpp"

#include <algorithm>

namespace sextant {
namespace {

constexpr Named<Granularity> granularities[] = {
    {Granularity::op, "op"}, {Granularity::layer, "layer"}, {Granularity::stage, "stage"}};

TaskPart part_of(PricedOp const& op) {
    switch (op.op_class) {
        case OpClass::gemm: return TaskPart::gemm;
        case OpClass::attention: return TaskPart::attention;
        case OpClass::streaming: return TaskPart::memory_bound;
        case OpClass::communication: break;
    }
    switch (op.collective.group) {
        case GroupKind::expert:
        case GroupKind::expert_tensor: return TaskPart::ep;
        case GroupKind::context: return TaskPart::cp;
        default: return TaskPart::tp;
    }
}

/// Turns priced ops into the items of one pass.
class PassWriter {
public:
    PassWriter(StepProgram& program, ClusterSpec const& cluster, ParallelPlan const& plan)
        : program_(program), cluster_(cluster), plan_(plan) {}

    enum class Half : std::uint8_t { whole, input, weight };

    Program write(PricedPass const& pass, Half half, bool again) {
        Program result{
            .items = {}, .overlaps = {}, .waiting = waiting_of(pass, half).base(), .launched = pass.launched.base()};
        std::vector<Hidden> hidden;
        double gaps = result.waiting;
        for (PricedOp const& op : pass.ops) {
            if (op.op_class == OpClass::communication) {
                if (half != Half::weight) add_communication(result, hidden, op);
                continue;
            }
            double const weight = op.weight.base();
            // A backward product is two kernels: each half launches one.
            double const weight_gap = weight > 0 ? op.gap.base() / 2 : 0;
            double time = op.compute.base();
            double gap = op.gap.base();
            if (half == Half::input) {
                time -= weight;
                gap -= weight_gap;
            }
            if (half == Half::weight) {
                time = weight;
                gap = weight_gap;
            }
            gaps += gap;
            if (time > 0)
                result.items.push_back({.name = program_.name(op.name),
                                        .part = again ? TaskPart::recompute : part_of(op),
                                        .duration = time});
        }
        if (gaps > 0) result.items.push_back({.name = program_.name("host"), .part = TaskPart::host, .duration = gaps});
        lay_out(result, hidden);
        return result;
    }

private:
    static Seconds waiting_of(PricedPass const& pass, Half half) {
        switch (half) {
            case Half::whole: return pass.waiting;
            case Half::input: return pass.waiting - pass.weight_waiting;
            case Half::weight: return pass.weight_waiting;
        }
        return {};
    }

    void add_communication(Program& result, std::vector<Hidden>& hidden, PricedOp const& op) {
        double const exposed = op.exposed.base();
        double const beside = op.hidden.base();
        double const both = exposed + beside;
        if (both <= 0) return;
        ProgramItem item{.name = program_.name(op.name), .part = part_of(op), .group = group_of(op.collective)};
        if (beside > 0) {
            item.duration = beside;
            item.latency = op.latency.base() * beside / both;
            // Pipelined with the kernels before it, in chunks: from the last communication on.
            std::size_t start = result.items.size();
            while (start > 0 && result.items[start - 1].is_compute())
                --start;
            hidden.push_back({.item = item, .start = start});
        }
        if (exposed > 0) {
            item.duration = exposed;
            item.latency = op.latency.base() * exposed / both;
            result.items.push_back(item);
        }
    }

    std::int16_t group_of(Collective const& c) {
        GroupPlacement placement = place(c.group, plan_, cluster_);
        placement.copies = c.copies;
        return program_.group({.kind = c.kind,
                               .group = c.group,
                               .size = placement.size,
                               .stride = placement.stride,
                               .shares = network_shares(cluster_, c.kind, placement)});
    }

    StepProgram& program_;
    ClusterSpec const& cluster_;
    ParallelPlan const& plan_;
};

BlockProgram write_block(StepProgram& program, Block const& block, ClosedForm& form, ParallelPlan const& plan,
                         HostFloor floor) {
    PassWriter writer(program, form.cluster(), plan);
    using Half = PassWriter::Half;
    BlockProgram result;
    result.forward = writer.write(form.pricer().price_ops(block, plan, floor, Pass::forward), Half::whole, false);
    PricedPass const backward =
        form.pricer().price_ops(block, plan, floor, Pass::backward, Recompute::none, form.added_share(plan));
    result.backward = writer.write(backward, Half::whole, false);
    result.backward_input = writer.write(backward, Half::input, false);
    result.backward_weight = writer.write(backward, Half::weight, false);
    KeptFormats const formats = kept_formats(form.framework().memory);
    for (Recompute const policy : {Recompute::none, Recompute::selective, Recompute::full}) {
        auto const i = static_cast<std::size_t>(policy);
        result.kept[i] = block.kept(policy, formats);
        result.offloaded[i] = block.offloaded(policy, formats, plan.offloaded_activations);
        result.waiting[i] = block.waiting(policy, formats);
    }
    for (Recompute const policy : {Recompute::selective, Recompute::full})
        result.rerun[static_cast<std::size_t>(policy)] =
            writer.write(form.pricer().price_ops(block, plan, floor, Pass::forward, policy), Half::whole, true);
    return result;
}

}  // namespace

std::string_view name_of(Granularity granularity) { return name_in<Granularity>(granularities, granularity); }

Granularity granularity_from(std::string_view name, std::string_view where) {
    return value_in<Granularity>(granularities, name, where, "granularity");
}

double Program::duration() const {
    double total = 0;
    for (ProgramItem const& item : items)
        total += item.duration;
    return total;
}

double Program::compute() const {
    double total = 0;
    for (ProgramItem const& item : items)
        if (item.is_compute()) total += item.duration;
    return total;
}

std::uint16_t StepProgram::name(std::string_view text) {
    auto const found = std::find(names.begin(), names.end(), text);
    if (found != names.end()) return static_cast<std::uint16_t>(found - names.begin());
    names.emplace_back(text);
    return static_cast<std::uint16_t>(names.size() - 1);
}

std::int16_t StepProgram::group(ProgramGroup const& wanted) {
    auto const found = std::find(groups.begin(), groups.end(), wanted);
    if (found != groups.end()) return static_cast<std::int16_t>(found - groups.begin());
    groups.push_back(wanted);
    return static_cast<std::int16_t>(groups.size() - 1);
}

Bytes StepProgram::kept(std::size_t chunk, std::array<Bytes, 3> BlockProgram::*which) const {
    Bytes sum;
    for (ProgramUnit const& unit : chunks[chunk])
        sum += (blocks[unit.block].*which)[static_cast<std::size_t>(unit.recompute)];
    return sum;
}

Program const& program_of(BlockProgram const& block, TaskPass pass) {
    switch (pass) {
        case TaskPass::backward: return block.backward;
        case TaskPass::backward_input: return block.backward_input;
        case TaskPass::backward_weight: return block.backward_weight;
        default: return block.forward;
    }
}

StepProgram build_step_program(ClosedForm& form, ParallelPlan const& plan) {
    if (form.workload().has_reference())
        throw InputError(
            "--preference: the passes of a reference are not simulated (estimate has them; reference-free leaves them "
            "out, and --schedule forward-only is such a pass alone)");
    ModelSpec const& model = form.model();
    BlockSet const blocks = build_blocks(model, plan, form.workload().shape());
    StageLayout const layout = lay_out_stages(model, plan);
    StepProgram program;
    for (std::size_t k = 0; k < blocks.layers.size(); ++k)
        program.blocks.push_back(write_block(program, blocks.layers[k], form, plan, host_floor(blocks.kinds[k])));
    std::size_t const embedding = program.blocks.size();
    program.blocks.push_back(write_block(program, blocks.embedding, form, plan, HostFloor::none));
    program.blocks.push_back(write_block(program, blocks.head, form, plan, HostFloor::none));
    program.blocks.push_back(write_block(program, blocks.mtp, form, plan, host_floor(blocks.mtp_layers)));

    std::size_t layer = 0;
    std::vector<std::int64_t> const recomputed = recomputed_layers(plan, layout);
    for (std::size_t chunk = 0; chunk < layout.chunk_layers.size(); ++chunk) {
        std::vector<ProgramUnit> units;
        if (chunk == 0) units.push_back({.block = embedding, .kind = ProgramUnit::Kind::end});
        std::int64_t const count = layout.chunk_layers[chunk];
        std::int64_t const rank =
            rank_of_chunk(traits_of(plan.schedule).placement, plan.pp, static_cast<std::int64_t>(chunk));
        for (std::int64_t i = 0; i < count; ++i, ++layer) {
            auto const kind = static_cast<std::size_t>(
                std::find(blocks.kinds.begin(), blocks.kinds.end(), model.layers[layer]) - blocks.kinds.begin());
            units.push_back({.block = kind,
                             .recompute = i < recomputed[chunk] ? plan.recompute : Recompute::none,
                             .kind = blocks.kinds[kind].moe ? ProgramUnit::Kind::moe_layer : ProgramUnit::Kind::layer});
        }
        if (chunk + 1 == layout.chunk_layers.size()) {
            units.push_back({.block = embedding + 1, .kind = ProgramUnit::Kind::end});
            if (model.mtp_modules > 0)
                units.push_back(
                    {.block = embedding + 2, .recompute = recompute_of_mtp(plan), .kind = ProgramUnit::Kind::end});
        }
        // A rank without layers still has parameters to gather and reduce: with its first end.
        if (layout.stages[static_cast<std::size_t>(rank)].layers == 0 && !units.empty())
            units.front().kind = ProgramUnit::Kind::layer;
        program.chunks.push_back(std::move(units));
    }
    return program;
}

Program joined(std::vector<Program const*> const& parts) {
    Program result;
    for (Program const* part : parts) {
        result.waiting += part->waiting;
        result.launched += part->launched;
        std::size_t const offset = result.items.size();
        result.items.insert(result.items.end(), part->items.begin(), part->items.end());
        for (ProgramOverlap overlap : part->overlaps) {
            overlap.start += offset;
            overlap.join += offset;
            result.overlaps.push_back(overlap);
        }
    }
    return result;
}

Program coalesced(Program const& program, StepProgram& names) {
    Program result{.items = {}, .overlaps = {}, .waiting = program.waiting, .launched = program.launched};
    auto const merge = [](std::vector<ProgramItem>& into, ProgramItem const& item) {
        for (ProgramItem& existing : into)
            if (existing.part == item.part) {
                double const squares = existing.concentration * existing.duration * existing.duration +
                                       item.concentration * item.duration * item.duration;
                existing.duration += item.duration;
                if (existing.duration > 0) existing.concentration = squares / (existing.duration * existing.duration);
                existing.latency += item.latency;
                return;
            }
        into.push_back(item);
    };
    std::vector<ProgramItem> communication;
    std::vector<ProgramItem> beside;
    for (ProgramItem item : program.items) {
        if (item.is_compute()) {
            bool const again = item.part == TaskPart::recompute;
            item.part = again ? TaskPart::recompute : TaskPart::compute;
            item.name = names.name(again ? "recompute" : "compute");
            merge(result.items, item);
        } else {
            merge(communication, item);
        }
    }
    for (ProgramOverlap const& overlap : program.overlaps)
        merge(beside, overlap.item);
    result.items.insert(result.items.end(), communication.begin(), communication.end());
    std::vector<Hidden> hidden;
    for (ProgramItem const& item : beside)
        hidden.push_back({.item = item, .start = 0});
    lay_out(result, hidden);
    return result;
}

namespace {

double time_in(Program const& program, TaskPart part) {
    double total = 0;
    for (ProgramItem const& item : program.items)
        if (item.part == part) total += item.duration;
    return total;
}

}  // namespace

Pair paired(Program const& forward, Program const& backward, double transfers) {
    auto const half = [&](Program const& program) {
        return PairedPass{.alone = (program.duration() + transfers / 2) * units::s,
                          .communication = (time_in(program, TaskPart::ep) + transfers / 2) * units::s,
                          .waiting = program.waiting * units::s,
                          .launched = program.launched * units::s};
    };
    PairedPass const one = half(forward), other = half(backward);
    PairTime const time = pair_time(one, other);
    Seconds const communication = one.communication + other.communication;
    Pair pair{.program = {}, .shown = communication > time.hidden ? (communication - time.hidden) / communication : 0};
    double const shown = pair.shown;
    // Items that are one per operation have waiting apart; merged ones have it in them.
    double const host = time_in(forward, TaskPart::host) + time_in(backward, TaskPart::host);
    bool const apart = host > 0;
    double const compute = apart ? host : forward.compute() + backward.compute();
    double const kept = time.spared > Seconds{} ? 1 - time.spared.base() / compute : 1;
    Program& result = pair.program;
    std::vector<Hidden> hidden;
    auto const with_side = [](ProgramItem item, bool of_forward) {
        item.side = of_forward ? ProgramItem::Side::forward : ProgramItem::Side::backward;
        return item;
    };
    for (Program const* part : {&forward, &backward})
        for (ProgramOverlap const& overlap : part->overlaps)
            hidden.push_back({.item = with_side(overlap.item, part == &forward), .start = 0});
    // By turns, so that each exchange has the other pass's compute after it.
    std::size_t f = 0, b = 0;
    while (f < forward.items.size() || b < backward.items.size()) {
        bool const take_forward = b == backward.items.size() ||
                                  (f < forward.items.size() && f * backward.items.size() <= b * forward.items.size());
        ProgramItem item = with_side(take_forward ? forward.items[f++] : backward.items[b++], take_forward);
        if (apart ? item.part == TaskPart::host : item.is_compute()) item.duration *= kept;
        if (item.part == TaskPart::ep) {
            ProgramItem beside = item;
            beside.duration *= 1 - shown;
            beside.latency *= 1 - shown;
            hidden.push_back({.item = beside, .start = result.items.empty() ? 0 : result.items.size() - 1});
            item.duration *= shown;
            item.latency *= shown;
            if (item.duration <= 0) continue;
        }
        result.items.push_back(item);
    }
    std::stable_sort(hidden.begin(), hidden.end(), [](Hidden const& x, Hidden const& y) { return x.start < y.start; });
    lay_out(result, hidden);
    return pair;
}

}  // namespace sextant
