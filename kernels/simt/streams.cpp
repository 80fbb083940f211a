// Streams, events and graphs of the emulated machine. Source: CUDA Runtime API reference (stream management, event
// management, stream capture).
#include "kernels/simt/machine.hpp"

namespace sextant::bench::simt {

CUstream_st& default_stream(int device) {
    auto& all = machine().default_streams;
    while (static_cast<int>(all.size()) <= device) {
        all.push_back(std::make_unique<CUstream_st>());
        all.back()->device = static_cast<int>(all.size()) - 1;
    }
    return *all[static_cast<std::size_t>(device)];
}

CUstream_st& stream_of(cudaStream_t stream) { return stream == nullptr ? default_stream(machine().current) : *stream; }

bool capturing() {
    for (CUstream_st const* stream : machine().streams)
        if (stream->captured != nullptr) return true;
    return false;
}

namespace {

void run_first(CUstream_st& stream) {
    if (auto const together = stream.queue.front().together) {
        double latest = 0;
        for (CUstream_st* const other : *together) {
            while (other->queue.front().together != together)
                run_first(*other);
            latest = std::max({latest, other->now, other->queue.front().enqueued});
        }
        Operation const operation = stream.queue.front();
        for (CUstream_st* const other : *together) {
            other->queue.pop_front();
            other->now = latest + operation.seconds;
        }
        if (machine().compute) operation.run();
        return;
    }
    Operation const operation = std::move(stream.queue.front());
    stream.queue.pop_front();
    stream.now = std::max(stream.now, operation.enqueued) + operation.seconds;
    if (machine().compute || operation.seconds == 0) operation.run();
}

}  // namespace

void finish(CUstream_st& stream) {
    while (!stream.queue.empty())
        run_first(stream);
    stream.running = false;
    host_waited(stream);
}

void host_waited(CUstream_st const& stream) { machine().host_now = std::max(machine().host_now, stream.now); }

void finish_device(int device) {
    finish(default_stream(device));
    for (CUstream_st* const stream : machine().streams)
        if (stream->device == device) finish(*stream);
}

cudaError_t add(CUstream_st& stream, Operation operation) {
    machine().host_now += machine().host_seconds;
    operation.enqueued = machine().host_now;
    if (stream.captured != nullptr)
        stream.captured->operations.push_back(std::move(operation));
    else
        stream.queue.push_back(std::move(operation));
    return cudaSuccess;
}

}  // namespace sextant::bench::simt

using namespace sextant::bench::simt;

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
    if (machine().refuses_streams) return returned(cudaErrorDevicesUnavailable);
    *stream =
        new CUstream_st{.device = machine().current, .queue = {}, .now = 0, .captured = nullptr, .running = false};
    machine().streams.insert(*stream);
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    finish(*stream);
    machine().streams.erase(stream);
    delete stream;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    if (stream_of(stream).captured != nullptr) return returned(cudaErrorStreamCaptureUnsupported);
    finish(stream_of(stream));
    return done();
}
cudaError_t cudaStreamQuery(cudaStream_t where) {
    CUstream_st& stream = stream_of(where);
    stream.running = !stream.queue.empty();
    if (!stream.running) return cudaSuccess;
    run_first(stream);  // time passes
    return returned(cudaErrorNotReady);
}
cudaError_t cudaDeviceSynchronize() {
    if (capturing()) return returned(cudaErrorStreamCaptureUnsupported);
    finish_device(machine().current);
    return done();
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
    *event = new CUevent_st;
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    while (event->pending > 0)
        run_first(*event->stream);
    delete event;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t where) {
    CUstream_st& stream = stream_of(where);
    event->stream = &stream;
    ++event->pending;
    return add(stream, {[event, &stream] {
                            --event->pending;
                            event->at = stream.now;
                        },
                        0, nullptr});
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    while (event->pending > 0)
        run_first(*event->stream);
    if (event->stream != nullptr) host_waited(*event->stream);
    return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    if (event->pending == 0) return cudaSuccess;
    run_first(*event->stream);
    return returned(cudaErrorNotReady);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop) {
    if (start->stream == nullptr || stop->stream == nullptr) return returned(cudaErrorInvalidResourceHandle);
    if (start->pending > 0 || stop->pending > 0) return returned(cudaErrorNotReady);
    *milliseconds = static_cast<float>(1e3 * (stop->at - start->at));
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
    if (stream == nullptr || stream->captured != nullptr) return returned(cudaErrorStreamCaptureUnsupported);
    stream->captured = new CUgraph_st;
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    if (stream->captured == nullptr) return returned(cudaErrorInvalidValue);
    *graph = std::exchange(stream->captured, nullptr);
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
    *executable = new CUgraphExec_st{graph->operations};
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    machine().host_now += machine().host_seconds;
    for (Operation operation : executable->operations) {
        operation.enqueued = machine().host_now;
        stream_of(stream).queue.push_back(std::move(operation));
    }
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    delete graph;
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    delete executable;
    return cudaSuccess;
}

}  // extern "C"
