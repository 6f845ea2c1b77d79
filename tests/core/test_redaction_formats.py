"""Secrets known by their looks, and all that only looks like one."""

from __future__ import annotations

import base64
import hashlib
import random
import string
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.config.settings import load_settings
from app.core.errors import ConfigurationError
from app.core.redaction import MASK, Redactor
from app.core.secret_formats import MAX_HELD
from app.core.text import dump_json

RANDOM = "Zx8fQ3kLm2Vb7TnR4pWs9YcD1hGj6aEu"
# Joined here, so that nobody who looks for keys in this repository finds one.
AWS, GITHUB, STRIPE = "AKIA" + "IOSFODNN7EXAMPLE", "ghp_" + "a1B2" * 9, "sk_live_" + "4eC39HqLyjWD"
JWT = "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N"
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{'MIIEow/+IBAAKC' * 5}\n-----END RSA PRIVATE KEY-----"

SECRETS = {
    "aws": AWS,
    "github": GITHUB,
    "github fine-grained": "github_pat_" + "11ABCDEFG0" * 5,
    "github oauth": "gho_" + "16C7e42F292c6912E7710c838347Ae178B4a",
    "openai": "sk-proj-" + "abcDEF123456" * 3,
    "anthropic": "sk-ant-" + "api03-abcdefghij",
    "slack": "xoxb-" + "123456789012-abcdefABCDEF",
    "google": "AIza" + "SyA1234567890abcdefghijklmnopqrstuv",
    "stripe": STRIPE,
    "npm": "npm_" + "abcDEF123456" * 3,
    "gitlab": "glpat-" + "abcDEF1234567890abcd",
    "jwt": JWT,
    "ours": "tg_" + "aB3-_" * 9,
    "pem": PEM,
    "pem in json": PEM.replace("\n", "\\n"),
    "pem cut off": PEM[:80],
    "random": RANDOM,
    "random base64": "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
    "random base64url": "q7Rk-2mZ_xV9tB4nLwE8sJcH3uPyD6fG",
}
# (text, what must be gone, what must stay)
IN_PLACE = [
    ("postgres://app:s3cr3t@db.internal/x", "s3cr3t", "@db.internal/x"),
    ("https://ann:pa55word@example.com/a", "pa55word", "https://"),
    ("curl -u ann:pa55word https://x.y", "pa55word", "https://x.y"),
    ("curl -H 'Authorization: Bearer abcdefgh'", "abcdefgh", "Authorization: Bearer"),
    ("Authorization: Basic YW5uOnBhc3M=", "YW5uOnBhc3M", "Basic"),
    ('{"authorization": "Bearer abc123def456ghi7"}', "abc123def456ghi7", "authorization"),
    ("bearer abc123def456ghi7", "abc123def456ghi7", "bearer"),
    ("PGPASSWORD=hunter2 psql -h db", "hunter2", "psql -h db"),
    ("export GITHUB_TOKEN='abcdef12'", "abcdef12", "GITHUB_TOKEN="),
    ("mysql --password=hunter2x -h db", "hunter2x", "-h db"),
    ("mysql -u app -phunter2 -h db", "hunter2", "-h db"),
    ("mysqldump -p'hunter two' shop", "hunter", "mysqldump -p"),
    ('mariadb-dump -h db -p"s3cret" x', "s3cret", "-h db"),
    ("sshpass -p letmein ssh ann@host", "letmein", "ssh ann@host"),
    ("redis-cli -h db -a foobared ping", "foobared", "ping"),
    ("deploy --api-key 12345678 --to prod", "12345678", "--to prod"),
    ("https://s3.x.y/o?X-Amz-Signature=0123456789abcdef01", "0123456789abcdef01", "s3.x.y/o"),
    ("aws_secret_access_key = " + "a" * 40, "a" * 40, "aws_secret_access_key"),
]
PNG = base64.b64encode(bytes(range(256)) * 4).decode()
HARMLESS = [
    "9b74c9897bac770ffc029102a200c5de9b74c989",
    "the commit 3f2a1b9 of 2026-11-21T09:30:00.000Z",
    str(uuid.UUID(int=2**127 + 12345)),
    str(uuid.UUID(int=2**127 + 12345)).upper(),
    hashlib.sha256(b"x").hexdigest(),
    hashlib.sha512(b"x").hexdigest().upper(),
    "sha256:" + hashlib.sha256(b"x").hexdigest(),
    "sha512-" + base64.b64encode(hashlib.sha512(b"x").digest()).decode(),
    "h1:" + base64.b64encode(hashlib.sha256(b"x").digest()).decode(),
    "SHA256:" + base64.b64encode(hashlib.sha256(b"x").digest()).decode().rstrip("="),
    "data:image/png;base64," + PNG,
    "data:image/png;base64," + PNG[:60],
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
    "\n".join(PNG[at : at + 76] for at in range(0, len(PNG), 76)),
    "\n".join(PNG[at : at + 64] for at in range(0, len(PNG), 64)),
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl ann",
    "/home/ann/projects/Tollgate2/src/components/AuditLogTable.tsx",
    "/nix/store/8hf3x2q9w7v6b5n4m3k2j1h0g9f8d7s6-python3-3.11.4/bin/python",
    "node_modules/@babel/plugin-transform-react-jsx-development/lib/index.js",
    "app.kubernetes.io/my-deployment-7f9c8d6b5-x2x4z",
    "AbstractSingletonProxyFactoryBeanConfigurationV2Test",
    "getUserProfileByIdV2ForTenantAndRegionEU1",
    "test_every_way_a_call_may_end_leaves_a_row_in_2_tables",
    "HTTP2_SERVER_PUSH_PROMISE_ENABLED_BY_DEFAULT_V2",
    "toolu_01A09q90qw90lq917835lq9Xy",
    "op_7f3a9c000001 ses_14c26c471b9c5eca77a7e1ca call_9F8d7Q6w5E4r3T2y1U0i9O8p",
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "2024-01-15T10-30-00Z-backup-Server01-Full",
    "1234567890123456789012345678901234567890",
    "--token $TOKEN --password <your password> --secret ${SECRET}",
    "postgres://${USER}:${PASSWORD}@db/x and https://host:8080/path and git@github.com:a/b.git",
    "ssh://git@example.com/a/b.git mailto:ann@example.com",
    "Bearer authentication is required; the bearer of this letter",
    "risk-assessment-of-the-whole-department task-list-with-many-words disk-usage-report-of-today",
    "docker run -u 1000:1000 image:latest; curl https://example.com -o out.html",
    "mysql -p shop < dump.sql; mysql -P 3306 -p; mysql -p$PW; mysqldump -u app shop -p > x.sql",
    "the mysql -p option asks; redis-cli -p 6379; mkdir -prod; sshpass -f file ssh host",
    "find / -name mysql -print -o -name 'mysql*' -path './x' -prune",
    "password: str = Field(min_length=8)  # the token is read from the secret",
    "max_tokens=8192 tokenizer=TOKENIZER secretary@example.com",
    "«redacted» stays «redacted»",
    "eyJ is how a JWT begins",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
    "密码在保险柜里 пароль в сейфе",
]


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize(
    "frame", ["{}", "use {} now", '"{}"', "\n{}\n", "key={}", "({})", "a:{};b"]
)
def test_what_looks_like_a_key_is_masked_wherever_it_stands(name: str, frame: str):
    secret = SECRETS[name]
    redactor = Redactor()
    text = frame.format(secret)
    assert secret[-12:] not in redactor.text(text)
    assert MASK in redactor.text(text)
    arguments = {"text": text, "deep": [{text: 1}]}
    encoded = dump_json(arguments)
    assert redactor.is_clean(encoded) is False
    assert redactor.is_text_clean(encoded) is False
    assert secret[-12:] not in str(redactor.arguments(arguments))
    assert secret[-12:] not in str(redactor.secrets_in(arguments))


