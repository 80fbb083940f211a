#include "tests/catch.hpp"
#include "tests/cli/run_sextant.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

using namespace sextant;
using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

namespace {

Arguments simulate(Arguments const& more) {
    Arguments out{"serve", "simulate", "--model", "llama-3.1-70b", "--cluster", "h100-sxm", "--tp", "2"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
}

Json report(Arguments more) {
    more.insert(more.end(), {"--format", "json"});
    RunResult const result = run_sextant(simulate(more));
    INFO(result.err);
    REQUIRE((result.code == 0 || result.code == 1));
    return Json::parse(result.out);
}

void check_refused(Arguments const& more, std::string const& part) {
    RunResult const result = run_sextant(simulate(more));
    CAPTURE(more, result.err);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    CHECK_THAT(result.err, contains(part));
}

double at(Json const& json, char const* path) { return json.at(Json::json_pointer(path)).get<double>(); }

/// More in flight than the cache holds.
Arguments crowded(Arguments const& more) {
    Arguments out{"--concurrency", "60", "--count", "400", "--prompt", "1500", "--output-tokens", "uniform:50-900"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
}

}  // namespace

TEST_CASE("serve simulate: swap saves the computing again, and says what it copied and over what") {
    Json const again = report(crowded({}));
    Json const swap = report(crowded({"--preemption", "swap"}));
    REQUIRE(at(again, "/preemptions") > 20);
    CHECK(at(again, "/recomputed_tokens") > 0);
    CHECK_FALSE(again.contains("swap"));
    CHECK(at(swap, "/recomputed_tokens") == 0);
    CHECK(at(swap, "/swap/count") == at(swap, "/preemptions"));
    // 70B: 2 x 80 layers x 8 heads x 128 x 2 bytes over two ranks at 50 GB/s each, there and back.
    CHECK(at(swap, "/swap/copying_s") == Approx(2 * at(swap, "/swap/tokens") * 163840 / 50e9).epsilon(1e-6));
    CHECK(swap.at("assumptions").dump().find("50 GB/s") != std::string::npos);
    // A smaller host cache takes less: 32 GB hold nearly 200 K tokens, 0.5 GB one sequence or two.
    Json const small = report(crowded({"--preemption", "swap", "--host-cache", "0.5 GB"}));
    CHECK(at(small, "/swap/count") < at(small, "/preemptions"));
    CHECK(at(small, "/recomputed_tokens") > 0);
}

TEST_CASE("serve simulate: a host cache without use, without a unit, or beyond the host is refused") {
    check_refused(crowded({"--host-cache", "4 GB"}), "--host-cache: nothing goes there");
    check_refused(crowded({"--preemption", "swop"}), "did you mean 'swap'");
    check_refused(crowded({"--preemption", "swap", "--host-cache", "4"}), "--host-cache");
    check_refused(crowded({"--preemption", "swap", "--host-cache", "-4 GB"}), "--host-cache");
    check_refused(crowded({"--preemption", "swap", "--host-cache", "nan GB"}), "--host-cache");
    check_refused(crowded({"--preemption", "swap", "--host-cache", "9999 TB"}), "has on its host");
}
