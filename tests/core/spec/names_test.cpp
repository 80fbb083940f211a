#include "core/error.hpp"
#include "core/nearest.hpp"
#include "core/spec/cluster_spec.hpp"
#include "core/spec/parallel_plan.hpp"
#include "core/spec/precision.hpp"
#include "core/spec/serving_plan.hpp"
#include "core/spec/sourced.hpp"
#include "tests/catch.hpp"

#include <set>
#include <string>

using namespace sextant;

namespace {

/// Every enumerator from the first to `last` has a name of its own that reads back as itself.
template <class Enum, class Read>
void check_round_trip(Enum last, Read const& read) {
    std::set<std::string> seen;
    for (int i = 0; i <= static_cast<int>(last); ++i) {
        auto const value = static_cast<Enum>(i);
        auto const name = std::string(name_of(value));
        CHECK(seen.insert(name).second);
        CHECK(read(name, "here") == value);
    }
}

}  // namespace

TEST_CASE("every enumerator has a distinct name that reads back as itself") {
    check_round_trip(Precision::fp4, precision_from);
    check_round_trip(Basis::assumed, basis_from);
    check_round_trip(Schedule::dualpipe_v, schedule_from);
    check_round_trip(Recompute::full, recompute_from);
    check_round_trip(Offload::parameters_and_activations, offload_from);
    check_round_trip(ContextParallel::ulysses, context_parallel_from);
    check_round_trip(Optimizer::muon, optimizer_from);
    check_round_trip(ScaleUpKind::torus, scale_up_kind_from);
    check_round_trip(ScaleOutTopology::dragonfly, scale_out_topology_from);
    for (CacheFormat const format : {CacheFormat::bf16, CacheFormat::fp8, CacheFormat::int8, CacheFormat::int4})
        CHECK(cache_format_from(name_of(format), "here") == format);
    CHECK_THROWS_WITH(cache_format_from("int44", "--kv-cache"),
                      contains("--kv-cache: unknown cache format 'int44'; did you mean 'int4'?"));
    CHECK(name_of(AttentionKernel::flash) != name_of(AttentionKernel::unfused));
}

TEST_CASE("a name with a word too many means the name without it, unless another is nearer") {
    std::vector<std::string> const known{"--block-tokens", "--prompt", "--max-batch", "--max-batched-tokens"};
    CHECK(nearest_name("--prompt-tokens", known) == "--prompt");
    CHECK(nearest_name("--max-batch-tokens", known) == "--max-batched-tokens");
    CHECK(nearest_name("--block-token", known) == "--block-tokens");
    CHECK(nearest_name("--prompt-of-a-very-long-name-that-goes-on", known) == "--prompt");
    CHECK(nearest_name("--promptness-of-a-very-long-name-that-goes-on", known).empty());
}

TEST_CASE("an unknown name is refused with the place, the nearest name and all names") {
    CHECK_THROWS_WITH(precision_from("bf61", "--precision"),
                      contains("--precision: unknown precision 'bf61'; did you mean 'bf16'?") && contains("fp4"));
    CHECK_THROWS_WITH(recompute_from("selectiv", "x"), contains("did you mean 'selective'"));
    CHECK_THROWS_AS(optimizer_from("", "x"), InputError);
}

TEST_CASE("a schedule that trains nothing is refused as such") {
    CHECK_THROWS_WITH(schedule_from("forward-only", "--schedule"),
                      contains("trains nothing") && contains("gpipe, 1f1b, interleaved") && contains("dualpipe-v"));
}

TEST_CASE("wider formats take more bytes per element") {
    CHECK(bytes_per_element(Precision::fp32) == 4);
    CHECK(bytes_per_element(Precision::tf32) == 4);
    CHECK(bytes_per_element(Precision::bf16) == 2);
    CHECK(bytes_per_element(Precision::fp16) == 2);
    CHECK(bytes_per_element(Precision::fp8) == 1);
    CHECK(bytes_per_element(Precision::fp4) == 0.5);
}
