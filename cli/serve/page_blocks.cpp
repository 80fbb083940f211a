#include "cli/serve/page_blocks.hpp"

#include <fmt/format.h>

namespace sextant::cli {

void add_serving_grounds(Page& page, EngineProfile const& engine, std::vector<std::string> const& assumptions) {
    EngineInterval const& interval = engine.interval;
    page.blocks.push_back(PagePairs{
        "Interval",
        {{fmt::format("80 % of measured times, engine {}", engine.name),
          fmt::format("{:.2g} to {:.2g} of the predicted time{}", interval.low, interval.high,
                      interval.rows > 0 ? fmt::format(" ({} rows)", interval.rows) : std::string(" (assumed)"))}}});
    if (!assumptions.empty())
        page.blocks.push_back(PageList{fmt::format("Assumed ({})", assumptions.size()), assumptions});
}

}  // namespace sextant::cli
