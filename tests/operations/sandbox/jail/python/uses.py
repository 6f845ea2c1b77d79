"""A small use of every listed module: code, and the value of its last expression."""

USES: dict[str, tuple[str, str]] = {
    "json": ('json.loads(json.dumps({"b": [1, 2.5, None]}))', "{'b': [1, 2.5, None]}"),
    "csv": ('list(csv.DictReader(["a,b", "1,\\"x,y\\""]))', "[{'a': '1', 'b': 'x,y'}]"),
    "re": ('re.sub(r"(?P<d>\\d+)", r"<\\g<d>>", "a1b22")', "'a<1>b<22>'"),
    "typing": (
        'typing.get_type_hints(typing.NamedTuple("P", [("x", int)]))',
        "{'x': <class 'int'>}",
    ),
    "collections": (
        'collections.namedtuple("P", "x y")(1, 2), collections.Counter("aab").most_common(1)',
        "(P(x=1, y=2), [('a', 2)])",
    ),
    "itertools": ("list(itertools.combinations([1, 2, 3], 2))", "[(1, 2), (1, 3), (2, 3)]"),
    "functools": ("functools.reduce(lambda a, b: a * b, [1, 2, 3, 4])", "24"),
    "operator": ('sorted([{"a": 2}, {"a": 1}], key=operator.itemgetter("a"))[0]', "{'a': 1}"),
    "heapq": ("heapq.nsmallest(2, [3, 1, 2])", "[1, 2]"),
    "bisect": ("bisect.bisect([1, 2, 3], 2)", "2"),
    "array": ('array.array("i", [1, 2]) + array.array("i", [3])', "array('i', [1, 2, 3])"),
    "copy": ("copy.deepcopy([[1], {2: (3,)}])", "[[1], {2: (3,)}]"),
    "pprint": ('pprint.pformat({"b": 1, "a": 2})', "\"{'a': 2, 'b': 1}\""),
    "enum": ('enum.Enum("Colour", "RED GREEN").GREEN.value', "2"),
    "math": ("math.comb(5, 2), math.isclose(math.pi, 3.14159, rel_tol=1e-5)", "(10, True)"),
    "cmath": ("cmath.sqrt(-1)", "1j"),
    "statistics": (
        "statistics.median([1, 3, 2]), round(statistics.stdev([1, 2, 3, 4]), 3), "
        "statistics.NormalDist(0, 1).cdf(0)",
        "(2, 1.291, 0.5)",
    ),
    "random": ("random.Random(1).randint(1, 100), len(random.sample(range(9), 3))", "(18, 3)"),
    "fractions": ('fractions.Fraction("1/3") + fractions.Fraction(1, 6)', "Fraction(1, 2)"),
    "decimal": ('decimal.Decimal("0.1") + decimal.Decimal("0.2")', "Decimal('0.3')"),
    "numbers": ("issubclass(int, numbers.Integral)", "True"),
    "datetime": (
        'datetime.datetime.strptime("2024-02-29 +0100", "%Y-%m-%d %z").isoformat()',
        "'2024-02-29T00:00:00+01:00'",
    ),
    "time": ('time.strptime("2024-02-29", "%Y-%m-%d").tm_yday', "60"),
    "calendar": (
        "calendar.isleap(2024), calendar.month_name[2], calendar.monthrange(2024, 2)[1]",
        "(True, 'February', 29)",
    ),
    "string": ('string.Template("$a!").substitute(a=1), string.capwords("a b")', "('1!', 'A B')"),
    "textwrap": ('textwrap.fill("one two three", 7)', "'one two\\nthree'"),
    "unicodedata": (
        'unicodedata.name("é"), "\\N{BULLET}"',
        "('LATIN SMALL LETTER E WITH ACUTE', '•')",
    ),
    "difflib": ('list(difflib.unified_diff(["a"], ["b"], n=0))[-2:]', "['-a', '+b']"),
    "base64": ('base64.b64decode(base64.b64encode(b"hi"))', "b'hi'"),
    "binascii": ('binascii.hexlify(b"hi"), binascii.crc32(b"hi")', "(b'6869', 3633523372)"),
    "quopri": ('quopri.decodestring(quopri.encodestring("é".encode())).decode()', "'é'"),
    "uu": ("callable(uu.encode)", "True"),
    "html": ('html.unescape("&lt;&eacute;"), html.escape("<")', "('<é', '&lt;')"),
    "xml.etree.ElementTree": (
        'xml.etree.ElementTree.fromstring("<a><b x=\'1\'/></a>").find("b").get("x")',
        "'1'",
    ),
    "dataclasses": (
        'dataclasses.asdict(dataclasses.make_dataclass("P", ["x"], frozen=True)(1))',
        "{'x': 1}",
    ),
    "hashlib": (
        'hashlib.sha256(b"").hexdigest()[:8], hashlib.new("md5", b"", usedforsecurity=False).name',
        "('e3b0c442', 'md5')",
    ),
    "hmac": ('hmac.new(b"k", b"m", "sha256").hexdigest()[:8]', "'b60090e3'"),
    "abc": (
        'abc.ABCMeta("S", (), {"area": abc.abstractmethod(lambda self: 0)}).__abstractmethods__',
        "frozenset({'area'})",
    ),
    "contextlib": ("[contextlib.nullcontext(1).__enter__()]", "[1]"),
    "warnings": (
        'warnings.catch_warnings(record=True).__enter__() == [] and warnings.warn("w")',
        "None",
    ),
    "logging": ('logging.getLogger("a.b").getEffectiveLevel()', "30"),
}
STRICT_USES = {"numbers": ("numbers.Integral.__name__", "'Integral'")}
"""Other uses where a builtin is blocked."""
