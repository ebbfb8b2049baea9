"""Draws the counts of ANALYSIS.json as pictures.

python -I figures.py ANALYSIS.json OUTDIR

One PNG per question, bars with their numbers beside them; the same facts give the same bytes. The last line of standard
output names the files, {"figures": [...]}. An error is one line, {"error": {"what", "remedy"}}, and exit 2.
"""
import json
import sys
from pathlib import Path

MOST_BARS = 20
BLUE, GREY, INK, FAINT = "#2f6f9f", "#a9b4bd", "#1f2933", "#6b7780"
WIDTH_IN = 7.2
BAR_IN = 0.27  # height of a bar
LONGEST_NAME, LONGEST_LINE = 44, 96

STYLE = {"font.family": "DejaVu Sans", "font.size": 9, "text.color": INK, "axes.labelcolor": FAINT, "svg.hashsalt": "",
         "text.parse_math": False, "axes.titlesize": 11, "axes.titleweight": "bold", "axes.titlelocation": "left"}


def grouped(number):
    return f"{number:,}"


def ranked(counts, most=MOST_BARS):
    """The most frequent first, equal ones by name, the rest as one entry."""
    names = sorted((name for name in counts if counts[name]), key=lambda name: (-counts[name], name))
    if len(names) <= most + 1:
        return [(name, counts[name]) for name in names]
    rest = names[most:]
    return [(name, counts[name]) for name in names[:most]] + [(f"{len(rest)} others", sum(counts[name] for name in rest))]


def short(name, most=LONGEST_NAME):
    """A name that fits beside its bar, without control characters."""
    plain = "".join(letter if letter.isprintable() else "?" for letter in name)
    return plain if len(plain) <= most else plain[:most - 1] + "…"


def share(part, whole):
    if not part or not whole:
        return "0%"
    return "<0.1%" if part / whole < 0.0005 else f"{100 * part / whole:.1f}%"


class Sheet:
    """One picture with a title and the unit that it counts."""

    def __init__(self, plot, title, subtitle, height):
        self.figure, self.axes = plot.subplots(figsize=(WIDTH_IN, height + 1.1), layout="constrained")
        self.plot = plot
        self.figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1)
        self.axes.set_title(f"{title}\n", pad=8)
        self.axes.annotate(subtitle, (0, 1), (0, 8), xycoords="axes fraction", textcoords="offset points", color=FAINT,
                           fontsize=8.5, annotation_clip=False)
        self.axes.spines[["top", "right"]].set_visible(False)
        self.axes.spines[["left", "bottom"]].set_color(GREY)

    def save(self, path):
        self.figure.savefig(path, dpi=150, metadata={"Software": None})
        self.plot.close(self.figure)


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


def sheets(plot, facts):
    """(file name, picture) of every question."""
    rows = facts["rows"]
    whole = rows["count"]
    of_rows = f"of {grouped(whole)} rows"

    def counted(title, counts):
        entries = ranked(counts)
        colours = [GREY if number == MOST_BARS and len(counts) > MOST_BARS + 1 else BLUE for number in range(len(entries))]
        return bars(plot, title, of_rows, entries, lambda value: f"{grouped(value)}  {share(value, whole)}", colours)

    characters = [("prompt", rows["lengths"]["prompt_characters"]), ("completion", rows["lengths"]["completion_characters"])]
    yield "lengths_characters", lengths(plot, "Lengths in characters", of_rows, characters)
    tokens = facts["tokenizer"]["name"]
    yield "lengths_tokens", lengths(plot, "Lengths in tokens", f"{of_rows}; {tokens}",
                                    [("prompt and completion", rows["lengths"]["tokens"])])
    yield "licences", counted("Rows by licence", rows["licences"])
    yield "sources", counted("Rows by source", rows["sources"])
    yield "kinds", counted("Rows by kind", rows["kinds"])
    units, found = duplicates(facts)
    yield "duplicates", bars(plot, "Duplicates", f"of {grouped(units)} units found", found,
                             lambda value: f"{grouped(value)}  {share(value, units)}", [BLUE, GREY, GREY, GREY])
    compiled = labels(facts)
    kernels = sum(count for _, count in compiled)
    yield "labels_compile", bars(plot, "Does it compile?", f"of {grouped(kernels)} kernels with rows", compiled,
                                 lambda value: f"{grouped(value)}  {share(value, kernels)}", [BLUE, GREY, GREY, GREY])
    does = {name.replace("_", " "): count for name, count in rows["labels"].items()}
    yield "labels", counted("What the kernels do", does)


def draw(facts, folder):
    import warnings

    import matplotlib
    warnings.filterwarnings("ignore", "Glyph")  # a name may have letters that the font lacks
    matplotlib.rcdefaults()  # ignores the user's own settings
    matplotlib.use("Agg")
    import matplotlib.pyplot as plot
    import matplotlib.ticker
    plot.MaxNLocator = matplotlib.ticker.MaxNLocator
    files = []
    folder.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(STYLE):
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
