"""A real HTTP server on 127.0.0.1 that speaks the OpenAI chat API and misbehaves as it is told.

The model's name is the script: `ok`, `500x2+ok` (twice 500, then a reply) ... see `behave`. `FakeServer` counts the
requests and the most that were in work at once. Run as a program it serves until its standard input closes.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY_HEADER = "authorization"


def completion(content: str | None, finish: str = "stop", **changes: Any) -> dict[str, Any]:
    """A chat completion's body; `changes` replace or (None) remove top-level fields."""
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if "reasoning" in changes:
        message["reasoning_content"] = changes.pop("reasoning")
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "fake-model-2026",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }
    body.update(changes)
    return {key: value for key, value in body.items() if value is not None}


def usage(tokens_in: int, tokens_out: int) -> dict[str, int]:
    return {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}


def failure(text: str, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": text, "type": "fake_error", "param": None, "code": code}}


class FakeServer(ThreadingHTTPServer):
    """Use as a context manager; `url` is the API's base address."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        self.lock = threading.Lock()
        self.requests: list[dict[str, Any]] = []  # the bodies, in order of arrival
        self.in_work = 0
        self.most_in_work = 0
        self.seconds = 0.0  # how long an ordinary reply takes
        self.watch: Callable[[], Any] = lambda: None  # called after each arrival
        self.release = threading.Event()  # `slow` waits for it (so that no test waits for real time)

    def __enter__(self) -> FakeServer:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, *_: object) -> None:
        """A client that hangs up is part of the tests, not news."""


class Handler(BaseHTTPRequestHandler):
    server: FakeServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        """`/v1/count`: what was asked so far, for a server in another process."""
        self.reply(200, {"requests": len(self.server.requests), "most_in_work": self.server.most_in_work})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        with server.lock:
            earlier = sum(one["model"] == body["model"] for one in server.requests)
            server.requests.append(body)
            server.in_work += 1
            server.most_in_work = max(server.most_in_work, server.in_work)
        server.watch()
        try:
            self.behave(script(body["model"], earlier), body)
        finally:
            with server.lock:
                server.in_work -= 1

    def behave(self, behaviour: str, body: dict[str, Any]) -> None:
        text = f"You said: {body['messages'][-1]['content']}"
        if behaviour == "echo-key":  # some servers put the key into their error text
            self.reply(401, failure(f"Incorrect API key provided: {self.headers.get(KEY_HEADER)}", "invalid_api_key"))
        elif behaviour == "null":  # reasoning used the whole cap
            self.reply(200, completion(None, "length", reasoning="Let me think ...", usage=usage(11, 200)))
        elif behaviour == "reasoning-only":
            self.reply(200, completion(None, "stop", reasoning="Let me think ..."))
        elif behaviour == "cut":
            self.reply(200, completion(text, "length"))
        elif behaviour == "filtered":
            self.reply(200, completion("Part of", "content_filter"))
        elif behaviour == "no-choices":
            self.reply(200, completion(None, choices=[]))
        elif behaviour == "no-usage":
            self.reply(200, completion(text, usage=None))
        elif behaviour == "429":
            self.reply(429, failure("slow down"), {"Retry-After": "7"})
        elif behaviour == "429-hour":
            self.reply(429, failure("slow down"), {"Retry-After": "3600"})
        elif behaviour == "429-date":
            self.reply(429, failure("slow down"), {"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"})
        elif behaviour == "quota":
            self.reply(429, failure("You exceeded your current quota", "insufficient_quota"))
        elif behaviour == "slow":
            self.server.release.wait(60)
        elif behaviour == "malformed":
            self.reply(200, b'{"id": "chatcmpl-1", "choices": [')
        elif behaviour == "html":
            self.reply(200, b"<html>gateway</html>", {"Content-Type": "text/html"})
        elif behaviour == "drop":
            self.close_connection = True
            self.connection.close()
        elif behaviour.isdigit():
            self.reply(int(behaviour), failure(f"status {behaviour}"))
        else:  # `ok`, and any real model's name
            if self.server.seconds:
                time.sleep(self.server.seconds)
            self.reply(200, completion(text))

    def reply(self, status: int, body: dict[str, Any] | bytes, headers: dict[str, str] | None = None) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in ({"Content-Type": "application/json"} | (headers or {})).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def script(model: str, earlier: int) -> str:
    """The behaviour of request number `earlier` (0-based) to a model: `500x2+ok` is 500, 500, ok, ok, ..."""
    steps: list[str] = []
    for part in model.split("/")[-1].split("+"):
        name, times = re.fullmatch(r"(.+?)(?:x(\d+))?", part).groups()
        steps += [name] * int(times or 1)
    return steps[min(earlier, len(steps) - 1)]


if __name__ == "__main__":
    with FakeServer() as running:
        print(running.url, flush=True)
        running.seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 0.0
        sys.stdin.read()
