"""Reads the configuration. Every setting has one name, whatever section it stands in."""

import tomllib
from pathlib import Path


class SettingsError(Exception):
    """A setting is missing or of the wrong kind."""


class Settings:
    """The settings of one run. They do not change while it lasts."""

    def __init__(self, values):
        self._values = dict(values)

    @classmethod
    def read(cls, path):
        with Path(path).open("rb") as file:
            sections = tomllib.load(file)
        values = {}
        for section, entries in sections.items():
            for name, value in entries.items():
                if name in values:
                    raise SettingsError(f"{name} is set twice, the second time in [{section}]")
                values[name] = value
        return cls(values)

    def __getitem__(self, name):
        try:
            return self._values[name]
        except KeyError:
            raise SettingsError(f"{name} is not set") from None

    def shown(self, names):
        """The settings as a line for the log."""
        return " ".join(f"{name}={self[name]}" for name in names)
