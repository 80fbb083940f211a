#include "planner/validation/row_state.hpp"

#include "core/graph/plan_check.hpp"
#include "core/is_one_of.hpp"
#include "core/text.hpp"
#include "core/words.hpp"
#include "planner/validation/row_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sextant {
namespace {

/// Optimizers that have no entry here, as they are called behind "optimizer:" in letters and digits.
constexpr std::array<std::string_view, 14> other_optimizers{"sophia",   "sophiag",  "shampoo",  "soap",  "came",
                                                            "lamb",     "galore",   "adagrad",  "lomo",  "adalomo",
                                                            "adammini", "novograd", "ademamix", "apollo"};
/// Those whose names mean nothing else, wherever they stand.
constexpr std::array<std::string_view, 5> unmistakable{"shampoo", "galore", "adalomo", "adam-mini", "ademamix"};
/// In letters and digits. An optimizer of bitsandbytes ("bnb") may have 32 bits as well.
constexpr std::array<std::string_view, 7> adam_in_8_bits{"adamw8bit",     "adam8bit",      "8bitadam", "8bitfusedadam",
                                                         "8bitpagedadam", "paged8bitadam", "bnb8bit"};
constexpr std::array<std::string_view, 3> some_in_8_bits{"8bitoptim", "optimizer8bit", "optimizers8bit"};

/// What stands behind "optimizer=", "optimizer:" or "optim=", in letters and digits.
std::string named_optimizer(std::string_view text) {
    for (std::string_view const key : {std::string_view("optimizer"), std::string_view("optim")})
        for (auto at = stated_at(text, key); at != nowhere; at = stated_at(text, key, at + 1)) {
            std::string_view const rest = trimmed(text.substr(at + key.size()));
            if (!rest.starts_with("=") && !rest.starts_with(":")) continue;
            std::string_view const value = value_behind(rest, 0);
            return letters_and_digits(value.substr(0, value.find_first_of(" ;,.()")));
        }
    return "";
}

void apply_named_optimizer(std::string const& text, TrainingCase& out) {
    Optimizer& optimizer = out.plan.optimizer;
    std::string const named = named_optimizer(text);
    for (std::string_view const word : unmistakable)
        if (stated_at(text, word) != nowhere) throw RowSkip(fmt::format("optimizer {} is not modelled", word));
    if (is_one_of(other_optimizers, named)) throw RowSkip(fmt::format("optimizer {} is not modelled", named));
    bool narrow = false;
    bool some_narrow = false;
    bool paged = false;
    for (std::string_view const clause : clauses_of(text)) {
        std::string const joined = letters_and_digits(clause);
        narrow = narrow || has_any(joined, adam_in_8_bits);
        some_narrow = some_narrow || has_any(joined, some_in_8_bits);
        paged = paged || has(joined, "pagedadam") || has(joined, "paged8bit");
    }
    if (named == "lion8bit" || stated_at(text, "8-bit lion") != nowhere) {
        optimizer = Optimizer::lion_8bit;
    } else if (stated_at(text, "adafactor") != nowhere) {
        optimizer = Optimizer::adafactor;
    } else if (named == "lion") {
        optimizer = Optimizer::lion;
    } else if (narrow || some_narrow) {
        optimizer = Optimizer::adamw_8bit;
        if (!narrow) out.assumptions.emplace_back("AdamW where an 8-bit optimizer is stated");
        if (paged) out.assumptions.emplace_back("a paged optimizer's state stays on the accelerator");
    } else if (has(named, "8bit")) {
        throw RowSkip(fmt::format("optimizer {} is not modelled", named));
    } else if (named == "sgd") {
        optimizer = Optimizer::sgd;
    } else if (stated_at(text, "muon") != nowhere) {
        optimizer = Optimizer::muon;
    }
}

/// What an "offload" of a text is of.
enum class Offloaded : std::uint8_t { unstated, optimizer, part_of_optimizer, weights, activations, by_zero };

/// The word that a text begins with, behind blanks, joints and "of the".
std::string_view word_after_offload(std::string_view text) {
    for (;;) {
        text = value_behind(text, 0);
        std::size_t end = 0;
        while (end < text.size() && is_letter(text[end]))
            ++end;
        std::string_view const word = text.substr(0, end);
        if (word != "of" && word != "the" && word != "cpu") return word;
        text = text.substr(end);
    }
}

/// The word that a text ends with, before "CPU", "state" and the like: what is offloaded in "optimizer state CPU
/// offload".
std::string_view word_before_offload(std::string_view text) {
    constexpr std::array<std::string_view, 6> passed{"cpu", "host", "nvme", "state", "states", "to"};
    for (;;) {
        text = text.substr(0, text.find_last_not_of(" \t-_=:") + 1);
        std::size_t begin = text.size();
        while (begin > 0 && (is_letter(text[begin - 1]) || is_digit(text[begin - 1])))
            --begin;
        std::string_view const word = text.substr(begin);
        if (!is_one_of(passed, word)) return word;
        text = text.substr(0, begin);
    }
}

Offloaded offloaded_by(std::string_view text, std::size_t at) {
    std::size_t const begin = text.substr(0, at).find_last_of(clause_ends);
    std::size_t const from = begin == nowhere ? 0 : begin + 1;
    std::string_view const clause = text.substr(from, text.find_first_of(clause_ends, at) - from);
    std::size_t end = at;
    while (end < text.size() && is_letter(text[end]))
        ++end;
    std::string_view const before = word_before_offload(text.substr(from, at - from));
    std::string_view const after = word_after_offload(clause.substr(std::min(clause.size(), end - from)));
    auto const is = [&](std::string_view what) { return before.starts_with(what) || after.starts_with(what); };
    if (has(clause, "param") || has(clause, "weight") || is("model")) return Offloaded::weights;
    if (is("optim") || is("adam"))
        return has(clause, "fraction") || has(clause, "ratio") || has(clause, "partial") ? Offloaded::part_of_optimizer
                                                                                         : Offloaded::optimizer;
    if (is("activation") || is("checkpoint")) return Offloaded::activations;
    return before.starts_with("zero") || (before.size() == 1 && is_digit(before[0])) ? Offloaded::by_zero
                                                                                     : Offloaded::unstated;
}

void add_offload(Offload& all, Offload one) {
    bool const activations = offloads_activations(all) || offloads_activations(one);
    Offload const state = offloads_parameters(all) || offloads_parameters(one) ? Offload::parameters
                          : offloads_optimizer(all) || offloads_optimizer(one) ? Offload::optimizer
                                                                               : Offload::none;
    all = activations ? with_activations(state) : state;
}

void apply_named_offload(TrainingRow const& row, std::string const& text, TrainingCase& out) {
    constexpr std::string_view word = "offload";
    for (auto at = text.find(word); at != nowhere; at = text.find(word, at + 1)) {
        constexpr std::size_t reach = 2;  // "no CPU offload"
        if (is_denied(text, at, reach)) continue;
        ParallelPlan& plan = out.plan;
        Offloaded const what = offloaded_by(text, at);
        // DeepSpeed offloads weights with stage 3 only (its documentation of offload_param).
        bool const by_deepspeed = what == Offloaded::by_zero || is_framework(*out.framework, "deepspeed");
        bool const optimizer_alone = by_deepspeed && row.zero_stage && (plan.zero == 1 || plan.zero == 2);
        // torchtune's `fsdp_cpu_offload` is FSDP2's CPUOffloadPolicy.
        bool const by_torchtune = what == Offloaded::unstated && row.framework_has("torchtune");
        if (what == Offloaded::weights || by_torchtune) {
            add_offload(plan.offload, Offload::parameters);
            if (!offload_suits_sharding(plan)) throw RowSkip("offload of weights that ZeRO 3 does not gather");
            if (by_torchtune) out.assumptions.emplace_back("offload of all state, as FSDP2 has it");
            continue;
        }
        if (what == Offloaded::part_of_optimizer) throw RowSkip("offload of a part of the optimizer");
        if (what == Offloaded::activations) {
            if (!row.framework_has("torchtune")) throw RowSkip("offload of some activations, the share is not stated");
            out.assumptions.emplace_back("all activations that are kept are offloaded, as torchtune does");
            add_offload(plan.offload, Offload::activations);
        } else if (what == Offloaded::optimizer) {
            add_offload(plan.offload, Offload::optimizer);
        } else if (optimizer_alone) {
            add_offload(plan.offload, Offload::optimizer);
            out.assumptions.push_back(
                fmt::format("offload of the optimizer, as DeepSpeed has it with ZeRO-{}", plan.zero));
        } else {
            throw RowSkip("offload to host memory, of what is not stated");
        }
    }
}

}  // namespace

void apply_optimizer(TrainingRow const& row, TrainingCase& out) {
    // torchtune's full finetunes, and steps of kernels/train_step that say so, have all of the state in bf16.
    if (row.notes_have("bf16 full finetune") || row.notes_have("states=bf16"))
        out.plan.optimizer = Optimizer::adamw_pure_bf16;
    for (std::string const* const text : {&row.framework, &row.notes})
        apply_named_optimizer(lower_case(*text), out);
}

void apply_offload(TrainingRow const& row, TrainingCase& out) {
    if (row.notes_have("Full Offload") || row.notes_have("Opt Offl=Y") || row.notes_have("Par Offl=Y"))
        throw RowSkip("offload of weights and optimizer through DeepSpeed");
    if (auto const layers = row.note_number("activation CPU offload of ")) {
        out.plan.offload = Offload::activations;
        out.plan.offload_layers = *layers;
        return;
    }
    if (row.notes_have("offloading=True")) throw RowSkip("offload of some activations, the share is not stated");
    for (std::string const* const text : {&row.framework, &row.sharding, &row.notes})
        apply_named_offload(row, lower_case(*text), out);
}

}  // namespace sextant
