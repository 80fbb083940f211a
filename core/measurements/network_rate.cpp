#include "core/measurements/network_rate.hpp"

#include "core/is_one_of.hpp"
#include "core/text.hpp"
#include "core/words.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>

namespace sextant {
namespace {

struct PortName {
    std::string_view name;  ///< lower case, with no letter before or after it
    double gbps;
};

/// Of InfiniBand with four lanes, and Gigabit Ethernet.
constexpr std::array port_names{PortName{"hdr100", 100}, PortName{"ndr200", 200}, PortName{"fdr", 56},
                                PortName{"edr", 100},    PortName{"hdr", 200},    PortName{"ndr", 400},
                                PortName{"xdr", 800},    PortName{"gige", 1},     PortName{"gigabit", 1},
                                PortName{"gig", 1},      PortName{"giga", 1}};

struct KindWord {
    std::string_view word;  ///< lower case, with no letter before or after it
    std::string_view kind;  ///< of `ScaleOutNetwork`
};

/// The first that is found decides.
constexpr std::array kind_words{
    KindWord{"infiniband", "infiniband"},
    KindWord{"ib", "infiniband"},
    KindWord{"roce", "roce"},
    KindWord{"rocev", "roce"},
    KindWord{"spectrum-x", "roce"},
    KindWord{"thor", "roce"},
    KindWord{"pollara", "roce"},
    KindWord{"efa", "efa"},
    KindWord{"efav", "efa"},
    KindWord{"slingshot", "slingshot"},
    KindWord{"fdr", "infiniband"},
    KindWord{"edr", "infiniband"},
    KindWord{"hdr", "infiniband"},
    KindWord{"ndr", "infiniband"},
    KindWord{"xdr", "infiniband"},
    KindWord{"dcn", "dcn"},
    KindWord{"ethernet", "ethernet"},
    KindWord{"gbe", "ethernet"},
    KindWord{"gige", "ethernet"},
    KindWord{"tcp", "ethernet"},
    KindWord{"tcpx", "ethernet"},
    KindWord{"tcpxo", "ethernet"},
};

/// The fastest port there is, in Gbit/s: a larger rate is that of all ports of a node.
constexpr double fastest_port = 800;

/// Gbit/s that a number of such a unit is ("G", "GbE", "Gb/s", "GB/s", "Tbps"); 0 for other words. Bytes have a capital
/// B and are of a second: "GB" alone is memory.
double gbps_of_unit(std::string_view unit) {
    constexpr std::array units{std::string_view(""),        std::string_view("b"),       std::string_view("bps"),
                               std::string_view("b/s"),     std::string_view("b/sec"),   std::string_view("bit"),
                               std::string_view("bit/s"),   std::string_view("bits/s"),  std::string_view("be"),
                               std::string_view("ib/s"),    std::string_view("ige"),     std::string_view("igabit"),
                               std::string_view("igabits"), std::string_view("igabit/s")};
    if (unit.empty() || unit == "GB" || unit == "TB") return 0;
    std::string const lower = lower_case(unit);
    if (!(lower[0] == 'g' || lower[0] == 't') || !is_one_of(units, std::string_view(lower).substr(1))) return 0;
    double const scale = lower[0] == 't' ? 1000 : 1;
    std::string_view const of = unit.substr(1);
    if (lower.substr(1) == "ib/s") return 8 * 1.073741824 * scale;
    return of.starts_with("B/") || of.starts_with("Bp") ? 8 * scale : scale;
}

/// Whether a text in lower case begins with the name of a port of InfiniBand ("hdr nics"): "10 gigabit" counts none.
bool is_port_name(std::string_view text) {
    return std::any_of(port_names.begin(), port_names.end(), [&](PortName const& port) {
        if (port.gbps <= 1 || !text.starts_with(port.name)) return false;
        std::string_view const behind = text.substr(port.name.size());
        return behind.empty() || !(is_letter(behind[0]) || is_digit(behind[0]));
    });
}

struct Number {
    double value = 0;
    std::size_t end = 0;  ///< of it and the blanks behind it
};

/// The number that begins at `at`, if one does: not within a word ("BF3", "MT43244").
std::optional<Number> number_at(std::string_view text, std::size_t at) {
    bool const inside = at > 0 && (is_letter(text[at - 1]) || is_digit(text[at - 1]) || text[at - 1] == '.');
    bool const after_times =
        at > 0 && (text[at - 1] == 'x' || text[at - 1] == 'X') && (at == 1 || !is_letter(text[at - 2]));  // "8x400G"
    if (!is_digit(text[at]) || (inside && !after_times)) return std::nullopt;
    Number out;
    auto const [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), out.value);
    if (error != std::errc{}) return std::nullopt;
    out.end = static_cast<std::size_t>(end - text.data());
    while (out.end < text.size() && (text[out.end] == ' ' || text[out.end] == '-'))
        ++out.end;
    return out;
}

/// The place behind an "x" (or "*") that means times at `at`; nothing where none is.
std::optional<std::size_t> behind_times(std::string_view text, std::size_t at) {
    if (at >= text.size() || !(text[at] == 'x' || text[at] == 'X' || text[at] == '*')) return std::nullopt;
    ++at;
    while (at < text.size() && text[at] == ' ')
        ++at;
    return at;
}

/// With an x for each sign of multiplication, and parted from a name that it counts ("4xEDR").
std::string with_counts_apart(std::string_view text) {
    constexpr std::string_view sign = "\xc3\x97";
    std::string out(text);
    for (auto at = out.find(sign); at != std::string::npos; at = out.find(sign))
        out.replace(at, sign.size(), "x");
    for (std::size_t at = 1; at + 1 < out.size(); ++at)
        if (out[at] == 'x' && is_digit(out[at - 1]) && is_letter(out[at + 1])) out.insert(at + 1, " ");
    return out;
}

}  // namespace

