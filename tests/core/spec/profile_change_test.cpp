#include "core/spec/profile_change.hpp"
#include "core/error.hpp"
#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/network_calibration.hpp"
#include "core/spec/parameters.hpp"
#include "tests/catch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

using namespace sextant;

namespace {

ClusterSpec changed(std::string const& changes) { return find_cluster("h100-sxm:" + changes, "test"); }

}  // namespace

TEST_CASE("a name is split from its changes, and a value may hold spaces and colons") {
    ChangedName const name = split_changes("my/h100.json:scale_out.bandwidth=25 GB/s:l2=x2:a:b=c:d", "test");
    CHECK(name.name == "my/h100.json");
    REQUIRE(name.changes.size() == 3);
    CHECK(name.changes[0].key == "scale_out.bandwidth");
    CHECK(name.changes[0].value == "25 GB/s");
    CHECK(name.changes[1].value == "x2:a");
    CHECK(name.changes[2].key == "b");
    CHECK(name.changes[2].value == "c:d");
    CHECK(split_changes("C:/models/config.json", "test").name == "C:/models/config.json");
    CHECK_THROWS_WITH(split_changes("h100-sxm:l2=", "test"), contains("l2: has no value"));
}

TEST_CASE("names have no control characters, and blanks around them do not count") {
    for (std::string const bad :
         {"gpt2\n", "gpt2\r", "\ngpt2", "g\tpt2", "gpt2\x7f", "h100-\x01sxm", "mega\ntron", "h100:l2=x2\n"}) {
        CAPTURE(bad);
        CHECK_THROWS_WITH(find_model(bad), contains("has a control character"));
        CHECK_THROWS_WITH(find_stored_model(bad), contains("has a control character"));
        CHECK_THROWS_WITH(find_cluster(bad, "test"), contains("has a control character"));
        CHECK_THROWS_WITH(find_framework(bad, "test"), contains("has a control character"));
        CHECK_THROWS_WITH(find_engine(bad, "test"), contains("has a control character"));
        CHECK_THROWS_WITH(find_accelerator(bad, "test"), contains("has a control character"));
    }
    CHECK_THROWS_WITH(find_model("gpt2\n"), contains("'gpt2\\x0a'"));
    CHECK_THROWS_WITH(find_model(" "), contains("model '': unknown"));
    CHECK_THROWS_WITH(find_cluster(" ", "test"), contains("unknown cluster ''"));
    CHECK(find_model("\tgpt2 ").name == "gpt2");
    CHECK(find_model("gpt2 :layers=2").name == "gpt2:layers=2");
    CHECK(find_cluster(" h100-sxm", "test").name == "h100-sxm");
    CHECK(find_framework("megatron ", "test").name == "megatron");
    CHECK(find_accelerator("h100-sxm ", "test").name == find_accelerator("h100-sxm", "test").name);
}

TEST_CASE("a factor multiplies and a quantity replaces a value of a cluster, and the name says so") {
    ClusterSpec const plain = find_cluster("h100-sxm", "test");
    ClusterSpec const half = changed("inter_node_bandwidth=x0.5");
    CHECK(half.scale_out->bandwidth.value.base() == 0.5 * plain.scale_out->bandwidth.value.base());
    CHECK(half.scale_out->bandwidth.basis == Basis::assumed);
    CHECK(half.name == "h100-sxm:inter_node_bandwidth=x0.5");
    CHECK(changed("scale_out.bandwidth=25 GB/s").scale_out->bandwidth.value.base() == 25e9);
    CHECK(changed("hbm_capacity=141 GB").accelerator.memory_capacity.value.base() == 141e9);
    CHECK(changed("gpus_per_node=4").domain_size == 4);
    ClusterSpec const both = changed("peak=x2:price=x3");
    for (auto const& [precision, peak] : both.accelerator.peak)
        CHECK(peak.value.base() == 2 * plain.accelerator.peak.at(precision).value.base());
    CHECK(both.accelerator.price_usd_per_hour->value == 3 * plain.accelerator.price_usd_per_hour->value);
    CHECK(find_cluster("h100-sxm", "test").name == "h100-sxm");  // what is kept between look-ups is not touched
}

TEST_CASE("a network of another rate is no longer the one that was measured") {
    auto const is_changed = [](std::string const& change) {
        ClusterSpec const c = changed(change);
        return std::pair(c.network_model->up_part.changed, c.network_model->out_part.changed);
    };
    CHECK(is_changed("price=x2") == std::pair(false, false));
    CHECK(is_changed("inter_node_bandwidth=x0.99") == std::pair(false, false));
    CHECK(is_changed("inter_node_bandwidth=x0.5") == std::pair(false, true));
    CHECK(is_changed("intra_node_bandwidth=x0.5") == std::pair(true, true));
    CHECK(is_changed("gpus_per_node=4") == std::pair(true, true));
}

