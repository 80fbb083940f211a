#include "cost_models/serving/iteration_model.hpp"

#include "cost_models/serving/remembered_costs.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"
#include "core/spec/parameters.hpp"
#include "core/spec/serving_split.hpp"
#include "cost_models/kernel_estimate.hpp"
#include "cost_models/serving/recurrent_state.hpp"
#include "cost_models/serving/stage_split.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace sextant {
namespace {

constexpr std::array parts{&IterationTime::gemm,      &IterationTime::prefill,       &IterationTime::decode,
                           &IterationTime::streaming, &IterationTime::communication, &IterationTime::head,
                           &IterationTime::host};

/// 1, 2, 3, 4, 6, 8, 12, ... up to `last`, which is the end.
std::vector<double> doubling_grid(double first, double last) {
    std::vector<double> out;
    for (double at = first; at < last; at *= 2) {
        out.push_back(at);
        if (at * 1.5 < last && at >= 2) out.push_back(at * 1.5);
    }
    out.push_back(last);
    return out;
}

/// The same, and on to the longest prompt: engines that do not cut prompts process one beyond the limit whole.
std::vector<double> token_grid(double most, double longest) {
    std::vector<double> grid = doubling_grid(1, most);
    while (grid.back() < longest)
        grid.push_back(std::min(2 * grid.back(), longest));
    return grid;
}

/// Position in a rising grid: the left neighbour and the share of the way to the right one.
struct Place {
    std::size_t left;
    double share;
};
/// @param steps logarithms of the ratios of neighbours
Place place_on(std::vector<double> const& grid, std::vector<double> const& steps, double at) {
    if (grid.size() == 1 || at <= grid.front()) return {0, 0};
    auto const right = std::upper_bound(grid.begin(), grid.end() - 1, at);
    auto const left = static_cast<std::size_t>(right - grid.begin()) - 1;
    return {left, std::min(1.0, std::log(at / grid[left]) / steps[left])};
}

std::vector<double> log_steps(std::vector<double> const& grid) {
    std::vector<double> out;
    for (std::size_t i = 0; i + 1 < grid.size(); ++i)
        out.push_back(std::log(grid[i + 1] / grid[i]));
    return out;
}

double seconds(Seconds time) { return time.base(); }

/// @throws InputError: the device has no products in the format of the weights.
void check_products(ServingCase const& what) {
    AcceleratorProfile const& device = what.cluster.accelerator;
    if (device.multiplies(*find_gemm_format(what.plan.weights))) return;
    std::vector<std::string> known;
    for (GemmFormat const& format : gemm_formats())
        if (format.right <= 2 && device.multiplies(format)) known.emplace_back(format.name);
    throw InputError("--weights: {} has no {} products under {} (it has: {})", device.name, what.plan.weights,
                     what.engine.name, join(known));
}

ServingCase const& checked(ServingCase const& what) {
    check_serving_plan(what.model, what.plan);
    if (auto const fault = split_fault(what.engine, what.plan)) throw InputError("{}", *fault);
    check_products(what);
    return what;
}

double longest_prompt(ModelSpec const& model) {
    return static_cast<double>(std::max<std::int64_t>(model.max_positions, 4096));
}

}  // namespace

IterationTime& IterationTime::operator+=(IterationTime const& other) {
    for (auto const part : parts)
        this->*part += other.*part;
    return *this;
}

IterationTime operator*(double factor, IterationTime time) {
    for (auto const part : parts)
        time.*part = factor * time.*part;
    return time;
}

template <std::size_t N>
void IterationModel::Curves<N>::add(double at, std::array<double, N> const& values) {
    x.push_back(at);
    y.push_back(values);
}

template <std::size_t N>
std::array<double, N> IterationModel::Curves<N>::operator()(double at) const {
    if (at <= 0) return {};
    if (at <= x.front()) return y.front();
    auto const right = std::upper_bound(x.begin() + 1, x.end() - 1, at);
    auto const i = static_cast<std::size_t>(right - x.begin());
    std::array<double, N> out;
    for (std::size_t n = 0; n < N; ++n)
        out[n] = y[i - 1][n] + (y[i][n] - y[i - 1][n]) * (at - x[i - 1]) / (x[i] - x[i - 1]);
    return out;
}

IterationModel::IterationModel(ServingCase const& what) : what_(checked(what)) {
    RememberedCosts costs(what_);
    tabulate(costs);
}

