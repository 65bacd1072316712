"""The table of facts that smoke.py prints: a line each, as soon as it is known."""
import dataclasses
import re

OK, SEEN, NOT_SHOWN = "ok", "seen", "not shown"

# What a line shows of AWS's errors is reported to others: names of accounts and of people stay here.
PRIVATE = (
    (re.compile(r"arn:[a-z-]+:[^\s\"',)]+"), "<arn>"),
    (re.compile(r"\b\d{12}\b"), "<account>"),
    (re.compile(r"\b[a-z0-9]{20,}\.lambda-url\.[a-z0-9-]+\.on\.aws\b"), "<function url>"),
)
DETAIL = 500 # characters; an error page may be long


class NotShown(Exception):
    """A fact cannot be looked at, and this is why."""


@dataclasses.dataclass(frozen=True)
class Verdict:
    state: str
    detail: str


@dataclasses.dataclass(frozen=True)
class Fact:
    """`emulator` says why an emulator cannot show that the fact is so. If `ignored`, what it answers means nothing at all;
    if not, it can still show that the fact is not so. `docs` is a page and a text in it that has to change if the fact is not so."""
    name: str
    emulator: str = ""
    ignored: bool = False
    docs: tuple[str, str] = ("", "")


def ok(detail):
    return Verdict(OK, detail)


def seen(detail):
    return Verdict(SEEN, detail)


def printable(text):
    """One line of a table, without what is nobody else's business."""
    for pattern, replacement in PRIVATE:
        text = pattern.sub(replacement, text)
    text = "".join(char if char.isprintable() else " " for char in text)
    text = " ".join(text.split()).replace("|", "\\|")
    return text if len(text) <= DETAIL else text[:DETAIL] + " ..."


def on_emulator(fact, verdict):
    """What a verdict is worth if an emulator gave it."""
    if not fact.emulator or (verdict.state == SEEN and not fact.ignored):
        return verdict
    return Verdict(NOT_SHOWN, f"{fact.emulator} (it answered: {verdict.detail})")


class Table:
    """Prints Markdown. Each fact has one line; `close` says of those that have none why not."""

    def __init__(self, facts, emulator=False, write=print):
        self.facts, self.emulator, self.write = {fact.name: fact for fact in facts}, emulator, write
        self.verdicts = {}
        self.width = max(len(name) for name in self.facts)

    def head(self):
        self.write(f"| {'fact':<{self.width}} | verdict   | seen |")
        self.write(f"|{'-' * (self.width + 2)}|-----------|------|")

    def put(self, name, verdict):
        fact = self.facts[name]
        assert name not in self.verdicts, f"{name} has a line already"
        if self.emulator:
            verdict = on_emulator(fact, verdict)
        self.verdicts[name] = verdict
        depends = f" (docs/{fact.docs[0]}: \"{fact.docs[1]}\")" if verdict.state == SEEN and fact.docs[0] else ""
        self.write(f"| {name:<{self.width}} | {verdict.state:<9} | {printable(verdict.detail)}{depends} |")

    def close(self, why):
        for name in self.facts:
            if name not in self.verdicts:
                self.put(name, Verdict(NOT_SHOWN, why))

    def count(self, state):
        return sum(verdict.state == state for verdict in self.verdicts.values())

    def summary(self):
        counts = ", ".join(f"{self.count(state)} {state}" for state in (OK, SEEN, NOT_SHOWN))
        return f"{len(self.verdicts)} facts: {counts}"
