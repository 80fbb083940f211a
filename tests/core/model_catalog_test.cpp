#include "tests/catch.hpp"

#include "core/error.hpp"
#include "core/json/text_file.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/parameters.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

using namespace sextant;

namespace {

std::string message_of(std::string const& name) {
    try {
        find_model(name);
    } catch (InputError const& error) {
        return error.what();
    }
    return "(found)";
}

/// A folder of its own, removed at the end.
struct Folder {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("sextant_catalog_" + std::to_string(::getpid()));
    Folder() {
        std::filesystem::remove_all(path);
        std::filesystem::create_directories(path);
    }
    Folder(Folder const&) = delete;
    Folder& operator=(Folder const&) = delete;
    ~Folder() { std::filesystem::remove_all(path); }
};

}  // namespace

TEST_CASE("model catalog: every file in models/ is a preset, under its own name") {
    std::set<std::string> files;
    for (auto const& entry : std::filesystem::directory_iterator(SEXTANT_SOURCE_DIR "/models"))
        if (entry.path().extension() == ".json") files.insert(entry.path().stem().string());
    auto const names = model_names();
    CHECK(files == std::set<std::string>(names.begin(), names.end()));
    CHECK(names.size() >= 45);
    for (auto const& name : names) {
        INFO(name);
        CHECK(find_model(name).name == name);
    }
}

TEST_CASE("model catalog: names are ordered with their numbers by value") {
    auto const names = model_names();
    auto const place = [&](char const* name) { return std::find(names.begin(), names.end(), name) - names.begin(); };
    CHECK(place("gemma-3-4b") < place("gemma-3-12b"));
    CHECK(place("llama-3-70b") < place("llama-3.1-8b"));
    CHECK(place("qwen2.5-0.5b") < place("qwen2.5-1.5b"));
    CHECK(place("llama-2-70b") < place("llama-3-8b"));
    CHECK(place("bloom-560m") < place("bloom-3b"));
    CHECK(place("bloom-3b") < place("bloom-7b1"));
    CHECK(place("bloom-7b1") < place("bloom-176b"));
    CHECK(place("megatron-530b") < place("megatron-1t"));
    CHECK(place("gpt2") < place("gpt2-medium"));
}

TEST_CASE("model catalog: letter case does not matter") { CHECK(find_model("Llama-3.1-8B").name == "llama-3.1-8b"); }

TEST_CASE("model catalog: an unknown name is refused with the nearest one") {
    auto const message = message_of("lama-3-8b");
    INFO(message);
    CHECK(message.find("'lama-3-8b'") != std::string::npos);
    CHECK(message.find("did you mean 'llama-3-8b'") != std::string::npos);
    CHECK(message_of("").find("unknown") != std::string::npos);
    CHECK(message_of(std::string(5000, 'x')).find("unknown") != std::string::npos);
}

TEST_CASE("model catalog: a config file or its folder reads like the preset") {
    Folder const folder;
    auto const model_folder = folder.path / "my-llama";
    std::filesystem::create_directory(model_folder);
    auto const file = model_folder / "config.json";
    write_text_file(file.string(), model_config("llama-3-8b"));
    auto const from_file = find_model(file.string());
    CHECK(from_file.name == "my-llama");
    CHECK(count_parameters(from_file).total == 8'030'261'248);
    CHECK(find_model(model_folder.string()).name == "my-llama");
    auto const other = folder.path / "tiny.json";
    write_text_file(other.string(), model_config("gpt2"));
    CHECK(find_model(other.string()).name == "tiny");
}

TEST_CASE("model catalog: files that cannot be used are refused by name") {
    Folder const folder;
    CHECK(message_of((folder.path / "absent.json").string()).find("absent.json") != std::string::npos);
    auto const empty = folder.path / "empty.json";
    write_text_file(empty.string(), "");
    CHECK(message_of(empty.string()).find("empty") != std::string::npos);
    CHECK(message_of(folder.path.string()).find(folder.path.string()) != std::string::npos);
}
