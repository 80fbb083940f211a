#pragma once

#include "planner/importers/foreign_plan.hpp"
#include "planner/importers/shell_words.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// Arguments that begin with "--", each with the words up to the next one. The last of several counts, as for Python's
/// argparse. What was not asked for is sorted by `finish`.
class ArgumentReader {
public:
    /// Of a script that starts several programs, the arguments of the first that is told of a model's layers or tensor
    /// parallelism; of one without such a command, all of them.
    ArgumentReader(ShellScript const& script, std::string_view where);

    [[nodiscard]] bool empty() const { return arguments_.empty(); }
    /// Whether it is there.
    bool flag(std::string_view name);
    /// Its first word. @throws InputError: it has none, or one that a shell variable would give.
    std::optional<std::string> text(std::string_view name);
    /// Its words up to the first with a shell variable; none if it is not there. @throws InputError as `text`.
    std::vector<std::string> words(std::string_view name);
    std::optional<std::int64_t> integer(std::string_view name, std::int64_t least, std::int64_t most);
    std::optional<double> number(std::string_view name);
    std::int64_t degree(std::string_view name, std::int64_t fallback = 1);
    /// Some other spelling of the same: the first that is there.
    std::optional<std::string> text_of(std::initializer_list<std::string_view> names);

    [[nodiscard]] std::string const& where() const { return where_; }

    /// Warns of variables and of arguments that were asked for and given several values. What is left: arguments whose
    /// names begin with one of `without_effect` are ignored, those of `not_counted` and
    /// all others are warned of.
    struct NotCounted {
        std::string_view name;  ///< a whole name
        std::string_view what;  ///< what it does, and what is counted instead
    };
    void finish(ForeignPlan& plan, std::string_view without_effect, std::span<NotCounted const> not_counted) const;

private:
    struct Argument {
        std::string name;
        std::vector<std::string> values{};
        std::vector<std::string> before{};  ///< what it was given first, where it is there again
        bool asked = false;
    };
    void read(std::vector<std::string> const& words);
    Argument* find(std::string_view name);

    std::vector<Argument> arguments_;
    std::vector<std::string> missing_;  ///< asked for and not there: what an unknown one may be meant to be
    std::string where_;
    std::string other_launches_;  ///< that there is more than one; empty otherwise
    std::vector<std::string> reassigned_;
};

/// What a foreign file says of the model's size against the model that was named; each is checked if it is there.
struct ForeignModelSize {
    std::optional<std::int64_t> layers{}, hidden{}, heads{}, experts{};
    std::optional<std::int64_t> kv_heads{}, head_dim{};  ///< latent attention has neither
    std::optional<std::int64_t> intermediate{};          ///< of dense layers
    /// Looked at where the model has experts.
    std::optional<std::int64_t> top_k{}, expert_intermediate{}, shared_intermediate{};
    std::optional<std::int64_t> vocab{}, mtp_modules{};
};
/// @throws InputError naming what differs.
void check_model_size(ForeignModelSize const& size, ModelSpec const& model, std::string_view where);

/// Sets dp to what `accelerators` leaves. A number that is no multiple of tp x pp x cp is taken for a placeholder, as
/// in scripts that leave the number of nodes to the reader: it goes, and `no_accelerators` says why.
void set_data_parallel(ForeignPlan& plan);

/// What Megatron-LM and Megatron-DeepSpeed spell alike: accelerators, degrees, batches, recompute, precision, dropout.
void read_common_arguments(ArgumentReader& in, ForeignPlan& out, ModelSpec const& model);

/// Whose arguments they are: some have other names.
enum class MegatronDialect : std::uint8_t { megatron_lm, deepspeed };

/// Checks what the arguments say of a model beside its sizes: gate, heads of keys and values, one matrix for embedding
/// and output, latent attention, windows, which layers have experts. Where they describe the model (--hidden-size),
/// what is missing has its default, and a warning says what that builds.
/// @throws InputError naming an argument of another model.
void check_megatron_model(ArgumentReader& in, ForeignPlan& out, ModelSpec const& model, MegatronDialect dialect);

/// Of the environment: 1 has PyTorch multiply fp32 in TF32.
inline constexpr std::string_view tf32_variable = "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE";

/// Beginnings of the names that neither framework's speed nor memory depends on, separated by spaces.
std::string_view megatron_without_effect();
std::span<ArgumentReader::NotCounted const> megatron_not_counted();

}  // namespace sextant
