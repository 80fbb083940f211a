#include "simulator/serving/latency_record.hpp"

namespace sextant {

void LatencyRecord::add(FinishedRequest const& request) {
    e2e_sum_ += request.e2e();
    asked_ += request.request.output;
    if (request.number < first_measured_) return;
    ttft_.push_back(request.ttft().base());
    e2e_.push_back(request.e2e().base());
    queue_.push_back((request.scheduled - request.request.arrival).base());
    if (request.request.output > 1) tpot_.push_back(request.tpot().base());
    if (objective_.met_by(request)) ++good_;
    if (!tenants_.empty()) add_to(tenants_.at(static_cast<std::size_t>(request.request.tenant)), request);
}

void LatencyRecord::add_to(Tenant& tenant, FinishedRequest const& request) const {
    ++tenant.sums.measured;
    if (objective_.met_by(request)) ++tenant.sums.good;
    tenant.sums.prompt_tokens += request.request.prompt;
    tenant.sums.output_tokens += request.request.output;
    tenant.ttft.push_back(request.ttft().base());
    tenant.e2e.push_back(request.e2e().base());
    if (request.request.output > 1) tenant.tpot.push_back(request.tpot().base());
}

void LatencyRecord::add(std::vector<TokenGap> const& gaps, Part part) {
    GapHistogram& histogram = part == Part::arriving ? itl_ : late_itl_;
    for (TokenGap const& gap : gaps)
        histogram.add(gap.gap, gap.count);
}

void LatencyRecord::conclude(ServingOutcome& out) {
    out.measured = static_cast<std::int64_t>(e2e_.size());
    out.good = good_;
    out.ttft = spread_of(ttft_);
    out.tpot = spread_of(tpot_);
    out.e2e = spread_of(e2e_);
    out.queue = spread_of(queue_);
    out.e2e_sum = e2e_sum_;
    out.asked_tokens = asked_;
    for (Tenant& tenant : tenants_) {
        out.tenants.push_back(tenant.sums);
        out.tenants.back().ttft = spread_of(tenant.ttft);
        out.tenants.back().tpot = spread_of(tenant.tpot);
        out.tenants.back().e2e = spread_of(tenant.e2e);
    }
}

void LatencyRecord::conclude_gaps(ServingOutcome& out) {
    if (out.window_to_end || itl_.count() == 0) itl_.add(late_itl_);
    out.itl = spread_of(itl_);
}

}  // namespace sextant
