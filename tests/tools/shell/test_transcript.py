"""What is kept of a command's output: bounded, the beginning and the end."""

from hypothesis import given
from hypothesis import strategies as st

from app.toolkit.context import Output
from app.tools.shell.transcript import BoundedText, Transcript


def test_both_streams_are_kept_apart():
    transcript = Transcript(1000)
    for text, stream in (("a", "stdout"), ("b", "stderr"), ("c", "stdout")):
        transcript.add(Output(text, stream))  # type: ignore[arg-type]
    assert (transcript.stdout, transcript.stderr, transcript.truncated) == ("ac", "b", False)


@given(st.lists(st.text(alphabet="abc", max_size=30), max_size=20), st.integers(2, 40))
def test_a_long_text_keeps_its_beginning_and_its_end(pieces, limit):
    whole = "".join(pieces)
    bounded = BoundedText(limit)
    for piece in pieces:
        bounded.add(piece)
    if len(whole) <= limit:
        assert str(bounded) == whole
    else:
        head, note, tail = str(bounded).split("\n")
        assert note == f"… [{len(whole) - limit} characters omitted] …"
        assert (head, tail) == (whole[: limit // 2], whole[len(whole) - (limit - limit // 2) :])