@pytest.mark.parametrize(("text", "gone", "stays"), IN_PLACE, ids=[item[0] for item in IN_PLACE])
def test_of_a_credential_only_the_secret_is_masked(text: str, gone: str, stays: str):
    shown = Redactor().text(text)
    assert gone not in shown
    assert stays in shown
    assert MASK in shown
    assert Redactor().is_clean(dump_json({"a": text})) is False


@pytest.mark.parametrize("text", HARMLESS, ids=[text[:40] for text in HARMLESS])
def test_what_only_looks_like_a_secret_is_shown(text: str):
    for shown in (text, f"see {text}!", f"'{text}'"):
        assert Redactor().text(shown) == shown
        assert Redactor().arguments({"a": shown}) == ({"a": shown}, [])


def test_identifiers_and_digests_are_shown_however_random_they_look():
    value = {"id": RANDOM, "sessionId": RANDOM, "signature": RANDOM, "sha256": RANDOM}
    assert Redactor().secrets_in(value) == value
    assert Redactor().arguments(value) == (value, [])
    assert Redactor().secrets_in({"id": GITHUB}) == {"id": MASK}


def test_nearly_every_random_token_is_found_and_no_digest_is():
    letters, dice = string.ascii_letters + string.digits, random.Random(7)
    redactor = Redactor()
    found = sum(
        MASK in redactor.text("x " + "".join(dice.choices(letters, k=40))) for _ in range(1000)
    )
    assert found > 950
    for _ in range(1000):
        digest = f"{dice.getrandbits(160):040x}"
        assert redactor.text(digest) == digest


def test_nothing_is_copied_when_there_is_nothing_to_mask():
    value = {"a": ["b", {"c": 1}], "path": "/home/ann/file.txt"}
    assert Redactor(["secret-value"]).secrets_in(value) is value


