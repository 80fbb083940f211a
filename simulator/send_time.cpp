#include "simulator/send_time.hpp"

#include "core/spec/working_format.hpp"

namespace sextant {

SendTime send_time(StageLoad const& load, ParallelPlan const& plan, FrameworkProfile const& framework, Pricer& pricer) {
    bool const whole = plan.sequence_parallel == Switch::off;
    bool const in_parts = framework.usual.sends == StageSends::parts && plan.tp > 1 && whole;
    Bytes const bytes =
        working_bytes(plan.precision) * (whole ? load.hidden_tokens : load.sharded_hidden_tokens) * units::B;
    Bytes const sent = in_parts ? bytes / static_cast<double>(plan.tp) : bytes;
    auto const curve = [&](CollectiveKind kind, GroupKind group) -> CollectiveCurve const& {
        return pricer.curve(kind, place(group, plan, pricer.cluster()));
    };
    CollectiveCurve const& link = curve(CollectiveKind::send_receive, GroupKind::pipeline);
    SendTime out{.time = link.time(sent), .latency = link.latency(sent)};
    if (in_parts) out.time += curve(CollectiveKind::all_gather, GroupKind::tensor).time(bytes);
    return out;
}

}  // namespace sextant
