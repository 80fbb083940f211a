#include "core/graph/block.hpp"

#include "core/graph/shapes.hpp"
#include "core/spec/framework_profile.hpp"

#include <algorithm>

namespace sextant {

LocalParameters& LocalParameters::operator+=(LocalParameters const& other) {
    dense += other.dense;
    expert += other.expert;
    embedding += other.embedding;
    dense_orthogonal += other.dense_orthogonal;
    expert_orthogonal += other.expert_orthogonal;
    largest_orthogonal = std::max(largest_orthogonal, other.largest_orthogonal);
    return *this;
}

LocalParameters operator*(double factor, LocalParameters const& p) {
    LocalParameters out = p;
    for (double* const sum : {&out.dense, &out.expert, &out.embedding, &out.dense_orthogonal, &out.expert_orthogonal})
        *sum *= factor;
    return out;
}

FrozenWeights& FrozenWeights::operator+=(FrozenWeights const& other) {
    plain += other.plain;
    packed += other.packed;
    largest_packed = std::max(largest_packed, other.largest_packed);
    return *this;
}

FrozenWeights operator*(double factor, FrozenWeights const& w) {
    return {factor * w.plain, factor * w.packed, w.largest_packed};
}

LayerForm layer_form(ParallelPlan const& plan) {
    if (plan.recompute == Recompute::selective && plan.recompute_modules.has(RecomputeModule::op))
        return LayerForm::by_op;
    if (keeps_activations(plan)) return LayerForm::keeping;
    return LayerForm::usual;
}

bool runs_again(Recompute policy, Rerun rerun) {
    switch (policy) {
        case Recompute::none: return false;
        case Recompute::selective: return rerun == Rerun::selective;
        case Recompute::full: return rerun != Rerun::never;
    }
    return false;
}

Work Block::work(Pass pass) const {
    Work total;
    for (Op const& op : ops)
        total += work_of(op, pass);
    return total;
}

Work Block::rerun_work(Recompute recompute, Rerun last) const {
    Work total;
    for (Op const& op : ops)
        if (runs_again(recompute, op.rerun) && op.rerun <= last) total += work_of(op, Pass::forward);
    return total;
}

Recompute recompute_of_mtp(ParallelPlan const& plan) {
    return plan.recompute_layers > 0 ? Recompute::none : plan.recompute;
}

KeptFormats kept_formats(FrameworkMemory const& framework) {
    return {.narrow_input = framework.narrow_input_bytes.value,
            .gate_copy = framework.gated_extra_bytes.value,
            .routed_copy = framework.routed_token_bytes.value,
            .norm_copy = framework.norm_copy_bytes.value,
            .repeated_copy = framework.repeated_key_value_bytes.value,
            .gathered_copy = framework.gathered_input_bytes.value,
            .worst_case = framework.worst_case_experts.value > 0,
            .planned = framework.stacks_layers.value > 0};
}

KeptFormats KeptFormats::of_layer_run_again() const {
    KeptFormats formats = *this;
    if (planned) formats.norm_copy = 0;
    return formats;
}

double KeptFormats::of(KeptCopy copy) const {
    switch (copy) {
        case KeptCopy::none: break;
        case KeptCopy::gate: return gate_copy;
        case KeptCopy::routed: return routed_copy;
        case KeptCopy::norm: return norm_copy;
        case KeptCopy::repeated: return repeated_copy;
        case KeptCopy::gathered: return gathered_copy;
        case KeptCopy::unweighted: return routed_copy > 0 ? 0 : 2;
    }
    return 1;
}

double SavedTensor::narrow_bytes(KeptFormats const& formats) const { return narrow_width * formats.narrow_input; }

Bytes SavedTensor::kept(KeptFormats const& formats) const {
    Bytes const all = (formats.worst_case ? worst_case : 1) * bytes;
    if (copy != KeptCopy::none) return formats.of(copy) * all;
    if (narrow == NarrowInput::no || formats.narrow_input >= 2) return all;
    return ((narrow == NarrowInput::beside ? 1 : 0) + narrow_bytes(formats) / 2) * all;
}

Bytes Block::kept(Recompute recompute, KeptFormats const& formats, ActivationGroups groups) const {
    Bytes total = groups.has(ActivationGroup::layer_input) ? input : Bytes{};
    for (SavedTensor const& tensor : saved)
        if (groups.has(tensor.group) && !runs_again(recompute, tensor.dropped_by)) total += tensor.kept(formats);
    return total;
}

Bytes Block::waiting(Recompute recompute, KeptFormats const& formats) const {
    Bytes total;
    for (SavedTensor const& tensor : saved)
        if (runs_again(recompute, tensor.dropped_by) && tensor.scores == Switch::off) total += tensor.kept(formats);
    return total;
}

BlockSet build_blocks(ModelSpec const& model, ParallelPlan const& plan, SequenceShape const& sequence) {
    BlockSet set;
    set.kinds = distinct_kinds(model);
    for (LayerKind const kind : set.kinds)
        set.layers.push_back(build_layer(model, kind, plan, sequence));
    set.embedding = build_embedding(model, plan, sequence);
    set.head = build_head(model, plan, sequence);
    set.mtp = build_mtp(model, plan, sequence);
    if (model.mtp_modules > 0) set.mtp_layers.assign(static_cast<std::size_t>(model.mtp_modules), model.layers.back());
    double const share = offloaded_share(plan, model.layer_count());
    for (Block& layer : set.layers)
        layer.offloaded_share = share;
    for (Block* const end : {&set.embedding, &set.head, &set.mtp})
        end->offloaded_share = share;
    if (model.tied_embeddings || model.mtp_modules > 0)
        set.embedding_copy = local_parameters({{.name = "embedding copy",
                                                .rows = model.vocab,
                                                .columns = table_width(model),
                                                .sharding = Sharding::vocabulary}},
                                              plan);
    return set;
}

std::int64_t padded_vocabulary(std::int64_t vocab, ParallelPlan const& plan) {
    std::int64_t const multiple = plan.vocab_multiple * plan.tp;
    return (vocab + multiple - 1) / multiple * multiple;
}

}  // namespace sextant
