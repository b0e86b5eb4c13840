#!/usr/bin/env python3
"""Buys one piece of a food: buy.py localhost:8080 user2 pass2 7. Writes the order's id."""

import sys
import time
import uuid

import requests

TRIES = 20


class Refused(Exception):
    """An answer that trying again does not change, as "403 CART_EMPTY"."""


class Buyer:
    def __init__(self, server):
        self.base = f"http://{server}"
        self.http = requests.Session()
        # Made once: the same order is never placed twice.
        self.http.headers["Idempotency-Key"] = str(uuid.uuid4())

    def call(self, method, path, body=None):
        """Sends one request. Returns None, after a pause, where its outcome is not known."""
        try:
            reply = self.http.request(method, self.base + path, json=body, timeout=10)
        except requests.RequestException:
            time.sleep(1)
            return None
        if reply.status_code == 429 or reply.status_code >= 500:
            time.sleep(int(reply.headers.get("Retry-After", 1)))
            return None
        if reply.status_code >= 400:
            raise Refused(f"{reply.status_code} {reply.json()['code']}")
        return reply

    def again(self, method, path, body=None):
        """Sends a request until its outcome is known."""
        for _ in range(TRIES):
            reply = self.call(method, path, body)
            if reply is not None:
                return reply.json()
        raise Refused(f"no answer to {method} {path}")

    def login(self, name, password):
        session = self.again("POST", "/login", {"username": name, "password": password})
        self.http.headers["Access-Token"] = session["access_token"]

    def fill(self, food):
        """Returns the ID of a cart with one piece. An add is not sent again, it would count twice."""
        for _ in range(TRIES):
            cart = self.again("POST", "/carts")["cart_id"]
            if self.call("PATCH", f"/carts/{cart}", {"food_id": food, "count": 1}) is not None:
                return cart
        raise Refused("no answer to PATCH /carts")


def main(server, name, password, food):
    buyer = Buyer(server)
    buyer.login(name, password)
    foods = buyer.again("GET", "/foods")
    if int(food) not in [f["id"] for f in foods]:
        raise Refused(f"there is no food {food}")
    cart = buyer.fill(int(food))
    print(buyer.again("POST", "/orders", {"cart_id": cart})["id"])


if __name__ == "__main__":
    if len(sys.argv) != 5:
        print("usage: buy.py host:port name password food", file=sys.stderr)
        sys.exit(2)
    try:
        main(*sys.argv[1:])
    except Refused as refused:
        sys.exit(str(refused))
