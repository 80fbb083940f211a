#include "cli/serve/page_blocks.hpp"

#include "cli/serve/options.hpp"

#include <fmt/format.h>

namespace sextant::cli {

void add_serving_grounds(Page& page, ServingSupport const& support, std::vector<std::string> const& assumptions) {
    page.blocks.push_back(PagePairs{"Interval", {{"80 % of measured runs", serving_interval_text(support)}}});
    if (!assumptions.empty())
        page.blocks.push_back(PageList{fmt::format("Assumed ({})", assumptions.size()), assumptions});
}

}  // namespace sextant::cli
