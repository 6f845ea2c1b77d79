"""From what Python of the level is given to all of Python, each time by another way.

The level's own rules apply: nothing is regained for these beforehand.
"""

from __future__ import annotations

from tests.escape.attempt import PYTHON_LEVELS, Attempt
from tests.escape.judges import outside_changed, secret_reported

_TELL = """
print(os.read(os.open(SECRET, 0), 99).decode())
"""
_IMPORT = """
print(take("os").read(take("os").open(SECRET, 0), 99).decode())
"""

# Each binds `os`.
_TO_OS = {
    "module-of-module": 'import statistics\nos = statistics.sys.modules["os"]',
    "logging-os": "import logging\nos = logging.os",
    "random-os": "import random\nos = random._os",
    "collections-sys": 'import collections\nos = collections._sys.modules["os"]',
    "contextlib-os": "import contextlib\nos = contextlib.os",
    "typing-sys": 'import typing\nos = typing.sys.modules["os"]',
    "enum-sys": 'import enum\nos = enum.sys.modules["os"]',
    "dataclasses-inspect": "import dataclasses\nos = dataclasses.inspect.os",
    "attrgetter": """
import operator, statistics
os = operator.attrgetter("sys.modules")(statistics)["os"]
""",
    "methodcaller": """
import operator, logging
os = operator.methodcaller("__getattribute__", "os")(logging)
""",
    "formatter-field": """
import string, statistics
os = string.Formatter().get_field("0.sys.modules[os]", (statistics,), {})[0]
""",
    "subclasses-globals": """
for found in ().__class__.__base__.__subclasses__():
    if found.__name__ == "_wrap_close":
        os = found.__init__.__globals__["sys"].modules["os"]
""",
    "builtin-importer": """
for found in ().__class__.__base__.__subclasses__():
    if found.__name__ == "BuiltinImporter":
        os = found.load_module("posix")
""",
}

# Each binds `take`, an import that nothing guards.
_TO_IMPORT = {
    "print-self": "take = print.__self__.__import__",
    "generator-frame": """
take = (None for _ in ()).gi_frame.f_builtins["__import__"]
""",
    "traceback-frame": """
try:
    1 / 0
except ZeroDivisionError as error:
    frame = error.__traceback__.tb_frame
    while frame.f_back:
        frame = frame.f_back
    take = frame.f_builtins["__import__"]
""",
    "coroutine-frame": """
async def wait(): pass
waiting = wait()
take = waiting.cr_frame.f_builtins["__import__"]
waiting.close()
""",
    "function-builtins": """
import textwrap
take = textwrap.dedent.__builtins__["__import__"]
""",
    "warnings-module": """
import warnings
take = warnings.catch_warnings()._module.__builtins__["__import__"]
""",
    "wrapped-globals": """
import functools
take = functools.lru_cache.__globals__["__builtins__"]["__import__"]
""",
    "garbage-collector": """
gc = print.__self__.__import__("gc")
take = [each for each in gc.get_objects()
        if each.__class__ is {}.__class__ and "__build_class__" in each][0]["__import__"]
""",
    "importlib-frozen": """
import json
take = json.__spec__.__init__.__globals__["sys"].modules["_frozen_importlib"].__import__
""",
    "restored-builtins": """
import abc
__builtins__ = abc.ABCMeta.__init__.__class__ and abc.abstractmethod.__builtins__
take = __builtins__["__import__"]
""",
}

# Each tells the secret itself.
_WHOLE = {
    "loader-data": "import json\nprint(json.__loader__.get_data(SECRET).decode())",
    "file-loader-class": """
for found in ().__class__.__base__.__subclasses__():
    if found.__name__ == "FileLoader":
        print(found("x", SECRET).get_data(SECRET).decode())
""",
    "codecs-open": "import json\nprint(json.codecs.open(SECRET).read())",
    "io-open": "import logging\nprint(logging.io.open(SECRET).read())",
    "linecache": "import dataclasses\nprint(dataclasses.inspect.linecache.getlines(SECRET))",
    "licence-printer": """
folder, _, name = SECRET.rpartition("/")
license.__init__("a", "b", [name], [folder])
license()
""",
    "pickle": """
pickle = print.__self__.__import__("pickle")
print(pickle.loads(b"cio\\nopen\\n(V" + SECRET.encode() + b"\\ntR.").read())
""",
    "marshalled-code": """
take = print.__self__.__import__
code = print.__self__.compile("print(open(SECRET).read())", "x", "exec")
marshal, types = take("marshal"), take("types")
names = {"SECRET": SECRET, "__builtins__": print.__self__}
types.FunctionType(marshal.loads(marshal.dumps(code)), names)()
""",
    "replaced-code": """
def harmless(): pass
text = "print(__import__('io').open(SECRET).read())"
harmless.__code__ = print.__self__.compile(text, "x", "exec")
harmless.__builtins__.update(print.__self__.__dict__)
harmless()
""",
    "sub-interpreter": """
interpreters = print.__self__.__import__("_xxsubinterpreters")
text = "print(open(" + repr(SECRET) + ").read(), flush=True)"
interpreters.run_string(interpreters.create(), text)
""",
    "c-interface": """
ctypes = print.__self__.__import__("ctypes")
ctypes.pythonapi.PyRun_SimpleString(("print(open(" + repr(SECRET) + ").read())").encode())
""",
    "subprocess": """
print(print.__self__.__import__("subprocess").run(["/bin/cat", SECRET], capture_output=True))
""",
    "readline-history": """
readline = print.__self__.__import__("readline")
readline.read_history_file(SECRET)
print(readline.get_history_item(1))
""",
    "zip-import": """
zipimport = print.__self__.__import__("zipimport")
print(zipimport._io.open_code(SECRET).read())
""",
    "process-memory": """
gc = print.__self__.__import__("gc")
for each in gc.get_referents(*gc.get_objects()):
    if each.__class__ is {}.__class__:
        for name, value in [*each.items()]:
            if "ESCAPE_SERVICE_SECRET" in repr(name)[:80]:
                print(value)
""",
}

_WRITING = {
    "log-handler": """
import logging
logging.FileHandler(MARKER).emit(logging.makeLogRecord({"msg": "x"}))
""",
    "element-tree-write": """
import xml.etree.ElementTree as ET
ET.ElementTree(ET.Element("x")).write(MARKER)
""",
    "readline-write": """
readline = print.__self__.__import__("readline")
readline.add_history("x")
readline.write_history_file(MARKER)
""",
}


def _raw(name: str, source: str) -> Attempt:
    return Attempt(name, "introspection", source, secret_reported, raw=True, levels=PYTHON_LEVELS)


INTROSPECTION: tuple[Attempt, ...] = (
    *(_raw(name, way + _TELL) for name, way in _TO_OS.items()),
    *(_raw(name, way + _IMPORT) for name, way in _TO_IMPORT.items()),
    *(_raw(name, source) for name, source in _WHOLE.items()),
    *(
        Attempt(name, "introspection", source, outside_changed, raw=True, levels=PYTHON_LEVELS)
        for name, source in _WRITING.items()
    ),
)
