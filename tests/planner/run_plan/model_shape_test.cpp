#include "planner/run_plan/model_shape.hpp"

#include "core/error.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/parameters.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

#include <cmath>
#include <limits>

using namespace sextant;

namespace {

/// Whether another preset with as many layers has the name's beginning: "yi-34b-200k" is a release of "yi-34b".
bool is_release_of_another(std::string const& name, ModelSpec const& model) {
    for (std::string const& other : model_names())
        if (name.starts_with(other + "-") && find_model(other).layer_count() == model.layer_count()) return true;
    return false;
}

}  // namespace

TEST_CASE(
    "usual_layers is the line through the dense presets with attention in every layer, in the logarithms of depth and "
    "size") {
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (std::string const& name : model_names()) {
        ModelSpec const model = find_model(name);
        if (model.moe || model.recurrent || is_release_of_another(name, model)) continue;
        double const x = std::log(static_cast<double>(count_parameters(model).total));
        double const y = std::log(static_cast<double>(model.layer_count()));
        n += 1, sx += x, sy += y, sxx += x * x, sxy += x * y;
    }
    double const exponent = (n * sxy - sx * sy) / (n * sxx - sx * sx);
    double const factor = std::exp((sy - exponent * sx) / n);
    INFO("layers = " << factor << " N^" << exponent << " from " << n << " presets");
    for (double const parameters : {1e8, 1e10, 1e12})
        CHECK(usual_layers(parameters) == Approx(factor * std::pow(parameters, exponent)).epsilon(0.002));
}

TEST_CASE("a shape of any size from 1e8 to 2e12 is counted within 2 % of it and splits over eight") {
    std::mt19937_64 random(fixtures::seeded(5));
    for (int i = 0; i < 300; ++i) {
        double const wanted = std::exp(fixtures::uniform(random, std::log(1e8), std::log(2e12)));
        INFO(wanted);
        ModelSpec const model = model_of_size(wanted, {}, "test");
        auto const counted = static_cast<double>(count_parameters(model).total);
        CHECK(std::abs(counted / wanted - 1) < 0.02);
        CHECK(model.attention.heads * model.attention.head_dim == model.hidden);
        CHECK(model.attention.heads % model.attention.kv_heads == 0);
        CHECK(model.attention.heads % (model.hidden < 1024 ? 4 : 8) == 0);
        CHECK(model.attention.kv_heads % (model.hidden < 1024 ? 4 : 8) == 0);
        CHECK(model.mlp.intermediate % 128 == 0);
        CHECK(model.layer_count() % 2 == 0);
        double const ratio = static_cast<double>(model.mlp.intermediate) / static_cast<double>(model.hidden);
        CHECK(ratio >= 2);
        CHECK(ratio <= 5);
        double const depth = static_cast<double>(model.layer_count()) / usual_layers(wanted);
        CHECK(depth > 0.6);
        CHECK(depth < 1.6);
    }
}

TEST_CASE("a shape keeps the vocabulary that is asked for, and refuses one that is larger than the model") {
    ModelSpec const model = model_of_size(7e9, {.vocabulary = 256000}, "test");
    CHECK(model.vocab == 256000);
    CHECK_THROWS_AS(model_of_size(2e7, {.vocabulary = 1000000}, "test"), InputError);
}

TEST_CASE("sizes that no shape has are refused") {
    for (double const size :
         {0.0, -1e9, 1e6, 1e15, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
        CHECK_THROWS_AS(model_of_size(size, {}, "test"), InputError);
}
