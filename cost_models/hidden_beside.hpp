#pragma once

#include "cost_models/block_price.hpp"

#include <algorithm>
#include <array>

namespace sextant {

/// What counts as hidden in a pass, by whose overlap it is: ring steps run beside attention, communication of
/// tensor-parallel groups and of experts beside all kernels of the pass. There has to be that much to run beside: of
/// communication t beside compute c the share `overlap` of min(t, c) is hidden.
class HiddenBeside {
public:
    void add(PricedOp const& op) {
        if (op.op_class == OpClass::attention) attention_ += op.compute;
        compute_ += op.compute;
        if (op.op_class == OpClass::communication) hidden_[index_of(op.collective.group)] += op.hidden;
    }
    /// What is left of a kind of group's hidden time when nothing is there any more to run beside.
    [[nodiscard]] Seconds beyond(GroupKind kind, FrameworkTiming const& f) const {
        std::array const most{f.cp_overlap.value * attention_, f.tp_overlap.value * compute_,
                              f.ep_overlap.value * compute_};
        std::size_t const i = index_of(kind);
        return std::max(Seconds{}, hidden_[i] - most[i]);
    }
    /// Of an op's hidden time the share that is not hidden then.
    [[nodiscard]] double shown(Collective const& c, FrameworkTiming const& f) const {
        Seconds const hidden = hidden_[index_of(c.group)];
        return hidden > Seconds{} ? beyond(c.group, f) / hidden : 0.0;
    }

private:
    static std::size_t index_of(GroupKind kind) {
        switch (kind) {
            case GroupKind::tensor: return 1;
            case GroupKind::expert:
            case GroupKind::expert_tensor: return 2;
            default: return 0;
        }
    }
    Seconds attention_;
    Seconds compute_;
    std::array<Seconds, 3> hidden_{};
};

}  // namespace sextant
