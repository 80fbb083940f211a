#include "cli/sweep/ranks.hpp"

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace sextant::cli {
namespace {

std::optional<int> number_in(char const* variable) {
    char const* const text = std::getenv(variable);
    if (text == nullptr) return std::nullopt;
    std::string_view const view(text);
    int value = 0;
    auto const [stop, error] = std::from_chars(view.data(), view.data() + view.size(), value);
    if (error != std::errc{} || stop != view.data() + view.size() || value < 0) return std::nullopt;
    return value;
}

}  // namespace

std::optional<LaunchedRank> launched_rank() {
    struct Launcher {
        char const* rank;
        char const* size;
    };
    for (Launcher const& launcher :
         {Launcher{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, Launcher{"PMI_RANK", "PMI_SIZE"}}) {
        auto const rank = number_in(launcher.rank);
        auto const size = number_in(launcher.size);
        if (rank && size && *rank < *size) return LaunchedRank{*rank, *size};
    }
    return std::nullopt;
}

}  // namespace sextant::cli
