#include "core/json/object_reader.hpp"

#include "core/is_one_of.hpp"
#include "core/nearest.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace sextant {
namespace {

using Json = nlohmann::json;

constexpr double exact_limit = 9007199254740992.0;  // 2^53: beyond it a double skips integers

std::string kind_of(Json const& value) {
    switch (value.type()) {
        case Json::value_t::null: return "null";
        case Json::value_t::object: return "an object";
        case Json::value_t::array: return "a list";
        case Json::value_t::string: return fmt::format("the text '{}'", value.get<std::string>().substr(0, 60));
        case Json::value_t::boolean: return value.get<bool>() ? "true" : "false";
        default: return fmt::format("the number {}", value.dump());
    }
}

std::string const& as_text(Json const& value, std::string const& where) {
    if (!value.is_string()) throw InputError("{}: is {} (a text in quotes is expected)", where, kind_of(value));
    return value.get_ref<std::string const&>();
}

double as_number(Json const& value, std::string const& where) {
    if (!value.is_number()) throw InputError("{}: is {} (a number is expected)", where, kind_of(value));
    auto const number = value.get<double>();
    if (!std::isfinite(number)) throw InputError("{}: is not finite (a finite number is expected)", where);
    return number;
}

std::int64_t as_integer(Json const& value, std::string const& where) {
    if (!value.is_number()) throw InputError("{}: is {} (a whole number is expected)", where, kind_of(value));
    auto const number = as_number(value, where);
    if (number != std::floor(number)) throw InputError("{}: is {} (a whole number is expected)", where, value.dump());
    if (std::abs(number) > exact_limit)
        throw InputError("{}: is {} (whole numbers up to 2^53 are read)", where, value.dump());
    return static_cast<std::int64_t>(number);
}

bool as_flag(Json const& value, std::string const& where) {
    if (!value.is_boolean()) throw InputError("{}: is {} (true or false is expected)", where, kind_of(value));
    return value.get<bool>();
}

Json const& as_list(Json const& value, std::string const& where) {
    if (!value.is_array()) throw InputError("{}: is {} (a list is expected)", where, kind_of(value));
    return value;
}

std::string element(std::string const& where, std::size_t index) { return fmt::format("{}[{}]", where, index); }

}  // namespace

ObjectReader::ObjectReader(JsonDocument const& document)
    : ObjectReader(document.root(), document.name(), std::string{}, Provenance{}) {}

ObjectReader::ObjectReader(Json const& value, std::string document, std::string path, Provenance provenance)
    : value_(&value), document_(std::move(document)), path_(std::move(path)), provenance_(std::move(provenance)) {
    if (!value.is_object()) throw InputError("{}: is {} (an object in {{}} is expected)", where(), kind_of(value));
}

std::string ObjectReader::where() const { return path_.empty() ? document_ : document_ + ": " + path_; }

std::string ObjectReader::path_to(std::string_view key) const {
    return fmt::format("{}: {}{}{}", document_, path_, path_.empty() ? "" : ".", key);
}

std::string ObjectReader::path_below(std::string_view key) const {
    return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

void ObjectReader::format(std::string_view name, int version) {
    auto const found = text("format");
    if (found != name)
        throw InputError("{}: format is '{}' ('{}' is expected here)", document_, found.substr(0, 60), name);
    auto const found_version = integer("version");
    if (found_version != version)
        throw InputError("{}: version {} of format '{}' (this program reads version {})", document_, found_version,
                         name, version);
}

bool ObjectReader::has(std::string_view key) const {
    auto const found = value_->find(std::string(key));
    return found != value_->end() && !found->is_null();
}

bool ObjectReader::is_text(std::string_view key) const {
    auto const found = value_->find(std::string(key));
    return found != value_->end() && found->is_string();
}

bool ObjectReader::is_list(std::string_view key) const {
    auto const found = value_->find(std::string(key));
    return found != value_->end() && found->is_array();
}

std::vector<std::string> ObjectReader::keys() const {
    std::vector<std::string> names;
    for (auto const& entry : value_->items())
        names.push_back(entry.key());
    return names;
}

void ObjectReader::mark(std::string_view key) {
    if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) asked_.emplace_back(key);
}

Json const* ObjectReader::find(std::string_view key) {
    mark(key);
    auto const found = value_->find(std::string(key));
    return found != value_->end() && !found->is_null() ? &*found : nullptr;
}

Json const& ObjectReader::require(std::string_view key) {
    auto const* const found = find(key);
    if (found != nullptr) return *found;
    if (value_->contains(std::string(key))) throw InputError("{}: is null (a value is expected)", path_to(key));
    std::string_view const why = key == "format" ? "it says what the file is" : "it is required";
    throw InputError("{}: the key '{}' is missing{} ({}, see docs/formats.md)", where(), key, misspelt(key), why);
}

std::string ObjectReader::misspelt(std::string_view key) const {
    auto others = keys();
    std::erase_if(others,
                  [&](std::string const& each) { return is_one_of(asked_, each) || is_one_of(expected_, each); });
    return did_you_mean(key, others);
}

