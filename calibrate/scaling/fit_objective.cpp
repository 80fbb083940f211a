#include "calibrate/scaling/fit_objective.hpp"

#include "core/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

namespace sextant {
namespace {

constexpr char const* known = "huber[:DELTA], lad, lsq-log, lsq-raw, asymmetric[:PENALTY[:DELTA]]";

double positive(std::string_view text, std::string_view where) {
    double value = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !(value > 0 && value <= 1e6))
        throw InputError("{}: '{}' (a number above 0, at most 1e6; objectives are {})", where, text, known);
    return value;
}

double side(FitObjective const& o, double residual) {
    return o.kind == ObjectiveKind::asymmetric && residual > 0 ? o.penalty : 1;
}

}  // namespace

double FitObjective::rho(double residual) const {
    double const size = std::abs(residual);
    switch (kind) {
        case ObjectiveKind::lad: return size;
        case ObjectiveKind::least_squares:
        case ObjectiveKind::raw_squares: return residual * residual / 2;
        case ObjectiveKind::huber:
        case ObjectiveKind::asymmetric: break;
    }
    return side(*this, residual) * (size <= delta ? size * size / 2 : delta * (size - delta / 2));
}

double FitObjective::slope(double residual) const {
    switch (kind) {
        case ObjectiveKind::lad: return residual > 0 ? 1 : residual < 0 ? -1 : 0;
        case ObjectiveKind::least_squares:
        case ObjectiveKind::raw_squares: return residual;
        case ObjectiveKind::huber:
        case ObjectiveKind::asymmetric: break;
    }
    return side(*this, residual) * std::clamp(residual, -delta, delta);
}

double FitObjective::weight(double residual) const {
    double const size = std::abs(residual);
    switch (kind) {
        case ObjectiveKind::lad: return 1 / std::max(size, 1e-9);
        case ObjectiveKind::least_squares:
        case ObjectiveKind::raw_squares: return 1;
        case ObjectiveKind::huber:
        case ObjectiveKind::asymmetric: break;
    }
    return side(*this, residual) * (size <= delta ? 1 : delta / size);
}

std::string name_of(FitObjective const& objective) {
    switch (objective.kind) {
        case ObjectiveKind::lad: return "lad";
        case ObjectiveKind::least_squares: return "lsq-log";
        case ObjectiveKind::raw_squares: return "lsq-raw";
        case ObjectiveKind::asymmetric: return fmt::format("asymmetric:{}:{}", objective.penalty, objective.delta);
        case ObjectiveKind::huber: break;
    }
    return fmt::format("huber:{}", objective.delta);
}

FitObjective fit_objective_from(std::string_view text, std::string_view where) {
    std::vector<std::string_view> parts;
    for (std::size_t begin = 0; begin <= text.size();) {
        std::size_t const end = std::min(text.find(':', begin), text.size());
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    FitObjective o;
    std::string_view const name = parts.front();
    std::size_t most = 1;
    if (name == "huber") {
        most = 2;
        if (parts.size() > 1) o.delta = positive(parts[1], where);
    } else if (name == "lad") {
        o.kind = ObjectiveKind::lad;
    } else if (name == "lsq-log") {
        o.kind = ObjectiveKind::least_squares;
    } else if (name == "lsq-raw") {
        o.kind = ObjectiveKind::raw_squares;
    } else if (name == "asymmetric") {
        most = 3;
        o.kind = ObjectiveKind::asymmetric;
        if (parts.size() > 1) o.penalty = positive(parts[1], where);
        if (parts.size() > 2) o.delta = positive(parts[2], where);
    } else {
        throw InputError("{}: unknown objective '{}' (known: {})", where, text, known);
    }
    if (parts.size() > most) throw InputError("{}: '{}' (known: {})", where, text, known);
    return o;
}

}  // namespace sextant
