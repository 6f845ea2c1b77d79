"""Output as it comes: decoded, bounded."""

from hypothesis import given
from hypothesis import strategies as st

from app.operations.protocols import ProcessChunk
from app.tools.shell.transcript import BoundedText, Transcript


@given(st.text(max_size=80), st.data())
def test_a_character_cut_between_chunks_comes_out_whole(text, data):
    raw = text.encode("utf-8", "replace")
    cut = data.draw(st.integers(0, len(raw)))
    transcript = Transcript(1000)
    parts = [transcript.add(ProcessChunk("stdout", piece)) for piece in (raw[:cut], raw[cut:])]
    assert "".join([*parts, transcript.finish("stdout")]) == raw.decode()
    assert transcript.stdout == raw.decode()


def test_bytes_that_are_no_text_are_replaced():
    transcript = Transcript(1000)
    assert transcript.add(ProcessChunk("stderr", b"a\xffb\xe4\xb8")) == "a\ufffdb"
    assert transcript.finish("stderr") == "\ufffd"
    assert (transcript.stderr, transcript.stdout) == ("a\ufffdb\ufffd", "")


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
        assert note == f"… [{len(whole) - limit} characters left out] …"
        assert (head, tail) == (whole[: limit // 2], whole[len(whole) - (limit - limit // 2) :])
