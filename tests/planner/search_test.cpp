#include "planner/search.hpp"

#include "core/error.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/schedule_traits.hpp"
#include "planner/explain.hpp"
#include "planner/ranking.hpp"
#include "planner/refine.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"

#include <algorithm>
#include <map>
#include <set>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

Workload const workload{.sequence = 2048, .global_batch = 64};

struct Question {
    ModelSpec model = llama(4096, 32, 8, 32, 14336);
    ClusterSpec machine = cluster();
    FrameworkProfile framework = neutral_framework();
    std::int64_t accelerators = 32;
    SearchConstraints constraints{};
    MemoryLimit limit{.capacity = 80 * units::GB, .usable = 76 * units::GB, .host = 256 * units::GB};
    SearchOptions options{};

    [[nodiscard]] std::vector<SearchSpace> spaces() const {
        return {make_search_space(model, workload, machine, accelerators, constraints)};
    }
    [[nodiscard]] SearchResult answer() const {
        return search(model, workload, machine, framework, spaces(), limit, options);
    }
    /// Every plan that fits, ranked.
    [[nodiscard]] SearchResult all() const {
        Question everything = *this;
        everything.options.top = 1000000;
        everything.options.grouping = Grouping::none;
        return everything.answer();
    }
};

double cost_of(Candidate const& c) { return c.estimate.time.base() * static_cast<double>(c.plan.world_size()); }

bool beats(Candidate const& a, Candidate const& b) {
    bool const as_good =
        a.estimate.time <= b.estimate.time && a.estimate.peak() <= b.estimate.peak() && cost_of(a) <= cost_of(b);
    return as_good &&
           (a.estimate.time < b.estimate.time || a.estimate.peak() < b.estimate.peak() || cost_of(a) < cost_of(b));
}

void check_same(std::vector<Candidate> const& a, std::vector<Candidate> const& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        CHECK(plan_key(a[i].plan) == plan_key(b[i].plan));
        CHECK(a[i].estimate.time == b[i].estimate.time);
        CHECK(a[i].estimate.peak() == b[i].estimate.peak());
    }
}

}  // namespace

TEST_CASE("search: the answer is the same for any number of threads", "[INV-12]") {
    Question question;
    for (Objective const objective : {Objective::time, Objective::memory, Objective::cost}) {
        question.options.objective = objective;
        question.options.threads = 1;
        SearchResult const alone = question.answer();
        CHECK(alone.best.size() == question.options.top);
        for (unsigned const threads : {2U, 3U, 7U}) {
            question.options.threads = threads;
            SearchResult const together = question.answer();
            check_same(alone.best, together.best);
            check_same(alone.pareto, together.pareto);
            CHECK(alone.counts.rejected == together.counts.rejected);
            CHECK(alone.counts.enumerated == together.counts.enumerated);
            for (std::size_t i = 0; i < structural_problems; ++i) {
                ParallelPlan const* const one = alone.refused.of(static_cast<PlanProblem>(i));
                ParallelPlan const* const other = together.refused.of(static_cast<PlanProblem>(i));
                CHECK((one == nullptr) == (alone.counts.rejected[i] == 0));
                REQUIRE((one == nullptr) == (other == nullptr));
                if (one != nullptr) CHECK(plan_key(*one) == plan_key(*other));
            }
            REQUIRE(alone.fastest_misfit.has_value() == together.fastest_misfit.has_value());
            if (alone.fastest_misfit)
                CHECK(plan_key(alone.fastest_misfit->plan) == plan_key(together.fastest_misfit->plan));
        }
    }
}

TEST_CASE("search: every plan is counted once, as fitting or rejected, and listed once", "[INV-26]") {
    Question question;
    for (ModelSpec const& model : {llama(4096, 32, 8, 32, 14336), mixture(2048, 16, 16, 2, 1408)}) {
        question.model = model;
        SearchResult const all = question.all();
        CHECK(all.counts.enumerated == all.counts.evaluated + all.counts.rejected_total());
        CHECK(all.counts.evaluated > 100);
        CHECK(static_cast<std::int64_t>(all.best.size()) == all.counts.evaluated);
    }
}

