#include "simulator/schedules/csv_action.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace sextant {

namespace {

struct Word {
    std::string_view text;
    CsvActionKind kind;
    SlotKind slot = SlotKind::forward;
};

constexpr std::array words{
    Word{"F", CsvActionKind::compute, SlotKind::forward},
    Word{"B", CsvActionKind::compute, SlotKind::backward},
    Word{"I", CsvActionKind::compute, SlotKind::backward_input},
    Word{"W", CsvActionKind::compute, SlotKind::backward_weight},
    Word{"SEND_F", CsvActionKind::send_forward},
    Word{"RECV_F", CsvActionKind::receive_forward},
    Word{"SEND_B", CsvActionKind::send_backward},
    Word{"RECV_B", CsvActionKind::receive_backward},
    Word{"UNSHARD", CsvActionKind::sharding},
    Word{"RESHARD", CsvActionKind::sharding},
    Word{"REDUCE_GRAD", CsvActionKind::sharding},
};

/// Takes a number off the front of the text; nothing if there is none or it is too large.
std::optional<std::int32_t> take_number(std::string_view& text) {
    std::int32_t number = 0;
    if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

std::optional<CsvAction> parse_single(std::string_view cell) {
    auto const stage = take_number(cell);
    if (!stage) return std::nullopt;
    std::size_t const letters = cell.find_first_of("0123456789");
    std::string_view const name = cell.substr(0, letters);
    cell.remove_prefix(name.size());
    for (Word const& word : words) {
        if (word.text != name) continue;
        CsvAction action{.kind = word.kind, .slot = {.kind = word.slot, .stage = *stage}};
        if (word.kind == CsvActionKind::sharding && cell.empty()) return action;
        auto const microbatch = take_number(cell);
        if (!microbatch || !cell.empty()) return std::nullopt;
        action.slot.microbatch = *microbatch;
        return action;
    }
    return std::nullopt;
}

}  // namespace

std::optional<CsvAction> parse_csv_action(std::string_view cell) {
    if (!cell.starts_with('(')) return parse_single(cell);
    constexpr std::string_view tail = ")OVERLAP_F_B";
    std::size_t const middle = cell.find(';');
    if (!cell.ends_with(tail) || middle == std::string_view::npos) return std::nullopt;
    auto const first = parse_single(cell.substr(1, middle - 1));
    auto const second = parse_single(cell.substr(middle + 1, cell.size() - tail.size() - middle - 1));
    bool const pair = first && second && first->kind == CsvActionKind::compute &&
                      second->kind == CsvActionKind::compute && first->slot.kind == SlotKind::forward &&
                      second->slot.kind == SlotKind::backward;
    if (!pair) return std::nullopt;
    return CsvAction{.kind = CsvActionKind::compute,
                     .slot = {.kind = SlotKind::forward_backward,
                              .stage = first->slot.stage,
                              .microbatch = first->slot.microbatch,
                              .backward_stage = second->slot.stage,
                              .backward_microbatch = second->slot.microbatch}};
}

std::string transfer_text(CsvActionKind kind, std::int32_t stage, std::int32_t microbatch) {
    for (Word const& word : words)
        if (word.kind == kind) return fmt::format("{}{}{}", stage, word.text, microbatch);
    return {};
}

}  // namespace sextant