TEST_CASE("a factor on a network's latency scales every fitted latency and nothing of the other network") {
    ClusterSpec const plain = find_cluster("h100-sxm", "test");
    ClusterSpec const slow = changed("inter_node_latency=x3");
    REQUIRE(plain.network_model->out);
    for (auto const& field : scale_out_times)
        CHECK((*slow.network_model->out).*field.member == 3 * (*plain.network_model->out).*field.member);
    CHECK(slow.network_model->up == plain.network_model->up);
}

TEST_CASE("a change of one leaves every other value as it is") {
    // INV: keys are independent.
    for (std::string const& key : changeable_keys(find_cluster("h100-sxm", "test"))) {
        INFO(key);
        ClusterSpec const same = changed("pod_domains=8:" + key + "=x1");
        ClusterSpec const plain = find_cluster("h100-sxm", "test");
        CHECK(same.scale_up.bandwidth.value == plain.scale_up.bandwidth.value);
        CHECK(same.accelerator.memory_bandwidth.value == plain.accelerator.memory_bandwidth.value);
        CHECK(same.domain_size == plain.domain_size);
        CHECK(same.host_memory.value == plain.host_memory.value);
    }
}

TEST_CASE("an oversubscription counts where there are pods, and is refused where there are none") {
    for (char const* change : {"pod_domains=8:oversubscription=4", "oversubscription=4:scale_out.pod_domains=8"}) {
        ClusterSpec const pods = changed(change);
        CHECK(pods.scale_out->pod_domains == 8);
        CHECK(pods.scale_out->oversubscription.value == 4);
        CHECK(pods.name == std::string("h100-sxm:") + change);
    }
    CHECK_THROWS_WITH(changed("oversubscription=4"), contains("no pods") && contains("pod_domains=8"));
    CHECK_THROWS_WITH(changed("pod_domains=0:oversubscription=4"), contains("no pods"));
    CHECK_THROWS_WITH(changed("pod_domains=1.5"), contains("a whole number"));
    auto const keys = changeable_keys(find_cluster("h100-sxm", "test"));
    for (char const* key : {"oversubscription", "pod_domains"})
        CHECK(std::find(keys.begin(), keys.end(), key) != keys.end());
}

TEST_CASE("constants of a framework change in every entry of its timing") {
    FrameworkProfile const plain = find_framework("megatron", "test");
    FrameworkProfile const half = find_framework("megatron:tp_overlap=x0.5:usable_fraction=0.8", "test");
    REQUIRE(half.timing.size() == plain.timing.size());
    for (std::size_t i = 0; i < plain.timing.size(); ++i)
        CHECK(half.timing[i].tp_overlap.value == 0.5 * plain.timing[i].tp_overlap.value);
    CHECK(half.memory.usable_fraction.value == 0.8);
    CHECK(find_engine("vllm:memory_utilisation=0.5", "test").memory_utilisation.value == 0.5);
    CHECK_FALSE(is_framework(find_framework("megatron", "test"), "torchtitan"));
    CHECK(is_framework(find_framework("megatron:dp_overlap=1", "test"), "megatron"));
}

TEST_CASE("a model with changed fields is the model that its config would describe") {
    ModelSpec const half = find_model("llama-3.1-70b:layers=40");
    CHECK(half.layers.size() == 40);
    CHECK(half.name == "llama-3.1-70b:layers=40");
    CHECK(find_model("llama-3.1-70b:num_hidden_layers=x0.5").layers.size() == 40);
    CHECK(find_model("gpt2:layers=24").layers.size() == 24);  // n_layer
    auto const deep = count_parameters(find_model("llama-3.1-70b:layers=80"));
    CHECK(deep.total == count_parameters(find_model("llama-3.1-70b")).total);
    CHECK(find_model("llama-3.1-70b:tie_word_embeddings=true").name.ends_with("true"));
}

TEST_CASE("changes that cannot be are refused with the reason") {
    auto const [name, part] = GENERATE(table<char const*, char const*>({
        {"inter_node_bandwith=x2", "did you mean 'inter_node_bandwidth'"},
        {"inter_node_bandwidth=x0", "it must be above 0"},
        {"inter_node_bandwidth=x-1", "not a factor"},
        {"inter_node_bandwidth=xnan", "not a factor"},
        {"inter_node_bandwidth=x1e400", "not a factor"},
        {"inter_node_bandwidth=25", "no unit"},
        {"inter_node_bandwidth=25 GB", "is an amount of data"},
        {"inter_node_latency=2 us", "takes a factor"},
        {"peak=2 PFLOP/s", "takes a factor"},
        {"multiprocessors=x0.3", "a whole number"},
        {"memory_efficiency=x5", "above 0, up to 1"},
        {"memory_efficiency=lots", "not a number"},
        {"price=-1", "0 to 1e+06"},
        {"scale_out.hop_latency=x2", "inter_node_latency=x2 fits"},
        {"gemm_efficiency.bf16=x2", "peak=x0.9 fits"},
    }));
    INFO(name);
    CHECK_THROWS_AS(changed(name), InputError);
    CHECK_THROWS_WITH(changed(name), contains(part));
}

