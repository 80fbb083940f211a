#pragma once

#include "simulator/serving/serving_outcome.hpp"

#include <vector>

namespace sextant {

/// Samples at even times of a run whose length is not known: when there are too many every second one is dropped.
class SampleSeries {
public:
    [[nodiscard]] bool wants(Seconds now) const { return now >= next_; }
    void add(ServingSample const& sample) {
        samples_.push_back(sample);
        if (samples_.size() == most) {
            for (std::size_t i = 0; i < most / 2; ++i)
                samples_[i] = samples_[2 * i];
            samples_.resize(most / 2);
            every_ *= 2;
        }
        next_ = sample.at + every_;
    }
    [[nodiscard]] std::vector<ServingSample> const& samples() const { return samples_; }

private:
    static constexpr std::size_t most = 512;
    std::vector<ServingSample> samples_;
    Seconds next_{};
    Seconds every_ = 1 * units::ms;
};

}  // namespace sextant
