"""What pinfold is meant to reach, told beside the figures: ratios of this very run, and two absolute ones, which are only told."""


class Goal:
    """of(table) is the figure of a table that the goal is about, or None."""

    def __init__(self, text, at_most, limit, of):
        self.text, self.at_most, self.limit, self.of = text, at_most, limit, of

    def judge(self, table):
        figure = self.of(table)
        if figure is None:
            return None
        met = figure <= self.limit if self.at_most else figure >= self.limit
        return {"goal": self.text, "at_most" if self.at_most else "at_least": self.limit, "figure": figure, "of": table.title, "met": met}


def ratio(bench, **conditions):
    """The ratio to bubblewrap, or whoever the table says, in tables of this bench under these conditions."""
    return lambda table: table.ratio("pinfold") if fits(table, bench, conditions) else None


def figure(bench, **conditions):
    return lambda table: table.rows.get("pinfold", {}).get("p50") if fits(table, bench, conditions) else None


def fits(table, bench, conditions):
    return table.bench == bench and all(table.about.get(name) == value for name, value in conditions.items())


GOALS = [
    Goal("launch of /bin/true, to bubblewrap's", True, 0.6, ratio("launch", many_mounts=False)),
    Goal("the same with 1 000 host mounts", True, 0.3, ratio("launch", many_mounts=True)),
    Goal("launches a second, eight at once, to bubblewrap's", False, 1.5, ratio("throughput", at_once=8)),
    Goal("resident memory of supervisor and init (KiB)", True, 4096, figure("memory", kind="rss")),
    Goal("time-out to the whole tree dead, 100 processes (ms)", True, 50, figure("ending", processes=100, by="time-out")),
    Goal("20 000 files into a workspace, to cp -a's", True, 1.2, ratio("copying", scene="files")),
]


def judged(tables):
    return [verdict for goal in GOALS for table in tables if (verdict := goal.judge(table))]


def show(verdicts):
    if verdicts:
        print("\nGoals")
    for verdict in verdicts:
        limit = f"<= {verdict['at_most']:g}" if "at_most" in verdict else f">= {verdict['at_least']:g}"
        print(f"  {'met' if verdict['met'] else 'not met':8} {verdict['goal']} {limit}: {verdict['figure']:.2f} ({verdict['of']})")
