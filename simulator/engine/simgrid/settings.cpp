#include "simulator/engine/simgrid/settings.hpp"

#include <simgrid/s4u.hpp>

#include <array>
#include <csignal>
#include <vector>

namespace sextant {
namespace {

/// What SimGrid is told before it makes its models. docs/simulation.md says why.
constexpr std::array settings{
    "--cfg=network/model:CM02",
    "--cfg=network/TCP-gamma:0",
    "--cfg=network/crosstraffic:0",
    "--cfg=network/weight-S:0",
    "--cfg=network/bandwidth-factor:1",
    "--cfg=network/latency-factor:1",
    "--cfg=network/optim:Lazy",
    "--cfg=cpu/optim:Lazy",
    "--cfg=surf/precision:1e-15",
    "--cfg=maxmin/precision:1e-12",
    "--cfg=debug/verbose-exit:0",
    "--log=root.thresh:critical",
    "--log=no_loc",
};

}  // namespace

void start_simgrid(std::span<char const* const> more) {
    std::vector<char*> arguments{const_cast<char*>("sextant")};
    for (char const* setting : settings)
        arguments.push_back(const_cast<char*>(setting));
    for (char const* setting : more)
        arguments.push_back(const_cast<char*>(setting));
    auto count = static_cast<int>(arguments.size());
    arguments.push_back(nullptr);
    // Never destroyed: the process ends without it, in less time.
    static_cast<void>(new simgrid::s4u::Engine(&count, arguments.data()));
    for (int const signal : {SIGSEGV, SIGBUS, SIGFPE})
        std::signal(signal, SIG_DFL);  // SimGrid's handlers would hide what the worker died of
}

}  // namespace sextant
