#pragma once

#include "calibrate/import/cell_row.hpp"
#include "core/csv.hpp"
#include "core/error.hpp"
#include "core/measurements/row_cells.hpp"
#include "core/spec/kernel_constants.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// One matrix product that somebody measured.
struct ImportedProduct {
    std::string source, device, kernel, dtype;
    std::int64_t m = 0, n = 0, k = 0;
    double microseconds = 0;
    CacheState cache = CacheState::hot;
    bool quantised_before = false;               ///< activations came quantised, where the format needs it
    std::int64_t batch = 1;                      ///< products of that shape, each with operands of its own
    std::optional<std::int64_t> result_bytes{};  ///< of an element; absent: as the format has it
};

/// One attention kernel of a serving engine, prefill (`context`) or decode (`generation`), or of a training step.
struct ImportedAttention {
    std::string source, device, kind, dtype, cache_dtype;
    std::int64_t batch = 0, length = 0, past = 0, heads = 0, kv_heads = 0, head_dim = 0;
    double microseconds = 0;
    std::string library{};  ///< "sdpa_flash": of a training step, whose kernel; empty: a serving engine's
    bool backward = false;
};

/// One kernel bound by the memory it touches.
struct ImportedMemoryKernel {
    std::string source, device, kernel, dtype;
    double bytes = 0;  ///< read and written
    double microseconds = 0;
    bool cold = false;
};

/// One collective between ranks, `bytes` as nccl-tests counts them.
struct ImportedCollective {
    std::string run, source, device, library_version, collective;
    std::int64_t nodes = 1, per_node = 0;
    double bytes = 0;
    double microseconds = 0;           ///< out of place, or however it was measured
    std::optional<double> in_place{};  ///< microseconds, where that was measured as well
    std::string intra_link{};          ///< what is said of the links of a node; empty: nothing
    std::string inter_link{};          ///< and of those between nodes
    std::string group{};               ///< the ranks that one rank's trace names, which are those of other files, too
};

/// What the file does not say of itself.
struct ImportRequest {
    std::string name{};                   ///< of the file, for messages and as the run's name
    std::string device{};                 ///< replaces what the rows say; empty: they have to say it
    std::string source{};                 ///< the same of where they come from; empty: the format's name
    std::string device_where_unstated{};  ///< of rows that say none; empty: they have to say it
    CellRow cells{};                      ///< of rows of training steps and of serving, in place of what the file says
    /// Told how far the reader of a long file is; empty: nobody asks.
    std::function<void(std::size_t done, std::size_t of)> progress{};
};

/// What a foreign file held, and how many rows were left out for which reason.
struct ImportedTables {
    std::vector<ImportedProduct> products;
    std::vector<ImportedAttention> attention;
    std::vector<ImportedMemoryKernel> memory;
    std::vector<ImportedCollective> collectives;
    std::vector<CellRow> steps;  ///< of training
    std::vector<CellRow> loads;  ///< that a server took
    SkipCounts skipped;

    /// @throws RowSkip when the row has no number format, or a size or a time that is not finite and above zero: no
    /// model predicts such a one, and no table of ours may hold it; a collective of one rank.
    void add(ImportedProduct row);
    void add(ImportedAttention row);
    void add(ImportedMemoryKernel row);
    void add(ImportedCollective row);
    /// With the cells of the request in place of the row's. @throws RowSkip naming `--set` for what a row of training
    /// steps, or of serving, cannot do without.
    void add_step(CellRow row, ImportRequest const& request);
    void add_load(CellRow row, ImportRequest const& request);

    /// Runs what adds a row and may throw `RowSkip`: then the row is counted by its reason.
    template <class Add>
    void or_skip(Add const& add_row) {
        try {
            add_row();
        } catch (RowSkip const& skip) {
            count_skip(skipped, skip);
        }
    }

    /// Of files that are one rank's each: collectives whose ranks these name count once, with the shortest time, since
    /// a rank that comes early waits in its kernel for the others. They have the run of the first of them.
    void keep_shortest();
    /// What `--set` says of the links of collectives, before what the logs say of the run ("NVLS off").
    void set_links(CellRow const& cells);

    [[nodiscard]] std::size_t rows() const {
        return products.size() + attention.size() + memory.size() + collectives.size() + steps.size() + loads.size();
    }
};

/// One foreign format. Each importer is one file that defines one of these, and a line of catalog.cpp.
struct Importer {
    char const* name;
    char const* summary;
    char const* source;  ///< of what is known of the format
    bool (*recognises)(std::string_view text);
    /// @throws InputError: not this format, or broken off.
    ImportedTables (*read)(std::string_view text, ImportRequest const& request);
};

/// Every importer, in the order in which they are asked whether they recognise a file.
std::span<Importer const* const> importers();
/// @throws InputError with the nearest name and all of them.
Importer const& find_importer(std::string_view name);
/// The importer that recognises the text. @throws InputError when none does.
Importer const& importer_for(std::string_view text, std::string const& name);

/// What another program wrote is no table of ours yet, by what the file begins with; rows of sextant-bench are one, but
/// not as JSON lines. @throws InputError that says how to make one.
void refuse_foreign_file(std::string const& path);

/// Tables with our headers (docs/formats.md); empty when there are no such rows.
std::string products_csv(ImportedTables const& tables);
std::string attention_csv(ImportedTables const& tables);
std::string memory_csv(ImportedTables const& tables);
std::string collectives_csv(ImportedTables const& tables);
std::string training_csv(ImportedTables const& tables);
std::string serving_csv(ImportedTables const& tables);

/// What importers have in common: cells that a row cannot do without.
double needed_number(RowCells const& row, std::string_view column);  ///< @throws RowSkip when empty or zero
std::int64_t needed_count(RowCells const& row, std::string_view column);
/// `--device`, else the row's, else that of rows which say none. @throws RowSkip when nothing says it.
std::string device_of(ImportRequest const& request, std::string const& of_row);
/// `--source`, else this one.
std::string source_of(ImportRequest const& request, std::string const& of_row);
/// Begins a row of a log with what it is from: the file as its source, `wrote` ("NeMo's log") before the file in the
/// reference unless `--source` says more, and the device. @throws RowSkip as `device_of`.
void put_source(CellRow& row, ImportRequest const& request, std::string_view wrote, std::string const& device = "");
/// Whether the first line of a CSV text names all these columns, in letters of any case.
bool header_has(std::string_view text, std::initializer_list<std::string_view> columns);
/// Whether products in this number format quantise their activations.
bool quantises(std::string_view dtype);
/// "bfloat16" of "bf16", "BF16", "c10::BFloat16", "__nv_bfloat16", ...: as the tables write number formats; what is not
/// known stays as it is.
std::string table_dtype(std::string_view name);
/// Bytes of one element of a message in this number format. @throws RowSkip when it is not known.
double element_bytes(std::string_view dtype);

}  // namespace sextant
