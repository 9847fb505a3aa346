#!/bin/sh
# huggingface-hub 2.4.0 begins a download anew where the process before it was ended, and leaves what it had.
#
# It does resume, but within one call alone: what comes goes into `<hash>.<random>.incomplete`, and another process (or
# the next attempt of the same one) takes another random name and asks for the whole file, without a Range. After
# Ctrl-C the part is deleted; after a kill or a power cut it stays in `blobs`, where nothing looks for it again, so
# every attempt that is ended adds its bytes to the cache. Of a model of some gigabytes over a slow line that is the
# difference between a download that ends and one that does not. Earlier versions had one name per file and went on.
#
# A program that wants to go on has to fetch into a file of its own by Range, and put it into the cache when it is whole.
#
# A server of our own on this machine stands for the hub. Installs pinned packages in a folder of its own, and fails if
# this is no longer so. Needs python3 and pip.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet huggingface-hub==2.4.0
PLACE="$place" "$place/venv/bin/python" - <<'PYTHON'
import hashlib
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path

BODY = bytes(range(256)) * 240_000  # 61 MB: more than one of the pieces in which it is written
HASH, COMMIT = hashlib.sha256(BODY).hexdigest(), "0123456789abcdef0123456789abcdef01234567"
ranges, may_end = [], threading.Event()


class Hub(BaseHTTPRequestHandler):
    def log_message(self, *given):
        pass

    def do_HEAD(self):
        self.answer()

    def do_GET(self):
        if "/resolve/" not in self.path:  # it also asks for a list of agents
            self.send_error(404)
            return
        ranges.append(self.headers.get("Range"))
        self.answer()
        if len(ranges) > 1:
            self.wfile.write(BODY)
            return
        self.wfile.write(BODY[: len(BODY) // 2])
        self.wfile.flush()
        may_end.wait()  # the client is ended meanwhile

    def answer(self):
        self.send_response(200)
        for name, value in {
            "ETag": f'"{HASH}"', "X-Repo-Commit": COMMIT, "Content-Length": len(BODY), "Accept-Ranges": "bytes",
        }.items():
            self.send_header(name, str(value))
        self.end_headers()


print("huggingface-hub", version("huggingface-hub"))
server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
server.handle_error = lambda *given: None  # the client that is killed
threading.Thread(target=server.serve_forever, daemon=True).start()
cache = Path(os.environ["PLACE"], "cache")
client = [sys.executable, "-c", "import huggingface_hub as h; print(h.hf_hub_download('somebody/model', 'weights'))"]
settings = {
    **os.environ, "HF_HOME": str(cache), "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
    "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "NO_PROXY": "127.0.0.1",
}
blobs = cache / "hub" / "models--somebody--model" / "blobs"


def list_parts():
    return {file.name: file.stat().st_size for file in blobs.glob("*.incomplete")}


first = subprocess.Popen(client, env=settings, stdout=subprocess.DEVNULL)
while sum(list_parts().values()) < len(BODY) // 4:
    assert first.poll() is None
first.kill()
first.wait()
may_end.set()
left = list_parts()
print(f"killed with {sum(left.values()):,} of {len(BODY):,} bytes in {len(left)} file")
subprocess.run(client, env=settings, stdout=subprocess.DEVNULL, check=True)
print("the ranges that were asked for:", ranges)
assert ranges == [None, None]
assert (blobs / HASH).stat().st_size == len(BODY)
print("and left of the first in the cache", sum(list_parts().values()), "bytes")
assert list_parts() == left
print("as described")
PYTHON
