"""The command, the file or the evidence is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from twinlog.errors.root import TwinlogError


@dataclass(eq=False)
class UsageError(TwinlogError):
    """Nothing was started: the operator corrects the command or the file and tries again."""

    code = "USAGE"
    says = "{problem}"

    problem: str


class Finding(NamedTuple):
    """One remark about a settings file: where, about which key, one sentence. Never a secret (R12)."""

    level: Literal["info", "warning", "error"]
    file: str
    line: int | None
    key: str | None
    sentence: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.sentence}" if self.key is None else f"{place}: {self.key}: {self.sentence}"


@dataclass(eq=False)
class SettingsInvalid(UsageError):
    """Keys of the settings file are missing or wrong: all of them, not only the first."""

    code = "SETTINGS_INVALID"
    remedy = "Correct the file; `twinlog validate` shows everything that it resolves to."

    findings: tuple[Finding, ...]


@dataclass(eq=False)
class ExtraMissing(UsageError):
    """A setting wants an extra of the package that is not installed."""

    code = "EXTRA_MISSING"
    says = "{problem}: the extra `{extra}` of the package is not installed"
    remedy = "Install the wheel again with its extra: `pip install 'PATH-TO-WHEEL[{extra}]'`. Or remove the setting."

    extra: str


@dataclass(eq=False)
class SelectionEmpty(TwinlogError):
    """The pattern matches nothing, so there is no answer and no evidence."""

    code = "SELECTION_EMPTY"
    says = "{asked}: matches none of {things}; {near}"
    remedy = "Check the name. The expression must match the whole name. Nothing was compared and nothing was recorded."

    asked: str
    things: str
    near: str


@dataclass(eq=False)
class LinkUnknown(TwinlogError):
    """A command names a link that the file does not define or does not enable."""

    code = "LINK_UNKNOWN"
    says = "{link}: no such enabled link in {file}; it has: {known}"
    remedy = "{way}"

    link: str
    file: str
    known: str
    way: str = "Check the name. `twinlog validate` lists the links of a file."


@dataclass(eq=False)
class SettingUnknown(TwinlogError):
    """A command asks about a setting that neither Twinlog nor MirrorMaker 2 nor a Kafka client knows."""

    code = "SETTING_UNKNOWN"
    says = "{name}: no such setting; near it are: {near}"
    remedy = "Write it as the file does, or by its plain name; docs/reference/settings.md lists all."

    name: str
    near: str


@dataclass(eq=False)
class DrillStopped(TwinlogError):
    """A drill stopped. The topics that it created are deleted; production is not affected."""

    code = "DRILL_STOPPED"
    says = "{link}: the drill stopped: {problem}"
    remedy = "`twinlog doctor` says what is wrong; the same would stop a real switch."

    link: str
    problem: str


@dataclass(eq=False)
class EvidenceBroken(TwinlogError):
    """The chain of drill reports does not hold: nothing is added to it."""

    code = "EVIDENCE_BROKEN"
    says = "{file}: {problem}"
    remedy = "Keep the file unchanged for the investigation, and name a new one with --report."

    file: str
    problem: str
