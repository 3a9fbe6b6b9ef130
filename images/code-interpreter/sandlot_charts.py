"""Describes charts and tables as data, in the format that clients of the code interpreter expect.

An IPython extension: it adds the chart's data to a displayed figure, and the columns to a displayed table. It imports
libraries only after the user's code has done so, and an error here never removes anything from a result.
"""

import datetime
import math
import numbers
import re

CHART = "application/vnd.sandlot.chart+json"
TABLE = "application/vnd.sandlot.table+json"

# matplotlib's default marker for the mean in a box plot.
MEAN = "^"

# Larger tables are sent as text only, because clients would have to hold all cells in memory.
MAX_CELLS = 100_000


FIGURES = {("matplotlib.figure", "Figure")}
TABLES = {("pandas", "DataFrame"), ("pandas.core.frame", "DataFrame")}


def load_ipython_extension(shell):
    """Called by IPython when a kernel starts."""
    add_formatter(shell, CHART, FIGURES, chart_of_figure)
    add_formatter(shell, TABLE, TABLES, columns_of)


def add_formatter(shell, mime, kinds, describe):
    from IPython.core.formatters import BaseFormatter

    class DataFormatter(BaseFormatter):
        # Registering by type is not reliable: matplotlib's integration removes the formatters of others for figures.
        def __call__(self, value):
            names = {(kind.__module__, kind.__name__) for kind in type(value).__mro__}
            return or_nothing(describe, value) if kinds & names else None

    display = shell.display_formatter
    display.formatters[mime] = DataFormatter(parent=display, format_type=mime)


def or_nothing(describe, value):
    try:
        return describe(value)
    except Exception:  # the user's versions of the libraries may differ
        return None


