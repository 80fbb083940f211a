#include "planner/importers/argument_reader.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"
#include "planner/importers/read_values.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace sextant {
namespace {

bool begins_with_one(std::string_view name, std::string_view beginnings) {
    for (std::size_t begin = 0; begin < beginnings.size();) {
        std::size_t const end = std::min(beginnings.find(' ', begin), beginnings.size());
        if (name.starts_with(beginnings.substr(begin, end - begin))) return true;
        begin = end + 1;
    }
    return false;
}

bool is_argument(std::string const& word) { return word.starts_with("--") && word.size() > 2; }

bool is_of_model(std::string const& word) {
    std::string const name = word.substr(0, word.find('='));
    return name == "--num-layers" || name == "--tensor-model-parallel-size";
}

/// Of the first words: what stands behind them may be a program's own.
bool given_otherwise(std::vector<std::string> const& before, std::vector<std::string> const& values) {
    return !before.empty() && !values.empty() && before.front() != values.front();
}

}  // namespace

ArgumentReader::ArgumentReader(ShellScript const& script, std::string_view where)
    : where_(where), reassigned_(script.reassigned) {
    using Words = std::vector<std::string>;
    Words const* launch = nullptr;
    std::size_t launches = 0;
    std::size_t programs = 0;
    for (Words const& command : script.commands) {
        bool const has_arguments = std::any_of(command.begin(), command.end(), is_argument);
        if (is_argument(command.front()) || !has_arguments) continue;  // a list of arguments, or none
        ++programs;
        if (std::none_of(command.begin(), command.end(), is_of_model)) continue;
        if (launches++ == 0) launch = &command;
    }
    if (launches > 1)
        other_launches_ =
            fmt::format("{} commands have --num-layers or --tensor-model-parallel-size; the first is read", launches);
    if (launch != nullptr && programs > 1)
        read(*launch);
    else
        for (Words const& command : script.commands)
            read(command);
}

void ArgumentReader::read(std::vector<std::string> const& words) {
    for (std::string const& word : words) {
        if (is_argument(word)) {
            std::size_t const equals = word.find('=');
            Argument argument{.name = word.substr(0, equals)};
            if (equals != std::string::npos) argument.values.push_back(word.substr(equals + 1));
            if (auto const old = std::find_if(arguments_.begin(), arguments_.end(),
                                              [&](Argument const& a) { return a.name == argument.name; });
                old != arguments_.end()) {
                argument.before = old->before.empty() ? old->values : old->before;
                arguments_.erase(old);
            }
            arguments_.push_back(std::move(argument));
        } else if (!arguments_.empty()) {
            arguments_.back().values.push_back(word);
        }
    }
}

ArgumentReader::Argument* ArgumentReader::find(std::string_view name) {
    for (Argument& argument : arguments_)
        if (argument.name == name) {
            argument.asked = true;
            return &argument;
        }
    missing_.emplace_back(name);
    return nullptr;
}

bool ArgumentReader::flag(std::string_view name) { return find(name) != nullptr; }

std::vector<std::string> ArgumentReader::words(std::string_view name) {
    Argument const* const argument = find(name);
    if (argument == nullptr) return {};
    if (argument->values.empty()) throw InputError("{}: {}: a value is missing", where_, name);
    auto const is_variable = [](std::string const& word) { return word.find('$') != std::string::npos; };
    if (is_variable(argument->values.front()))
        throw InputError("{}: {}: the value of {} is not in the file (write the number, or assign it in the script)",
                         where_, name, argument->values.front());
    // Behind values a variable stands for further arguments.
    return {argument->values.begin(), std::find_if(argument->values.begin(), argument->values.end(), is_variable)};
}

std::optional<std::string> ArgumentReader::text(std::string_view name) {
    std::vector<std::string> const all = words(name);
    if (all.empty()) return {};
    return all.front();
}

std::optional<std::string> ArgumentReader::text_of(std::initializer_list<std::string_view> names) {
    std::optional<std::string> found;
    for (std::string_view const name : names)
        if (auto value = text(name); value && !found) found = std::move(value);
    return found;
}

