"""Draws charts as SVG inside a page: predictions of the model against measurements on an H200, from the tables in CSV files.

Each chart is a scatter plot with the line of exact predictions. The colours are those of the page (style.css), so that charts follow
its dark mode. A point shows its name and both values when the pointer is on it.
"""
import csv
import html
import math

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 460, 420, 62, 52, 14
# tests/model/heldout/compare compares ratios from this number of sectors on; see there.
MIN_SECTORS = 10000


def read(root, path, keys):
    """Returns the rows of a CSV file by the values of some columns."""
    with open(root / path, encoding="utf-8", newline="") as file:
        return {tuple(row[key] for key in keys): row for row in csv.DictReader(file)}


def percent(row, hits, sectors, minimum=1):
    return 100 * float(row[hits]) / float(row[sectors]) if float(row[sectors]) >= minimum else None


def ratio_points(measured, predicted, level, names, minimum):
    """Yields (measured, predicted, label) of the hit ratios of a level; names are the columns with the measured hits and sectors."""
    for key in sorted(set(measured) & set(predicted)):
        of_gpu = percent(measured[key], *names, minimum)
        of_model = percent(predicted[key], f"{level}_read_hits", f"{level}_read_sectors")
        if of_gpu is not None and of_model is not None:
            yield of_gpu, of_model, " ".join(key)


def factor_points(measured, predicted):
    """Yields (measured, predicted, label) of how much faster the second kernel of each pair is."""
    for pair in sorted({key[0] for key in measured}):
        times = [(float(measured[key]["cold_us"]), float(predicted[key]["time_us"])) for key in measured if key[0] == pair]
        if len(times) == 2:
            yield times[0][0] / times[1][0], times[0][1] / times[1][1], pair


def axis(low, high, log):
    """Returns the marks of an axis."""
    if not log:
        return [low + (high - low) * step / 5 for step in range(6)]
    return [mantissa * 10**power for power in range(-1, 4) for mantissa in (1, 2, 5) if low <= mantissa * 10**power <= high]


def scatter(title, unit, points, limits, log=False):
    """Returns the SVG of a scatter plot with equal axes."""
    low, high = limits
    place = (lambda value: math.log(value / low) / math.log(high / low)) if log else (lambda value: (value - low) / (high - low))
    x = lambda value: LEFT + place(value) * (WIDTH - LEFT - 12)
    y = lambda value: HEIGHT - BOTTOM - place(value) * (HEIGHT - BOTTOM - TOP)
    parts = [f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(title)}">']
    for mark in axis(low, high, log):
        parts.append(f'<path class="grid" d="M{x(mark):.1f} {y(low):.1f}V{y(high):.1f}M{x(low):.1f} {y(mark):.1f}H{x(high):.1f}"/>')
        parts.append(f'<text x="{x(mark):.1f}" y="{y(low) + 18:.1f}" text-anchor="middle">{mark:g}</text>')
        parts.append(f'<text x="{x(low) - 8:.1f}" y="{y(mark) + 4:.1f}" text-anchor="end">{mark:g}</text>')
    parts.append(f'<path class="exact" d="M{x(low):.1f} {y(low):.1f}L{x(high):.1f} {y(high):.1f}"/>')
    for measured, predicted, label in points:
        text = html.escape(f"{label}: measured {measured:.4g}, predicted {predicted:.4g}")
        parts.append(f'<circle class="point" cx="{x(measured):.1f}" cy="{y(predicted):.1f}" r="4.5"><title>{text}</title></circle>')
    parts.append(f'<text x="{(x(low) + x(high)) / 2:.1f}" y="{HEIGHT - 12}" text-anchor="middle">measured, {unit}</text>')
    middle = (y(low) + y(high)) / 2
    parts.append(f'<text transform="translate(16 {middle:.1f}) rotate(-90)" text-anchor="middle">predicted, {unit}</text>')
    return "\n".join(parts + ["</svg>"])


def figure(title, sources, svg, count):
    return f'<figure>\n{svg}\n<figcaption>{html.escape(title)}: {count} points, from {sources}.</figcaption>\n</figure>'


def ratios(root, link, model, counters, keys, names, minimum):
    """Returns the figures of the hit ratios of both levels."""
    measured, predicted = read(root, counters, keys), read(root, model, keys)
    figures = []
    for level, columns in names.items():
        points = list(ratio_points(measured, predicted, level, columns, minimum))
        title = f"Read hit ratio of the {level.upper()}"
        figures.append(figure(title, f"{link(counters)} and {link(model)}", scatter(title, "%", points, (0, 100)), len(points)))
    return f'<div class="figures">{"".join(figures)}</div>'


def model_h200(root, link):
    names = {level: (f"{level}_read_hits", f"{level}_read_sectors") for level in ("l1", "l2")}
    return ratios(root, link, "tests/model/h200-model.csv", "tests/model/h200-counters.csv", ("workload", "kernel"), names, 1)


def model_heldout(root, link):
    names = {"l1": ("l1_load_hits", "l1_load_sectors"), "l2": ("l2_read_hits", "l2_read_sectors")}
    return ratios(root, link, "tests/model/heldout/h200-model.csv", "tests/model/heldout/h200-cold.csv", ("case",), names, MIN_SECTORS)


def diagnosis(root, link):
    figures = []
    for title, name, model in (("The first ten pairs, with the current model", "h200-measured.csv", "tests/diagnosis/h200-model.csv"),
                               ("The second ten pairs, with the predictions made before the measurement", "h200-second-measured.csv",
                                "docs/results/diagnosis-h200-second-predictions.csv")):
        measured = f"tests/diagnosis/{name}"
        points = list(factor_points(read(root, measured, ("pair", "kernel")), read(root, model, ("pair", "kernel"))))
        svg = scatter(title, "factor by which the fix is faster", points, (0.5, 100), log=True)
        figures.append(figure(title, f"{link(measured)} and {link(model)}", svg, len(points)))
    return f'<div class="figures">{"".join(figures)}</div>'


# By page: the function that draws its charts. link(PATH) returns a link to a file of the sources.
CHARTS = {
    "docs/results/model-h200.md": model_h200,
    "docs/results/model-heldout.md": model_heldout,
    "docs/results/diagnosis-h200.md": diagnosis,
}