TEST_CASE("search: every plan found is valid, fits, and is what the closed form says of it", "[INV-26]") {
    // On a device with the constants of a framework, where summing gradients takes time of its own, too.
    for (char const* const framework : {"", "megatron", "fsdp"}) {
        Question question;
        question.model = mixture(2048, 16, 16, 2, 1408);
        if (*framework != 0) {
            question.framework = find_framework(framework, "test");
            question.machine = find_cluster("a100-sxm-80gb", "test");
        }
        INFO(framework);
        ClosedForm form(question.model, workload, question.machine, question.framework, Precision::bf16);
        SearchResult const all = question.all();
        for (Candidate const& c : all.best) {
            REQUIRE_FALSE(find_fault(question.model, c.plan, workload));
            REQUIRE(question.limit.admits(c.estimate.memory));
            REQUIRE(c.plan.world_size() == question.accelerators);
            StepEstimate const fresh = form.evaluate(c.plan);
            REQUIRE(fresh.time == c.estimate.time);
            REQUIRE(fresh.peak() == c.estimate.peak());
        }
        CHECK(std::is_sorted(all.best.begin(), all.best.end(),
                             [](Candidate const& a, Candidate const& b) { return a.estimate.time < b.estimate.time; }));
    }
}

TEST_CASE("search: under Megatron-LM every chunk of a stage runs as many layers again, under others any number") {
    for (char const* const framework : {"megatron", "nanotron"}) {
        INFO(framework);
        Question question;
        question.framework = find_framework(framework, "test");
        question.machine = find_cluster("a100-sxm-80gb", "test");
        question.constraints.schedules = {Schedule::interleaved};
        std::int64_t partial = 0, uneven = 0;
        for (Candidate const& c : question.all().best) {
            if (c.plan.recompute != Recompute::full || c.plan.recompute_layers == 0 || c.plan.vpp == 1) continue;
            ++partial;
            if (c.plan.recompute_layers % c.plan.vpp != 0) ++uneven;
        }
        CHECK(partial > 0);
        CHECK((uneven == 0) == (std::string_view(framework) == "megatron"));
    }
}

TEST_CASE("search: as many layers of a stage as are named run again, all of them where it has no more, and with 0") {
    Question question;
    question.constraints.recompute = {Recompute::full};
    for (std::int64_t const named : {0, 5, 16, 32, 1000}) {
        INFO(named);
        question.constraints.recompute_layers = named;
        SearchResult const found = question.all();
        REQUIRE(found.counts.enumerated > 0);
        REQUIRE_FALSE(found.best.empty());
        for (Candidate const& c : found.best) {
            std::int64_t const of_stage = question.model.layer_count() / c.plan.pp;
            CHECK(c.plan.recompute_layers == (named < of_stage ? named : 0));
        }
    }
}

TEST_CASE("search: a short list is the head of the whole one, by layout the best of each", "[INV-26]") {
    Question question;
    SearchResult const all = question.all();
    question.options.grouping = Grouping::none;
    question.options.top = 25;
    SearchResult const head = question.answer();
    check_same(head.best, {all.best.begin(), all.best.begin() + 25});

    question.options.grouping = Grouping::layout;
    question.options.top = 8;
    std::map<std::array<std::int64_t, 6>, Candidate> best_of_layout;
    std::vector<Candidate> layouts;
    for (Candidate const& c : all.best) {
        auto const key = plan_key(c.plan);
        std::array<std::int64_t, 6> layout{};
        std::copy_n(key.begin(), 6, layout.begin());
        if (best_of_layout.try_emplace(layout, c).second) layouts.push_back(c);
    }
    layouts.resize(8);
    check_same(question.answer().best, layouts);
}

TEST_CASE("search: nothing beats the Pareto front, and everything else is beaten by it", "[INV-26]") {
    Question question;
    SearchResult const all = question.all();
    REQUIRE(all.pareto.size() > 2);
    for (Candidate const& front : all.pareto)
        for (Candidate const& other : all.best)
            REQUIRE_FALSE(beats(other, front));
    for (Candidate const& c : all.best) {
        bool const covered = std::any_of(all.pareto.begin(), all.pareto.end(), [&](Candidate const& front) {
            return beats(front, c) ||
                   (front.estimate.time == c.estimate.time && front.estimate.peak() == c.estimate.peak());
        });
        REQUIRE(covered);
    }
}

