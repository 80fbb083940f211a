#include "core/spec/device_name.hpp"

#include "core/text.hpp"
#include "core/words.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

namespace sextant {
namespace {

constexpr std::array silent{
    "nvidia",     "amd",    "intel",  "habana", "google",  "cloud",  "aws",       "gpu",    "gpus",   "geforce",
    "tesla",      "quadro", "radeon", "dgx",    "hgx",     "oam",    "instinct",  "tensor", "core",   "accelerator",
    "card",       "data",   "center", "grace",  "hopper",  "ampere", "blackwell", "volta",  "turing", "superchip",
    "generation", "r",      "tm",     "nvlink", "edition", "aib",    "acc"};

bool all_digits(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_digit); }

/// What follows `head`, if the word is that and nothing but digits (and, for memory, a closing e or x).
bool is_kind(std::string_view word, std::string_view head) {
    if (!word.starts_with(head)) return false;
    word.remove_prefix(head.size());
    if (word.ends_with('e') || word.ends_with('x')) word.remove_suffix(1);
    return word.empty() || all_digits(word);
}

/// "H100x8", "80GBx4"; not "RTX4090".
bool has_count_behind(std::string_view word) {
    auto const x = word.rfind('x');
    if (x == std::string_view::npos || x < 2 || !all_digits(word.substr(x + 1))) return false;
    std::string_view const counted = word.substr(0, x);
    return counted.ends_with("gb") || (is_digit(counted.back()) && !all_digits(counted));
}

/// Words of letters and digits in lower case; a form that is glued to its chip ("H100SXM5") begins a word of its own.
std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words(1);
    for (char const c : text) {
        auto const byte = static_cast<unsigned char>(c);
        if (std::isalnum(byte) != 0)
            words.back() += static_cast<char>(std::tolower(byte));
        else if (!words.back().empty())
            words.emplace_back();
        for (std::string_view const form : {"sxm", "pcie"})
            if (words.back().size() > form.size() && words.back().ends_with(form)) {
                words.back().resize(words.back().size() - form.size());
                words.emplace_back(form);
            }
    }
    if (words.back().empty()) words.pop_back();
    for (std::string& word : words)  // "8xH100"
        if (auto const x = word.find_first_not_of("0123456789");
            x != std::string::npos && x > 0 && x + 1 < word.size() && word[x] == 'x')
            word.erase(0, x + 1);
    for (std::string& word : words)
        if (has_count_behind(word)) word.erase(word.rfind('x'));
    return words;
}

/// "80gb", "80g", or "80" before "gb": the number; 0 for other words.
std::int64_t memory_in(std::string_view word, std::string_view next) {
    auto const unit = word.find_first_not_of("0123456789");
    std::string_view const letters = unit == std::string_view::npos ? next : word.substr(unit);
    if (unit == 0 || !(letters == "gb" || letters == "gib" || (letters == "g" && unit != std::string_view::npos)))
        return 0;
    std::int64_t value = 0;
    std::from_chars(word.data(), word.data() + word.size(), value);
    return value;
}

/// "8x" and "x8", "8" before "x" or "x" before "8": how many there are. "4090 x 2": the smaller number is.
bool is_count(std::string_view word, std::string_view next, std::string_view third) {
    if (word == "x") return all_digits(next);
    if (word.size() > 1 && word.ends_with('x')) return all_digits(word.substr(0, word.size() - 1));
    if (word.size() > 1 && word.starts_with('x')) return all_digits(word.substr(1));
    if (!all_digits(word) || next != "x") return false;
    bool const is_pair = all_digits(third);
    return !is_pair || word.size() < third.size() || (word.size() == third.size() && word < third);
}

/// "v5p" or "v4-128" and nothing else, as Google writes its TPUs and slices of them.
bool is_bare_tpu(std::vector<std::string> const& words) {
    constexpr std::array versions{"v2", "v3", "v4", "v5e", "v5litepod", "v5p", "v6e"};
    bool const slice = words.size() == 2 && all_digits(words[1]);
    return (words.size() == 1 || slice) && std::find(versions.begin(), versions.end(), words[0]) != versions.end();
}

std::string_view form_of(std::string_view word) {
    for (std::string_view const form : {"sxm", "pcie"})
        if (is_kind(word, form)) return form;
    return word == "nvl" ? word : std::string_view();
}

