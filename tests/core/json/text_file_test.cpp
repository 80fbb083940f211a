#include "core/json/text_file.hpp"

#include "core/error.hpp"
#include "core/json/object_reader.hpp"
#include "tests/catch.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

using namespace sextant;
namespace fs = std::filesystem;

namespace {

/// A folder of its own for one test, removed at the end.
class Scratch {
public:
    Scratch() : path_(fs::temp_directory_path() / ("sextant_text_file_test_" + std::to_string(::getpid()))) {
        fs::create_directories(path_);
    }
    ~Scratch() { fs::remove_all(path_); }
    Scratch(Scratch const&) = delete;
    Scratch& operator=(Scratch const&) = delete;
    [[nodiscard]] std::string operator/(std::string const& name) const { return (path_ / name).string(); }
    [[nodiscard]] std::size_t file_count() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
    }

private:
    fs::path path_;
};

}  // namespace

TEST_CASE("write_text_file replaces a file whole and leaves no temporary file") {
    Scratch const folder;
    auto const file = folder / "report.txt";
    write_text_file(file, "first, longer text\n");
    write_text_file(file, "second\n");
    CHECK(read_text_file(file) == "second\n");
    CHECK(folder.file_count() == 1);
}

TEST_CASE("write_text_file follows a link instead of replacing it") {
    Scratch const folder;
    write_text_file(folder / "target.txt", "old");
    fs::create_symlink(folder / "target.txt", folder / "link.txt");
    write_text_file(folder / "link.txt", "new");
    CHECK(fs::is_symlink(folder / "link.txt"));
    CHECK(read_text_file(folder / "target.txt") == "new");
}

TEST_CASE("write_text_file to a device writes into it and does not replace it") {
    write_text_file("/dev/null", "text");
    CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("write_text_file refuses a missing folder, a folder and an empty name") {
    Scratch const folder;
    CHECK_THROWS_WITH(write_text_file(folder / "no/such/report.txt", "x"), contains("does not exist"));
    CHECK_THROWS_WITH(write_text_file(folder / "", "x"), contains("is a folder"));
    CHECK_THROWS_AS(write_text_file("", "x"), InputError);
    CHECK(folder.file_count() == 0);
}

TEST_CASE("read_text_file refuses a missing file, a folder and one beyond the limit") {
    Scratch const folder;
    CHECK_THROWS_WITH(read_text_file(folder / "nothing.json"), contains("nothing.json: cannot be opened"));
    CHECK_THROWS_WITH(read_text_file(folder / ""), contains("is a folder"));
    write_text_file(folder / "large.txt", std::string(1001, 'x'));
    CHECK_THROWS_WITH(read_text_file(folder / "large.txt", 1000), contains("larger than 1000 bytes"));
    CHECK(read_text_file(folder / "large.txt", 1001).size() == 1001);
}

TEST_CASE("JsonDocument::from_file names the file that is empty or cut short") {
    Scratch const folder;
    write_text_file(folder / "empty.json", "");
    CHECK_THROWS_WITH(JsonDocument::from_file(folder / "empty.json"), contains("empty.json: is empty"));
    write_text_file(folder / "cut.json", "{\"format\": \"clus");
    CHECK_THROWS_WITH(JsonDocument::from_file(folder / "cut.json"), contains("cut.json: line 1"));
}

TEST_CASE("write_text_file with a writer keeps the old file when the writer fails or says so") {
    Scratch const folder;
    auto const file = folder / "trace.json";
    auto const writes = [](Keep keep) {
        return [keep](std::ostream& out) {
            out << "new";
            return keep;
        };
    };
    write_text_file(file, "old");
    CHECK(write_text_file(file, writes(Keep::no)) == Keep::no);
    CHECK(read_text_file(file) == "old");
    CHECK_THROWS_WITH(write_text_file(file,
                                      [](std::ostream& out) -> Keep {
                                          out << "half";
                                          throw InputError("no more");
                                      }),
                      "no more");
    CHECK(read_text_file(file) == "old");
    CHECK_THROWS_AS(write_text_file(file,
                                    [](std::ostream& out) {
                                        out << "half";
                                        out.setstate(std::ios::badbit);  // as a full disk does
                                        return Keep::yes;
                                    }),
                    InputError);
    CHECK(read_text_file(file) == "old");
    CHECK(folder.file_count() == 1);
    CHECK(write_text_file(file, writes(Keep::yes)) == Keep::yes);
    CHECK(read_text_file(file) == "new");
    CHECK(folder.file_count() == 1);
}