# -- an operator's patterns -------------------------------------------------------------


def test_a_pattern_of_the_operator_is_masked_everywhere():
    redactor = Redactor(patterns=[r"CUST-\d{6}", r"(?i)^internal:.*$"])
    value = {"a": "for CUST-123456 and CUST-1", "b": ["INTERNAL: plan", "not internal: x"]}
    masked = {"a": f"for {MASK} and CUST-1", "b": [MASK, "not internal: x"]}
    assert redactor.secrets_in(value) == masked
    assert redactor.arguments(value) == (masked, ["a", "b[0]"])
    for text in ("CUST-123456", "internal: x", "\nCUST-123456"):
        assert redactor.is_clean(dump_json({"a": [text]})) is False
        assert redactor.is_text_clean(dump_json({"a": {text: 1}})) is False
    assert redactor.is_clean(dump_json({"a": "CUST-12345"})) is True


@pytest.mark.parametrize("pattern", ["(", r"(?<=x)y", r"(a)\1", "a*", "", "x{2000}" * 400])
def test_a_pattern_that_cannot_be_used_is_a_configuration_error_that_names_it(pattern: str):
    with pytest.raises(ConfigurationError) as caught:
        load_settings(redact_patterns=[pattern])
    assert "redact_patterns" in caught.value.message
    assert repr(pattern)[:20] in caught.value.message


def test_patterns_come_from_one_variable_as_lines_or_json(monkeypatch: pytest.MonkeyPatch):
    for text, patterns in [
        ("a,b{1,2}\n [0-9]{4} ", ["a,b{1,2}", "[0-9]{4}"]),
        (r'["a,b", "\\d{4}"]', ["a,b", r"\d{4}"]),
        ("[0-9]{4}", ["[0-9]{4}"]),
        ("", []),
    ]:
        monkeypatch.setenv("TOLLGATE_REDACT_PATTERNS", text)
        assert load_settings().redact_patterns == patterns


def test_a_pattern_that_would_hang_elsewhere_is_only_slow_reading():
    redactor = Redactor(patterns=["(a+)+$b"])
    assert redactor.text("a" * 100_000) == "a" * 100_000


# -- output in pieces -------------------------------------------------------------------


def pieces(redactor: Redactor, *chunks: str) -> str:
    """What is shown of output that comes in these pieces."""
    shown, held = "", ""
    for chunk in chunks:
        now, held = redactor.passing(held + chunk)
        shown += now
    return shown + redactor.text(held)


@pytest.mark.parametrize("name", SECRETS)
def test_a_key_in_two_pieces_is_masked_like_one_in_one(name: str):
    secret = SECRETS[name]
    redactor = Redactor()
    text = f"first {secret} last"
    whole = redactor.text(text)
    for cut in range(len(text)):
        shown = pieces(redactor, text[:cut], text[cut:])
        if name.startswith("random"):
            # Nothing says that a random token has begun: a few characters of it may be out.
            assert not any(secret[at : at + 9] in shown for at in range(len(secret)))
        else:
            assert shown == whole


@pytest.mark.parametrize("text", [item[0] for item in IN_PLACE])
def test_a_credential_that_comes_in_small_pieces_is_masked(text: str):
    gone = next(item[1] for item in IN_PLACE if item[0] == text)
    for size in (2, 3, 7):
        cut = [text[at : at + size] for at in range(0, len(text), size)]
        assert gone not in pieces(Redactor(), *cut, "\n", "more")


def test_what_is_held_back_is_bounded_and_lines_come_at_once():
    redactor = Redactor()
    assert redactor.passing("building target 7 of 9\n") == ("building target 7 of 9\n", "")
    assert redactor.passing("x" * 100_000)[1] == ""
    held = ""
    for _ in range(100):
        _, held = redactor.passing(held + "ghp_" + "a1B2" * 100)
        assert len(held) <= MAX_HELD


json_texts = st.lists(
    st.sampled_from(
        [*SECRETS.values(), *(item[0] for item in IN_PLACE), *HARMLESS, "\\", "\n", '"']
    )
    | st.text(max_size=4),
    max_size=4,
).map("".join)
values: Any = st.recursive(
    json_texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(json_texts, inner, max_size=2),
    max_leaves=4,
)


@given(st.dictionaries(json_texts, values, max_size=2))
def test_what_is_called_clean_has_nothing_to_mask(arguments: dict[str, Any]):
    redactor = Redactor(["known-secret"], ["CUST-[0-9]+"])
    encoded = dump_json(arguments)
    if redactor.is_clean(encoded):
        assert redactor.arguments(arguments) == (arguments, [])
    if redactor.is_text_clean(encoded):
        assert redactor._secrets_in(arguments, 0) == arguments


@given(json_texts)
def test_masking_twice_masks_no_more(text: str):
    redactor = Redactor(["known-secret"])
    assert redactor.text(redactor.text(text)) == redactor.text(text)
