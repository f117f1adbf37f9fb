"""Reads messages of HTTP/1 from stdin and says what h11 and llhttp make of them.

In: a byte (0: requests, 1: answers to GET), four bytes of length, the bytes.
Out: a line of JSON: for each parser that is installed the messages that it has
read whole, [first, second, body in hex], and whether it then stopped to be a
parser of HTTP/1, as llhttp does behind an upgrade.
"""
import json
import struct
import sys

try:
    import h11
except ImportError:
    h11 = None
try:
    import httptools
except ImportError:
    httptools = None


def by_h11(kind, data):
    messages = []
    conn = h11.Connection(h11.SERVER if kind == 0 else h11.CLIENT, max_incomplete_event_size=1 << 20)
    if kind == 1:
        conn.send(h11.Request(method="GET", target="/", headers=[("host", "h")]))
        conn.send(h11.EndOfMessage())
    head, body, left = None, b"", False
    try:
        conn.receive_data(data)
        ended = False
        while True:
            event = conn.next_event()
            if event is h11.NEED_DATA and kind == 1 and not ended:
                ended = True
                conn.receive_data(b"")
            elif event is h11.NEED_DATA or isinstance(event, h11.ConnectionClosed):
                break
            elif isinstance(event, h11.Request):
                head, body = [event.method.decode(), event.target.decode("latin-1")], b""
                left = event.http_version == b"1.0"  # h11 closes behind it, whatever was said
            elif isinstance(event, h11.Response):
                head, body = [str(event.status_code), ""], b""
            elif isinstance(event, h11.Data):
                body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                messages.append(head + [body.hex()])
                if kind == 1:
                    break
            if event is h11.PAUSED or isinstance(event, h11.EndOfMessage):
                if conn.our_state is h11.SEND_RESPONSE:
                    conn.send(h11.Response(status_code=200, headers=[("content-length", "0")]))
                    conn.send(h11.EndOfMessage())
                if conn.our_state is h11.DONE and conn.their_state is h11.DONE:
                    conn.start_next_cycle()
                else:
                    break
    except h11.ProtocolError:
        pass
    return messages, left


class Messages:
    """What httptools calls while it parses."""

    def __init__(self):
        self.messages = []
        self.parser = None
        self.on_message_begin()

    def on_message_begin(self):
        self.url, self.body, self.framed, self.open = b"", b"", False, False

    def on_url(self, url):
        self.url += url

    def on_header(self, name, value):
        self.framed = self.framed or name.lower() in (b"content-length", b"transfer-encoding")

    def on_headers_complete(self):
        self.open = True

    def on_body(self, body):
        self.body += body

    def on_message_complete(self):
        self.open = False
        if isinstance(self.parser, httptools.HttpRequestParser):
            self.messages.append([self.parser.get_method().decode(), self.url.decode("latin-1"), self.body.hex()])
        elif self.parser.get_status_code() >= 200:
            self.messages.append([str(self.parser.get_status_code()), "", self.body.hex()])


def by_llhttp(kind, data):
    seen = Messages()
    seen.parser = httptools.HttpRequestParser(seen) if kind == 0 else httptools.HttpResponseParser(seen)
    try:
        seen.parser.feed_data(data)
    except httptools.HttpParserUpgrade:
        return seen.messages[:-1], True  # httptools gives the body away with the connection
    except httptools.HttpParserError:
        return seen.messages, False
    if kind == 1 and seen.open and not seen.framed:  # up to the end, of which httptools cannot be told
        seen.on_message_complete()
    return seen.messages, False


def main():
    parsers = {}
    if h11:
        parsers["h11"] = by_h11
    if httptools:
        parsers["llhttp"] = by_llhttp
    print(json.dumps(sorted(parsers)), flush=True)
    stdin = sys.stdin.buffer
    while True:
        head = stdin.read(5)
        if len(head) < 5:
            return
        kind, size = struct.unpack(">BI", head)
        data = stdin.read(size)
        out = {}
        for name, parse in parsers.items():
            messages, left = parse(kind, data)
            out[name] = {"messages": messages, "left": left}
        print(json.dumps(out), flush=True)


main()