TEST_CASE("search: each objective puts its own best first", "[INV-26]") {
    Question question;
    SearchResult const all = question.all();
    question.options.objective = Objective::memory;
    Bytes least = all.best.front().estimate.peak();
    for (Candidate const& c : all.best)
        least = std::min(least, c.estimate.peak());
    CHECK(question.answer().best.front().estimate.peak() == least);
    // With one number of accelerators the cheapest is the fastest.
    question.options.objective = Objective::cost;
    CHECK(plan_key(question.answer().best.front().plan) == plan_key(all.best.front().plan));
}

TEST_CASE("search: less memory is never faster, and none at all leaves the nearest miss", "[INV-26]") {
    Question question;
    Seconds before;
    for (double const gigabytes : {1000.0, 76.0, 40.0, 20.0, 10.0}) {
        question.limit.usable = gigabytes * units::GB;
        SearchResult const result = question.answer();
        if (result.best.empty()) break;
        CHECK(result.best.front().estimate.time >= before);
        before = result.best.front().estimate.time;
    }
    question.limit.usable = 1 * units::MB;
    SearchResult const nothing = question.answer();
    CHECK(nothing.best.empty());
    CHECK(nothing.pareto.empty());
    CHECK(nothing.counts.evaluated == 0);
    REQUIRE(nothing.smallest_misfit);
    question.limit.usable = nothing.smallest_misfit->estimate.peak();
    CHECK(question.answer().counts.evaluated >= 1);
}

TEST_CASE("search: constraints hold for every plan, and cost nothing when the best plan meets them", "[INV-26]") {
    Question question;
    Candidate const best = question.answer().best.front();
    question.constraints.tp = AxisFilter::parse(std::to_string(best.plan.tp), "tp");
    question.constraints.pp = AxisFilter::parse("<=" + std::to_string(best.plan.pp), "pp");
    CHECK(plan_key(question.answer().best.front().plan) == plan_key(best.plan));
    question.constraints = {};
    question.constraints.tp = AxisFilter::parse("2..4", "tp");
    question.constraints.zero = AxisFilter::parse("<=1", "zero", 0);
    question.constraints.recompute = {Recompute::full};
    SearchResult const all = question.all();
    REQUIRE_FALSE(all.best.empty());
    for (Candidate const& c : all.best) {
        CHECK((c.plan.tp == 2 || c.plan.tp == 4));
        CHECK(c.plan.zero <= 1);
        CHECK(c.plan.recompute == Recompute::full);
    }
}

TEST_CASE("search: the full space holds the standard one", "[INV-26]") {
    Question question;
    SearchResult const standard = question.answer();
    question.constraints.width = SearchConstraints::Width::full;
    SearchResult const full = question.answer();
    CHECK(full.counts.enumerated > standard.counts.enumerated);
    CHECK(full.best.front().estimate.time <= standard.best.front().estimate.time);
}

