"""The style of all figures: fonts, colours for colour-blind readers too, plain text, equal bytes for equal facts."""

BLUE, GREY, INK, FAINT = "#2f6f9f", "#a9b4bd", "#1f2933", "#6b7780"
GRID = "#e3e8ec"
# Okabe and Ito 2008, without yellow, which is too light for lines. Each series has a marker as well.
SERIES = (("#0072b2", "o"), ("#d55e00", "s"), ("#009e73", "^"), ("#cc79a7", "D"), ("#56b4e9", "v"), ("#e69f00", "P"))
WIDTH_IN = 7.2
LONGEST_NAME, LONGEST_LINE = 44, 96
HASH_SALT = "kernelwright"

STYLE = {"font.family": "DejaVu Sans", "font.size": 9, "text.color": INK, "axes.labelcolor": FAINT, "svg.hashsalt": HASH_SALT,
         "text.parse_math": False, "axes.titlesize": 11, "axes.titleweight": "bold", "axes.titlelocation": "left",
         "axes.unicode_minus": False, "axes.formatter.use_mathtext": False}


def plotter():
    """matplotlib.pyplot without a screen and without the user's own settings."""
    import warnings

    import matplotlib
    warnings.filterwarnings("ignore", "Glyph")  # a name may have letters that the font lacks
    matplotlib.rcdefaults()
    matplotlib.use("Agg")
    import matplotlib.pyplot as plot
    return plot


def in_style():
    """A context in which figures have this style."""
    import matplotlib
    return matplotlib.rc_context(STYLE)


def grouped(number):
    return f"{number:,}"


def plain(text):
    """Text without characters that control a display or reorder it."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def short(name, most=LONGEST_NAME):
    """A name that fits beside its bar."""
    text = plain(name)
    return text if len(text) <= most else text[:most - 1] + "…"


class Sheet:
    """One picture with a title and a line below it, of one axis or of several side by side."""

    def __init__(self, plot, title, subtitle, height, panels=1):
        self.figure, axes = plot.subplots(1, panels, figsize=(WIDTH_IN, height + 1.1), layout="constrained", squeeze=False)
        self.panels = list(axes[0])
        self.axes = self.panels[0]
        self.plot = plot
        self.figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1)
        self.axes.set_title(f"{title}\n", pad=8)
        self.axes.annotate(subtitle, (0, 1), (0, 8), xycoords="axes fraction", textcoords="offset points", color=FAINT,
                           fontsize=8.5, annotation_clip=False)
        for panel in self.panels:
            panel.spines[["top", "right"]].set_visible(False)
            panel.spines[["left", "bottom"]].set_color(GREY)

    def write(self, path):
        """One file; its ending is its format."""
        metadata = {".svg": {"Date": None, "Creator": None}, ".png": {"Software": None}}
        self.figure.savefig(path, dpi=150, metadata=metadata[path.suffix])

    def close(self):
        self.plot.close(self.figure)

    def save(self, path):
        self.write(path)
        self.close()
