"""The comparison of scripts/history: history_test.py SOURCE_FOLDER

Programs that answer with made-up figures stand in for sextant, its performance targets and valgrind.
"""
import csv
import json
import os
import stat
import subprocess
import sys
import tempfile
import unittest

source = os.path.abspath(sys.argv[1])
history = os.path.join(source, "scripts", "history")

programs = {
    "sextant": """case $1 in --version) cat {0}/version ;; doctor) cat {0}/doctor ;; validate) cat {0}/scores-$2 ;; esac""",
    "valgrind": """cat {0}/instructions >&2""",
    "perf": """cat {0}/speed""",
}


def group(rows=100, median=6.0, p90=19.0, inside=88.0, **more):
    score = {"n": rows, "median_ape_pct": median, "p90_ape_pct": p90}
    return {"n": rows, "time": score, "inside_interval_pct": inside, **more}


def scores():
    report = {"overall": group(), "sources": [{"source": "a", **group(60, 4.0)}, {"source": "tiny", **group(3, 90.0)}],
              "groups": [{"by": "split", "group": "held out of the fit", **group(40, 9.0)}]}
    return {kind: json.loads(json.dumps(report)) for kind in ("train", "kernels", "collectives", "serving")}


class Compare(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.state = {"version": "1.0.0", "compiler": "GCC 12", "mpi": True, "scores": scores(), "instructions": 1_000_000, "machine": 1.0,
                      "speed": [["plan", 20.0, "ms", "<="], ["walk", 5e6, "slots/s", ">="], ["peak memory", 40.0, "MB", "<="]]}
        for name, text in programs.items():
            self.write(name, "#!/bin/sh\n" + text.format(self.folder.name) + "\n")
            os.chmod(self.path(name), stat.S_IRWXU)
        for kind in scores():
            os.makedirs(self.path("data", kind))
            self.write(f"data/{kind}/rows.csv", "source,tpot_ms,x\n")
        self.assertEqual(self.run_history("record").returncode, 0)

    def tearDown(self):
        self.folder.cleanup()

    def path(self, *names):
        return os.path.join(self.folder.name, *names)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)

    def run_history(self, action, *more, **environment):
        """The script with programs that answer as self.state says."""
        state, machine = self.state, self.state["machine"]
        self.write("version", f"sextant {state['version']}")
        parts = [{"name": "ceres", "kind": "build", "present": True}, {"name": "mpi", "kind": "build", "present": state["mpi"]}]
        self.write("doctor", json.dumps({"compiler": state["compiler"], "findings": parts}))
        for kind, report in state["scores"].items():
            self.write(f"scores-{kind}", json.dumps(report))
        self.write("instructions", f"==1== Collected : {state['instructions']}\n==2== Collected : 1000\n")
        factors = {"ms": machine, "slots/s": 1 / machine, "MB": 1}
        lines = [f"{target},{value * factors[unit]},{unit},{relation},1,{0.01 * machine}\n" for target, value, unit, relation in state["speed"]]
        self.write("speed", "target,value,unit,relation,goal,reference_s\n" + "".join(lines))
        variables = {"PATH": f"{self.folder.name}:{os.environ['PATH']}", "SEXTANT_DATA": self.path("data"), **environment}
        places = ["--program", self.path("sextant"), "--perf", self.path("perf"), "--history", self.path("history"), "--runs", "2"]
        return subprocess.run([sys.executable, "-B", "-I", history, action, *places, *more], capture_output=True, text=True, env=variables)

    def expect(self, code, *texts, more=(), **environment):
        done = self.run_history("compare", *more, **environment)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        for text in texts:
            self.assertIn(text, done.stdout)

    def test_the_same_build_has_lost_nothing(self):
        self.expect(0, "accuracy: 36 figures of version 1.0.0", "instructions: 4 figures", "speed: 3 figures", "0 worse or missing")

    def test_three_per_cent_more_error_over_all_rows_is_a_loss(self):
        self.state["scores"]["train"]["overall"]["time"]["median_ape_pct"] = 6.0 * 1.03
        self.expect(1, "train, overall, time, median_pct: 6 -> 6.18", "1 worse or missing")

    def test_three_per_cent_more_error_in_held_out_rows_is_a_loss(self):
        self.state["scores"]["kernels"]["groups"][0]["time"]["median_ape_pct"] = 9.0 * 1.03
        self.expect(1, "kernels, split: held out of the fit, time, median_pct: 9 -> 9.27")

    def test_rounding_is_no_loss_and_less_error_is_none(self):
        self.state["scores"]["train"]["overall"]["time"].update(median_ape_pct=6.05, p90_ape_pct=10)
        self.expect(0)

    def test_one_source_may_move_but_not_collapse(self):
        entry = self.state["scores"]["serving"]["sources"][0]["time"]
        entry["median_ape_pct"] = 4.5
        self.expect(0)
        entry["median_ape_pct"] = 8.0
        self.expect(1, "serving, a, time, median_pct: 4 -> 8")

    def test_a_source_of_few_rows_is_not_judged(self):
        self.state["scores"]["train"]["sources"][1]["time"]["median_ape_pct"] = 1000
        self.expect(0)

    def test_fewer_rows_scored_is_a_loss_and_so_is_a_missing_source(self):
        self.state["scores"]["train"]["overall"]["time"]["n"] = 90
        self.expect(1, "90 rows are scored, 100 were")
        self.state["scores"]["train"]["sources"] = []
        self.expect(1, "train, a, time, median_pct: missing")

    def test_intervals_may_tighten_to_what_they_promise_and_no_further(self):
        self.state["scores"]["train"]["overall"]["inside_interval_pct"] = 80.5
        self.expect(0)
        self.state["scores"]["train"]["overall"]["inside_interval_pct"] = 78.0
        self.expect(1, "train, overall, time, outside_pct: 12 -> 22")

    def test_a_slower_machine_is_no_slow_down_of_the_program(self):
        self.state["machine"] = 3.0
        self.expect(0)

    def test_noise_of_a_fifth_is_no_slow_down_and_half_as_fast_is(self):
        self.state["speed"][0][1] = 24.0
        self.state["speed"][1][1] = 4.2e6
        self.expect(0)
        self.state["speed"][1][1] = 2.5e6
        self.expect(1, "walk, slots/s: 2.00 times as slow")

    def test_twice_the_memory_is_a_loss(self):
        self.state["speed"][2][1] = 80.0
        self.expect(1, "peak memory, MB: 2.00 times")

    def test_a_target_that_is_gone_is_reported(self):
        del self.state["speed"][1]
        self.expect(1, "walk, slots/s: missing")

    def test_six_per_cent_more_instructions_are_a_slow_down_and_four_are_not(self):
        self.state["instructions"] = 1_040_000
        self.expect(0)
        self.state["instructions"] = 1_060_000
        self.expect(1, "estimate: 1,001,000 -> 1,061,000 instructions", "4 worse or missing")

    def test_instructions_of_another_compiler_are_not_compared(self):
        self.state.update(compiler="GCC 13", instructions=9_000_000)
        self.expect(0, "instructions: not compared, the record is of GCC 12")

    def test_instructions_of_a_program_with_fewer_parts_are_not_compared(self):
        self.state.update(mpi=False, instructions=9_000_000)
        self.expect(0, "ceres mpi, this is", "ceres\n")

    def test_without_tables_tools_or_targets_the_rest_is_compared(self):
        os.remove(self.path("perf"))
        self.state["instructions"] = 2_000_000
        self.expect(1, "accuracy: skipped, no measurement tables in", "speed: skipped,", "instructions: 4 figures",
                    SEXTANT_DATA=self.path("nowhere"))

    def test_scores_written_before_are_compared_without_tables(self):
        self.state["scores"]["train"]["overall"]["time"]["median_ape_pct"] = 7.0
        self.write("validation.csv", self.run_history("accuracy").stdout)
        self.expect(1, "train, overall, time, median_pct: 6 -> 7", more=["--only", "accuracy", "--accuracy", self.path("validation.csv")],
                    SEXTANT_DATA=self.path("nowhere"))

    def test_a_version_recorded_again_replaces_itself_and_the_last_version_is_compared(self):
        self.state["version"] = "1.1.0"
        self.state["instructions"] = 2_000_000
        for _ in range(2):
            self.assertEqual(self.run_history("record", "--only", "instructions").returncode, 0)
        with open(self.path("history", "instructions.csv"), newline="") as file:
            self.assertEqual([row["version"] for row in csv.DictReader(file)], 4 * ["1.0.0"] + 4 * ["1.1.0"])
        self.expect(0, "instructions: 4 figures of version 1.1.0")

    def test_a_history_without_records_is_an_error(self):
        os.remove(self.path("history", "speed.csv"))
        done = self.run_history("compare", "--only", "speed")
        self.assertEqual(done.returncode, 3)
        self.assertIn("holds no record", done.stderr)

    def test_a_figure_that_is_no_number_is_an_error_and_no_loss(self):
        with open(self.path("history", "instructions.csv")) as file:
            text = file.read()
        self.write("history/instructions.csv", text.replace("1001000", "many", 1))
        done = self.run_history("compare", "--only", "instructions")
        self.assertEqual(done.returncode, 2)
        self.assertIn("a figure cannot be read", done.stderr)
        self.write("validation.csv", "kind,group,quantity,figure,rows,value\ntrain,overall,time,median_pct,100,none\n")
        self.assertEqual(self.run_history("compare", "--only", "accuracy", "--accuracy", self.path("validation.csv")).returncode, 2)

    def test_a_program_that_fails_is_an_error_and_no_loss(self):
        self.write("sextant", "#!/bin/sh\necho broken >&2\nexit 70\n")
        done = self.run_history("compare")
        self.assertEqual(done.returncode, 3)
        self.assertIn("ended with 70: broken", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
