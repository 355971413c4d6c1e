"""What the checks of exported files share: figures of a description, and a list of problems."""
import json


class Description:
    """A description (fathom-gpu/1), read without fathom."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        self.sections = {"device": document["device"], **document["elements"]}

    def has(self, section):
        return section in self.sections

    def get(self, section, name, absent=None):
        """Returns the value of an attribute."""
        attribute = self.sections.get(section, {}).get(name, absent)
        return attribute["value"] if isinstance(attribute, dict) and "value" in attribute else attribute


class Problems(list):
    """The differences that a check finds."""

    def expect(self, what, found, expected):
        if found != expected:
            self.append(f"{what} is {found}, not {expected}")

    def require(self, condition, what):
        if not condition:
            self.append(what)


def is_power_of_two(number):
    return isinstance(number, int) and number > 0 and number & (number - 1) == 0


def rounded(number):
    """Rounds halves up, as C's round does."""
    return int(number + 0.5)
