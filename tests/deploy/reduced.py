#!/usr/bin/env python3
"""What the emulator cannot do, taken out of the templates of a package, and nothing else.

    reduced.py            tests itself

- Alarms on metric math: `AWS::CloudWatch::Alarm` with `Metrics` is refused by ministack 1.5.33. Those with one metric stay.

What is not taken out but does less there than in AWS is told in docs/TESTING.md."""
import re

RESOURCE = re.compile(r"^(?=  \w+:\n    Type: )", re.MULTILINE)
SECTION = re.compile(r"^(?=\w+:)", re.MULTILINE)


def reduced(text):
    """The template without these resources, and their names."""
    kept, taken = [], []
    for section in SECTION.split(text):
        for block in RESOURCE.split(section):
            if block.startswith("  ") and "    Type: AWS::CloudWatch::Alarm\n" in block and "\n      Metrics:\n" in block:
                taken.append(block.split(":")[0].strip())
            else:
                kept.append(block)
    return "".join(kept), taken


def check():
    simple = "  Plain:\n    Type: AWS::CloudWatch::Alarm\n    Properties:\n      MetricName: Errors\n"
    math = "  Math:\n    Type: AWS::CloudWatch::Alarm\n    Properties:\n      Metrics:\n      - Id: result\n"
    other = "  Table:\n    Type: AWS::DynamoDB::Table\n    Properties:\n      Metrics:\n      - none of an alarm\n"
    head, tail = "Resources:\n", "Outputs:\n  Name:\n    Value: 1\n"
    assert reduced(head + simple + math + other + tail) == (head + simple + other + tail, ["Math"])
    assert reduced(head + simple + other + math + tail) == (head + simple + other + tail, ["Math"])
    assert reduced(head + simple + tail) == (head + simple + tail, [])


def reduce_folder(folder):
    """Rewrites all templates in a folder; prints what it took out."""
    for path in sorted(folder.rglob("*.yaml")):
        text, taken = reduced(path.read_text())
        path.write_text(text)
        for name in taken:
            print(f"taken out for the emulator: {name}")


if __name__ == "__main__":
    check()
