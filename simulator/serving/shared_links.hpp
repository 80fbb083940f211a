#pragma once

#include "core/units.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace sextant {

/// Flows over links that share bandwidth max-min fairly, at every moment: all rates grow alike until a link is full or
/// a flow has its own rate; the others go on growing. Between a start and an end rates stand still.
/// Source: Bertsekas and Gallager, Data Networks, section 6.5.2.
class SharedLinks {
public:
    explicit SharedLinks(std::vector<BytesPerSecond> bandwidths);

    /// Begins a flow and returns its number, which is used again when it has ended. A link may be there several times:
    /// the flow then takes its rate as often (ranks that move in step). @pre now does not fall; bytes and rate
    /// positive.
    std::int32_t start(Seconds now, std::vector<std::int32_t> const& links, BytesPerSecond rate, Bytes bytes);
    /// Ends a flow before its time.
    void stop(Seconds now, std::int32_t flow);
    /// When the next flow ends, infinite without one.
    [[nodiscard]] Seconds next_end() const { return next_end_; }
    /// The flows that end at `next_end()`; they are gone then.
    [[nodiscard]] std::vector<std::int32_t> take_ended();

private:
    struct Flow {
        std::vector<std::int32_t> links;
        double own_rate = 0;  ///< bytes a second
        double left = 0;      ///< bytes
        double rate = 0;
        bool growing = false;
    };
    void move_on(Seconds now);
    void remove(std::int32_t flow);
    void share();
    void fill();

    std::vector<double> bandwidths_;
    std::vector<double> left_;        ///< of the links while rates grow
    std::vector<std::int32_t> uses_;  ///< of the links, by flows that grow
    std::vector<std::int32_t> used_;  ///< links that have flows
    std::vector<Flow> flows_;
    std::vector<std::int32_t> active_, free_;
    Seconds now_{};
    Seconds next_end_;
    double soonest_ = 0;  ///< seconds from `now_` to there
};

}  // namespace sextant
