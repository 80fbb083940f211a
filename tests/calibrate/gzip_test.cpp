#include "calibrate/import/gzip.hpp"

#include "core/error.hpp"
#include "tests/catch.hpp"

#include <zlib.h>

#include <string>
#include <string_view>
#include <vector>

using namespace sextant;

namespace {

std::string packed(std::string text) {
    z_stream stream{};
    REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    std::vector<Bytef> out(text.size() + 100);
    stream.next_in = reinterpret_cast<Bytef*>(text.data());
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = out.data();
    stream.avail_out = static_cast<uInt>(out.size());
    REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    std::string const result(reinterpret_cast<char const*>(out.data()), out.size() - stream.avail_out);
    deflateEnd(&stream);
    return result;
}

constexpr std::size_t limit = std::size_t{1} << 26;

}  // namespace

TEST_CASE("gzip: what was packed comes out, whatever its length, also of files one behind another") {
    for (std::size_t const size :
         {std::size_t{0}, std::size_t{1}, std::size_t{1} << 20, (std::size_t{1} << 20) + 1, std::size_t{5'000'000}}) {
        std::string text(size, 'x');
        for (std::size_t i = 0; i < size; ++i)
            text[i] = static_cast<char>('a' + i * i % 23);
        CHECK(gunzipped(packed(text), "t", limit) == text);
        CHECK(gunzipped(packed(text) + packed("end"), "t", limit) == text + "end");
    }
    CHECK(is_gzip(packed("")));
    CHECK_FALSE(is_gzip("{\"traceEvents\": []}"));
}

TEST_CASE("gzip: what is broken, cut off or too large is an error that names the file") {
    std::string text;
    for (int i = 0; i < 20000; ++i)
        text += std::to_string(i * i % 7919);
    std::string const whole = packed(text);
    for (std::size_t size = 2; size < whole.size(); size += 97)
        CHECK_THROWS_WITH(gunzipped(whole.substr(0, size), "t.gz", limit), contains("t.gz: is compressed and cut off"));
    std::string broken = whole;
    broken[whole.size() / 2] = static_cast<char>(broken[whole.size() / 2] ^ 0x55);
    CHECK_THROWS_AS(gunzipped(broken, "t.gz", limit), InputError);
    CHECK_THROWS_WITH(gunzipped(whole + "more", "t.gz", limit), contains("t.gz: is compressed and broken"));
    CHECK_THROWS_WITH(gunzipped(whole, "t.gz", 1000), contains("larger than 1000 bytes when it is unpacked"));
}
