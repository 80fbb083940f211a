#include "cost_models/attention_peak.hpp"

#include <algorithm>

namespace sextant {

FlopsPerSecond attention_peak(AcceleratorProfile const& accelerator, ParallelPlan const& plan) {
    FlopsPerSecond const peak = accelerator.peak_of(plan.precision).value;
    bool const in_tf32 = plan.precision == Precision::fp32 && plan.attention == AttentionKernel::flash &&
                         accelerator.peak.contains(Precision::tf32);
    return in_tf32 ? std::max(peak, accelerator.peak_of(Precision::tf32).value / tf32_products_of_fp32) : peak;
}

}  // namespace sextant
