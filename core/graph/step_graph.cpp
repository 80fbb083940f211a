#include "core/graph/step_graph.hpp"

#include "core/graph/plan_check.hpp"
#include "core/graph/recomputed_layers.hpp"
#include "core/spec/schedule_traits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace sextant {
namespace {

/// FNV-1a, 64 bit: stable across platforms, not a security device.
class Hash {
public:
    void add(std::string_view text) {
        for (char const c : text)
            mix(static_cast<unsigned char>(c));
        mix(0xff);
    }
    void add(std::int64_t value) {
        for (int i = 0; i < 8; ++i)
            mix(static_cast<unsigned char>(static_cast<std::uint64_t>(value) >> (8 * i)));
    }
    void add(double value) { add(std::bit_cast<std::int64_t>(value)); }
    [[nodiscard]] std::string hex() const { return fmt::format("{:016x}", state_); }

private:
    void mix(unsigned char byte) {
        state_ ^= byte;
        state_ *= 0x100000001b3ULL;
    }
    std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

void add_block(Hash& hash, Block const& block) {
    hash.add(block.name);
    hash.add(block.input.base());
    for (Op const& op : block.ops) {
        hash.add(op.name);
        hash.add(static_cast<std::int64_t>(op.passes));
        for (Pass const pass : {Pass::forward, Pass::backward}) {
            Work const work = work_of(op, pass);
            hash.add(work.executed.base());
            hash.add(work.moved.base());
            hash.add(work.sent.base());
        }
    }
    for (SavedTensor const& tensor : block.saved) {
        if (tensor.copy != KeptCopy::none) continue;  // not work, but a framework's way with it
        hash.add(tensor.name);
        hash.add(tensor.bytes.base());
    }
    hash.add(block.parameters.dense);
    hash.add(block.parameters.expert);
    if (block.frozen.total() > 0) {
        hash.add(block.frozen.plain.total());
        hash.add(block.frozen.packed.total());
    }
}

/// What a block of a stage is, of which recompute runs parts again.
enum class Part : std::uint8_t { layer, end, mtp };

template <class F>
Work sum_over(StageContent const& content, StepGraph const& graph, F&& work_of_block) {
    auto const copies = static_cast<double>(graph.layout.copies);
    Work total;
    auto const add = [&](Block const& block, double count, Part part) {
        double const times = count / copies;
        Work w = work_of_block(block, part);
        w.executed *= times;
        w.model *= times;
        w.moved *= times;
        w.sent *= times;
        total += w;
    };
    for (std::size_t k = 0; k < graph.blocks.layers.size(); ++k)
        add(graph.blocks.layers[k], static_cast<double>(content.layers_of_kind[k]), Part::layer);
    if (content.embedding) add(graph.blocks.embedding, 1, Part::end);
    if (content.head) {
        add(graph.blocks.head, 1, Part::end);
        add(graph.blocks.mtp, 1, Part::mtp);
    }
    return total;
}

bool holds_chunk(StepGraph const& graph, std::size_t stage, std::size_t chunk) {
    std::int64_t const rank =
        rank_of_chunk(traits_of(graph.plan.schedule).placement, graph.plan.pp, static_cast<std::int64_t>(chunk));
    auto const here = static_cast<std::int64_t>(stage);
    return rank == here || (graph.layout.copies > 1 && graph.plan.pp - 1 - rank == here);
}

/// Weights of one sort that a rank of the stage holds, without a copy of the embedding.
template <class Weights>
Weights sum_of_weights(StepGraph const& graph, std::size_t stage, Weights Block::*sort) {
    StageContent const& content = graph.layout.stages[stage];
    Weights total;
    for (std::size_t k = 0; k < graph.blocks.layers.size(); ++k)
        total += static_cast<double>(content.layers_of_kind[k]) * (graph.blocks.layers[k].*sort);
    if (content.embedding) total += graph.blocks.embedding.*sort;
    if (content.head) {
        total += graph.blocks.head.*sort;
        total += graph.blocks.mtp.*sort;
    }
    return total;
}

bool holds_embedding_copy(StepGraph const& graph, std::size_t stage) {
    StageContent const& content = graph.layout.stages[stage];
    return content.head && !content.embedding;
}

}  // namespace

StepGraph build_step_graph(ModelSpec const& model, ParallelPlan const& plan, Workload const& workload) {
    require_valid(model, plan, workload);
    StepGraph graph;
    graph.plan = plan;
    graph.workload = workload;
    graph.layout = lay_out_stages(model, plan);
    graph.microbatches = microbatches(plan, workload);
    graph.blocks = build_blocks(model, plan, workload.shape());
    return graph;
}

std::string digest(StepGraph const& graph) {
    Hash hash;
    for (Block const& block : graph.blocks.layers)
        add_block(hash, block);
    add_block(hash, graph.blocks.embedding);
    add_block(hash, graph.blocks.head);
    add_block(hash, graph.blocks.mtp);
    for (StageContent const& stage : graph.layout.stages) {
        for (std::int64_t const n : stage.layers_of_kind)
            hash.add(n);
        hash.add(static_cast<std::int64_t>(stage.embedding) + 2 * static_cast<std::int64_t>(stage.head));
    }
    ParallelPlan const& p = graph.plan;
    for (std::int64_t const v :
         {p.dp, p.tp, p.pp, p.cp, p.ep, p.expert_tp, p.vpp, p.micro_batch, p.shard_group, p.recompute_layers,
          graph.microbatches, graph.workload.sequence, static_cast<std::int64_t>(p.zero),
          static_cast<std::int64_t>(p.schedule), static_cast<std::int64_t>(p.recompute),
          static_cast<std::int64_t>(p.offload), static_cast<std::int64_t>(p.optimizer)})
        hash.add(v);
    if (p.recompute == Recompute::selective && p.recompute_modules != attention_core)
        hash.add(p.recompute_modules.bits());
    if (keeps_activations(p)) hash.add(p.kept_activations.bits());
    if (offloads_some_activations(p)) hash.add(p.offloaded_activations.bits());
    if (offloads_some_layers(p)) hash.add(p.offload_layers);
    if (graph.workload.document > 0) hash.add(graph.workload.document);
    if (p.fp8_activation_input == Switch::on) hash.add(std::int64_t{1});
    if (p.gradients != GradientFormat::usual) hash.add(static_cast<std::int64_t>(p.gradients));
    if (p.adapters.on())
        for (std::int64_t const v :
             {p.adapters.rank, p.adapters.targets.bits(), static_cast<std::int64_t>(p.adapters.base)})
            hash.add(v);
    return hash.hex();
}

Work stage_work(StepGraph const& graph, std::size_t stage, Pass pass) {
    return sum_over(graph.layout.stages[stage], graph, [&](Block const& block, Part) { return block.work(pass); });
}

Work stage_rerun_work(StepGraph const& graph, std::size_t stage, Rerun last) {
    ParallelPlan const& plan = graph.plan;
    StageContent again = graph.layout.stages[stage];
    std::fill(again.layers_of_kind.begin(), again.layers_of_kind.end(), 0);
    std::vector<std::vector<std::int64_t>> const of_chunks = recomputed_kinds(plan, graph.layout);
    for (std::size_t chunk = 0; chunk < of_chunks.size(); ++chunk)
        for (std::size_t k = 0; k < again.layers_of_kind.size() && holds_chunk(graph, stage, chunk); ++k)
            again.layers_of_kind[k] += of_chunks[chunk][k];
    return sum_over(again, graph, [&](Block const& block, Part part) {
        if (part == Part::end) return Work{};
        return block.rerun_work(part == Part::mtp ? recompute_of_mtp(plan) : plan.recompute, last);
    });
}

LocalParameters stage_parameters(StepGraph const& graph, std::size_t stage) {
    LocalParameters total = sum_of_weights(graph, stage, &Block::parameters);
    if (holds_embedding_copy(graph, stage) && !graph.plan.adapters.on()) total += graph.blocks.embedding_copy;
    return total;
}

FrozenWeights stage_frozen_weights(StepGraph const& graph, std::size_t stage) {
    FrozenWeights total = sum_of_weights(graph, stage, &Block::frozen);
    if (holds_embedding_copy(graph, stage) && graph.plan.adapters.on()) total.plain += graph.blocks.embedding_copy;
    return total;
}

double recomputed_share(ParallelPlan const& plan, std::int64_t stage_layers) {
    if (plan.recompute == Recompute::none) return 0;
    if (plan.recompute != Recompute::full || plan.recompute_layers == 0 || stage_layers == 0) return 1;
    return static_cast<double>(std::min(plan.recompute_layers, stage_layers)) / static_cast<double>(stage_layers);
}

}  // namespace sextant
