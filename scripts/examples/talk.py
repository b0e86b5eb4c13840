#!/usr/bin/env python3
"""Two users talk: talk.py localhost:8080 user2 pass2 user3 pass3 Hello. The second one writes what has come."""

import sys
import time
import uuid

import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

# Each call here is safe to send again. urllib3 waits as long as the server asks for.
AGAIN = Retry(total=20, backoff_factor=0.1, status_forcelist=[429, 500, 502, 503, 504], allowed_methods=None)


class User:
    def __init__(self, server, name, password):
        self.base = f"http://{server}"
        self.http = requests.Session()
        self.http.mount("http://", HTTPAdapter(max_retries=AGAIN))
        session = self.call("POST", "/login", {"username": name, "password": password})
        self.http.headers["Access-Token"] = session["access_token"]
        self.id = session["user_id"]

    def call(self, method, path, body=None):
        reply = self.http.request(method, self.base + path, json=body, timeout=10)
        if reply.status_code >= 400:
            sys.exit(f"{reply.status_code} {reply.json()['code']}")
        return reply.json() if reply.content else None

    def write(self, user, text):
        thread = self.call("POST", "/threads", {"participants": [user]})["thread_id"]
        # The ID is made once: the same message is never stored twice.
        self.call("POST", f"/threads/{thread}/messages", {"content": text, "id": str(uuid.uuid4())})
        return thread

    def wait(self, thread, changed):
        """Polls until a thread has messages that are not read, and returns it."""
        while True:
            page = self.call("GET", f"/threads?after={changed}")
            for t in page["threads"]:
                if t["thread_id"] == thread and t["unread"]:
                    return t
            changed = page["changed"]
            time.sleep(0.5)


def main(server, name, password, other, others_password, text):
    writer, reader = User(server, name, password), User(server, other, others_password)
    changed = reader.call("GET", "/threads")["changed"]
    thread = reader.wait(writer.write(reader.id, text), changed)
    path = f"/threads/{thread['thread_id']}"
    page = reader.call("GET", f"{path}/messages?after={thread['read']}")
    for message in page["messages"]:
        print(message["content"])
    reader.call("PATCH", path, {"read": page["last"]})


if __name__ == "__main__":
    if len(sys.argv) != 7:
        print("usage: talk.py host:port name password name password text", file=sys.stderr)
        sys.exit(2)
    try:
        main(*sys.argv[1:])
    except requests.RequestException:
        sys.exit("no answer")
