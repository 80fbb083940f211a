#include "cli/sweep/run.hpp"

#include "cli/sweep/row_bytes.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

namespace sextant::cli {
namespace {

using namespace std::chrono_literals;

/// Finished rows that may wait for a slower one before them.
constexpr std::int64_t window = 65536;

/// Messages begin with what they are: from rank 0 points, or that there are no more; to it how many workers, and rows.
constexpr char points_message = 'p';
constexpr char end_message = 'e';
constexpr char workers_message = 'w';
constexpr char rows_message = 'r';

std::string points_text(std::vector<std::int64_t> const& points) {
    std::string text(1, points_message);
    text.append(reinterpret_cast<char const*>(points.data()), points.size() * sizeof(std::int64_t));
    return text;
}

std::vector<std::int64_t> points_in(std::string const& message) {
    std::vector<std::int64_t> points((message.size() - 1) / sizeof(std::int64_t));
    std::memcpy(points.data(), message.data() + 1, points.size() * sizeof(std::int64_t));
    return points;
}

/// Another rank as rank 0 sees it.
struct Peer {
    std::int64_t workers = 0;  ///< 0: it has not said yet
    std::int64_t pending = 0;
};

class Coordinator {
public:
    Coordinator(PointSequence const& sequence, WorkerPool& pool, Ranks* ranks,
                std::function<void(SweepRow&&)> const& sink)
        : sequence_(sequence),
          pool_(pool),
          ranks_(ranks),
          sink_(sink),
          peers_(ranks != nullptr ? static_cast<std::size_t>(ranks->size()) : 1) {}

    [[nodiscard]] bool complete() const { return given_ == sequence_.count; }
    [[nodiscard]] bool anything_pending() const {
        return pool_.pending() > 0 ||
               std::any_of(peers_.begin(), peers_.end(), [](Peer const& peer) { return peer.pending > 0; });
    }

    void hand_out() {
        for (std::int64_t wanted = pool_.wanted(); wanted > 0 && may_begin(); --wanted)
            pool_.submit(take_point());
        for (std::size_t rank = 1; rank < peers_.size(); ++rank) {
            Peer& peer = peers_[rank];
            // A message takes a while: twice what one look at a time keeps busy.
            std::int64_t const capacity = 2 * peer.workers * static_cast<std::int64_t>(pool_.depth());
            if (2 * peer.pending > capacity) continue;
            std::vector<std::int64_t> points;
            while (peer.pending < capacity && may_begin()) {
                points.push_back(take_point());
                ++peer.pending;
            }
            if (!points.empty()) ranks_->send(static_cast<int>(rank), points_text(points));
        }
    }

    void collect() {
        for (SweepRow& row : pool_.collect(ranks_ != nullptr ? 1ms : 50ms))
            take(std::move(row));
        while (auto message = ranks_ != nullptr ? ranks_->receive() : std::nullopt) {
            Peer& peer = peers_[static_cast<std::size_t>(message->first)];
            std::string const& text = message->second;
            if (text.front() == workers_message) peer.workers = std::stoll(text.substr(1));
            if (text.front() != rows_message) continue;
            std::string_view rest(text);
            rest.remove_prefix(1);
            for (SweepRow row; take_row(rest, row);) {
                --peer.pending;
                take(std::move(row));
            }
        }
        give();
    }

private:
    [[nodiscard]] bool may_begin() const { return begun_ < sequence_.count && begun_ < given_ + window; }
    std::int64_t take_point() { return sequence_.first + sequence_.stride * begun_++; }
    void take(SweepRow&& row) {
        std::int64_t const point = row.point;
        waiting_.emplace(point, std::move(row));
    }
    void give() {
        while (!waiting_.empty() && waiting_.begin()->first == sequence_.first + sequence_.stride * given_) {
            sink_(std::move(waiting_.begin()->second));
            waiting_.erase(waiting_.begin());
            ++given_;
        }
    }

    PointSequence const& sequence_;
    WorkerPool& pool_;
    Ranks* ranks_;
    std::function<void(SweepRow&&)> const& sink_;
    std::vector<Peer> peers_;
    std::map<std::int64_t, SweepRow> waiting_;  ///< for rows of points before them
    std::int64_t begun_ = 0;
    std::int64_t given_ = 0;
};

}  // namespace

bool run_points(PointSequence const& sequence, WorkerPool& pool, Ranks* ranks, std::atomic<bool> const& stop,
                std::function<void(SweepRow&&)> const& sink, std::function<void()> const& idle) {
    Coordinator coordinator(sequence, pool, ranks, sink);
    while (!coordinator.complete() && !stop) {
        coordinator.hand_out();
        coordinator.collect();
        idle();
    }
    // Interrupted: what is nearly done closes gaps between rows that are.
    auto const deadline = std::chrono::steady_clock::now() + 500ms;
    while (!coordinator.complete() && coordinator.anything_pending() && std::chrono::steady_clock::now() < deadline)
        coordinator.collect();
    return coordinator.complete();
}

void release_ranks(Ranks& ranks) {
    for (int rank = 1; rank < ranks.size(); ++rank)
        ranks.send(rank, std::string(1, end_message));
}

void serve_points(WorkerPool& pool, Ranks& ranks, std::atomic<bool> const& stop) {
    ranks.send(0, std::string(1, workers_message) + std::to_string(pool.size()));
    while (!stop) {
        while (auto const message = ranks.receive()) {
            if (message->second.front() == end_message) return;
            for (std::int64_t const point : points_in(message->second))
                pool.submit(point);
        }
        std::string rows(1, rows_message);
        for (SweepRow const& row : pool.collect(1ms))
            append_row(rows, row);
        if (rows.size() > 1) ranks.send(0, std::move(rows));
    }
}

}  // namespace sextant::cli
