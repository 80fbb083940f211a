// Without Clang: the corpus as it is, and mutations of it that are the same in every run. With SEXTANT_FUZZ_SECONDS=N
// in the environment, N seconds of others for each reader instead, and how many they were.
#include "tests/fuzz/readers.hpp"
#include "core/json/text_file.hpp"
#include "tests/catch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <random>
#include <sstream>
#include <vector>

using namespace sextant;
namespace fs = std::filesystem;

namespace {

using Random = std::mt19937_64;
/// Of a longer file the beginning is enough.
constexpr std::size_t longest_seed = 16 << 10;

void add(fs::path const& path, std::vector<std::string>& out) {
    if (fs::is_directory(path)) {
        std::vector<fs::path> entries(fs::directory_iterator(path), fs::directory_iterator{});
        std::sort(entries.begin(), entries.end());
        for (fs::path const& entry : entries)
            add(entry, out);
    } else if (path.extension() != ".cmake" && path.extension() != ".md") {
        out.push_back(read_text_file(path.string()));
    }
}

/// What lies in the corpus and the repository's own files of this format.
std::vector<std::string> inputs(fuzz::Reader const& reader) {
    fs::path const root = SEXTANT_SOURCE_DIR;
    std::vector<std::string> out;
    if (fs::path const own = root / "tests/fuzz/corpus" / reader.name; fs::exists(own)) add(own, out);
    std::istringstream seeds{std::string(reader.seeds)};
    for (std::string seed; seeds >> seed;)
        add(root / seed, out);
    return out;
}

/// One change of the kinds that find most: another byte, a part gone or twice, a number out of range, an odd word.
void mutate(std::string& text, Random& random) {
    if (text.empty()) text = "0";
    std::size_t const at = random() % text.size();
    std::size_t const length = std::min<std::size_t>(text.size() - at, 1 + random() % 40);
    switch (random() % 7) {
        case 0: text[at] = static_cast<char>(random() % 256); break;
        case 1: text.erase(at, length); break;
        case 2: text.insert(random() % text.size(), text.substr(at, length)); break;
        case 3: text.resize(at); break;
        case 4:
            text.insert(
                at, std::vector<char const*>{"\"", "{", "[", ",", "\n", "-", "\x01", "'", "(", "\\"}[random() % 10]);
            break;
        default: {
            static std::vector<char const*> const words{"9223372036854775807",
                                                        "-1",
                                                        "0",
                                                        "1e308",
                                                        "-1e-308",
                                                        "nan",
                                                        "inf",
                                                        "null",
                                                        "true",
                                                        "1000000000",
                                                        "4294967296",
                                                        "\"\"",
                                                        "18446744073709551616",
                                                        "0.5"};
            auto const digit = text.find_first_of("0123456789", at);
            auto const from = digit == std::string::npos ? at : digit;
            auto const to = text.find_first_not_of("0123456789.eE+-", from);
            text.replace(from, (to == std::string::npos ? text.size() : to) - from, words[random() % words.size()]);
        }
    }
}

/// One of the seeds, or the beginning of one and the end of another, with some changes.
std::string mutation(std::vector<std::string> const& seeds, Random& random) {
    std::string text = seeds[random() % seeds.size()];
    if (random() % 4 == 0) {
        std::string const& other = seeds[random() % seeds.size()];
        text = text.substr(0, random() % (text.size() + 1)) + other.substr(random() % (other.size() + 1));
    }
    for (std::uint64_t changes = 1 + random() % 4; changes > 0; --changes)
        mutate(text, random);
    return text;
}

/// How much is asked for: so many inputs, or as many as some seconds allow.
class Budget {
public:
    explicit Budget(int rounds) : rounds_(rounds) {
        if (char const* const seconds = std::getenv("SEXTANT_FUZZ_SECONDS"))
            until_ = Clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(1000 * std::atof(seconds)));
    }
    [[nodiscard]] bool by_time() const { return until_.has_value(); }
    [[nodiscard]] bool allows(int done) const { return until_ ? Clock::now() < *until_ : done < rounds_; }

private:
    using Clock = std::chrono::steady_clock;
    int rounds_;
    std::optional<Clock::time_point> until_;
};

}  // namespace

TEST_CASE("every reader takes its corpus and refuses or takes what is made from it", "[fuzz]") {
#ifdef __SANITIZE_ADDRESS__
    constexpr int rounds = 150;
#else
    constexpr int rounds = 1500;
#endif
    for (fuzz::Reader const& reader : fuzz::readers()) {
        INFO("reader " << reader.name);
        std::vector<std::string> seeds = inputs(reader);
        REQUIRE_FALSE(seeds.empty());
        for (std::string const& seed : seeds)
            REQUIRE_NOTHROW(fuzz::try_read(reader, seed));
        for (std::string& seed : seeds)
            seed.resize(std::min(seed.size(), longest_seed));
        Budget const budget(rounds);
        Random random(budget.by_time() ? std::random_device{}() : 8);
        int done = 0;
        for (; budget.allows(done); ++done) {
            std::string const text = mutation(seeds, random);
            INFO("input " << done << ":\n" << text.substr(0, 4000));
            REQUIRE_NOTHROW(fuzz::try_read(reader, text));
        }
        if (budget.by_time()) WARN(reader.name << ": " << done << " inputs");
    }
}

TEST_CASE("at least one input of every reader's corpus is taken, not refused", "[fuzz]") {
    for (fuzz::Reader const& reader : fuzz::readers()) {
        INFO("reader " << reader.name);
        std::vector<std::string> const seeds = inputs(reader);
        CHECK(std::any_of(seeds.begin(), seeds.end(), [&](std::string const& seed) {
            try {
                reader.read(seed);
                return true;
            } catch (std::exception const& fault) {
                UNSCOPED_INFO(fault.what());
                return false;
            }
        }));
    }
}
