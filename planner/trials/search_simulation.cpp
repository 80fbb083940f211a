#include "planner/trials/search_simulation.hpp"

#include "core/error.hpp"
#include "core/random_stream.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <set>

namespace sextant {
namespace {

/// A trial from one rung to the next.
struct Piece {
    std::size_t bracket = 0;
    std::int64_t config = 0;
    std::size_t rung = 0;
};

/// A trial as it looks at a rung; the better first, equal ones in the order they were started.
struct Seen {
    double value;
    std::int64_t config;
    bool operator<(Seen const& other) const {
        return value != other.value ? value < other.value : config < other.config;
    }
};

/// One bracket (or population) at work.
struct State {
    std::vector<Rung> rungs;
    std::vector<std::vector<Seen>> seen;  ///< ended trials of each rung, sorted where the method needs it
    std::vector<std::set<Seen>> waiting;  ///< asha: those of a rung that are not promoted
    std::deque<Piece> ready;
    std::int64_t running = 0;
    std::int64_t next_config = 0;
};

class Search {
public:
    Search(SearchPlan const& plan, SearchMachine const& machine, std::uint64_t seed, std::uint64_t trial);
    SearchOutcome outcome();

private:
    struct Running {
        double end;
        std::int64_t number;  ///< ties end in the order they began
        Piece piece;
        bool operator<(Running const& other) const {
            return end != other.end ? end > other.end : number > other.number;
        }
    };

    std::optional<Piece> take();
    std::optional<Piece> take_asha(State& state, std::size_t bracket);
    std::optional<Piece> take_last(State& state, std::size_t bracket);
    void begin(Piece const& piece);
    void end(Piece const& piece);
    void close_rung(State& state, std::size_t bracket, std::size_t rung);
    double quality(std::size_t bracket, std::int64_t config);
    double look(Piece const& piece);