IterationModel::IterationModel(ServingCase const& what, RememberedCosts& costs) : what_(checked(what)) {
    tabulate(costs);
}

void IterationModel::tabulate(RememberedCosts& costs) {
    memory_ = serving_memory(what_);
    GemmFormat const& format = *find_gemm_format(what_.plan.weights);
    widens_weights_ = format.widens();
    fullest_stage_ = fullest_stage_share(what_);
    last_stage_ = static_cast<double>(stage_layers(what_).back()) / static_cast<double>(what_.model.layer_count());
    tabulate_tokens(costs);
    tabulate_head(costs);
    tabulate_prefill(costs);
    tabulate_decode(costs);
}

void IterationModel::tabulate_tokens(RememberedCosts& costs) {
    double const most =
        static_cast<double>(std::max({what_.plan.max_batched_tokens, what_.plan.max_batch, std::int64_t{2}}));
    for (double const tokens : token_grid(most, longest_prompt(what_.model))) {
        LayerTime const& time = costs.of_tokens(std::llround(tokens));
        of_tokens_.add(tokens, {seconds(time.gemm), seconds(time.streaming), seconds(time.communication)});
        expert_rounding_.add(tokens, {seconds(time.expert_rounding)});
        gemm_at_peak_ = seconds(time.gemm_at_peak) / tokens;
        rounded_ = time.rounded;
        kernels_ = time.kernels;
        expert_layers_ = time.expert_layers;
    }
    if (!what_.model.moe) return;
    sharing_groups_ = static_cast<double>(what_.plan.attention_dp);
    for (double const tokens : token_grid(most * sharing_groups_, longest_prompt(what_.model))) {
        ExpertTime const& time = costs.of_experts(tokens);
        experts_.add(tokens, {seconds(time.reading), seconds(time.compute)});
        expert_floor_ = seconds(time.floor);
    }
}

void IterationModel::tabulate_head(RememberedCosts& costs) {
    for (double const samples : doubling_grid(1, std::max(2.0, static_cast<double>(what_.plan.max_batch))))
        head_.add(samples, {seconds(costs.head(std::llround(samples)))});
}

void IterationModel::tabulate_prefill(RememberedCosts& costs) {
    prefill_.add(0, {0});
    for (double const tokens : doubling_grid(16, longest_prompt(what_.model))) {
        // A longer prompt never takes less: the kernel models round to tiles.
        double const shorter = prefill_.y.back()[0];
        prefill_.add(tokens, {std::max(shorter, seconds(costs.prompt_attention(std::llround(tokens))))});
    }
}

void IterationModel::tabulate_decode(RememberedCosts& costs) {
    decode_batches_ = doubling_grid(1, std::max(2.0, static_cast<double>(what_.plan.max_batch)));
    decode_contexts_ = doubling_grid(16, longest_prompt(what_.model));
    batch_steps_ = log_steps(decode_batches_);
    context_steps_ = log_steps(decode_contexts_);
    std::size_t const width = decode_contexts_.size();
    for (double const context : decode_contexts_)
        query_products_.add(context, {seconds(costs.query_products(std::llround(context)))});
    for (double const batch : decode_batches_)
        for (double const context : decode_contexts_) {
            // More to read never takes less: kernels are measured and corrected shape by shape, and some of these fall.
            std::size_t const i = decode_.size();
            double const shorter = i % width > 0 ? decode_[i - 1] : 0;
            double const fewer = i >= width ? decode_[i - width] : 0;
            double const time = seconds(costs.cache_attention(std::llround(batch), std::llround(context)));
            decode_.push_back(std::max({time, shorter, fewer}));
        }
}

Seconds IterationModel::decode_attention(double sequences, double context) const {
    if (sequences <= 0) return {};
    double const mean = std::max(1.0, context / sequences);
    Place const b = place_on(decode_batches_, batch_steps_, sequences);
    Place const c = place_on(decode_contexts_, context_steps_, mean);
    std::size_t const width = decode_contexts_.size();
    auto const at = [&](std::size_t i, std::size_t k) {
        return decode_[std::min(i, decode_batches_.size() - 1) * width + std::min(k, width - 1)];
    };
    double const low = (1 - c.share) * at(b.left, c.left) + c.share * at(b.left, c.left + 1);
    double const high = (1 - c.share) * at(b.left + 1, c.left) + c.share * at(b.left + 1, c.left + 1);
    double const inside = (1 - b.share) * low + b.share * high;
    // Beyond the grid the cache is read in proportion.
    return inside * std::max(1.0, mean / decode_contexts_.back()) * std::max(1.0, sequences / decode_batches_.back()) *
           units::s;
}

