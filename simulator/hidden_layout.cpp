#include "simulator/hidden_layout.hpp"

#include <algorithm>

namespace sextant {
namespace {

class HiddenLayout {
public:
    explicit HiddenLayout(Program& program) : program_(program), begins_{0.0} {
        for (ProgramItem const& item : program.items)
            begins_.push_back(begins_.back() + item.duration);
    }

    void add(Hidden const& hidden) {
        double rest = hidden.item.duration;
        std::size_t const count = program_.items.size();
        for (std::size_t i = hidden.start; i < count && rest > 0;) {
            if (!program_.items[i].is_compute()) {
                ++i;
                continue;
            }
            std::size_t end = i;
            while (end < count && program_.items[end].is_compute())
                ++end;
            double const begin = std::max(begins_[i], free_);
            double const piece = std::min(rest, begins_[end] - begin);
            if (piece > least_piece * hidden.item.duration) {
                append(hidden.item, i, end, begin, piece);
                rest -= piece;
            }
            i = end;
        }
    }

private:
    static constexpr double least_piece = 1e-9;

    void append(ProgramItem const& item, std::size_t first, std::size_t end, double begin, double piece) {
        // It starts with the last item that begins no later; what queues behind another piece waits for that.
        auto const starts = std::upper_bound(begins_.begin() + static_cast<std::ptrdiff_t>(first),
                                             begins_.begin() + static_cast<std::ptrdiff_t>(end), begin);
        free_ = begin + piece;
        // The first item that ends no earlier; rounding must not make an item wait for what should hide behind it.
        auto const joins = std::lower_bound(begins_.begin() + static_cast<std::ptrdiff_t>(first) + 1, begins_.end(),
                                            free_ * (1 - 1e-12));
        ProgramOverlap overlap{.item = item,
                               .start = static_cast<std::size_t>(starts - begins_.begin()) - 1,
                               .join = std::min(static_cast<std::size_t>(joins - begins_.begin()) - 1, end - 1)};
        overlap.item.latency *= piece / item.duration;
        overlap.item.duration = piece;
        overlap.join = std::max(overlap.join, overlap.start);
        program_.overlaps.push_back(overlap);
    }

    Program& program_;
    std::vector<double> begins_;  ///< of each item, and the end of the last
    double free_ = 0;             ///< when the last piece ends
};

}  // namespace

void lay_out(Program& program, std::vector<Hidden> const& hidden) {
    HiddenLayout layout(program);
    for (Hidden const& h : hidden)
        layout.add(h);
}

}  // namespace sextant
