#pragma once

#include "core/embedded_text.hpp"
#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/sourced.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sextant {

/// A JSON document with the name it is reported under. Keeps the text alive for its readers.
class JsonDocument {
public:
    /// @throws InputError: missing, a directory, empty, larger than 64 MB, or not JSON (with line and column).
    static JsonDocument from_file(std::string const& path);
    static JsonDocument from_text(std::string_view text, std::string name);
    /// A file of this folder of the project that is compiled in. Without the checks of `from_text`, which take a third
    /// as long again: tests hold every such file to them.
    static JsonDocument from_embedded(EmbeddedText const& file, std::string_view folder);

    [[nodiscard]] nlohmann::json const& root() const { return *root_; }
    [[nodiscard]] std::string const& name() const { return name_; }

private:
    JsonDocument(std::shared_ptr<nlohmann::json const> root, std::string name);
    std::shared_ptr<nlohmann::json const> root_;
    std::string name_;
};

/// Strict reader of one JSON object: each key is asked for by name and type, and `finish()` refuses
/// keys that nobody asked for (naming the nearest known one). Absent optional keys give the fallback.
///
/// A document must outlive its readers. Every error names the document and the path inside it.
class ObjectReader {
public:
    explicit ObjectReader(JsonDocument const& document);

    /// The keys of this object, before any is read: all that are missing are named at once, and a key of these lists is
    /// no misspelling of another. @throws InputError: two or more of the required ones are missing.
    void expect(std::vector<std::string> const& required, std::vector<std::string> const& optional);

    /// Checks the `format` and `version` keys. @throws InputError naming what was found and what is read here.
    void format(std::string_view name, int version);

    [[nodiscard]] bool has(std::string_view key) const;      ///< present and not null; does not count as read
    [[nodiscard]] bool is_text(std::string_view key) const;  ///< present and a string; does not count as read
    [[nodiscard]] bool is_list(std::string_view key) const;  ///< present and a list; does not count as read
    [[nodiscard]] std::vector<std::string> keys() const;
    /// Counts `key` as known to `finish()`, whether it is there or not.
    void allow(std::string_view key) { mark(key); }

    std::string text(std::string_view key);
    std::string text(std::string_view key, std::string fallback);
    std::int64_t integer(std::string_view key);
    std::int64_t integer(std::string_view key, std::int64_t fallback);
    double number(std::string_view key);
    double number(std::string_view key, double fallback);
    bool flag(std::string_view key);
    bool flag(std::string_view key, bool fallback);
    std::vector<std::string> texts(std::string_view key);      ///< absent: empty
    std::vector<std::int64_t> integers(std::string_view key);  ///< absent: empty
    std::vector<double> numbers(std::string_view key);         ///< absent: empty
    ObjectReader object(std::string_view key);
    std::optional<ObjectReader> optional_object(std::string_view key);
    std::vector<ObjectReader> objects(std::string_view key);  ///< absent: empty

    /// A string with a unit, `"3.35 TB/s"`.
    template <class Q>
    Q quantity(std::string_view key) {
        return parse_quantity<Q>(text(key), path_to(key));
    }
    template <class Q>
    Q quantity(std::string_view key, Q fallback) {
        return has(key) ? quantity<Q>(key) : (mark(key), fallback);
    }

    /// A value with provenance: `"3.35 TB/s"` (basis and source from `set_default_provenance`), or
    /// `{"value": "3.35 TB/s", "basis": "measured", "source": "..."}`.
    template <class Q>
    Sourced<Q> sourced_quantity(std::string_view key) {
        auto const raw = sourced_text(key);
        return {parse_quantity<Q>(raw.value, path_to(key)), raw.basis, raw.source};
    }
    Sourced<double> sourced_number(std::string_view key);
    Sourced<std::int64_t> sourced_integer(std::string_view key);
    Sourced<std::string> sourced_text(std::string_view key);
    void set_default_provenance(Basis basis, std::string source);

    /// @throws InputError naming the first key that was never asked for and the nearest one that was.
    void finish();

    /// "file.json: memory.bandwidth"-style place of this object, for messages.
    [[nodiscard]] std::string where() const;
    [[nodiscard]] std::string path_to(std::string_view key) const;

private:
    ObjectReader(nlohmann::json const& value, std::string document, std::string path, Provenance provenance);
    nlohmann::json const& require(std::string_view key);
    nlohmann::json const* find(std::string_view key);
    void mark(std::string_view key);
    /// "; did you mean 'memory_bandwith'?": a key of the file that is not known to be right.
    [[nodiscard]] std::string misspelt(std::string_view key) const;
    std::pair<nlohmann::json const*, Provenance> sourced(std::string_view key);
    [[nodiscard]] std::string path_below(std::string_view key) const;

    nlohmann::json const* value_;
    std::string document_;  ///< name of the file
    std::string path_;      ///< inside the file, empty for the root
    std::vector<std::string> asked_;
    std::vector<std::string> expected_;
    Provenance provenance_{};
};

}  // namespace sextant
