"""What one line of the contract is."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Requirement:
    """One line of the contract.

    `source` names the designs that ask for it: N1 and N2 the two NanoClaw designs, NC NetaClaw,
    JV Jarvis, CB CountBot, card the stack asked for, merge an answer where designs differ,
    users what users of such systems ask for, measured what their code was seen to do.
    """

    id: str
    source: str
    text: str

    @property
    def group(self) -> str:
        """The letters before the number."""
        return self.id.rpartition("-")[0]
