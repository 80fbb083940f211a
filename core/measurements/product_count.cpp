#include "core/measurements/product_count.hpp"

#include <algorithm>
#include <string>

namespace sextant {

std::int64_t products_in(RowCells const& row) {
    std::int64_t products = 1;
    for (ProductCount const& column : product_counts) {
        std::string unread;  // a column of one letter may be of anything
        auto const count =
            column.name.size() == 1 ? count_in(row.text(column.name), column.name, unread) : row.count(column.name);
        if (count.value_or(1) <= 1) continue;
        if (column.of == SeveralProducts::groups)
            throw RowSkip("products in groups (single ones and batches of one shape are read)");
        products = std::max(products, *count);
    }
    return products;
}

}  // namespace sextant