TEST_CASE("AxisFilter: lists, ranges and bounds", "[INV-11]") {
    auto const allowed = [](char const* text) {
        AxisFilter const filter = AxisFilter::parse(text, "tp");
        std::vector<std::int64_t> values;
        for (std::int64_t v = 1; v <= 10; ++v)
            if (filter.allows(v)) values.push_back(v);
        return values;
    };
    CHECK(allowed("8") == std::vector<std::int64_t>{8});
    CHECK(allowed("1,2,4") == std::vector<std::int64_t>{1, 2, 4});
    CHECK(allowed("3..5") == std::vector<std::int64_t>{3, 4, 5});
    CHECK(allowed("<=2") == std::vector<std::int64_t>{1, 2});
    CHECK(allowed(">=9") == std::vector<std::int64_t>{9, 10});
    for (char const* text :
         {"", "x", "0", "-1", "2..", "4..2", "<=0", "1,,2", "1.5", "99999999999999999999", "<8", "8 8"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(AxisFilter::parse(text, "tp"), InputError);
    }
}

TEST_CASE("divisors: ascending and complete", "[INV-26]") {
    for (std::int64_t n = 1; n <= 600; ++n) {
        std::vector<std::int64_t> expected;
        for (std::int64_t d = 1; d <= n; ++d)
            if (n % d == 0) expected.push_back(d);
        REQUIRE(divisors(n) == expected);
    }
}

TEST_CASE("least_walked_time: no walk of a plan that fits is shorter", "[INV-22]") {
    Question question;
    question.model = llama(2048, 16, 8, 18, 5504, 262144);  // a large head, and chunks that differ
    question.constraints.pp = AxisFilter::parse(">=2", "--pp");
    question.constraints.schedules = {Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved, Schedule::zb_h1};
    ClosedForm form(question.model, workload, question.machine, question.framework, Precision::bf16);
    bool above = false;
    for (Candidate const& c : question.all().best) {
        Seconds const walked = form.evaluate(c.plan, PipelineMethod::walk).time;
        INFO(plan_label(c.plan));
        CHECK(least_walked_time(c.estimate, c.plan) <= walked);
        above = above || c.estimate.time > 1.001 * walked;
    }
    CHECK(above);  // the closed form itself is no such bound
}

namespace {

/// Every plan that fits, as `--every-plan` with no end would walk it.
std::vector<Candidate> all_walked(Question const& question) {
    std::vector<Candidate> plans = question.all().best;
    ClosedForm form(question.model, workload, question.machine, question.framework, Precision::bf16);
    for (Candidate& c : plans) {
        c.estimate = form.evaluate(c.plan, PipelineMethod::walk);
        c.score = c.estimate.time.base();
    }
    std::sort(plans.begin(), plans.end(), [](Candidate const& a, Candidate const& b) { return a.before(b); });
    return plans;
}

SearchResult refined(Question question) {
    question.options.keep = Kept::to_refine;
    SearchResult result = question.answer();
    ClosedForm form(question.model, workload, question.machine, question.framework, Precision::bf16);
    refine(result, form, question.spaces(), question.limit, question.options);
    return result;
}

/// Questions in which walks turn the order of the closed form round.
std::vector<Question> turned_questions() {
    std::vector<Question> questions(4);
    for (Question& q : questions)
        q.constraints.pp = AxisFilter::parse(">=2", "--pp");
    questions[1].model = llama(2048, 16, 8, 18, 5504, 262144);
    questions[1].accelerators = 16;
    questions[2].model = mixture(2048, 16, 16, 2, 1408);
    questions[2].accelerators = 8;
    questions[3].model = llama(5120, 40, 40, 40, 13824);
    questions[3].limit.usable = 40 * units::GB;
    questions[3].accelerators = 16;
    return questions;
}

}  // namespace

TEST_CASE("refine: the best of each layout are those of walking every plan, in that order", "[INV-26]") {
    bool turned = false;
    for (Question question : turned_questions()) {
        std::vector<Candidate> const all = all_walked(question);
        question.options.top = 6;
        Ranking layouts(question.options.top, Grouping::layout);
        for (Candidate const& c : all)
            layouts.offer(c);
        SearchResult const result = refined(question);
        check_same(result.best, layouts.sorted());
        turned = turned || plan_key(question.answer().best.front().plan) != plan_key(result.best.front().plan);
        REQUIRE_FALSE(result.pareto.empty());
        CHECK(result.pareto.front().estimate.time == all.front().estimate.time);
        for (Candidate const& c : result.pareto)
            for (Candidate const& other : result.pareto)
                CHECK_FALSE(beats(other, c));

        question.options.grouping = Grouping::none;
        question.options.top = 25;
        check_same(refined(question).best, {all.begin(), all.begin() + 25});
    }
    CHECK(turned);
}

TEST_CASE("refine: the best plan is the same however many are asked for, and less freedom brings up no better one",
          "[INV-26]") {
    struct Case {
        char const* model;
        char const* machine;
        std::int64_t accelerators;
    };
    // Few microbatches: many layouts with bubbles have lower bounds below the best plan, which has none.
    for (Case const& c : {Case{"gpt-oss-20b", "h100-sxm", 256}, Case{"qwen3-30b-a3b", "h200-sxm", 128},
                          Case{"llama-3.1-8b", "h100-sxm", 64}}) {
        INFO(c.model);
        Question question;
        question.model = find_model(c.model);
        question.machine = find_cluster(c.machine, "test");
        question.framework = find_framework("megatron", "test");
        question.limit = default_memory_limit(question.machine, question.framework);
        question.accelerators = c.accelerators;
        Candidate const best = refined(question).best.front();
        for (std::size_t const top : {1U, 100U}) {
            question.options.top = top;
            check_same({refined(question).best.front()}, {best});
        }
        question.options.grouping = Grouping::none;
        check_same({refined(question).best.front()}, {best});
        question.constraints.vpp = AxisFilter::parse("1", "--vpp");
        CHECK(refined(question).best.front().estimate.time >= best.estimate.time);
    }
}

TEST_CASE("refine: the fastest plan that misses the limit is that of walking them all", "[INV-26]") {
    bool turned = false;
    for (Question const& question : turned_questions()) {
        MemoryLimit const limit = question.limit;
        Question wider = question;
        wider.limit.usable = 1.5 * limit.usable;
        std::vector<Candidate> misfits = all_walked(wider);
        std::erase_if(misfits, [&](Candidate const& c) { return limit.admits(c.estimate.memory); });
        SearchResult const result = refined(question);
        REQUIRE(result.fastest_misfit.has_value() == !misfits.empty());
        if (misfits.empty()) continue;
        CHECK(result.fastest_misfit->estimate.time == misfits.front().estimate.time);
        turned = turned || question.answer().fastest_misfit->plan.vpp != misfits.front().plan.vpp;
    }
    CHECK(turned);
}

TEST_CASE("refine: a plan whose walk holds more than the limit has no place, nor is it on the front", "[INV-26]") {
    Question question;
    question.constraints.pp = AxisFilter::parse(">=2", "--pp");
    question.options.keep = Kept::to_refine;
    question.options.grouping = Grouping::none;
    question.options.top = 3;
    SearchResult result = question.answer();
    REQUIRE(result.pareto.size() > 1);
    // What the search took for little turns out to be more than half of its plans may take.
    std::vector<double> peaks;
    for (Candidate const& c : result.best)
        peaks.push_back(c.estimate.peak().base());
    std::sort(peaks.begin(), peaks.end());
    MemoryLimit less = question.limit;
    less.usable = peaks[peaks.size() / 2] * units::B;
    ClosedForm form(question.model, workload, question.machine, question.framework, Precision::bf16);
    refine(result, form, question.spaces(), less, question.options);
    CHECK(result.best.size() == question.options.top);
    for (auto const& plans : {result.best, result.pareto})
        for (Candidate const& c : plans)
            CHECK(less.admits(c.estimate.memory));
    CHECK_FALSE(result.pareto.empty());
}

TEST_CASE("refine: what is kept and walked is the same for any number of threads", "[INV-12]") {
    Question question;
    question.options.keep = Kept::to_refine;
    question.options.top = 2;
    question.options.threads = 1;
    SearchResult const alone = question.answer();
    for (unsigned const threads : {2U, 5U}) {
        question.options.threads = threads;
        SearchResult const together = question.answer();
        check_same(alone.best, together.best);
        check_same(alone.quick_misfits, together.quick_misfits);
    }
}

TEST_CASE("search: ZeRO is tried where experts alone have copies", "[INV-26]") {
    Question question;
    question.model = mixture(2048, 16, 16, 2, 1408);
    question.accelerators = 8;
    question.constraints.tp = AxisFilter::parse("8", "--tp");
    auto const stages = [&](char const* ep) {
        question.constraints.ep = AxisFilter::parse(ep, "--ep");
        std::set<int> seen;
        for (Candidate const& c : question.all().best)
            seen.insert(c.plan.zero);
        return seen;
    };
    CHECK(stages("2") == std::set<int>{0, 1, 2, 3});
    CHECK(stages("8") == std::set<int>{0});
}

TEST_CASE("search: every schedule can be asked for, and competes", "[INV-26]") {
    Question question;
    question.constraints.schedules = {Schedule::breadth_first, Schedule::zb_h1,    Schedule::zb_h2,
                                      Schedule::zb_v,          Schedule::dualpipe, Schedule::dualpipe_v};
    question.constraints.pp = AxisFilter::parse("4", "--pp");
    SearchResult const all = question.all();
    std::map<Schedule, std::vector<std::int64_t>> chunks;
    for (Candidate const& c : all.best) {
        CHECK_FALSE(find_fault(question.model, c.plan, workload));
        chunks[c.plan.schedule].push_back(c.plan.vpp);
    }
    REQUIRE(chunks.size() == 6);
    for (auto const& [schedule, values] : chunks)
        for (std::int64_t const v : values)
            CHECK(traits_of(schedule).takes_chunks(v));
    auto const& looped = chunks[Schedule::breadth_first];
    CHECK(std::count(looped.begin(), looped.end(), 1) > 0);
    CHECK(std::count(looped.begin(), looped.end(), 4) > 0);
    CHECK(all.counts.enumerated == all.counts.evaluated + all.counts.rejected_total());
}