    SearchPlan const& plan_;
    SearchMachine const& machine_;
    std::uint64_t seed_, trial_;
    bool resumed_;
    std::vector<State> states_;
    std::priority_queue<Running> running_;
    std::vector<std::vector<double>> qualities_;  ///< drawn once per bracket and configuration
    double now_ = 0;
    std::optional<Seen> best_;
    std::size_t best_bracket_ = 0;
    double best_units_ = 0;
    SearchOutcome result_;
};

std::uint64_t key_of(std::size_t bracket, std::int64_t config, std::size_t rung) {
    return (static_cast<std::uint64_t>(bracket) << 48) ^ (static_cast<std::uint64_t>(config) << 16) ^
           static_cast<std::uint64_t>(rung);
}

Search::Search(SearchPlan const& plan, SearchMachine const& machine, std::uint64_t seed, std::uint64_t trial)
    : plan_(plan),
      machine_(machine),
      seed_(seed),
      trial_(trial),
      resumed_(plan.resume == SearchPlan::Resume::from_checkpoint || plan.method == SearchMethod::pbt) {
    std::size_t most_rungs = 0;
    for (Bracket const& bracket : search_cost(plan).brackets) {
        State state{.rungs = bracket.rungs,
                    .seen = std::vector<std::vector<Seen>>(bracket.rungs.size()),
                    .waiting = std::vector<std::set<Seen>>(bracket.rungs.size()),
                    .ready = {}};
        if (plan.method != SearchMethod::asha)
            for (std::int64_t config = 0; config < bracket.started(); ++config)
                state.ready.push_back({states_.size(), config, 0});
        std::vector<double> drawn;
        for (std::int64_t config = 0; config < bracket.started(); ++config)
            drawn.push_back(RandomStream(seed, trial, key_of(states_.size(), config, 0xffff)).normal());
        qualities_.push_back(std::move(drawn));
        most_rungs = std::max(most_rungs, bracket.rungs.size());
        states_.push_back(std::move(state));
    }
    result_.by_rung.resize(most_rungs);
}

double Search::quality(std::size_t bracket, std::int64_t config) {
    return qualities_[bracket][static_cast<std::size_t>(config)];
}

double Search::look(Piece const& piece) {
    double const units = states_[piece.bracket].rungs[piece.rung].units;
    double const sd = machine_.rank_noise * (std::sqrt(plan_.full / units) - 1);
    RandomStream random(seed_, trial_, key_of(piece.bracket, piece.config, piece.rung) ^ 0x5eed000000000000U);
    return quality(piece.bracket, piece.config) + sd * random.normal();
}

/// Where nothing runs any more and no trial is whole: the best of the highest rung, of whom no 1/eta is one, goes on.
std::optional<Piece> Search::take_last(State& state, std::size_t bracket) {
    if (state.running > 0 || !state.seen.back().empty()) return {};
    std::size_t rung = state.rungs.size() - 1;
    while (rung > 0 && state.waiting[rung].empty())
        --rung;
    std::set<Seen>& waiting = state.waiting[rung];
    if (waiting.empty()) return {};
    Piece const piece{bracket, waiting.begin()->config, rung + 1};
    waiting.erase(waiting.begin());
    return piece;
}

/// The best of the top 1/eta of a rung, highest rung first, that is not promoted yet; else a new trial; else the last.
std::optional<Piece> Search::take_asha(State& state, std::size_t bracket) {
    for (std::size_t rung = state.rungs.size() - 1; rung-- > 0;) {
        std::vector<Seen> const& seen = state.seen[rung];
        if (state.waiting[rung].empty()) continue;
        Seen const first = *state.waiting[rung].begin();
        auto const place = std::lower_bound(seen.begin(), seen.end(), first) - seen.begin();
        if (place >= static_cast<std::int64_t>(seen.size()) / plan_.eta) continue;
        state.waiting[rung].erase(state.waiting[rung].begin());
        return Piece{bracket, first.config, rung + 1};
    }
    if (state.next_config < plan_.trials) return Piece{bracket, state.next_config++, 0};
    return take_last(state, bracket);
}

std::optional<Piece> Search::take() {
    for (std::size_t bracket = 0; bracket < states_.size(); ++bracket) {
        State& state = states_[bracket];
        if (plan_.method == SearchMethod::asha) {
            if (auto const piece = take_asha(state, bracket)) return piece;
        } else if (!state.ready.empty()) {
            Piece const piece = state.ready.front();
            state.ready.pop_front();
            return piece;
        }
    }
    return {};
}

void Search::begin(Piece const& piece) {
    Rung const& rung = states_[piece.bracket].rungs[piece.rung];
    double const units = resumed_ ? rung.new_units : rung.units;
    RandomStream random(seed_, trial_, key_of(piece.bracket, piece.config, piece.rung) ^ 0xabcd000000000000U);
    double factor = machine_.jitter > 0 ? std::exp(machine_.jitter * random.normal()) : 1;
    if (machine_.straggler_chance > 0 && random.uniform() <= machine_.straggler_chance)
        factor *= machine_.straggler_factor;
    double const time = machine_.start_s + units * machine_.unit_s * factor;
    running_.push({now_ + time, result_.pieces++, piece});
    ++states_[piece.bracket].running;
    result_.units += units;
    result_.busy_s += time;
}

/// Synchronous halving: the best 1/eta of a rung that is complete go on.
void Search::close_rung(State& state, std::size_t bracket, std::size_t rung) {
    std::vector<Seen>& seen = state.seen[rung];
    if (rung + 1 == state.rungs.size() || static_cast<std::int64_t>(seen.size()) < state.rungs[rung].trials) return;
    std::sort(seen.begin(), seen.end());
    for (std::int64_t i = 0; i < state.rungs[rung + 1].trials; ++i)
        state.ready.push_back({bracket, seen[static_cast<std::size_t>(i)].config, rung + 1});
}

void Search::end(Piece const& piece) {
    State& state = states_[piece.bracket];
    --state.running;
    Seen seen{look(piece), piece.config};
    double const units = state.rungs[piece.rung].units;
    ++result_.by_rung[piece.rung];
    if (units >= plan_.full && !result_.first_full_s) result_.first_full_s = now_;
    // The longest trained is believed before the best looking.
    if (!best_ || units > best_units_ || (units == best_units_ && seen.value < best_->value)) {
        best_ = seen;
        best_units_ = units;
        best_bracket_ = piece.bracket;
    }
    std::vector<Seen>& rung = state.seen[piece.rung];
    bool const last = piece.rung + 1 == state.rungs.size();
    switch (plan_.method) {
        case SearchMethod::random:
        case SearchMethod::grid: rung.push_back(seen); break;
        case SearchMethod::asha:
            rung.insert(std::upper_bound(rung.begin(), rung.end(), seen), seen);
            state.waiting[piece.rung].insert(seen);
            break;
        case SearchMethod::successive_halving:
        case SearchMethod::hyperband:
            rung.push_back(seen);
            close_rung(state, piece.bracket, piece.rung);
            break;
        case SearchMethod::pbt: {
            // One of the worst fifth of those seen so far takes over the weights and settings of one of the best fifth.
            rung.insert(std::upper_bound(rung.begin(), rung.end(), seen), seen);
            auto const place =
                static_cast<std::size_t>(std::lower_bound(rung.begin(), rung.end(), seen) - rung.begin());
            std::size_t const fifth = rung.size() / 5;
            if (!last && fifth > 0 && place >= rung.size() - fifth) {
                RandomStream random(seed_, trial_, key_of(0, piece.config, piece.rung) ^ 0xeeee000000000000U);
                std::int64_t const from =
                    rung[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(fifth)))].config;
                qualities_[0][static_cast<std::size_t>(piece.config)] = quality(0, from);
            }
            if (!last) state.ready.push_back({piece.bracket, piece.config, piece.rung + 1});
            break;
        }
    }
}

SearchOutcome Search::outcome() {
    std::vector<std::vector<double>> const started = qualities_;  // a population changes them
    auto const fill = [&] {
        while (static_cast<std::int64_t>(running_.size()) < machine_.workers) {
            auto const piece = take();
            if (!piece) return;
            begin(*piece);
        }
    };
    fill();
    while (!running_.empty()) {
        Running const done = running_.top();
        running_.pop();
        now_ = done.end;
        end(done.piece);
        fill();
    }
    result_.wall_s = now_;
    result_.winner_z = quality(best_bracket_, best_->config);
    for (auto const& bracket : started)
        result_.winner_rank += static_cast<double>(
            std::count_if(bracket.begin(), bracket.end(), [&](double z) { return z < result_.winner_z; }));
    ++result_.winner_rank;
    return std::move(result_);
}

}  // namespace

SearchOutcome simulate_search(SearchPlan const& plan, SearchMachine const& machine, std::uint64_t seed,
                              std::uint64_t trial) {
    check_search_machine(machine);
    constexpr std::int64_t most_started = 100000;
    SearchCost const cost = search_cost(plan);
    if (cost.started > most_started)
        throw InputError("trials: {} are too many to simulate (at most {})", cost.started, most_started);
    return Search(plan, machine, seed, trial).outcome();
}

}  // namespace sextant
