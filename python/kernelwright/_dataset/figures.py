"""Draws the counts of ANALYSIS.json as pictures.

python -I figures.py ANALYSIS.json OUTDIR

One PNG per question, bars with their numbers beside them; the same facts give the same bytes. The last line of standard
output names the files, {"figures": [...]}. An error is one line, {"error": {"what", "remedy"}}, and exit 2.
"""
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # -I omits it
from kernelwright._figures.style import BLUE, FAINT, GREY, LONGEST_LINE, Sheet, grouped, in_style, plotter, short  # noqa: E402

MOST_BARS = 20
BAR_IN = 0.27  # height of a bar


def ranked(counts, most=MOST_BARS):
    """The most frequent first, equal ones by name, the rest as one entry."""
    names = sorted((name for name in counts if counts[name]), key=lambda name: (-counts[name], name))
    if len(names) <= most + 1:
        return [(name, counts[name]) for name in names]
    rest = names[most:]
    return [(name, counts[name]) for name in names[:most]] + [(f"{len(rest)} others", sum(counts[name] for name in rest))]


def share(part, whole):
    if not part or not whole:
        return "0%"
    return "<0.1%" if part / whole < 0.0005 else f"{100 * part / whole:.1f}%"


def bars(plot, title, subtitle, entries, words=grouped, colours=BLUE):
    """Horizontal bars, the first on top, each with its number at its end."""
    sheet = Sheet(plot, title, subtitle, BAR_IN * max(len(entries), 2))
    axes = sheet.axes
    if not entries:
        axes.text(0.5, 0.5, "nothing to show", ha="center", va="center", transform=axes.transAxes, color=FAINT)
        axes.set_axis_off()
        return sheet
    values = [value for _, value in entries]
    drawn = axes.barh(range(len(entries)), values, height=0.68, color=colours)
    axes.bar_label(drawn, [words(value) for value in values], padding=4, fontsize=8.5)
    axes.set_yticks(range(len(entries)), [short(name) for name, _ in entries])
    axes.set_ylim(max(len(entries), 2) - 0.4, -0.6)
    axes.set_xlim(0, 1.22 * max(values) or 1)
    axes.xaxis.set_visible(False)
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return sheet


def power(number):
    return f"{number >> 20} M" if number >= 1 << 20 else f"{number >> 10} k" if number >= 1 << 10 else str(number)


def lengths(plot, title, subtitle, histograms):
    """Vertical bars, one for each power of two; several histograms share one scale."""
    known = [(name, each) for name, each in histograms if each["count"]]
    if not known:
        return bars(plot, title, "not counted", [])
    first = min(next(i for i, count in enumerate(each["buckets"]) if count) for _, each in known)
    last = max(len(each["buckets"]) for _, each in known)
    sheet = Sheet(plot, title, short(subtitle, LONGEST_LINE), 2.8)
    width = 0.86 / len(known)
    for number, (name, each) in enumerate(known):
        counts = (each["buckets"] + [0] * last)[first:last]
        at = [i + (number + 0.5) * width - 0.43 for i in range(len(counts))]
        label = f"{name}: median {power(each['median'])}–{power(2 * each['median'] or 1)}, longest {grouped(each['most'])}"
        sheet.axes.bar(at, counts, width=width * 0.92, color=(BLUE, GREY)[number % 2], label=label)
    sheet.axes.set_xticks([i - 0.5 for i in range(last - first + 1)],
                          [power(1 << i) if i else "0" for i in range(first, last + 1)])
    sheet.axes.set_xlim(-0.6, last - first - 0.4)
    sheet.axes.yaxis.set_major_locator(sheet.plot.MaxNLocator(5, integer=True))
    sheet.axes.yaxis.set_major_formatter(lambda value, _: grouped(int(value)))
    sheet.axes.tick_params(colors=FAINT, labelcolor=FAINT, length=3)
    sheet.axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(0, -0.1), alignment="left")
    return sheet


def duplicates(facts):
    found, kinds = facts["duplicates"], facts["units"]
    whole = sum(kinds.values())
    dropped = [("the same text", found["exact_units"]), ("the same but for names", found["renamed_units"]),
               ("near duplicates", found["near_units"])]
    return whole, [("kept", max(0, whole - sum(count for _, count in dropped)))] + dropped


