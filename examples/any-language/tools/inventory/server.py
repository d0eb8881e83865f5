"""Two tools of an inventory, with nothing but Python's standard library.

    INVENTORY_TOKEN=secret python3 server.py 8000

The contract: GET /describe answers the definitions; POST /call, /status and /undo answer an outcome.
"""

import hashlib
import hmac
import json
import os
import sqlite3
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = os.environ.get("INVENTORY_TOKEN", "")
STOCK = {"tea": 40, "coffee": 12}
PRODUCT = {"type": "string", "enum": sorted(STOCK), "description": "The product, such as tea."}

database = sqlite3.connect(os.environ.get("INVENTORY_DB", ":memory:"), check_same_thread=False)
database.execute("CREATE TABLE IF NOT EXISTS reserved (key TEXT PRIMARY KEY, product TEXT, amount INTEGER, outcome TEXT)")

# Calls come side by side; those that read and then write take turns.
turn = threading.Lock()


def definition(name, description, properties, **terms):
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    fields = {"name": name, "description": description, "inputSchema": schema, "version": "1", **terms}
    # Any text will do that changes with the name, the description and the schema.
    digest = hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
    return {**fields, "hash": digest}


TOOLS = {
    tool["name"]: tool
    for tool in [
        definition(
            "stockOf",
            "Tells how much of a product is in stock. Use it before anything is promised.",
            {"product": PRODUCT},
            annotations={"readOnly": True, "idempotent": True},
        ),
        definition(
            "reserve",
            "Reserves an amount of a product. Use it when the amount is agreed.",
            {"product": PRODUCT, "amount": {"type": "integer", "minimum": 1, "description": "How many."}},
            annotations={"idempotent": True},
            # The server can tell what became of a reservation, also after a crash.
            reconcile=True,
            undo=True,
        ),
    ]
}


def failure(code, message):
    return {"ok": False, "error": {"code": code, "message": message}}


def success(text, **structured):
    return {"ok": True, "content": [{"type": "text", "text": text}], "structured": structured}


def misfit(arguments, schema):
    """Returns what is wrong with arguments, for the model; None if nothing is."""
    properties = schema["properties"]
    for name in schema["required"]:
        if name not in arguments:
            return f'"{name}" is missing.'
    for name, value in arguments.items():
        rule = properties.get(name)
        if rule is None:
            return f'There is no "{name}".'
        if "enum" in rule and value not in rule["enum"]:
            return f'"{name}" must be one of {", ".join(rule["enum"])}.'
        if rule["type"] == "integer" and (type(value) is not int or value < rule["minimum"]):
            return f'"{name}" must be a whole number from {rule["minimum"]}.'
    return None


def available(product):
    (reserved,) = database.execute("SELECT ifnull(sum(amount), 0) FROM reserved WHERE product = ?", [product]).fetchone()
    return STOCK[product] - reserved


def call(request):
    tool = TOOLS.get(request["name"])
    if tool is None:
        return failure("unknown_tool", "There is no such tool here.")
    if request["hash"] != tool["hash"]:
        return failure("schema_mismatch", "The tool has changed.")
    arguments = request["arguments"]
    wrong = misfit(arguments, tool["inputSchema"])
    if wrong is not None:
        return failure("invalid_arguments", wrong)
    product = arguments["product"]
    if tool["name"] == "stockOf":
        return success(f"{available(product)} in stock.", amount=available(product))
    return reserve(product, arguments["amount"], request["context"]["idempotencyKey"])


def reserve(product, amount, key):
    # The reservation and its outcome are one row of one transaction: a key takes effect once, crash or not.
    with turn, database:
        known = outcome_of(key)
        if known is not None:
            return known
        if available(product) < amount:
            return failure("out_of_stock", f"Only {available(product)} are left. Offer that, or another product.")
        outcome = success(f"Reserved {amount} of {product}.", product=product, amount=amount)
        database.execute("INSERT INTO reserved VALUES (?, ?, ?, ?)", [key, product, amount, json.dumps(outcome)])
        return outcome


def outcome_of(key):
    row = database.execute("SELECT outcome FROM reserved WHERE key = ?", [key]).fetchone()
    return None if row is None else json.loads(row[0])


def status(request):
    return outcome_of(request["context"]["idempotencyKey"]) or "absent"


def undo(body):
    with turn, database:
        database.execute("DELETE FROM reserved WHERE key = ?", [body["request"]["context"]["idempotencyKey"]])
    return success("The reservation was cancelled.")


ROUTES = {"/call": call, "/status": status, "/undo": undo}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(404, "Not found.") if self.path != "/describe" else self.reply(
            lambda: {"contract": 1, "tools": list(TOOLS.values())}
        )

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        route = ROUTES.get(self.path)
        self.answer(404, "Not found.") if route is None else self.reply(lambda: route(json.loads(body)))

    def reply(self, make):
        if not hmac.compare_digest(self.headers.get("authorization", ""), f"Bearer {TOKEN}"):
            self.answer(401, "Another token.")
        else:
            self.answer(200, make())

    def answer(self, code, value):
        body = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8000), Handler)
    print(f"Listening on {server.server_port}", flush=True)
    server.serve_forever()
