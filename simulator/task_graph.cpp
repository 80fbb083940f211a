#include "simulator/task_graph.hpp"

#include <algorithm>

namespace sextant {

std::string_view name_of(Stream stream) {
    switch (stream) {
        case Stream::compute: return "compute";
        case Stream::layer_communication: return "layer communication";
        case Stream::overlapped: return "overlapped communication";
        case Stream::data_parallel: return "data parallel";
        case Stream::pipeline: return "pipeline";
        case Stream::to_host: return "to host";
        case Stream::from_host: return "from host";
    }
    return "?";
}

std::string_view name_of(TaskPart part) {
    switch (part) {
        case TaskPart::gemm: return "gemm";
        case TaskPart::attention: return "attention";
        case TaskPart::memory_bound: return "memory_bound";
        case TaskPart::host: return "host";
        case TaskPart::recompute: return "recompute";
        case TaskPart::tp: return "tp";
        case TaskPart::cp: return "cp";
        case TaskPart::ep: return "ep";
        case TaskPart::pp: return "pp";
        case TaskPart::dp: return "dp";
        case TaskPart::optimizer: return "optimizer";
        case TaskPart::offload: return "offload";
        case TaskPart::fixed: return "fixed";
        case TaskPart::compute: return "compute";
    }
    return "?";
}

std::string_view name_of(TaskPass pass) {
    switch (pass) {
        case TaskPass::forward: return "forward";
        case TaskPass::backward: return "backward";
        case TaskPass::backward_input: return "backward_input";
        case TaskPass::backward_weight: return "backward_weight";
        case TaskPass::step: return "step";
    }
    return "?";
}

Seconds TaskTimes::makespan() const {
    double last = 0;
    for (double const time : end)
        last = std::max(last, time);
    return Seconds::from_base(last);
}

TaskTimes walk_graph(TaskGraph const& graph) {
    std::size_t const count = graph.tasks.size();
    TaskTimes times;
    times.start.resize(count);
    times.end.resize(count);
    double* const end = times.end.data();
    for (std::size_t task = 0; task < count; ++task) {
        double start = 0;
        for (std::uint32_t const needed : graph.dependencies_of(task))
            start = std::max(start, end[needed]);
        times.start[task] = start;
        end[task] = start + graph.tasks[task].duration;
    }
    return times;
}

}  // namespace sextant
