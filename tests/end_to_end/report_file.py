"""Reads a report back: the page that `kernelwright report` wrote, with its index and its details."""
import base64
import hashlib
import html.parser
import json
import zlib

INDEX, CHUNK = "application/vnd.kernelwright.index", "application/vnd.kernelwright.chunk"
MAGIC = b"kwdata1\n"


class Elements(html.parser.HTMLParser):
    """Scripts, styles and meta elements of a page."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.scripts, self.styles, self.metas, self._open = [], [], [], None

    def handle_starttag(self, tag, attrs):
        if tag == "meta":
            self.metas.append(dict(attrs))
        self._open = None
        if tag in ("script", "style"):
            self._open = {"attributes": dict(attrs), "text": ""}
            (self.scripts if tag == "script" else self.styles).append(self._open)

    def handle_endtag(self, tag):
        self._open = None

    def handle_data(self, data):
        if self._open is not None:
            self._open["text"] += data


def inflate(stored, raw_bytes):
    """Inflates to the stated length, and not further."""
    stream = zlib.decompressobj()
    raw = stream.decompress(stored, raw_bytes + 1)
    assert len(raw) == raw_bytes and stream.eof and not stream.unused_data
    return raw


def strict(text):
    """JSON without NaN and infinities."""
    def refuse(word):
        raise ValueError(word)
    return json.loads(text, parse_constant=refuse)


class Report:
    """A report in a file."""

    def __init__(self, path):
        self.path, self.text = path, path.read_text(encoding="utf-8")
        self.elements = Elements()
        self.elements.feed(self.text)
        [found] = [each for each in self.elements.scripts if each["attributes"].get("type") == INDEX]
        raw = inflate(base64.b64decode(found["text"], validate=True), int(found["attributes"]["data-raw-bytes"]))
        self.index = strict(raw.decode("utf-8"))
        self.count = self.index["rows"]["count"]
        self._stored = {each["attributes"]["id"]: each["text"] for each in self.elements.scripts
                        if each["attributes"].get("type") == CHUNK}

    def column(self, name, table="rows"):
        """The values of a column."""
        column = self.index[table]["columns"][name]
        if isinstance(column, dict):
            column = [None if at < 0 else column["words"][at] for at in column["at"]]
        assert len(column) == self.index[table]["count"]
        return column

    def chunk(self, number):
        """The raw bytes of a chunk, with the length and the hash that the index states."""
        facts = self.index["chunks"][number]
        if "data_file" in self.index:
            data = self.path.with_name(self.index["data_file"]["name"]).read_bytes()
            assert data.startswith(MAGIC) and len(data) == self.index["data_file"]["bytes"]
            stored = data[facts["at"]:facts["at"] + facts["stored_bytes"]]
        else:
            stored = base64.b64decode(self._stored[f"chunk-{number}"], validate=True)
        raw = inflate(stored, facts["raw_bytes"])
        assert hashlib.sha256(raw).hexdigest() == facts["sha256"]
        return raw

    def details(self):
        """The detail of each row, found by its place."""
        chunks = [self.chunk(number) for number in range(len(self.index["chunks"]))]
        found = []
        for key, chunk, offset, size in zip(*(self.column(name) for name in ("key", "chunk", "offset", "bytes"))):
            detail = strict(chunks[chunk][offset:offset + size].decode("utf-8"))
            assert detail["key"] == key
            found.append(detail)
        assert sum(raw.count(b"\n") for raw in chunks) == len(found)
        return found

    def policy(self):
        """The content security policy: directive → its sources."""
        [policy] = [each["content"] for each in self.elements.metas
                    if each.get("http-equiv") == "Content-Security-Policy"]
        return {name: sources for name, *sources in (part.split() for part in policy.split(";"))}
