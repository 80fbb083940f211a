#pragma once

#include "core/error.hpp"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// Fields of JSON that another program wrote: any may be missing, null or of another kind.

/// A finite number that is not negative, also one written as text ("0.25"); nothing where there is none.
std::optional<double> foreign_number(nlohmann::json const& object, char const* key);
/// Words and numbers as text; empty where there is none.
std::string foreign_text(nlohmann::json const& object, char const* key);

/// A document as it is, or the documents of its lines (JSON lines). Numbers that Python writes and JSON has not become
/// text ("inf") or null (NaN). @throws InputError: no JSON, or broken off.
std::vector<nlohmann::json> foreign_documents(std::string_view text, std::string const& name);

/// Why a text that should be JSON is none: bytes that are no UTF-8, with what removes them, or else.
InputError no_json(std::string_view text, std::string const& name);

}  // namespace sextant
