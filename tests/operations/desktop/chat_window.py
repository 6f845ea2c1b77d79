"""Run as a program: a chat window, which writes what is sent in it to standard output.

Ctrl+F goes to the search for groups; Return there opens the group, Return below sends.
Arguments: the title, and with `detached` as the second there is no search.
"""

import json
import sys
import tkinter as tk


def tell(**facts: object) -> None:
    print(json.dumps(facts), flush=True)


def text_of(event: tk.Event) -> tk.Text:
    assert isinstance(event.widget, tk.Text)
    return event.widget


class Window:
    """The window and its two fields."""

    def __init__(self, title: str, *, detached: bool) -> None:
        self.root = tk.Tk(className=title)
        self.root.title(title)
        self.group = title if detached else ""
        self.search = tk.Text(self.root, height=1)
        self.box = tk.Text(self.root, height=6)
        for field, enter in ((self.search, self.open), (self.box, self.send)):
            field.pack()
            field.bind("<Return>", enter)
            field.bind("<Control-a>", self.select)
            field.bind("<Control-v>", self.paste)
            field.bind("<Control-c>", self.copy)
        self.root.bind("<Control-f>", self.find)
        self.root.bind("<Map>", lambda _: tell(shown=title))
        self.box.focus_set()

    def find(self, _: object) -> str:
        self.search.focus_set()
        return "break"

    def select(self, event: tk.Event) -> str:
        field = text_of(event)
        field.tag_add("sel", "1.0", "end-1c")
        return "break"

    def paste(self, event: tk.Event) -> str:
        field = text_of(event)
        if field.tag_ranges("sel"):
            field.delete("sel.first", "sel.last")
        field.insert("insert", self.root.clipboard_get(type="UTF8_STRING"))
        return "break"

    def copy(self, event: tk.Event) -> str:
        field = text_of(event)
        self.root.clipboard_clear()
        self.root.clipboard_append(field.get("1.0", "end-1c"))
        return "break"

    def open(self, _: object) -> str:
        self.group = self.search.get("1.0", "end-1c")
        tell(opened=self.group)
        self.search.delete("1.0", "end")
        self.box.focus_set()
        return "break"

    def send(self, _: object) -> str:
        tell(group=self.group, text=self.box.get("1.0", "end-1c"))
        self.box.delete("1.0", "end")
        return "break"


if __name__ == "__main__":
    Window(sys.argv[1], detached="detached" in sys.argv[2:]).root.mainloop()
