#include "tests/catch.hpp"

#include "core/json/object_reader.hpp"
#include "core/json/text_file.hpp"
#include "core/spec/hf_config.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/parameters.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

using namespace sextant;

namespace {

std::string const folder = SEXTANT_SOURCE_DIR "/tests/data/hf_reference/";

/// What PyTorch counts, plus the score-correction biases that it holds as buffers and checkpoints hold as weights.
std::int64_t expected(ObjectReader row) { return row.integer("parameters") + row.integer("correction"); }

}  // namespace

TEST_CASE("parameters: every preset has exactly as many as transformers instantiates") {
    auto const table = JsonDocument::from_file(folder + "expected.json");
    ObjectReader root(table);
    ObjectReader presets = root.object("presets");
    auto names = presets.keys();
    auto known = model_names();
    std::sort(names.begin(), names.end());
    std::sort(known.begin(), known.end());
    REQUIRE(names == known);
    for (auto const& name : names) {
        INFO(name);
        CHECK(count_parameters(find_model(name)).total == expected(presets.object(name)));
    }
}

TEST_CASE("parameters: every switch of every architecture counts as transformers counts it") {
    auto const table = JsonDocument::from_file(folder + "expected.json");
    auto const configs = JsonDocument::from_file(folder + "synthetic.json");
    ObjectReader root(table);
    ObjectReader rows = root.object("synthetic");
    REQUIRE(rows.keys().size() == configs.root().size());
    std::vector<std::string> untouched = known_architectures();
    for (auto const& [name, config] : configs.root().items()) {
        INFO(name);
        auto const model = read_hf_config(config.dump(), name);
        CHECK(count_parameters(model).total == expected(rows.object(name)));
        std::erase(untouched, model.architecture);
    }
    INFO("architectures without a reference: " << untouched.size());
    CHECK(untouched.empty());
}