double IterationModel::expert_seconds(double tokens, double elsewhere) const {
    EngineProfile const& engine = what_.engine;
    double const all = sharing_groups_ > 1 ? tokens + elsewhere : tokens;
    auto const [stored, multiplied] = experts_(all);
    double const reading = stored * engine.expert_stream_scale.value;
    double const unpacking = widens_weights_ ? engine.expert_unpack_scale.value : 1;
    double const rows = multiplied + expert_rounding_(what_.plan.ep > 1 ? tokens : all)[0];
    double const compute =
        unpacking * (expert_floor_ + std::max(0.0, rows - expert_floor_) * engine.expert_compute_scale.value);
    return std::cbrt(reading * reading * reading + compute * compute * compute);
}

Seconds IterationModel::launching(Seconds device) const {
    double const busy = seconds(device);
    double const launch = kernels_ * seconds(what_.engine.prompt_launch.value) +
                          expert_layers_ * seconds(what_.engine.expert_launch.value);
    return (std::cbrt(busy * busy * busy + launch * launch * launch) - busy) * units::s;
}

Seconds IterationModel::waiting_for_host(Seconds device, double samples) const {
    EngineProfile const& engine = what_.engine;
    Seconds const host = engine.host_per_iteration.value + engine.host_per_sequence.value * samples;
    if (engine.planning == IterationPlanning::in_turn) return host;
    return std::hypot(seconds(device), seconds(host)) * units::s - device;
}

Seconds IterationModel::prefill_attention(double past, double tokens) const {
    if (tokens <= 0) return {};
    return std::max(0.0, prefill_(past + tokens)[0] - prefill_(past)[0]) * units::s;
}

namespace {

/// A step that checks guesses reads a state of each sequence and writes one after each token of it.
Seconds states_after_guesses(ServingCase const& what, double guesses) {
    AcceleratorProfile const& device = what.cluster.accelerator;
    auto const layers = static_cast<double>(count_mixers(what.model, Mixer::recurrent));
    return layers / 2 * moved_states(what, guesses) / (device.memory_bandwidth.value * device.memory_efficiency.value);
}

}  // namespace

IterationTime IterationModel::operator()(IterationLoad const& load) const {
    EngineProfile const& engine = what_.engine;
    double const tokens = load.prefill_tokens + load.decodes + load.guesses;
    auto const [gemm, streaming, communication] = of_tokens_(tokens);
    IterationTime time;
    time.gemm =
        std::max(gemm * engine.gemm_scale.value, gemm_at_peak_ * tokens * engine.gemm_compute_scale.value) * units::s +
        rounded_ * engine.rounding_overhead.value;
    if (what_.model.moe) time.gemm += expert_seconds(tokens, load.elsewhere) * units::s;
    time.streaming = streaming * units::s;
    time.communication = communication * engine.communication_scale.value * units::s;
    time.head = head_(load.samples)[0] * engine.gemm_scale.value * units::s;
    time.prefill = load.prefill_attention * engine.prefill_scale.value;
    double attention =
        seconds(load.decode_attention ? *load.decode_attention : decode_attention(load.decodes, load.decode_context));
    if (load.guesses > 0 && load.decodes > 0)
        attention = std::max(attention, (load.decodes + load.guesses) *
                                            query_products_(std::max(1.0, load.decode_context / load.decodes))[0]);
    if (load.guesses > 0 && what_.model.recurrent) attention += seconds(states_after_guesses(what_, load.guesses));
    time.decode = attention * engine.decode_scale.value * units::s;
    if (load.prefill_tokens > 0) time.streaming += launching(time.device());
    time.host = waiting_for_host(time.device(), load.samples);
    return time;
}

IterationModel IterationModel::with_scales(EngineProfile const& engine) const {
    IterationModel out = *this;
    out.what_.engine = engine;
    return out;
}

Seconds IterationModel::at_slowest_stage(IterationTime const& time) const {
    if (what_.plan.pp == 1) return time.total();
    Seconds const layers = time.device() - time.head;
    return std::max(fullest_stage_ * layers, last_stage_ * layers + time.head) + time.host;
}

}  // namespace sextant
