#include "calibrate/import/gzip.hpp"

#include "core/error.hpp"

#include <zlib.h>

#include <algorithm>
#include <memory>

namespace sextant {
namespace {

/// zlib's stream, which counts bytes in 32 bits.
class Inflation {
public:
    Inflation() {
        constexpr int gzip_header = 16 + MAX_WBITS;
        if (inflateInit2(&stream_, gzip_header) != Z_OK) throw InputError("unpacking: no memory is left for it");
    }
    ~Inflation() { inflateEnd(&stream_); }
    Inflation(Inflation const&) = delete;
    Inflation& operator=(Inflation const&) = delete;

    z_stream& stream() { return stream_; }

private:
    z_stream stream_{};
};

}  // namespace

bool is_gzip(std::string_view text) { return text.starts_with("\x1f\x8b"); }

std::string gunzipped(std::string_view packed, std::string const& name, std::size_t limit_bytes) {
    Inflation inflation;
    z_stream& stream = inflation.stream();
    constexpr std::size_t part = std::size_t{1} << 20;
    auto const chunk = std::make_unique<Bytef[]>(part);
    std::string out;
    int state = Z_OK;
    while (state != Z_STREAM_END || !packed.empty()) {
        if (state == Z_STREAM_END) inflateReset(&stream);  // one file behind another
        std::string_view const piece = packed.substr(0, part);
        stream.next_in = const_cast<Bytef*>(reinterpret_cast<Bytef const*>(piece.data()));  // zlib only reads it
        stream.avail_in = static_cast<uInt>(piece.size());
        stream.next_out = chunk.get();
        stream.avail_out = static_cast<uInt>(part);
        state = inflate(&stream, Z_NO_FLUSH);
        std::size_t const written = part - stream.avail_out;
        packed.remove_prefix(piece.size() - stream.avail_in);
        out.append(reinterpret_cast<char const*>(chunk.get()), written);
        if (out.size() > limit_bytes)
            throw InputError("{}: larger than {} bytes when it is unpacked (the most that is read)", name, limit_bytes);
        bool const stuck = state == Z_BUF_ERROR || (state == Z_OK && written == 0 && packed.empty());
        if (stuck || (state != Z_OK && state != Z_STREAM_END))
            throw InputError("{}: is compressed and {} (is the whole file there? gzip -t {} tests it)", name,
                             stuck ? "cut off" : "broken", name);
    }
    return out;
}

}  // namespace sextant