std::optional<std::int64_t> ArgumentReader::integer(std::string_view name, std::int64_t least, std::int64_t most) {
    auto const value = text(name);
    if (!value) return {};
    return whole_number(*value, where_, name, least, most);
}

std::optional<double> ArgumentReader::number(std::string_view name) {
    auto const value = text(name);
    if (!value) return {};
    double number = 0;
    auto const [stop, error] = std::from_chars(value->data(), value->data() + value->size(), number);
    if (error != std::errc{} || stop != value->data() + value->size() || !std::isfinite(number))
        throw InputError("{}: {}: '{}' is not a number", where_, name, *value);
    return number;
}

std::int64_t ArgumentReader::degree(std::string_view name, std::int64_t fallback) {
    constexpr std::int64_t most = 1 << 20;
    return integer(name, 1, most).value_or(fallback);
}

void ArgumentReader::finish(ForeignPlan& plan, std::string_view without_effect,
                            std::span<NotCounted const> not_counted) const {
    if (!other_launches_.empty()) plan.warnings.push_back(other_launches_);
    for (std::string const& name : reassigned_)
        plan.warnings.push_back(name + ": assigned several values; the last one before each use counts");
    for (Argument const& argument : arguments_) {
        if (argument.asked && given_otherwise(argument.before, argument.values))
            plan.warnings.push_back(fmt::format("{}: given as {} and as {}; the last one counts", argument.name,
                                                argument.before.front(), argument.values.front()));
        if (argument.asked) continue;
        auto const known = std::find_if(not_counted.begin(), not_counted.end(),
                                        [&](NotCounted const& n) { return n.name == argument.name; });
        bool const harmless = begins_with_one(argument.name, without_effect);
        if (known != not_counted.end())
            plan.warnings.push_back(argument.name + ": " + std::string(known->what));
        else if (harmless)
            plan.ignored.push_back(argument.name);
        else
            plan.warnings.push_back(argument.name + ": not known here, so counted as without effect" +
                                    did_you_mean(argument.name, missing_));
    }
}

void check_model_size(ForeignModelSize const& size, ModelSpec const& model, std::string_view where) {
    auto const check = [&](std::optional<std::int64_t> said, std::int64_t has, char const* what) {
        if (said && *said != has)
            throw InputError("{}: {} {}, but {} has {} (--model has to name the model of the file)", where, *said, what,
                             model.name, has);
    };
    check(size.layers, model.layer_count(), "layers");
    check(size.hidden, model.hidden, "hidden units");
    check(size.heads, model.attention.heads, "attention heads");
    check(size.experts, model.moe ? model.moe->experts : 0, "experts");
    if (!model.attention.latent) {
        check(size.kv_heads, model.attention.kv_heads, "key-value heads");
        check(size.head_dim, model.attention.head_dim, "channels of a head");
    }
    check(size.intermediate, model.mlp.intermediate, "units between the halves of a feed-forward layer");
    check(size.vocab, model.vocab, "words of the vocabulary");
    check(size.mtp_modules, model.mtp_modules, "modules of multi-token prediction");
    if (!model.moe) return;
    check(size.top_k, model.moe->top_k, "experts of a token");
    check(size.expert_intermediate, model.moe->intermediate, "units within an expert");
    check(size.shared_intermediate, model.moe->shared_intermediate, "units within the shared experts");
}

void set_data_parallel(ForeignPlan& out) {
    if (!out.accelerators) return;
    ParallelPlan& p = out.plan;
    std::int64_t const inner = p.tp * p.pp * p.cp;
    if (*out.accelerators % inner != 0) {
        out.no_accelerators = fmt::format("its {} accelerators are no multiple of tp x pp x cp = {} x {} x {}",
                                          *out.accelerators, p.tp, p.pp, p.cp);
        out.accelerators.reset();
        return;
    }
    p.dp = *out.accelerators / inner;
}

}  // namespace sextant
