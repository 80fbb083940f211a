// A matrix product (bf16, through cuBLASLt) while something else goes on: copies inside the device, copies from and to
// the host, an NCCL all_reduce. The row's time is the product's under load; the note has its time alone and the ratio.
#include <memory>
#include <stdexcept>

#include "kernels/cuda/busy_clocks.hpp"
#include "kernels/cuda/catalog.hpp"
#include "kernels/cuda/generated.cuh"
#include "kernels/cuda/lt_gemm.hpp"
#include "kernels/cuda/nccl_group.hpp"

namespace sextant::bench {
namespace {

using device::bf16;

constexpr std::int64_t load_bytes = 64 << 20;  ///< of one copy or collective
constexpr int most_loads = 512;

/// Work beside the product, on streams of its own.
class Load {
public:
    virtual ~Load() = default;
    virtual void enqueue() = 0;
    virtual bool idle() const = 0;
    virtual void wait() = 0;
    /// Ends the program where the load has not ended in time; of copies nothing.
    virtual std::unique_ptr<Watchdog::Watch> watch() { return nullptr; }
};

class CopyLoad : public Load {
public:
    explicit CopyLoad(cudaMemcpyKind kind) : kind_(kind), a_(load_bytes), b_(load_bytes) {
        if (kind != cudaMemcpyDeviceToDevice) host_ = std::make_unique<PinnedBuffer>(load_bytes);
    }
    void enqueue() override {
        void* const to = kind_ == cudaMemcpyDeviceToHost ? host_->data() : b_.data();
        void const* const from = kind_ == cudaMemcpyHostToDevice ? host_->data() : a_.data();
        check(cudaMemcpyAsync(to, from, load_bytes, kind_, stream_.get()), "copying beside");
    }
    bool idle() const override { return stream_.idle(); }
    void wait() override { stream_.wait(); }

private:
    cudaMemcpyKind kind_;
    DeviceArray<unsigned char> a_, b_;
    std::unique_ptr<PinnedBuffer> host_;
    Stream stream_;
};

class CollectiveLoad : public Load {
public:
    /// @throws Unavailable where one of the devices cannot be used.
    CollectiveLoad(int devices, double stall_s) : group_(usable(devices), stall_s) {
        group_.set_buffers(load_bytes / 4 / devices * devices, 1);
    }
    void enqueue() override { group_.enqueue("all_reduce"); }
    bool idle() const override { return group_.idle(); }
    void wait() override { group_.wait(); }
    std::unique_ptr<Watchdog::Watch> watch() override { return group_.watch("all_reduce beside a product"); }

private:
    static int usable(int devices) {
        for (int device = 0; device < devices; ++device)
            free_bytes_of_another(device);
        return devices;
    }
    NcclGroup group_;
};

std::unique_ptr<Load> load_named(std::string const& kernel, int devices, double stall_s) {
    if (kernel.ends_with("copy_device")) return std::make_unique<CopyLoad>(cudaMemcpyDeviceToDevice);
    if (kernel.ends_with("copy_from_host")) return std::make_unique<CopyLoad>(cudaMemcpyHostToDevice);
    if (kernel.ends_with("copy_to_host")) return std::make_unique<CopyLoad>(cudaMemcpyDeviceToHost);
    if (kernel.ends_with("all_reduce")) return std::make_unique<CollectiveLoad>(devices, stall_s);
    throw std::invalid_argument("no load " + kernel);
}

struct Operands {
    DeviceArray<bf16> x, w, y;
    std::unique_ptr<LtGemm> gemm;
    std::unique_ptr<Load> load;
    int loads = 1;     ///< that outlast the products
    int products = 1;  ///< of one sample
    BusyClocks clocks;
    void run() const { gemm->run(x.data(), w.data(), y.data(), work_stream()); }
};

std::vector<Problem> problems(Scope const& scope) {
    std::vector<std::string> kernels{"gemm+copy_device", "gemm+copy_from_host", "gemm+copy_to_host"};
    if (NcclGroup::built() && device_facts(scope.device).devices > 1) kernels.emplace_back("gemm+all_reduce");
    std::vector<Problem> all;
    for (std::string const& kernel : kernels)
        for (std::int64_t const size : {2048, 4096, 8192}) {
            if (scope.effort == Effort::quick && size != 4096) continue;
            Problem problem;
            problem.kernel = kernel;
            problem.dtype = "bf16";
            problem.shape.m = problem.shape.n = problem.shape.k = size;
            problem.flops = 2.0 * static_cast<double>(size) * static_cast<double>(size) * static_cast<double>(size);
            problem.expected_s = problem.flops / 2e14;  // assumed
            all.push_back(problem);
        }
    return all;
}

/// Time of a product while the load runs, by a block of them as of the product alone; the product before the block is
/// not timed, and keeps the device busy until the host has enqueued the others. The load is started first and grows
/// until it outlasts the products; a block that ends after its load is not a sample.
double time_under_load(Operands& o) {
    auto const watched = o.load->watch();
    for (; o.loads <= most_loads; o.loads *= 2) {
        for (int i = 0; i < o.loads; ++i)
            o.load->enqueue();
        Event start, stop;
        o.run();
        start.record(work_stream());
        for (int i = 0; i < o.products; ++i)
            o.run();
        stop.record(work_stream());
        stop.wait();
        bool const outlasted = !o.load->idle();
        if (outlasted) o.clocks.read();  // the load still runs
        o.load->wait();
        if (outlasted) return stop.since(start) / o.products;
    }
    throw std::runtime_error("the load does not outlast the product");
}

Timing measure(Operands& o, StopRule const& rule) {
    DeviceWork const product = [&](cudaStream_t) { o.run(); };
    Timing const alone = time_on_device(product, {}, rule);
    o.products = launches_per_block(product, {});
    time_under_load(o);
    o.clocks = {};
    Collected const collected = collect(
        rule, [&] { return std::vector<double>{time_under_load(o)}; }, steady_seconds);
    Timing timing;
    timing.seconds = summarise(collected.samples);
    o.clocks.describe(timing);
    double const ratio = timing.seconds.median / alone.seconds.median;
    timing.note = "alone_us=" + std::to_string(1e6 * alone.seconds.median) + "; slowdown=" + std::to_string(ratio);
    std::string const ended = remark(rule, collected);
    if (!ended.empty()) timing.note += "; " + ended;
    return timing;
}

Prepared prepare(Problem const& problem, Scope const& scope) {
    std::int64_t const size = problem.shape.m;
    auto o = std::make_shared<Operands>();
    o->x = device_values<bf16>(size * size, scope.seed);
    o->w = device_values<bf16>(size * size, scope.seed + 1);
    o->y = DeviceArray<bf16>(size * size);
    o->gemm = std::make_unique<LtGemm>("bf16", size, size, size, 1);
    std::string const note = o->gemm->choose(o->x.data(), o->w.data(), o->y.data());
    o->load = load_named(problem.kernel, device_facts(scope.device).devices, scope.stall_s);
    time_under_load(*o);
    RelativeError error;  // the product, with the load beside it
    for (std::int64_t const row : sampled(size)) {
        auto const x = host_values<bf16>(scope.seed, row * size, size);
        for (std::int64_t const column : sampled(size)) {
            auto const w = host_values<bf16>(scope.seed + 1, column * size, size);
            double sum = 0;
            for (std::size_t i = 0; i < x.size(); ++i)
                sum += x[i] * w[i];
            error.add(read_values(o->y, row * size + column, 1)[0], sum);
        }
    }
    Prepared prepared;
    prepared.max_rel_error = error.largest();
    prepared.tolerance = 0.01;
    prepared.note = note;
    prepared.measure = [o](Variant, StopRule const& rule) { return measure(*o, rule); };
    return prepared;
}

}  // namespace

extern constinit Bench const cuda_interference{
    .name = "interference",
    .summary = "a matrix product slowed by copies or a collective beside it",
    .problems = problems,
    .prepare = prepare,
};

}  // namespace sextant::bench
