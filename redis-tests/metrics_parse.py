#!/usr/bin/env python3
"""Reads metrics from standard input with the parser of prometheus_client and ends with 0 if it takes them.

    metrics_parse.py text|openmetrics [name...]     also: is there a sample of each of these names?

The parser of Prometheus's own form lets much pass, so what it read is looked at once more.
"""
import math
import sys

from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics_parser


def refuse(why):
    print(f"metrics_parse: {why}", file=sys.stderr)
    sys.exit(1)


def check_histogram(family):
    """Buckets of each series grow, and the last is +Inf and the count."""
    series = {}
    counts = {}
    for sample in family.samples:
        labels = tuple(sorted((k, v) for k, v in sample.labels.items() if k != "le"))
        if sample.name.endswith("_bucket"):
            series.setdefault(labels, []).append((float(sample.labels["le"]), sample.value))
        elif sample.name.endswith("_count"):
            counts[labels] = sample.value
    if series.keys() != counts.keys():
        refuse(f"{family.name}: not every series has buckets and a count")
    for labels, buckets in series.items():
        if buckets != sorted(buckets) or [v for _, v in buckets] != sorted(v for _, v in buckets):
            refuse(f"{family.name}: buckets of {labels} do not grow")
        if not math.isinf(buckets[-1][0]) or buckets[-1][1] != counts[labels]:
            refuse(f"{family.name}: the last bucket of {labels} is not the count")


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in ("text", "openmetrics"):
        sys.exit(__doc__)
    is_openmetrics = sys.argv[1] == "openmetrics"
    read = openmetrics_parser if is_openmetrics else parser
    text = sys.stdin.buffer.read().decode("utf-8")
    try:
        families = list(read.text_string_to_metric_families(text))
    except (ValueError, KeyError, IndexError) as error:
        refuse(f"refused: {error}")
    names = set()
    samples = set()
    for family in families:
        if family.name in names:
            refuse(f"{family.name} comes twice")
        names.add(family.name)
        if not family.documentation or family.type == "unknown":
            refuse(f"{family.name} has no HELP or no TYPE")
        if not family.samples:
            refuse(f"{family.name} has no samples")
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            if key in samples:
                refuse(f"{key} comes twice")
            samples.add(key)
        if family.type == "histogram":
            check_histogram(family)
    if not families:
        refuse("there is nothing")
    missing = set(sys.argv[2:]) - {name for name, _ in samples}
    if missing:
        refuse(f"no sample of {', '.join(sorted(missing))}")
    print(f"{len(families)} families, {len(samples)} samples")


if __name__ == "__main__":
    main()
