#include "kernels/harness/row.hpp"

#include <charconv>
#include <cmath>

#include "kernels/harness/errors.hpp"

namespace sextant::bench {
namespace {

template <class Number>
std::string text_of(Number value) {
    char buffer[64];
    auto const end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    return {buffer, end};
}

template <class Number>
Number number_of(std::string_view text, char const* column) {
    Number value{};
    auto const [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (fault != std::errc{} || end != text.data() + text.size())
        throw BadInput(std::string(column) + ": \"" + std::string(text) + "\" is not a number");
    return value;
}

template <class... Cases>
struct Overloaded : Cases... {
    using Cases::operator()...;
};

}  // namespace

std::vector<Column> const& columns() {
    static std::vector<Column> const all{
        {"bench", &Row::bench},
        {"backend", &Row::backend},
        {"device", &Row::device},
        {"driver", &Row::driver},
        {"date", &Row::date},
        {"kernel", &Row::kernel},
        {"dtype", &Row::dtype},
        {"m", &Shape::m},
        {"n", &Shape::n},
        {"k", &Shape::k},
        {"groups", &Shape::groups},
        {"batch", &Shape::batch},
        {"seq_q", &Shape::seq_q},
        {"seq_kv", &Shape::seq_kv},
        {"heads", &Shape::heads},
        {"kv_heads", &Shape::kv_heads},
        {"head_dim", &Shape::head_dim},
        {"causal", &Shape::causal},
        {"bytes", &Shape::bytes},
        {"ranks", &Shape::ranks},
        {"nodes", &Shape::nodes},
        {"cache", &Row::cache},
        {"launch", &Row::launch},
        {"median_us", &Row::median_us},
        {"p10_us", &Row::p10_us},
        {"p90_us", &Row::p90_us},
        {"repeats", &Row::repeats},
        {"sm_clock_mhz", &Row::sm_clock_mhz},
        {"mem_clock_mhz", &Row::mem_clock_mhz},
        {"throttle", &Row::throttle},
        {"max_rel_error", &Row::max_rel_error},
        {"tflops", &Row::tflops},
        {"gbps", &Row::gbps},
        {"note", &Row::note},
    };
    return all;
}

std::string sizes_text(Shape const& shape) {
    Row row;
    row.shape = shape;
    std::string text;
    for (Column const& column : columns())
        if (std::holds_alternative<std::int64_t Shape::*>(column.field))
            if (std::string const value = cell(row, column); !value.empty())
                text += " " + std::string(column.name) + "=" + value;
    return text;
}

std::string cell(Row const& row, Column const& column) {
    auto const integer = [](std::int64_t value) { return value == Shape::unset ? "" : text_of(value); };
    return std::visit(Overloaded{
                          [&](std::string Row::*field) { return row.*field; },
                          [&](double Row::*field) { return std::isnan(row.*field) ? "" : text_of(row.*field); },
                          [&](std::int64_t Row::*field) { return integer(row.*field); },
                          [&](std::int64_t Shape::*field) { return integer(row.shape.*field); },
                      },
                      column.field);
}

void set_cell(Row& row, Column const& column, std::string_view text) {
    auto const integer = [&] { return text.empty() ? Shape::unset : number_of<std::int64_t>(text, column.name); };
    std::visit(
        Overloaded{
            [&](std::string Row::*field) { row.*field = text; },
            [&](double Row::*field) { row.*field = text.empty() ? Row::unset : number_of<double>(text, column.name); },
            [&](std::int64_t Row::*field) { row.*field = integer(); },
            [&](std::int64_t Shape::*field) { row.shape.*field = integer(); },
        },
        column.field);
}

std::string resume_key(Row const& row) {
    std::string key;
    for (Column const& column : columns()) {
        if (column.field.index() == 3) {
            key += cell(row, column) + "|";
            continue;
        }
        for (auto const part :
             {&Row::bench, &Row::backend, &Row::device, &Row::kernel, &Row::dtype, &Row::cache, &Row::launch})
            if (auto const* text = std::get_if<std::string Row::*>(&column.field); text && *text == part)
                key += row.*part + "|";
    }
    return key;
}

std::string_view method_in(std::string_view driver) {
    auto const at = driver.rfind("method ");
    return at == std::string_view::npos ? std::string_view() : driver.substr(at);
}

bool failed(Row const& row) { return row.note.starts_with(failed_mark); }

}  // namespace sextant::bench
