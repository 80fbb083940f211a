#pragma once

#include "simulator/serving/length_distribution.hpp"
#include "simulator/serving/serving_request.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

enum class ArrivalProcess : std::uint8_t {
    poisson,
    gamma,          ///< bursts: intervals between arrivals are gamma distributed with some coefficient of variation
    deterministic,  ///< even intervals
    closed          ///< a constant number of requests in the system: the next arrives when one is done
};
std::string_view name_of(ArrivalProcess process);
/// @throws InputError with the known names and the nearest one.
ArrivalProcess arrival_process_from(std::string_view name, std::string_view where);

/// A workload that is drawn.
struct SyntheticWorkload {
    ArrivalProcess process = ArrivalProcess::poisson;
    double rate = 1;       ///< requests per second, of open processes
    double variation = 1;  ///< standard deviation of an interval over its mean, of gamma
    LengthDistribution prompt{};
    LengthDistribution output{};
    std::int64_t prefixes = 0;            ///< different prefixes, each as likely; 0: none
    std::int32_t prefix_tokens = 0;       ///< added in front of every drawn prompt
    std::vector<double> tenant_shares{};  ///< of the requests, above zero; empty: one tenant
    std::int64_t adapters = 0;            ///< different low-rank adapters, each as likely; 0: none
    std::int64_t requests = 10000;
    std::uint64_t seed = 1;
    std::int32_t longest = 1 << 20;  ///< prompt and output together; longer draws are cut (prompt first)
};

/// Gives one request after another, in order of arrival.
class RequestSource {
public:
    RequestSource() = default;
    RequestSource(RequestSource const&) = delete;
    RequestSource& operator=(RequestSource const&) = delete;
    virtual ~RequestSource() = default;
    virtual std::optional<ServingRequest> next() = 0;
    [[nodiscard]] virtual std::int64_t count() const = 0;
    /// Requests so far that were longer than allowed, and cut.
    [[nodiscard]] virtual std::int64_t cut() const { return 0; }
};

/// Arrivals, prompts, outputs and prefixes have random streams of their own: with another rate the same requests come
/// at other times.
class SyntheticSource : public RequestSource {
public:
    /// @throws InputError: rates, counts and variations out of range, a least length beyond `longest`.
    explicit SyntheticSource(SyntheticWorkload const& workload);
    std::optional<ServingRequest> next() override;
    [[nodiscard]] std::int64_t count() const override { return workload_.requests; }
    [[nodiscard]] std::int64_t cut() const override { return cut_; }

private:
    [[nodiscard]] Seconds interval();

    SyntheticWorkload workload_;
    RandomStream arrivals_, prompts_, outputs_, prefixes_, adapters_, tenants_;
    Seconds now_{};
    std::int64_t given_ = 0;
    std::int64_t cut_ = 0;
};

/// Requests that are known.
class ListedSource : public RequestSource {
public:
    explicit ListedSource(std::vector<ServingRequest> requests) : requests_(std::move(requests)) {}
    std::optional<ServingRequest> next() override {
        if (at_ == requests_.size()) return std::nullopt;
        return requests_[at_++];
    }
    [[nodiscard]] std::int64_t count() const override { return static_cast<std::int64_t>(requests_.size()); }

private:
    std::vector<ServingRequest> requests_;
    std::size_t at_ = 0;
};

}  // namespace sextant
