"""Which lines of the contract are proven in a browser: their ids stand in the titles of scenes.

`.ci/run` plays the scenes under `web/e2e`; here they are only counted.
"""

import re
from pathlib import Path

_TITLE = re.compile(r'^test\("\[([^\]]+)\] ', re.MULTILINE)


def proven_by_scenes(folder: Path) -> set[str]:
    """The ids in the titles of a folder's scenes: `test("[UI-01] what is seen", ...)`."""
    texts = (path.read_text(encoding="utf-8") for path in folder.glob("*.test.mjs"))
    return {id_ for text in texts for ids in _TITLE.findall(text) for id_ in ids.split(", ")}