TEST_CASE("scales of a framework are above zero, or times would be no numbers") {
    for (char const* const scale : {"gemm_scale", "grouped_gemm_scale", "attention_scale", "memory_scale"}) {
        CAPTURE(scale);
        for (char const* const value : {"0", "0.0001", "-1"})
            CHECK_THROWS_WITH(find_framework(fmt::format("megatron:{}={}", scale, value), "test"), contains(scale));
        CHECK_NOTHROW(find_framework(fmt::format("megatron:{}=0.1", scale), "test"));
    }
}

TEST_CASE("model fields that cannot be are refused with the reason") {
    auto const [name, part] = GENERATE(table<char const*, char const*>({
        {"llama-3.1-8b:num_hidden_layer=4", "did you mean 'num_hidden_layers'"},
        {"llama-3.1-8b:layers=x0.3", "a whole number"},
        {"llama-3.1-8b:layers=many", "not a number"},
        {"llama-3.1-8b:layers=-4", "1 to 10000"},
        {"llama-3.1-8b:layers=1e300", "a whole number"},
        {"llama-3.1-8b:tie_word_embeddings=2", "true or false"},
        {"llama-3.1-8b:heads=7", "llama-3.1-8b"},
        {"lama-3.1-8b:layers=4", "did you mean 'llama-3.1-8b'"},
    }));
    INFO(name);
    CHECK_THROWS_WITH(find_model(name), contains(part));
}

TEST_CASE("a release moves the products of narrow formats and Hopper's attention by their gains, and nothing else") {
    FrameworkProfile const now = find_framework("megatron", "test");
    REQUIRE(now.releases);
    FrameworkProfile const then = find_framework("megatron:release=24.07", "test");
    CHECK(then.name == "megatron:release=24.07");
    double const years = years_between(then.releases->at, now.releases->at);
    CHECK(years > 1);
    auto const entry = [](FrameworkProfile const& f, char const* precision) {
        return timing_for(f, "hopper", precision);
    };
    double const gain = entry(now, "fp8").yearly_gemm_gain.value;
    CHECK(gain > 0);
    CHECK(entry(then, "fp8").gemm_scale.value == Approx(entry(now, "fp8").gemm_scale.value * std::exp(-gain * years)));
    double const more = entry(now, "fp8").yearly_attention_gain.value;
    CHECK(more > 0);
    for (char const* const precision : {"fp8", "bf16"})
        CHECK(entry(then, precision).attention_scale.value ==
              Approx(entry(now, precision).attention_scale.value * std::exp(-more * years)));
    CHECK(timing_for(then, "ampere", "bf16").attention_scale.value ==
          timing_for(now, "ampere", "bf16").attention_scale.value);
    CHECK(entry(then, "fp8").memory_scale.value == entry(now, "fp8").memory_scale.value);
    CHECK(entry(then, "bf16").gemm_scale.value == entry(now, "bf16").gemm_scale.value);
    FrameworkProfile const back = find_framework("megatron:release=24.07:release=" + name_of(now.releases->at), "test");
    CHECK(entry(back, "fp8").gemm_scale.value == Approx(entry(now, "fp8").gemm_scale.value));
}

TEST_CASE("a release that was not measured, or of a framework without, is refused") {
    auto const [name, part] = GENERATE(table<char const*, char const*>({
        {"megatron:release=19.01", "was not measured ("},
        {"megatron:release=39.01", "was not measured ("},
        {"megatron:release=2024", "'2024' is no release (year and month as YY.MM, from 24.03 to "},
        {"megatron:release=24.13", "from 24.03 to "},
        {"megatron:release=x0.5", "'x0.5' is no release (year and month as YY.MM, from 24.03 to "},
        {"megatron:release=xyz", "'xyz' is no release (year and month as YY.MM, from 24.03 to "},
        {"megatron:release=", "such as release=24.07"},
        {"megatron:releases=24.07", "did you mean 'release'"},
        {"nanotron:release=24.07", "no such value"},
        {"megatron:yearly_gemm_gain=0.2", "tells releases apart"},
    }));
    INFO(name);
    CHECK_THROWS_WITH(find_framework(name, "test"), contains(part));
}
