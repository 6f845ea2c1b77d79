"""Imports before confinement, for code that cannot open files later."""

from __future__ import annotations

import importlib
import os
import sys
import time
import warnings
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from app.operations.sandbox.jail.python.levels import STANDARD_MODULES, STRICT_MODULES, absent

# Modules that the listed modules, or C code for them, import only on first use.
_LAZY: tuple[str, ...] = (
    *("_strptime", "_pydatetime", "_pydecimal", "collections.abc", "copyreg", "contextvars"),
    *("encodings.ascii", "encodings.cp1252", "encodings.idna", "encodings.latin_1"),
    *(
        "encodings.utf_16",
        "encodings.utf_32",
        "encodings.utf_8_sig",
        "encodings.raw_unicode_escape",
    ),
    *("encodings.unicode_escape", "gettext", "html.entities", "html.parser", "inspect"),
    *("json.decoder", "json.encoder", "json.scanner", "linecache", "locale", "numbers"),
    *("os", "pickle", "signal", "stringprep", "sysconfig", "threading", "tokenize", "traceback"),
    *("tracemalloc", "types", "weakref", "xml.etree.ElementPath", "xml.parsers.expat"),
    *("_colorize", "annotationlib"),
)

# Numeric libraries start threads on import unless disabled.
_THREADS: tuple[str, ...] = (
    *("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"),
    *("NUMEXPR_NUM_THREADS", "NUMEXPR_MAX_THREADS", "POLARS_MAX_THREADS", "RAYON_NUM_THREADS"),
)


def preload() -> None:
    """Import the modules allowed by both levels and their lazy imports; called once, in the
    zygote.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in dict.fromkeys((*STANDARD_MODULES, *STRICT_MODULES)):
            if absent(module) is None:
                importlib.import_module(module)
        for module in _LAZY:
            with suppress(ImportError):  # some Pythons lack one
                importlib.import_module(module)
    _use()


def _use() -> None:
    """Trigger file access that happens on first use rather than on import."""
    import hashlib
    import hmac

    time.localtime()
    time.strptime("2000-01-01", "%Y-%m-%d")
    for name in sorted(hashlib.algorithms_guaranteed):
        with suppress(ValueError):  # disabled in this build
            hashlib.new(name)
    hmac.new(b"", b"", "sha256")


def add_packages(modules: Iterable[str], paths: Iterable[str] = ()) -> None:
    """Make packages in the folders `paths` importable, and import `modules`.

    If code may not open files, they must be imported before confinement.

    Raises:
        RuntimeError: a module has started threads, which would not be confined.
    """
    sys.path.extend(path for path in paths if path not in sys.path)
    wanted = list(modules)
    if not wanted:
        return
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    for module in wanted:
        with suppress(ImportError):  # the importing code gets the error
            importlib.import_module(module)
    if len(list(Path("/proc/self/task").iterdir())) > 1:
        raise RuntimeError(f"importing {', '.join(wanted)} started threads, which is not allowed")