def labels(facts):
    compile_counts = facts["rows"]["compile"] or facts["units_compile"]
    words = {"compilable": "compiles", "fails": "does not compile", "signature_unknown": "signature unknown",
             "not_tried": "not tried"}
    return [(words[name], compile_counts.get(name, 0)) for name in words]


def over_limit(rows):
    """How many rows a recipe with that data.max_length drops, and how many it cuts."""
    return [(f"{what} at {grouped(int(limit))} tokens", count)
            for limit, each in sorted(rows["over_limit"].items(), key=lambda item: int(item[0]))
            for what, count in (("dropped", each["dropped"]), ("cut", each["longer"] - each["dropped"]))]


def sheets(plot, facts):
    """(file name, picture) of every question that the build asked."""
    rows = facts["rows"]
    whole = rows["count"]
    of_rows = f"of {grouped(whole)} rows"

    def counted(title, counts):
        entries = ranked(counts)
        colours = [GREY if number == MOST_BARS and len(counts) > MOST_BARS + 1 else BLUE for number in range(len(entries))]
        return bars(plot, title, of_rows, entries, lambda value: f"{grouped(value)}  {share(value, whole)}", colours)

    characters = [("prompt", rows["lengths"]["prompt_characters"]), ("completion", rows["lengths"]["completion_characters"])]
    yield "lengths_characters", lengths(plot, "Lengths in characters", of_rows, characters)
    if tokens := facts["tokenizer"]["name"]:
        yield "lengths_tokens", lengths(plot, "Lengths in tokens", f"{of_rows}; {tokens}",
                                        [("prompt and completion", rows["lengths"]["tokens"])])
        yield "over_limit", bars(plot, "Rows over data.max_length", of_rows, over_limit(rows),
                                 lambda value: f"{grouped(value)}  {share(value, whole)}")
    yield "licences", counted("Rows by licence", rows["licences"])
    yield "sources", counted("Rows by source", rows["sources"])
    yield "kinds", counted("Rows by kind", rows["kinds"])
    yield "holes", counted("Rows by hole", rows["holes"])
    found = facts["targets"]
    functions = sum(found.values())
    taken = set(facts["parameters"].get("hardware", "").split())
    yield "targets", bars(plot, "Functions by hardware", f"of {grouped(functions)} found; blue: taken", ranked(found),
                          lambda value: f"{grouped(value)}  {share(value, functions)}",
                          [BLUE if name in taken else GREY for name, _ in ranked(found)])
    units, found = duplicates(facts)
    yield "duplicates", bars(plot, "Duplicates", f"of {grouped(units)} units found", found,
                             lambda value: f"{grouped(value)}  {share(value, units)}", [BLUE, GREY, GREY, GREY])
    compiled = labels(facts)
    kernels = sum(count for _, count in compiled)
    if any(count for name, count in compiled if name != "not tried"):
        yield "labels_compile", bars(plot, "Does it compile?", f"of {grouped(kernels)} kernels with rows", compiled,
                                     lambda value: f"{grouped(value)}  {share(value, kernels)}", [BLUE, GREY, GREY, GREY])
    does = {name.replace("_", " "): count for name, count in rows["labels"].items()}
    yield "labels", counted("What the kernels do", does)


def draw(facts, folder):
    plot = plotter()
    import matplotlib.ticker
    plot.MaxNLocator = matplotlib.ticker.MaxNLocator
    files = []
    folder.mkdir(parents=True, exist_ok=True)
    with in_style():
        for name, sheet in sheets(plot, facts):
            path = folder / f"{name}.png"
            sheet.save(path)
            files.append(path.name)
    return files


def fail(what, remedy):
    print(json.dumps({"error": {"what": what.replace("\n", " "), "remedy": remedy}}))
    return 2


def main():
    if len(sys.argv) != 3:
        print("usage: figures.py ANALYSIS.json OUTDIR", file=sys.stderr)
        return 2
    try:
        facts = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
        print(json.dumps({"figures": draw(facts, Path(sys.argv[2]))}))
    except ImportError as error:
        return fail(f"matplotlib is missing from {sys.executable} ({error})", "install matplotlib, or do without figures")
    except (OSError, ValueError, KeyError, TypeError) as error:
        return fail(f"cannot draw {sys.argv[1]}: {error!r}", "give the ANALYSIS.json of a build")
    return 0


if __name__ == "__main__":
    sys.exit(main())
