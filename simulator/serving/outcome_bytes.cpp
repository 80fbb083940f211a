#include "simulator/serving/outcome_bytes.hpp"

#include <cassert>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>

namespace sextant {
namespace {

// Every field is named in these, and one that is missing does not compile.

template <class Stream, class Spread>
void all_fields(Stream& stream, Spread& spread, LatencySpread const*) {
    auto& [count, mean, p50, p90, p95, p99, largest, curve] = spread;
    stream(count, mean, p50, p90, p95, p99, largest, curve);
}

template <class Stream, class Tenant>
void all_fields(Stream& stream, Tenant& tenant, TenantOutcome const*) {
    auto& [measured, good, prompt_tokens, output_tokens, ttft, tpot, e2e] = tenant;
    stream(measured, good, prompt_tokens, output_tokens, ttft, tpot, e2e);
}

template <class Stream, class Outcome>
void all_fields(Stream& stream, Outcome& outcome, ServingOutcome const*) {
    auto& [state, interrupted, cut_requests, whole, window, window_to_end, measured, good, ttft, tpot, itl, e2e, queue,
           tenants, most_waiting, most_cache_use, most_batch, most_batched_tokens, short_of_cache, e2e_sum,
           asked_tokens, blocks_taken, blocks_given, blocks_total, host_blocks_taken, host_blocks_given, failures,
           drains, started, stopped, restarted, restarted_tokens, onset, capacity, offered, series] = outcome;
    stream(state, interrupted, cut_requests, whole, window, window_to_end, measured, good);
    stream(ttft, tpot, itl, e2e, queue, tenants, most_waiting, most_cache_use, e2e_sum, asked_tokens);
    stream(most_batch, most_batched_tokens, short_of_cache);
    stream(blocks_taken, blocks_given, blocks_total, host_blocks_taken, host_blocks_given);
    stream(failures, drains, started, stopped, restarted, restarted_tokens, onset, capacity, offered, series);
}

class Writer {
public:
    template <class... T>
    void operator()(T const&... values) {
        (put(values), ...);
    }
    std::vector<std::byte> bytes;

private:
    template <class T>
    void put(T const& value) {
        if constexpr (std::is_trivially_copyable_v<T>) {
            auto const* const begin = reinterpret_cast<std::byte const*>(&value);
            bytes.insert(bytes.end(), begin, begin + sizeof(T));
        } else {
            all_fields(*this, value, static_cast<T const*>(nullptr));
        }
    }
    /// Never its own bytes: those of an empty one are undefined.
    template <class T>
    void put(std::optional<T> const& value) {
        put(value.has_value());
        if (value) put(*value);
    }
    template <class T>
    void put(std::vector<T> const& values) {
        put(values.size());
        for (T const& value : values)
            put(value);
    }
};

class Reader {
public:
    explicit Reader(std::span<std::byte const> bytes) : left_(bytes) {}
    template <class... T>
    void operator()(T&... values) {
        (get(values), ...);
    }

private:
    template <class T>
    void get(T& value) {
        if constexpr (std::is_trivially_copyable_v<T>) {
            assert(left_.size() >= sizeof(T));
            std::memcpy(&value, left_.data(), sizeof(T));
            left_ = left_.subspan(sizeof(T));
        } else {
            all_fields(*this, value, static_cast<T const*>(nullptr));
        }
    }
    template <class T>
    void get(std::optional<T>& value) {
        bool has_value = false;
        get(has_value);
        if (has_value) get(value.emplace());
    }
    template <class T>
    void get(std::vector<T>& values) {
        std::size_t count = 0;
        get(count);
        values.resize(count);
        for (T& value : values)
            get(value);
    }
    std::span<std::byte const> left_;
};

}  // namespace

std::vector<std::byte> bytes_of(ServingOutcome const& outcome) {
    Writer writer;
    writer(outcome);
    return std::move(writer.bytes);
}

ServingOutcome outcome_from(std::span<std::byte const> bytes) {
    ServingOutcome outcome;
    Reader reader(bytes);
    reader(outcome);
    return outcome;
}

}  // namespace sextant
