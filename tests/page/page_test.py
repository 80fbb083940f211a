"""The pages of --format html in headless Chromium: page_test.py SEXTANT SOURCE_FOLDER [content|speed]

Each kind of page loads without a complaint, from the disk alone, and shows the figures of its JSON report; tables sort and filter; charts zoom; a page of 1,000 plans is
small and soon ready (`speed`, which other work disturbs; all else is `content`); names from files stay text. Ends with 77 (skipped) where there is no browser or no plotting library.
"""
import bisect
import csv
import html
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from chromium import Chromium, find_chromium  # noqa: E402

skipped = 77
hostile = "</script><img src=x onerror=\"document.title='stolen'\"><b>&amp;\u2028'--><!--<script>"

program, source = (os.path.abspath(path) for path in sys.argv[1:3])
parts = sys.argv[3:] or ["content", "speed"]
data = os.path.join(source, "tests", "data")
failures = []


def check(condition, text):
    if not condition:
        failures.append(text)
        print("FAILED:", text)


def page_of(name, *arguments, code=(0,)):
    path = os.path.join(folder.name, name + ".html")
    output = ["--format", "html", "--output", path]
    if arguments[0] == "sweep":  # whose own options come before the command that it asks
        arguments = (arguments[0], *output, *arguments[1:])
        output = []
    result = subprocess.run([program, *arguments, *output], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if result.returncode == 3 and "plotting library" in result.stderr:
        print("skipped:", result.stderr.strip())
        sys.exit(skipped)
    check(result.returncode in code, f"{name}: exit code {result.returncode}: {result.stderr[-500:]}")
    return path


def plan(*more):
    return ["plan", "--model", "llama-3.1-8b", "--cluster", "h100-sxm", "--gpus", "64", *more]


def every_kind():
    """A page of each kind, its figures, charts and tables at least."""
    scaling = os.path.join(data, "scaling", "chinchilla_digitised.csv")
    step = ["--model", "llama-3.1-8b", "--cluster", "h100-sxm", "--gpus", "8", "--tp", "2", "--pp", "2", "--global-batch", "32"]
    serving = ["--model", "llama-3.1-8b", "--cluster", "h100-sxm"]
    return {
        "plan": (plan("--top", "20", "--explain"), 3, 1),
        "estimate": (["estimate", *step, "--explain"], 2, 1),
        "simulate": (["simulate", *step], 3, 2),
        "serve-estimate": (["serve", "estimate", *serving], 5, 1),
        "serve-simulate": (["serve", "simulate", *serving, "--rate", "4", "--count", "600"], 4, 1),
        "serve-plan": (["serve", "plan", *serving, "--rate", "5", "--tpot", "40ms", "--requests", "500"], 2, 1),
        "scaling-optimum": (["scaling", "optimum", "--flops", "1e21,1e22"], 1, 1),
        "scaling-predict": (["scaling", "predict", "--params", "7B", "--tokens", "1T"], 1, 1),
        "scaling-fit": (["scaling", "fit", "--law", "chinchilla", "--data", scaling, "--quick", "--bootstrap", "40", "--starts", "3"], 3, 1),
        "validate": (["validate", "train", os.path.join(data, "train_excerpt.csv")], 3, 3),
        "calibrate-report": (["calibrate", "report", os.path.join(source, "hardware_profiles", "calibrations", "kernels", "h100-sxm.json"),
                              "--rows", os.path.join(data, "gemm_excerpt.csv"), "--rows", os.path.join(data, "attention_excerpt.csv")], 4, 4),
        "run-plan": (["run-plan", "--model", "llama-3.1-8b", "--tokens", "1T", "--cluster", "h100-sxm", "--gpus", "64",
                      "--deadline", "60d", "--curve", "8,64,256", "--mfu", "0.5"], 4, 2),
        "sweep": (["sweep", "--axis", "gpus=8,16,32", "--axis", "tp=1,2", "--sensitivity", "mfu", "estimate", "--model",
                   "llama-3.1-8b", "--cluster", "h100-sxm"], 2, 2),
    }


def check_kind(browser, name, arguments, charts, tables):
    path = page_of(name, *arguments)
    browser.open(path)
    check(browser.complaints() == [], f"{name}: {browser.complaints()}")
    drawn = browser.evaluate("document.querySelectorAll('.plot .main-svg').length > 0 && "
                             "Array.from(document.querySelectorAll('.plot')).filter((p) => p.querySelector('.main-svg')).length")
    check(drawn is not False and drawn >= charts, f"{name}: {drawn} charts drawn, {charts} expected")
    check(browser.evaluate("document.querySelectorAll('table.data').length") >= tables, f"{name}: too few tables")
    check(browser.evaluate("document.querySelectorAll('.figure').length") >= 2, f"{name}: no figures")
    check(len(browser.evaluate("document.querySelector('.verdict').textContent")) > 10, f"{name}: no verdict")
    browser.open(path, width=400, height=800, phone=True)
    wide = browser.evaluate("document.documentElement.scrollWidth")
    check(wide <= 400, f"{name}: a phone has to scroll sideways: {wide} pixels")
    check(browser.evaluate(hidden_legends) == [], f"{name}: legends on a phone: {browser.evaluate(hidden_legends)}")


# Charts and columns that show what no figure of the JSON report is: shares, ranks, rates and bands worked out for the picture.
worked_out = {"Timeline of the step", "Throughput against latency", "Latencies", "Tokens over time", "Loss surface", "loss over compute",
              "Predicted against measured", "Predicted against measured time", "Predicted against measured memory",
              "How large the errors are", "Predicted against measured, by what the fit saw",
              "Predicted against measured, by what the rows are", "What moves mfu most"}
not_in_json = {("run-plan", "Where the step goes"), ("run-plan", "Memory budget")}
columns_worked_out = {"#", "share %", "80 %", "tok/s user"}
units = [10.0 ** power for power in (-12, -9, -6, -3, -2, 0, 2, 3, 6, 9)] + [86400.0, 3600.0, 60.0]


def numbers_of(value):
    """Every number of a JSON value."""
    if isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from numbers_of(part)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield abs(float(value))


def check_data(name, arguments):
    """What charts draw and tables sort by are figures of the JSON report of the same question, but for their unit."""
    path = os.path.join(folder.name, name + ".html")
    output = ["--format", "json", "--output", path + ".json"]
    arguments = (arguments[0], *output, *arguments[1:]) if arguments[0] == "sweep" else (*arguments, *output)
    subprocess.run([program, *arguments], capture_output=True, stdin=subprocess.DEVNULL, check=False)
    with open(path + ".json", encoding="utf-8") as report:
        known = sorted(numbers_of(json.load(report)))
    with open(path, encoding="utf-8") as page:
        text = page.read()

    def is_known(value):
        def near(wanted):
            at = bisect.bisect_left(known, wanted * (1 - 2e-5))
            return at < len(known) and known[at] <= wanted * (1 + 2e-5)
        return value == 0 or any(near(abs(value) * unit) for unit in units)

    compared = 0
    titles = re.findall(r'<section class="chart[^"]*"><h2>(.*?)</h2>', text)
    for title, data_of in zip(titles, re.findall(r'<script type="application/json" id="data[0-9]+">(.*?)</script>', text, re.S)):
        if title in worked_out or (name, title) in not_in_json:
            continue
        for series in json.loads(data_of)["series"]:
            if series.get("name") == "perfect scaling of the smallest":
                continue
            values = [v for key in ("values", "x", "y", "low", "high") for v in series.get(key, []) if isinstance(v, (int, float))]
            wrong = [v for v in values if not is_known(v)]
            compared += len(values)
            check(not wrong, f"{name}: {title}: {series.get('name')}: not in the JSON report: {wrong[:5]}")
    for table in re.findall(r'<table class="data">(.*?)</table>', text, re.S):
        headers = [html.unescape(header) for header in re.findall(r'<button type="button">(.*?)</button>', table)]
        for row in re.findall(r"<tr>(.*?)</tr>", table.split("<tbody>")[1], re.S):
            for header, attributes in zip(headers, re.findall(r"<td([^>]*)>", row)):
                sorts_by = re.search(r"data-v=(\S+)", attributes)
                if sorts_by and header not in columns_worked_out:
                    compared += 1
                    check(is_known(float(sorts_by[1])), f"{name}: column {header}: not in the JSON report: {sorts_by[1]}")
    return compared


hidden_legends = """Array.from(document.querySelectorAll('.plot')).filter((plot) => plot.querySelector('.legend')).flatMap((plot) => {
  const legend = plot.querySelector('.legend .bg').getBoundingClientRect();
  const area = plot.querySelector('.nsewdrag').getBoundingClientRect();
  const covers = Math.min(legend.bottom, area.bottom) - Math.max(legend.top, area.top) > 2;
  const entries = Array.from(plot.querySelectorAll('.legend .traces')).map((entry) => entry.getBoundingClientRect().bottom);
  return [...(covers ? [plot.id + ' lies over the chart'] : []), ...(Math.max(...entries) > legend.bottom + 4 ? [plot.id + ' scrolls'] : [])];
})"""


column = """(name) => { const table = document.querySelector('table.data');
  const at = Array.from(table.tHead.rows[0].cells).findIndex((cell) => cell.textContent === name);
  return Array.from(table.tBodies[0].rows).filter((row) => !row.hidden).map((row) => row.cells[at].textContent); }"""


def check_table(browser):
    """Sorting by a number and back, filtering by words, comparisons and choices."""
    browser.open(page_of("table", *plan("--top", "200", "--every-plan")))
    step = f"({column})('step s')"
    click = "Array.from(document.querySelectorAll('table.data th')).find((cell) => cell.textContent === 'step s').firstChild.click()"
    before = browser.evaluate(step)
    browser.evaluate(click)
    rising = [float(text) for text in browser.evaluate(step)]
    browser.evaluate(click)
    falling = [float(text) for text in browser.evaluate(step)]
    check(len(before) == 200, f"table: {len(before)} rows of 200")
    check(rising == sorted(rising) and falling == sorted(rising, reverse=True) and rising != falling, "table: sorting")
    search = "(text) => { const field = document.querySelector('.controls input'); field.value = text; " \
             "field.dispatchEvent(new Event('input')); }"
    browser.evaluate(f"({search})('tp=2 mfu>30')")
    shown = list(zip(browser.evaluate(f"({column})('tp')"), browser.evaluate(f"({column})('MFU %')")))
    check(0 < len(shown) < 200 and all(tp == "2" and float(mfu) > 30 for tp, mfu in shown), f"table: filter by condition: {shown[:3]}")
    check(" of 200 rows" in browser.evaluate("document.querySelector('.controls .count').textContent"), "table: count of rows")
    browser.evaluate(f"({search})('no such word')")
    check(browser.evaluate(step) == [], "table: a word that is nowhere leaves no rows")
    browser.evaluate(f"({search})('')")
    browser.evaluate("(() => { const select = Array.from(document.querySelectorAll('.controls label')).find((label) => "
                     "label.textContent.startsWith('tp')).querySelector('select'); select.value = '1'; "
                     "select.dispatchEvent(new Event('change')); })()")
    chosen = browser.evaluate(f"({column})('tp')")
    check(0 < len(chosen) < 200 and set(chosen) == {"1"}, "table: choice of tp")


def check_scroll(browser):
    """A table that is wider and higher than its box keeps its first column and its header in sight, above the other cells."""
    browser.open(page_of("scroll", *plan("--top", "200", "--every-plan")), width=900, height=600)
    seen = browser.evaluate("""(() => { const box = document.querySelector('table.data').parentElement;
      box.scrollTo(300, 900);
      box.scrollIntoView();
      const edge = box.getBoundingClientRect();
      const at = (x, y) => document.elementFromPoint(edge.left + x, edge.top + y).closest('th, td');
      return {right: box.scrollLeft, down: box.scrollTop, tab: box.tabIndex, row: at(6, 200).cellIndex, corner: at(6, 8).cellIndex,
              header: at(300, 8).tagName}; })()""")
    check(seen["right"] > 100 and seen["down"] > 500, f"scroll: the box does not scroll: {seen}")
    check(seen["row"] == 0 and seen["corner"] == 0 and seen["header"] == "TH" and seen["tab"] == 0, f"scroll: {seen}")


def check_zoom(browser):
    """A drag over the timeline shows less time and more names; a double click shows all again."""
    path = page_of("zoom", "simulate", "--model", "llama-3.1-8b", "--cluster", "h100-sxm", "--gpus", "8", "--pp", "4",
                   "--global-batch", "64")
    browser.open(path)
    width = "(() => { const range = document.getElementById('chart0')._fullLayout.xaxis.range; return range[1] - range[0]; })()"
    names = "document.querySelectorAll('#chart0 .bartext').length"
    box = browser.evaluate("(() => { const b = document.querySelector('#chart0 .nsewdrag').getBoundingClientRect(); "
                           "return [b.left, b.top, b.width, b.height]; })()")
    whole, few = browser.evaluate(width), browser.evaluate(names)
    y = box[1] + box[3] / 2
    x = [box[0] + share * box[2] for share in (0.3, 0.35, 0.4)]

    def mouse(kind, at, clicks=1):
        browser.call("Input.dispatchMouseEvent", type=kind, x=at, y=y, button="left", buttons=1, clickCount=clicks)

    mouse("mousePressed", x[0])
    mouse("mouseMoved", x[1])
    mouse("mouseMoved", x[2])
    mouse("mouseReleased", x[2])
    browser.wait(f"{width} < {0.2 * whole}", 10)
    browser.wait(f"{names} > 0", 10)
    check(abs(browser.evaluate(width) / whole - 0.1) < 0.02, "zoom: a tenth of the time is shown")
    browser.evaluate("void Plotly.relayout('chart0', {'xaxis.range': [0, " + str(whole) + "]})")
    browser.wait(f"{width} > {0.99 * whole}", 10)
    check(abs(browser.evaluate(width) / whole - 1) < 0.01, f"zoom: all again ({few} names before)")
    check(browser.complaints() == [], f"zoom: {browser.complaints()}")


def check_names(browser):
    """Names of models and files that are HTML stay text: in the title, in tables, in charts."""
    model = json.load(open(os.path.join(source, "models", "llama-3.1-8b.json"), encoding="utf-8"))
    path = os.path.join(folder.name, "a\"'><img src onerror><b>.json")  # a file's name is the model's
    json.dump(model, open(path, "w", encoding="utf-8"))
    rows = os.path.join(folder.name, "rows.csv")
    with open(os.path.join(data, "train_excerpt.csv"), newline="", encoding="utf-8") as table:
        header, *lines = csv.reader(table)
    with open(rows, "w", newline="", encoding="utf-8") as table:
        writer = csv.writer(table, lineterminator="\n")
        writer.writerow(header)
        for line in lines[:60]:
            line[header.index("source_id")] = hostile
            writer.writerow(line)
    for name, arguments in {"hostile-model": ["estimate", "--model", path, "--cluster", "h100-sxm", "--dp", "8"],
                            "hostile-rows": ["validate", "train", rows]}.items():
        page = page_of(name, *arguments, code=(0, 1))
        browser.open(page)
        time.sleep(0.2)  # an injected image would have failed to load by now
        check(browser.complaints() == [], f"{name}: {browser.complaints()}")
        check(browser.evaluate("document.title") != "stolen", f"{name}: a name was executed")
        check(browser.evaluate("document.querySelectorAll('main img, main b, header img, header b').length") == 0, f"{name}: a name became markup")
        check("onerror" in browser.evaluate("document.body.textContent"), f"{name}: the name is not shown")


def check_content(browser):
    total = 0
    for kind, (arguments, charts, tables) in every_kind().items():
        check_kind(browser, kind, arguments, charts, tables)
        compared = check_data(kind, arguments)
        check(compared >= 8, f"{kind}: {compared} figures compared with JSON")
        total += compared
    print(f"{total} figures of pages compared with JSON")
    check_table(browser)
    check_scroll(browser)
    check_zoom(browser)
    check_names(browser)


def check_size_and_speed(browser):
    """1,000 plans: under 6 MB; tables answer and charts stand within 2 s of the start, in the best of up to five loads,
    or, where others keep the machine from working, within five times what a page of two plans takes beside it."""
    path = page_of("thousand", *plan("--top", "1000", "--every-plan", "--space", "full"))
    size = os.path.getsize(path) / 1e6
    check(size < 6, f"1,000 plans: {size:.2f} MB")
    times = []
    while len(times) < 5 and (len(times) < 2 or min(t[1] for t in times) > 2000):
        browser.open(path)
        times.append(browser.evaluate("[window.sextantTablesReady, window.sextantChartsReady]"))
    count = browser.evaluate("document.querySelector('table.data').tBodies[0].rows.length")
    tables, charts = min(t[0] for t in times), min(t[1] for t in times)
    print(f"1,000 plans: {size:.2f} MB, {count} rows, tables after {tables:.0f} ms, charts after {charts:.0f} ms")
    check(count == 1000, f"1,000 plans: {count} rows")
    if charts < 2000:
        return
    few = page_of("few", *plan("--top", "2"))
    small = []
    for _ in range(3):
        browser.open(few)
        small.append(browser.evaluate("window.sextantChartsReady"))
    check(charts < 5 * min(small), f"1,000 plans: interactive after {charts:.0f} ms, two after {min(small):.0f}")


if __name__ == "__main__":
    browser_program = find_chromium()
    if browser_program is None:
        print("skipped: no Chromium (apt-get install chromium)")
        sys.exit(skipped)
    folder = tempfile.TemporaryDirectory(prefix="pages-")
    page_of("probe", *every_kind()["estimate"][0])
    browser = Chromium(browser_program)
    try:
        for part in parts:
            {"content": check_content, "speed": check_size_and_speed}[part](browser)
    finally:
        browser.close()
        folder.cleanup()
    print(f"{len(failures)} failures")
    sys.exit(1 if failures else 0)
