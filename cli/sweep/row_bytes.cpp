#include "cli/sweep/row_bytes.hpp"

#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace sextant::cli {
namespace {

void put(std::string& bytes, std::uint64_t value) { bytes.append(reinterpret_cast<char const*>(&value), sizeof value); }
void put(std::string& bytes, std::string const& text) {
    put(bytes, text.size());
    bytes += text;
}

/// Reads what `put` wrote. @throws std::runtime_error past the end.
class RowByteReader {
public:
    explicit RowByteReader(std::string_view bytes) : rest_(bytes) {}
    std::uint64_t number() {
        std::uint64_t value = 0;
        std::memcpy(&value, take(sizeof value).data(), sizeof value);
        return value;
    }
    std::string text() { return std::string(take(number())); }

private:
    std::string_view take(std::uint64_t length) {
        if (length > rest_.size()) throw std::runtime_error("a row from a worker is cut short");
        std::string_view const taken = rest_.substr(0, length);
        rest_.remove_prefix(length);
        return taken;
    }
    std::string_view rest_;
};

}  // namespace

void append_row(std::string& bytes, SweepRow const& row) {
    std::size_t const start = bytes.size();
    put(bytes, std::uint64_t{0});
    put(bytes, static_cast<std::uint64_t>(row.point));
    put(bytes, static_cast<std::uint64_t>(row.status));
    put(bytes, row.reason);
    put(bytes, row.cells.size());
    for (SweepCell const& cell : row.cells) {
        put(bytes, static_cast<std::uint64_t>(cell.kind));
        put(bytes, cell.text);
    }
    std::uint64_t const length = bytes.size() - start - sizeof length;
    std::memcpy(bytes.data() + start, &length, sizeof length);
}

bool take_row(std::string_view& bytes, SweepRow& row) {
    std::uint64_t length = 0;
    if (bytes.size() < sizeof length) return false;
    std::memcpy(&length, bytes.data(), sizeof length);
    if (bytes.size() - sizeof length < length) return false;
    RowByteReader in(bytes.substr(sizeof length, length));
    row.point = static_cast<std::int64_t>(in.number());
    row.status = static_cast<PointStatus>(in.number());
    row.reason = in.text();
    row.cells.resize(in.number());
    for (SweepCell& cell : row.cells) {
        cell.kind = static_cast<SweepCell::Kind>(in.number());
        cell.text = in.text();
    }
    bytes.remove_prefix(sizeof length + length);
    return true;
}

}  // namespace sextant::cli