std::string_view stated_network_kind(std::string_view text) {
    constexpr double least_of_rdma = 200;  // Gbit/s of a port that TCP does not fill (assumed)
    std::string const words = with_counts_apart(lower_case(text));
    auto const known = std::find_if(kind_words.begin(), kind_words.end(),
                                    [&](KindWord const& kind) { return has_word(words, kind.word); });
    if (known == kind_words.end()) return {};
    if (known->kind != "ethernet" || words.find("tcp") != std::string::npos) return known->kind;
    StatedNetworkRate const rate = stated_network_rate(text);
    return rate.of != RateOf::node && rate.gbps >= least_of_rdma ? "roce" : known->kind;
}

bool names_rdma_adapters(std::string_view text) {
    constexpr std::array either{std::string_view("rdma"), std::string_view("connectx"),  std::string_view("cx"),
                                std::string_view("mlx"),  std::string_view("bluefield"), std::string_view("bf")};
    std::string const words = with_counts_apart(lower_case(text));
    return std::any_of(either.begin(), either.end(), [&](std::string_view word) { return has_word(words, word); });
}

StatedNetworkRate stated_network_rate(std::string_view text) {
    StatedNetworkRate out;
    std::string const plain = with_counts_apart(text);
    std::string_view const part = plain;
    std::string const words = lower_case(part);
    for (std::size_t at = 0; at < part.size() && out.gbps == 0; ++at) {
        auto const number = number_at(part, at);
        if (!number) continue;
        std::size_t end = number->end;
        while (end < part.size() && (is_letter(part[end]) || part[end] == '/'))
            ++end;
        constexpr std::array ports{std::string_view("ports"), std::string_view("nics"), std::string_view("hcas"),
                                   std::string_view("adapters"), std::string_view("rails")};
        std::string_view const counted = std::string_view(words).substr(number->end, end - number->end);
        bool const counts = is_one_of(ports, counted) || is_port_name(std::string_view(words).substr(number->end));
        bool const behind_name = at > 0 && (words[at - 1] == 'x' || words[at - 1] == '*');  // "NDR200 x4"
        bool const has_unit = gbps_of_unit(part.substr(number->end, end - number->end)) > 0;
        if (out.ports == 0 && (counts || behind_times(part, number->end) || (behind_name && !has_unit)))
            out.ports = number->value;
        bool const is_list = end > number->end && part[end - 1] == '/';  // "10Gb/25Gb/100Gb Ethernet": what it can do
        out.gbps = is_list ? 0 : number->value * gbps_of_unit(part.substr(number->end, end - number->end));
        if (is_list) return out;
        while (out.gbps > 0 && end < part.size() && part[end] == ' ')
            ++end;
        if (auto const behind = out.gbps > 0 ? behind_times(part, end) : std::nullopt; behind && *behind < part.size())
            if (auto const count = number_at(part, *behind)) out.ports = count->value;  // "400G x 8"
    }
    if (!(out.gbps < 1e5)) out.gbps = 0;  // no rate of a network
    for (PortName const& port : port_names)
        if (out.gbps == 0 && has_word(words, port.name)) out.gbps = port.gbps;
    constexpr std::array of_device{std::string_view("per gpu"),    std::string_view("/gpu"),
                                   std::string_view("per device"), std::string_view("per accelerator"),
                                   std::string_view("per gcd"),    std::string_view("per chip")};
    constexpr std::array of_node{std::string_view("per node"),  std::string_view("/node"),
                                 std::string_view("per host"),  std::string_view("per server"),
                                 std::string_view("aggregate"), std::string_view("total")};
    if (has_any(words, of_device))
        out.of = RateOf::accelerator;
    else if (has_any(words, of_node) || (out.ports == 0 && out.gbps > fastest_port))
        out.of = RateOf::node;
    return out;
}

}  // namespace sextant
