#include "cost_models/link_words.hpp"

#include "core/measurements/network_rate.hpp"
#include "core/text.hpp"
#include "core/words.hpp"

#include <algorithm>
#include <array>

namespace sextant {
namespace {

struct UpWord {
    std::string_view word;  ///< in the intra_link cell, lower case
    ScaleUpKind kind;
};

/// The first word that is found decides; a cell with none of them says nothing of the kind.
constexpr std::array up_words{UpWord{"nvswitch", ScaleUpKind::switched},
                              UpWord{"nvl32", ScaleUpKind::switched},
                              UpWord{"nvl36", ScaleUpKind::switched},
                              UpWord{"nvl72", ScaleUpKind::switched},
                              UpWord{"mesh", ScaleUpKind::mesh},
                              UpWord{"all-to-all", ScaleUpKind::mesh},
                              UpWord{"infinity fabric", ScaleUpKind::mesh},
                              UpWord{"xgmi", ScaleUpKind::mesh},
                              UpWord{"pcie", ScaleUpKind::pcie},
                              UpWord{"torus", ScaleUpKind::torus}};

/// What the inter_link cell says of the nodes of a rack, lower case.
constexpr std::array rack_words{"nvlink", "nvswitch", "mnnvl", "nvl72"};

}  // namespace

bool says_without_nvls(std::string const& links) {
    for (std::string_view const word : {"nvls off", "nvls=off", "nvls: off", "nvls=0", "nvls_enable=0", "nvls disabled",
                                        "nvls disable", "no nvls", "without nvls", "nvls_enable: 0"})
        if (has_word(links, word)) return true;
    constexpr std::string_view algorithms = "nccl_algo=";
    auto const at = links.find(algorithms);
    if (at == std::string::npos) return false;
    std::string_view const value = std::string_view(links).substr(at + algorithms.size());
    return leaves_out_nvls(value.substr(0, value.find_first_of(" );")));
}

std::string_view network_named(std::string const& inter) {
    if (std::string_view const kind = stated_network_kind(inter); !kind.empty()) return kind;
    for (std::string_view const word : {"omni-path", "omnipath", "opa"})
        if (has_word(inter, word)) return "omni-path";
    return {};
}

bool names_rack(std::string const& inter, std::string_view network) {
    if (inter.starts_with(rack_words.front())) return true;
    return network.empty() && std::any_of(rack_words.begin(), rack_words.end(),
                                          [&](std::string_view word) { return inter.find(word) != std::string::npos; });
}

bool names_switch_reduction(std::string const& inter) {
    constexpr std::array either{std::string_view("sharp"), std::string_view("collnet")};
    constexpr std::array none{
        std::string_view("no sharp"),         std::string_view("without sharp"),    std::string_view("sharp off"),
        std::string_view("sharp disabled"),   std::string_view("no collnet"),       std::string_view("without collnet"),
        std::string_view("collnet off"),      std::string_view("collnet disabled"), std::string_view("collnet=0"),
        std::string_view("collnet_enable=0"), std::string_view("collnet_enable: 0")};
    return has_any(inter, either) && !has_any(inter, none);
}

bool names_bridge(std::string const& intra) {
    constexpr std::array bridges{std::string_view("nvlink"), std::string_view("bridge")};
    constexpr std::array none{std::string_view("no nvlink"),      std::string_view("no bridge"),
                              std::string_view("without nvlink"), std::string_view("without bridge"),
                              std::string_view("nvlink off"),     std::string_view("nvlink disabled")};
    return has_any(intra, bridges) && !has_any(intra, none);
}

std::optional<ScaleUpKind> stated_scale_up(std::string const& intra_link) {
    std::string const intra = lower_case(intra_link);
    for (UpWord const& word : up_words)
        if (intra.find(word.word) != std::string::npos) return word.kind;
    return std::nullopt;
}

bool leaves_out_nvls(std::string_view nccl_algo) {
    std::string const all = lower_case(nccl_algo);
    std::string_view list = all;
    if (list.find(':') != std::string_view::npos) {
        constexpr std::string_view function = "allreduce:";
        auto const at = list.find(function);
        if (at == std::string_view::npos) return false;
        list = list.substr(at + function.size());
        list = list.substr(0, list.find(';'));
    }
    bool const excludes = list.starts_with('^');
    if (excludes) list.remove_prefix(1);
    while (!list.empty()) {
        auto const end = std::min(list.find(','), list.size());
        std::string_view const name = list.substr(0, end);
        if (excludes && name == "nvls") return true;
        if (!excludes && name.starts_with("nvls")) return false;
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return !excludes && !all.empty();
}

}  // namespace sextant
