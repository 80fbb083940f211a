#include "core/measurements/network_rate.hpp"

#include "core/text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

namespace sextant {
namespace {

constexpr double most_gbps = 1e5;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

struct Generation {
    std::string_view word;  ///< lower case; one that begins with another goes before it
    double gbps;
};
constexpr std::array generations{Generation{"edr", 100},    Generation{"hdr100", 100}, Generation{"hdr", 200},
                                 Generation{"ndr200", 200}, Generation{"ndr", 400},    Generation{"xdr", 800}};

/// What may stand behind the G or T of bits a second, up to the next character that is no letter.
constexpr std::array bit_units{"", "b", "bit", "bits", "bps", "bits/s", "bit/s", "b/s", "be", "base"};

/// A text that is read from the left.
class Reader {
public:
    explicit Reader(std::string_view rest) : rest_(rest) {}

    void skip_spaces() {
        while (!rest_.empty() && rest_.front() == ' ')
            rest_.remove_prefix(1);
    }
    [[nodiscard]] std::string_view rest() const { return rest_; }

    std::optional<double> number() {
        double value = 0;
        if (rest_.empty() || !is_digit(rest_.front())) return std::nullopt;
        auto const [end, error] =
            std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, std::chars_format::fixed);
        if (error != std::errc{}) return std::nullopt;
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        return value;
    }

    /// "x", "*" or the sign of multiplication.
    bool times() {
        for (std::string_view const sign : {"x", "X", "*", "\xc3\x97"})
            if (rest_.starts_with(sign)) {
                rest_.remove_prefix(sign.size());
                return true;
            }
        return false;
    }

    /// Letters, and a slash between them.
    std::string_view word() {
        std::size_t end = 0;
        while (end < rest_.size() && (is_letter(rest_[end]) || (end > 0 && rest_[end] == '/')))
            ++end;
        std::string_view const out = rest_.substr(0, end);
        rest_.remove_prefix(end);
        return out;
    }

private:
    std::string_view rest_;
};

/// Gbit/s of one unit that a word is ("G", "Gb/s", "GbE", "Tbps"); 0: another word, or bytes (`is_bytes`).
double unit_gbps(std::string_view word, bool& is_bytes) {
    if (word.empty()) return 0;
    std::string const lower = lower_case(word);
    double const factor = lower.front() == 'g' ? 1 : lower.front() == 't' ? 1000 : 0;
    bool const terabit_alone = factor == 1000 && lower.size() == 1;  // "16 T": of what?
    if (factor == 0 || terabit_alone) return 0;
    std::string_view const behind = std::string_view(lower).substr(1);
    bool const per_second = behind == "b/s" || behind == "bps" || behind == "ib/s";
    if ((word.size() > 1 && word[1] == 'B' && per_second) || behind == "ib/s") {
        is_bytes = true;
        return 0;
    }
    if (behind == "b" && word[1] == 'B') return 0;  // "80GB": of memory
    for (std::string_view const unit : bit_units)
        if (behind == unit) return factor;
    return 0;
}

/// What a port carries, if the text begins with that: "400G", "200 Gb/s", "HDR100".
double port_gbps(Reader& in, bool& is_bytes) {
    Reader ahead = in;
    if (auto const value = ahead.number()) {
        ahead.skip_spaces();
        double const gbps = *value * unit_gbps(ahead.word(), is_bytes);
        if (!(gbps > 0 && gbps < most_gbps)) return 0;
        in = ahead;
        return gbps;
    }
    std::string const lower = lower_case(in.rest());
    for (Generation const& generation : generations) {
        if (!lower.starts_with(generation.word)) continue;
        auto const behind = std::string_view(lower).substr(generation.word.size());
        if (!behind.empty() && is_letter(behind.front())) continue;
        return generation.gbps;
    }
    return 0;
}

/// "8x400G", "8 x 200 Gb/s", "4x HDR".
StatedNetworkRate ports_and_rate(Reader in) {
    StatedNetworkRate out;
    auto const ports = in.number();
    in.skip_spaces();
    if (!ports || *ports < 1 || *ports > most_gbps || *ports != std::floor(*ports) || !in.times()) return out;
    in.skip_spaces();
    out.gbps = port_gbps(in, out.unclear);
    if (out.gbps > 0) out.ports = static_cast<std::int64_t>(*ports);
    return out;
}

StatedNetworkRate rate_alone(Reader in) {
    StatedNetworkRate out;
    out.gbps = port_gbps(in, out.unclear);
    return out;
}

/// The first of them in a text, where no word and no number goes on.
template <class Read>
StatedNetworkRate first_of(std::string_view text, Read read) {
    StatedNetworkRate out;
    for (std::size_t at = 0; at < text.size(); ++at) {
        char const before = at > 0 ? text[at - 1] : ' ';
        if (is_digit(before) || before == '.' || is_letter(before)) continue;
        StatedNetworkRate const found = read(Reader(text.substr(at)));
        if (found.gbps > 0) return found;
        out.unclear = out.unclear || found.unclear;
    }
    return out;
}

}  // namespace

StatedNetworkRate stated_network_rate(std::string_view text) {
    StatedNetworkRate const ports = first_of(text, ports_and_rate);
    if (ports.gbps > 0) return ports;
    // A rate in figures is said more exactly than by the name of a generation, which it may follow.
    StatedNetworkRate const figures = first_of(text, [](Reader in) {
        return !in.rest().empty() && is_digit(in.rest().front()) ? rate_alone(in) : StatedNetworkRate{};
    });
    if (figures.gbps > 0) return figures;
    if (figures.unclear || ports.unclear) return {.unclear = true};
    return first_of(text, rate_alone);
}

}  // namespace sextant
