"""Figures as a table for people, as JSON, and as ratios to those of one contender: bubblewrap, where no other is said."""

import statistics
import sys

AGAINST = "bubblewrap"


def skipped(bench, title, why):
    """A table that this caller cannot have, whatever the contenders."""
    table = Table(bench, title, "", {}, {}, {})
    table.why_skipped = why
    return table


class Table:
    """figures: {peer: [numbers]}; troubles: {peer: why it has none}; about: the conditions, for the JSON file."""

    def __init__(self, bench, title, unit, figures, troubles, about, against=AGAINST):
        self.bench, self.title, self.unit, self.troubles, self.about = bench, title, unit, troubles, about
        self.why_skipped, self.against = None, against
        self.rows = {name: quantiles(values) for name, values in figures.items() if values}
        for row in self.rows.values():
            row[self.key()] = row["p50"] / self.rows[against]["p50"] if self.rows.get(against, {}).get("p50") else None

    def key(self):
        """Of the ratio in the JSON file."""
        return "to_" + "".join(letter if letter.isalnum() else "_" for letter in self.against)

    def ratio(self, name):
        return self.rows.get(name, {}).get(self.key())

    def show(self):
        print(f"\n{self.title}" + (f" ({self.unit})" if self.unit else ""))
        if self.rows:
            print(f"  {'':22} {'p10':>10} {'p50':>10} {'p90':>10} {'n':>5}  to {self.against}")
        for name, row in self.rows.items():
            ratio = f"{row[self.key()]:.2f} x" if row[self.key()] is not None else "-"
            print(f"  {name:22} {number(row['p10'])} {number(row['p50'])} {number(row['p90'])} {row['n']:5}  {ratio}")
        for name, why in self.troubles.items():
            print(f"  {name:22} not measured: {why}")
        if self.why_skipped:
            print(f"  not measured: {self.why_skipped}")
        sys.stdout.flush()

    def document(self):
        rows = [{"peer": name, **row} for name, row in self.rows.items()]
        rows += [{"peer": name, "error": why} for name, why in self.troubles.items()]
        return {"bench": self.bench, "title": self.title, "unit": self.unit, **self.about, "skipped": self.why_skipped, "rows": rows}


def number(value):
    return f"{value:10.2f}" if abs(value) < 10000 else f"{value:10.0f}"


def quantiles(values):
    values = sorted(values)
    return {"p10": values[len(values) // 10], "p50": statistics.median(values), "p90": values[len(values) * 9 // 10], "n": len(values)}