void ObjectReader::expect(std::vector<std::string> const& required, std::vector<std::string> const& optional) {
    expected_ = required;
    expected_.insert(expected_.end(), optional.begin(), optional.end());
    std::vector<std::string> missing;
    for (std::string const& key : required)
        if (!value_->contains(key)) missing.push_back(fmt::format("'{}'{}", key, misspelt(key)));
    if (missing.size() > 1)
        throw InputError("{}: keys are missing: {} (they are required, see docs/formats.md)", where(), join(missing));
}

std::string ObjectReader::text(std::string_view key) { return as_text(require(key), path_to(key)); }
std::string ObjectReader::text(std::string_view key, std::string fallback) {
    auto const* const found = find(key);
    return found != nullptr ? as_text(*found, path_to(key)) : std::move(fallback);
}
std::int64_t ObjectReader::integer(std::string_view key) { return as_integer(require(key), path_to(key)); }
std::int64_t ObjectReader::integer(std::string_view key, std::int64_t fallback) {
    auto const* const found = find(key);
    return found != nullptr ? as_integer(*found, path_to(key)) : fallback;
}
double ObjectReader::number(std::string_view key) { return as_number(require(key), path_to(key)); }
double ObjectReader::number(std::string_view key, double fallback) {
    auto const* const found = find(key);
    return found != nullptr ? as_number(*found, path_to(key)) : fallback;
}
bool ObjectReader::flag(std::string_view key) { return as_flag(require(key), path_to(key)); }
bool ObjectReader::flag(std::string_view key, bool fallback) {
    auto const* const found = find(key);
    return found != nullptr ? as_flag(*found, path_to(key)) : fallback;
}

std::vector<std::string> ObjectReader::texts(std::string_view key) {
    std::vector<std::string> out;
    if (auto const* const found = find(key))
        for (auto const& value : as_list(*found, path_to(key)))
            out.push_back(as_text(value, element(path_to(key), out.size())));
    return out;
}
std::vector<std::int64_t> ObjectReader::integers(std::string_view key) {
    std::vector<std::int64_t> out;
    if (auto const* const found = find(key))
        for (auto const& value : as_list(*found, path_to(key)))
            out.push_back(as_integer(value, element(path_to(key), out.size())));
    return out;
}
std::vector<double> ObjectReader::numbers(std::string_view key) {
    std::vector<double> out;
    if (auto const* const found = find(key))
        for (auto const& value : as_list(*found, path_to(key))) {
            // Calibrations have thousands of numbers: to spell out the place of each took a quarter of a short command.
            bool const good = value.is_number() && std::isfinite(value.get<double>());
            out.push_back(good ? value.get<double>() : as_number(value, element(path_to(key), out.size())));
        }
    return out;
}

ObjectReader ObjectReader::object(std::string_view key) {
    return {require(key), document_, path_below(key), provenance_};
}
std::optional<ObjectReader> ObjectReader::optional_object(std::string_view key) {
    auto const* const found = find(key);
    if (found == nullptr) return std::nullopt;
    return ObjectReader(*found, document_, path_below(key), provenance_);
}
std::vector<ObjectReader> ObjectReader::objects(std::string_view key) {
    std::vector<ObjectReader> out;
    if (auto const* const found = find(key))
        for (auto const& value : as_list(*found, path_to(key)))
            out.push_back(ObjectReader(value, document_, element(path_below(key), out.size()), provenance_));
    return out;
}

void ObjectReader::set_default_provenance(Basis basis, std::string source) { provenance_ = {basis, std::move(source)}; }

/// The value itself and where it comes from: `{"value", "basis", "source"}`, or the bare value with the default
/// provenance.
std::pair<Json const*, Provenance> ObjectReader::sourced(std::string_view key) {
    auto const& found = require(key);
    if (!found.is_object()) return {&found, provenance_};
    ObjectReader inner(found, document_, path_below(key), provenance_);
    auto const& value = inner.require("value");
    Provenance provenance{basis_from(inner.text("basis"), inner.path_to("basis")), inner.text("source")};
    if (provenance.source.empty())
        throw InputError("{}: is empty (say where the value comes from)", inner.path_to("source"));
    inner.finish();
    return {&value, std::move(provenance)};
}

Sourced<double> ObjectReader::sourced_number(std::string_view key) {
    auto [value, provenance] = sourced(key);
    return {as_number(*value, path_to(key)), provenance.basis, std::move(provenance.source)};
}
Sourced<std::int64_t> ObjectReader::sourced_integer(std::string_view key) {
    auto [value, provenance] = sourced(key);
    return {as_integer(*value, path_to(key)), provenance.basis, std::move(provenance.source)};
}
Sourced<std::string> ObjectReader::sourced_text(std::string_view key) {
    auto [value, provenance] = sourced(key);
    return {as_text(*value, path_to(key)), provenance.basis, std::move(provenance.source)};
}

void ObjectReader::finish() {
    for (auto const& key : keys())
        if (std::find(asked_.begin(), asked_.end(), key) == asked_.end())
            throw InputError("{}: unknown key '{}'{} (known: {})", where(), key, did_you_mean(key, asked_),
                             join(asked_));
}

}  // namespace sextant
