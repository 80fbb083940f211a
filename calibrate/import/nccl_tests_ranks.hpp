#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// The list of ranks at the head of what nccl-tests prints, a line each:
///
///   #  Rank  3 Group  0 Pid  123 on  node7 device  3 [0x9d] NVIDIA H100 80GB HBM3
///
/// A device that one name lists again is of another host of that name ("localhost", containers).
/// Groups (NCCL_TESTS_SPLIT) run at once, each its own collective; printed is the mean time of all.
/// Source: nccl-tests src/util.cu, writeDeviceReport; src/common.cu, Allreduce.
class NcclTestsRanks {
public:
    /// Whether these are the words of a line of such a list.
    static bool is_rank(std::vector<std::string_view> const& words);
    /// @pre is_rank(words), which are those of the line.
    void add(std::string_view line, std::vector<std::string_view> const& words);

    [[nodiscard]] bool empty() const { return listed_.empty(); }
    [[nodiscard]] std::int64_t ranks() const { return shape_of(listed_.front().group).ranks; }  ///< of one group
    [[nodiscard]] std::int64_t hosts() const { return shape_of(listed_.front().group).hosts; }  ///< of one group
    [[nodiscard]] bool fills_hosts_evenly() const;                       ///< each has as many ranks of one group
    [[nodiscard]] std::string const& device() const { return device_; }  ///< of the first rank, as the driver names it

    /// Why the times are of no one collective, or of none that is known; empty: they are of one.
    [[nodiscard]] std::string problem() const;

private:
    struct Listed {
        std::int64_t rank = 0;
        std::int64_t group = 0;
        std::string host;
        std::string device;       ///< number and PCI bus; empty where the line does not say them
        bool has_domain = false;  ///< the bus is one of a PCI domain ("0000:9d:00"), which no two of a host share
    };
    struct Shape {
        std::int64_t ranks = 0;
        std::int64_t hosts = 0;
        std::int64_t most = 0;  ///< ranks on one host
        bool operator==(Shape const&) const = default;
    };
    [[nodiscard]] Shape shape_of(std::int64_t group) const;

    std::vector<Listed> listed_;
    std::string device_;
    std::set<std::string> known_;  ///< accelerators of the catalogue that the names are of
};

}  // namespace sextant
