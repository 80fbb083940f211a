#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sextant::bench {

/// @throws std::runtime_error with `what` and CUDA's message, after the runtime has forgotten the error.
void check(cudaError_t status, char const* what);

/// Makes a device current for as long as this lives; then it is again the one that was.
class CurrentDevice {
public:
    explicit CurrentDevice(int device) {
        check(cudaGetDevice(&before_), "asking for the device");
        cudaError_t const status = cudaSetDevice(device);
        if (status != cudaSuccess) cudaSetDevice(before_);  // a device that cannot be used may be current all the same
        check(status, "choosing a device");
    }
    ~CurrentDevice() { cudaSetDevice(before_); }
    CurrentDevice(CurrentDevice const&) = delete;
    CurrentDevice& operator=(CurrentDevice const&) = delete;

private:
    int before_ = 0;
};

/// An array on the current device.
template <class T>
class DeviceArray {
public:
    DeviceArray() = default;
    explicit DeviceArray(std::int64_t count) : count_(count) {
        check(cudaMalloc(&data_, static_cast<std::size_t>(count) * sizeof(T)), "allocating device memory");
    }
    DeviceArray(DeviceArray&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
    DeviceArray& operator=(DeviceArray&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(count_, other.count_);
        return *this;
    }
    ~DeviceArray() { cudaFree(data_); }

    T* data() const { return data_; }
    std::int64_t count() const { return count_; }
    std::size_t bytes() const { return static_cast<std::size_t>(count_) * sizeof(T); }

    /// Elements [first, first + count), after all work of the device.
    std::vector<T> read(std::int64_t first, std::int64_t count) const {
        std::vector<T> values(static_cast<std::size_t>(count));
        check(cudaDeviceSynchronize(), "running a kernel");
        check(cudaMemcpy(values.data(), data_ + first, values.size() * sizeof(T), cudaMemcpyDeviceToHost),
              "reading device memory");
        return values;
    }
    /// Elements 0 to the number of values, which every stream sees afterwards: a copy from pageable memory may return
    /// before its last part has arrived, and streams that do not block do not wait for it.
    void write(std::vector<T> const& values) {
        check(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
              "writing device memory");
        check(cudaDeviceSynchronize(), "writing device memory");
    }
    /// Zeroes, which every stream sees afterwards.
    void clear() {
        check(cudaMemset(data_, 0, bytes()), "clearing device memory");
        check(cudaDeviceSynchronize(), "clearing device memory");
    }

private:
    T* data_ = nullptr;
    std::int64_t count_ = 0;
};

template <class T>
DeviceArray<T> device_copy(std::vector<T> const& values) {
    DeviceArray<T> array(static_cast<std::int64_t>(values.size()));
    array.write(values);
    return array;
}

/// Memory of the host that the device reads without a copy between.
class PinnedBuffer {
public:
    explicit PinnedBuffer(std::size_t bytes) { check(cudaMallocHost(&data_, bytes), "allocating pinned memory"); }
    ~PinnedBuffer() { cudaFreeHost(data_); }
    PinnedBuffer(PinnedBuffer const&) = delete;
    PinnedBuffer& operator=(PinnedBuffer const&) = delete;
    void* data() const { return data_; }

private:
    void* data_ = nullptr;
};

class Event {
public:
    Event() { check(cudaEventCreate(&event_), "creating an event"); }
    Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
    ~Event() {
        if (event_ != nullptr) cudaEventDestroy(event_);
    }
    void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "recording an event"); }
    void wait() { check(cudaEventSynchronize(event_), "waiting for an event"); }
    /// Seconds from `start` to this event; both have been reached.
    double since(Event const& start) const {
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, start.event_, event_), "reading an event");
        return 1e-3 * static_cast<double>(milliseconds);
    }

private:
    cudaEvent_t event_ = nullptr;
};

class Stream {
public:
    Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream"); }
    ~Stream() { cudaStreamDestroy(stream_); }
    Stream(Stream const&) = delete;
    Stream& operator=(Stream const&) = delete;
    cudaStream_t get() const { return stream_; }
    /// Whether all that was enqueued is done. "Not ready" is documented to be no error that cudaGetLastError returns;
    /// where it is one all the same, the next launch would seem to have failed: it is taken back here.
    bool idle() const {
        cudaError_t const status = cudaStreamQuery(stream_);
        if (status == cudaErrorNotReady)
            cudaGetLastError();
        else
            check(status, "running on a stream");
        return status == cudaSuccess;
    }
    void wait() const { check(cudaStreamSynchronize(stream_), "running on a stream"); }

private:
    cudaStream_t stream_ = nullptr;
};

/// What the benchmarks ask about the current device.
struct DeviceFacts {
    std::string name;
    std::string driver;  ///< "driver 13.0, runtime 13.0"
    int multiprocessors = 0;
    int major = 0, minor = 0;
    std::int64_t l2_bytes = 0;
    std::int64_t free_bytes = 0, total_bytes = 0;
    bool integrated = false;  ///< its memory is the processor's
    int devices = 0;
};
DeviceFacts device_facts(int device);

/// Bytes that are free on a device that need not be the current one.
/// @throws Unavailable where it cannot be used, as one that another process has for itself alone: that is the end of
/// what needs several devices, not of what is measured on this one.
std::int64_t free_bytes_of_another(int device);

}  // namespace sextant::bench
