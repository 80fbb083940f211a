#pragma once

#include "cli/output.hpp"
#include "core/spec/model_spec.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sextant::cli {

/// Every preset in one table. Sample of the text:
///
///     name        architecture  parameters   active  layers  hidden  heads  kv heads    vocab  context
///     ----------  ------------  ----------  -------  ------  ------  -----  --------  -------  -------
///     llama-3-8b  llama             8.03 B   8.03 B      32    4096     32         8  128,256    8,192
///
/// CSV and JSON carry exact counts.
std::string model_list(Format format);
std::string model_list_json();

/// One model at a sequence length: sizes, parameter counts, work and cache per token, and the weights of each part.
/// Sample:
///
///     llama-3-8b (llama)
///
///     parameters                8,030,261,248
///       used by one token       8,030,261,248
///     ...
///     part           copies  weight        shape          parameters   split over
///     -------------  ------  ------------  -------------  -----------  ----------
///     layer (dense)      32  attention.q   4096 x 4096     16,777,216  tp
std::string model_details(ModelSpec const& model, std::int64_t sequence, Format format);
std::string model_details_json(ModelSpec const& model, std::int64_t sequence);

/// One weight of each part of a model.
struct WeightRow {
    std::string part;
    std::int64_t copies = 1;  ///< of the part
    std::string name, shape;
    std::int64_t parameters = 0;  ///< of one copy
    std::string split_over;
};
std::vector<WeightRow> weight_rows(ModelSpec const& model);

/// "dense", "experts, sliding window", "dense, recurrent"; layers of one half: "recurrent alone", "experts alone".
std::string kind_text(LayerKind kind);

}  // namespace sextant::cli