def plain(value):
    """Converts a value to JSON types. Returns None for NaN, infinity and NaT."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, (datetime.date, datetime.datetime)):
        return None if value != value else value.isoformat()
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        number = float(value)
        return number if math.isfinite(number) else None
    return str(value)


def columns_of(frame):
    if frame.size > MAX_CELLS:
        return None
    return {str(name): [plain(value) for value in frame[name].tolist()] for name in frame.columns}


def chart_of_figure(figure):
    axes = [ax for ax in figure.axes if ax.get_label() != "<colorbar>" and ax.has_data()]
    if not axes:
        return None
    if len(axes) == 1:
        return chart_of(axes[0])
    title = figure._suptitle.get_text() if figure._suptitle is not None else None
    return {"type": "superchart", "title": title, "elements": [chart_of(ax) for ax in axes]}


def chart_of(ax):
    """Describes the chart in one pair of axes. The first kind of chart that matches wins."""
    title = ax.get_title() or None
    for find in (pie_of, boxes_of, bars_of, scatter_of, lines_of):
        found = find(ax)
        if found is not None:
            kind, elements, more = found
            return {"type": kind, "title": title, **more, "elements": elements}
    return {"type": "unknown", "title": title, "elements": []}


def pie_of(ax):
    from matplotlib.patches import Wedge

    wedges = [patch for patch in ax.patches if isinstance(patch, Wedge)]
    slices = [
        {"label": wedge.get_label(), "angle": plain(abs(wedge.theta2 - wedge.theta1)), "radius": plain(wedge.r)}
        for wedge in wedges
    ]
    return ("pie", slices, {}) if slices else None


def bars_of(ax):
    from matplotlib.container import BarContainer

    containers = [one for one in ax.containers if isinstance(one, BarContainer)]
    bars = []
    for container in containers:
        lies = container.orientation == "horizontal"
        labels = names_on(ax.yaxis if lies else ax.xaxis)
        for bar in container.patches:
            middle = bar.get_y() + bar.get_height() / 2 if lies else bar.get_x() + bar.get_width() / 2
            value = bar.get_width() if lies else bar.get_height()
            bars.append({"label": label_at(labels, middle), "group": named(container), "value": plain(value)})
    return ("bar", bars, labelled(ax)) if bars else None


def scatter_of(ax):
    from matplotlib.collections import PathCollection

    clouds = [one for one in ax.collections if isinstance(one, PathCollection)]
    elements = [{"label": named(cloud), "points": points_of(ax, cloud.get_offsets())} for cloud in clouds]
    return ("scatter", elements, scaled(ax)) if elements else None


def lines_of(ax):
    elements = [{"label": named(line), "points": points_of(ax, line.get_xydata())} for line in ax.lines]
    return ("line", elements, scaled(ax)) if elements else None


def boxes_of(ax):
    """Finds box plots. matplotlib draws them as plain lines: each box, with whiskers, caps and median in its column."""
    from matplotlib.patches import PathPatch

    lines = [(line, [tuple(point) for point in line.get_xydata()]) for line in ax.lines]
    paths = [patch.get_path().vertices for patch in ax.patches if isinstance(patch, PathPatch)]
    shapes = [points for _, points in lines] + [[tuple(point) for point in path] for path in paths]
    boxes = [box for box in map(corners_of, shapes) if box is not None]
    if not boxes:
        return None
    lies = is_lying(boxes[0], [points for _, points in lines])
    labels = names_on(ax.yaxis if lies else ax.xaxis)
    parts = [(line, turn(points, lies)) for line, points in lines if corners_of(points) is None]
    return "box_and_whisker", [box_of(turn(box, lies), parts, labels) for box in boxes], labelled(ax)


def corners_of(shape):
    """Returns the corners of a box, which may have a notch or be a closed path, or None if the shape is not a box."""
    if len(shape) in (11, 12) and shape[0] == shape[10]:
        shape = [shape[0], shape[1], shape[5], shape[6], shape[10]]
    if len(shape) not in (5, 6) or shape[0] != shape[4]:
        return None
    xs, ys = {x for x, _ in shape[:5]}, {y for _, y in shape[:5]}
    # A box is flat if all values are equal.
    return shape[:5] if len(xs) <= 2 and len(ys) <= 2 and len(xs) + len(ys) >= 3 else None


def is_lying(box, lines):
    """Tells whether a box plot is horizontal: a whisker then leaves the box horizontally, at its middle."""
    middle = (min(y for _, y in box) + max(y for _, y in box)) / 2
    level = [line for line in lines if len(line) == 2 and line[0][1] == line[1][1] and line[0][0] != line[1][0]]
    return any(close(line[0][1], middle) and not inside(line, box) for line in level)


def inside(line, box):
    return min(x for x, _ in box) < (line[0][0] + line[1][0]) / 2 < max(x for x, _ in box)


def turn(points, lies):
    return [(y, x) if lies else (x, y) for x, y in points]


def box_of(box, lines, labels):
    left, right = min(x for x, _ in box), max(x for x, _ in box)
    low, high = min(y for _, y in box), max(y for _, y in box)
    middle = (left + right) / 2
    ends, outliers, median = [low, high], [], None
    for line, points in lines:
        xs, ys = [x for x, _ in points], [y for _, y in points]
        if line.get_linestyle() == "None":
            if line.get_marker() == MEAN:
                continue
            outliers += [plain(y) for x, y in points if close(x, middle) and not low <= y <= high]
        elif len(points) == 2 and close(xs[0], middle) and close(xs[1], middle):
            ends += ys
        elif len(points) == 2 and ys[0] == ys[1] and low <= ys[0] <= high and left <= min(xs) and max(xs) <= right:
            # The last match is the median: caps of a whisker without length lie on the edge of the box and come earlier.
            median = ys[0]
    return {
        "label": label_at(labels, middle),
        "min": plain(min(ends)),
        "first_quartile": plain(low),
        "median": plain(median),
        "third_quartile": plain(high),
        "max": plain(max(ends)),
        "outliers": outliers,
    }


def close(one, other):
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


def named(artist):
    """Returns the name that the user gave, or ''. Names that matplotlib generates begin with an underscore."""
    label = str(artist.get_label() or "")
    return "" if label.startswith("_") else label


def labelled(ax):
    x, y = ax.get_xlabel() or None, ax.get_ylabel() or None
    return {"x_label": x, "y_label": y, "x_unit": unit_in(x), "y_unit": unit_in(y)}


def unit_in(label):
    """Returns the unit in brackets of labels such as `Time (s)` or `Time [s]`."""
    found = re.search(r"[(\[]([^()\[\]]+)[)\]]\s*$", label or "")
    return found.group(1) if found else None


def scaled(ax):
    return {**labelled(ax), **scale_of("x", ax.xaxis), **scale_of("y", ax.yaxis)}


def scale_of(side, axis):
    ticks = tick_labels(axis)
    return {
        f"{side}_ticks": values_of(axis, [place for place, _ in ticks]),
        f"{side}_tick_labels": [label for _, label in ticks],
        f"{side}_scale": scale_name(axis),
    }


def scale_name(axis):
    converter = axis.get_converter() if hasattr(axis, "get_converter") else axis.converter
    kind = type(converter).__name__
    if kind == "StrCategoryConverter":
        return "categorical"
    return "datetime" if re.search("Date|Period|TimeConverter", kind) else axis.get_scale()


def tick_labels(axis):
    """Returns the visible ticks with their labels."""
    places = list(axis.get_majorticklocs())
    labels = axis.get_major_formatter().format_ticks(places)
    low, high = sorted(axis.get_view_interval())
    return [(place, str(label)) for place, label in zip(places, labels) if low <= place <= high]


def names_on(axis):
    """Returns the ticks whose labels are names, and not just their positions."""
    given = type(axis.get_major_formatter()).__name__ in ("StrCategoryFormatter", "FixedFormatter", "FuncFormatter")
    return [(place, label) for place, label in tick_labels(axis) if label] if given else []


def label_at(names, place):
    """Returns the nearest name, because grouped bars stand beside their tick, or the position if no name is near."""
    nearest = min(names, key=lambda name: abs(name[0] - place), default=None)
    return nearest[1] if nearest is not None and abs(nearest[0] - place) < 0.5 else f"{place:g}"


def points_of(ax, points):
    xs, ys = values_of(ax.xaxis, [x for x, _ in points]), values_of(ax.yaxis, [y for _, y in points])
    return [list(pair) for pair in zip(xs, ys)]


def values_of(axis, places):
    """Converts positions on an axis to values: matplotlib stores dates and names as numbers."""
    scale = scale_name(axis)
    if scale == "datetime":
        from matplotlib.dates import num2date

        return [plain(num2date(place).replace(tzinfo=None)) for place in places]
    if scale == "categorical":
        names = {place: name for name, place in axis.units._mapping.items()}
        return [names.get(place, plain(place)) for place in places]
    return [plain(place) for place in places]