bool holds(AcceleratorProfile const& profile, std::int64_t gigabytes) {
    auto const capacity = profile.memory_capacity.value.base();
    auto const near = [&](double unit) {
        return std::abs(static_cast<double>(gigabytes) * unit - capacity) < 0.05 * capacity;
    };
    return near(1e9) || near(1024.0 * 1024 * 1024);
}

}  // namespace

DeviceName device_name(std::string_view text) {
    DeviceName out;
    constexpr std::string_view tpu = "tpu";
    std::vector<std::string> const words = words_of(text);
    if (is_bare_tpu(words)) out.chip = tpu;
    std::string_view counted;
    for (std::size_t i = 0; i < words.size(); ++i) {
        std::string_view const word = words[i];
        std::string_view const next = i + 1 < words.size() ? std::string_view(words[i + 1]) : std::string_view();
        if (std::find(silent.begin(), silent.end(), word) != silent.end() || is_kind(word, "hbm") ||
            is_kind(word, "gddr"))
            continue;
        std::string_view const third = i + 2 < words.size() ? std::string_view(words[i + 2]) : std::string_view();
        if (is_count(word, next, third)) {
            bool const in_two_words = all_digits(word) || word == "x";
            if (!in_two_words) counted = word;
            i += in_two_words ? 1 : 0;
        } else if (auto const memory = memory_in(word, next); memory > 0) {
            out.memory_gb = memory;
            i += all_digits(word) ? 1 : 0;
        } else if (auto const form = form_of(word); !form.empty()) {
            out.form = form;
        } else if (!(out.chip.starts_with(tpu) && out.chip != tpu && all_digits(word))) {  // "v5e-256": of a slice
            out.chip += word;
        }
    }
    if (out.chip.empty()) out.chip = counted;  // a device called "x100" is no hundred of nothing
    return out;
}

std::int64_t devices_counted(std::string_view text) {
    std::string const name = lower_case(trimmed(text));
    std::int64_t count = 0;
    auto const [stop, error] = std::from_chars(name.data(), name.data() + name.size(), count);
    if (error == std::errc{}) {
        std::string_view const rest = trimmed(std::string_view(stop, name.data() + name.size()));
        if (!rest.starts_with('x')) return 0;
        std::string_view const device = trimmed(rest.substr(1));
        if (!all_digits(device)) return device.empty() ? 0 : count;
        std::int64_t other = 0;  // "4090 x 2": the smaller number is how many
        std::from_chars(device.data(), device.data() + device.size(), other);
        return std::min(count, other);
    }
    auto const last = name.find_last_not_of("0123456789");
    if (last == std::string::npos || last < 2 || last + 1 == name.size() || name.size() - last > 7) return 0;
    std::from_chars(name.data() + last + 1, name.data() + name.size(), count);
    std::string_view const before = std::string_view(name).substr(0, last);
    if (name[last] == 'x') return before.back() == ' ' || is_digit(before.back()) ? count : 0;
    if (name[last] != '-') return 0;
    auto const ends_in = [&](auto const& versions) {
        return std::any_of(versions.begin(), versions.end(), [&](char const* each) {
            std::string_view const version = each;
            return before == version || before.ends_with(std::string("-").append(version)) ||
                   before.ends_with(std::string(" ").append(version));
        });
    };
    constexpr std::array by_cores{"v2", "v3", "v4", "v5p"};
    constexpr std::array by_chips{"v5e", "v5litepod", "v6e"};
    if (ends_in(by_cores)) return count / 2;
    return ends_in(by_chips) ? count : 0;
}

bool is_named(AcceleratorProfile const& profile, DeviceName const& wanted) {
    if (wanted.chip.empty()) return false;
    auto const same = [&](std::string const& name) { return device_name(name) == wanted; };
    return same(profile.name) || std::any_of(profile.aliases.begin(), profile.aliases.end(), same);
}

bool may_be_named(AcceleratorProfile const& profile, DeviceName const& wanted) {
    if (wanted.chip.empty()) return false;
    auto const similar = [&](std::string const& name) {
        DeviceName const own = device_name(name);
        return own.chip == wanted.chip && own.form == wanted.form &&
               (wanted.memory_gb == 0 || holds(profile, wanted.memory_gb));
    };
    return similar(profile.name) || std::any_of(profile.aliases.begin(), profile.aliases.end(), similar);
}

}  // namespace sextant
