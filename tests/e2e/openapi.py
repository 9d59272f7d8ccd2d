# SPDX-License-Identifier: Apache-2.0
"""The description of the API against the program: the same addresses, methods, scopes and codes in
both, and answers of the shape that is described.

  openapi.py TIDEMARK TIDEMARK_SIM"""

import os
import re
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "crash"), HERE]

from daemon_client import Daemon, Home, SocketConnection  # noqa: E402
from sim_client import Simulator  # noqa: E402
from skeleton import PAST, begin_before_everything, last_wanted_us, settings  # noqa: E402

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None),
         "integer": int, "number": (int, float)}


class Description:
    """An OpenAPI document, as far as ours goes."""

    def __init__(self, document):
        self.document = document
        self.operations = {(method.upper(), path): operation
                           for path, item in document["paths"].items()
                           for method, operation in item.items()}

    def follow(self, schema):
        if "$ref" not in schema:
            return schema
        at = self.document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            at = at[part]
        return at

    def problems(self, value, schema, where="answer", closed=False):
        """Where `value` is not what `schema` says; `closed`: all members count."""
        schema = self.follow(schema)
        kinds = schema.get("type", [])
        kinds = kinds if isinstance(kinds, list) else [kinds]
        if kinds and not any(isinstance(value, TYPES[kind]) and
                             (not isinstance(value, bool) or kind == "boolean") for kind in kinds):
            return [f"{where} is {value!r}, not {kinds}"]
        if "enum" in schema and value not in schema["enum"]:
            return [f"{where} is {value!r}, none of {schema['enum']}"]
        if "const" in schema and value != schema["const"]:
            return [f"{where} is {value!r}"]
        if isinstance(value, list):
            return [problem for at, item in enumerate(value)
                    for problem in self.problems(item, schema.get("items", {}), f"{where}[{at}]")]
        if not isinstance(value, dict):
            return []
        known = schema.get("properties", {})
        found = [f"{where} has no {key}" for key in schema.get("required", []) if key not in value]
        if closed:
            found += [f"{where}.{key} is not described" for key in value if key not in known]
        return found + [problem for key, member in value.items() if key in known
                        for problem in self.problems(member, known[key], f"{where}.{key}")]


class OpenApi(unittest.TestCase):
    program = sim_program = None
    maxDiff = 8000

    def setUp(self):
        self.home = self.enterContext(Home("sqlite"))
        self.sim = self.enterContext(Simulator(self.sim_program, "--events", "400", "--links",
                                               "40", *PAST, "--gap-us", "1000"))
        begin_before_everything(self.home, self.sim)
        config = os.path.join(self.home.folder, "tidemark.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write("collections: {notes: {fields: {text: text}}}\n")
        self.daemon = self.enterContext(Daemon(self.program, self.home, settings(self.sim),
                                               config=config))
        end = last_wanted_us(self.sim)
        self.daemon.wait_for(lambda health: health["cursor_time_us"] == end, "the last event")
        status, document = self.daemon.ask("GET", "/api/openapi.json")
        self.assertEqual(status, 200)
        self.described = Description(document)

    def ask(self, method, path, body=None, at=None, status="200"):
        """Asks, and compares the answer with what is described for `at`."""
        got, answer = self.daemon.ask(method, path, body)
        self.assertEqual(str(got), status, answer)
        at = at or path.split("?")[0]
        responses = self.described.operations[method, at]["responses"]
        response = self.described.follow(responses.get(status, responses["default"]))
        schema = response["content"]["application/json"]["schema"]
        self.assertEqual(self.described.problems(answer, schema, closed=True), [])
        return answer

    def ask_example(self, path):
        body = self.described.operations["POST", path]["requestBody"]
        return self.ask("POST", path, body["content"]["application/json"]["example"])

    def test_every_address_is_described_and_nothing_else(self):
        answer = self.ask("GET", "/api/admin/routes")
        routes = {(route["method"], route["path"]): (route["scope"], route["listeners"])
                  for route in answer["routes"]}
        self.assertEqual(len(routes), len(answer["routes"]), "an address is there twice")
        self.assertGreater(len(routes), 15)
        described = {}
        for (method, path), operation in self.described.operations.items():
            scopes = [scope for need in operation["security"] for scope in need["bearer"]]
            described[method, re.sub(r"\{\w+\}", "{}", path)] = (
                ",".join(scopes) if scopes else "anyone", operation["x-listeners"])
            names = re.findall(r"\{(\w+)\}", path)
            self.assertEqual(names, [parameter["name"]
                                     for parameter in operation.get("parameters", [])
                                     if parameter["in"] == "path"])
            self.assertTrue(operation["summary"])
            self.assertEqual(method == "POST", "requestBody" in operation, path)
        self.assertEqual(described, routes)
        names = [operation["operationId"] for operation in self.described.operations.values()]
        self.assertEqual(len(names), len(set(names)))

    def test_every_code_is_described_and_nothing_else(self):
        codes = self.ask("GET", "/api/admin/routes")["codes"]
        document = self.described.document
        self.assertEqual({code["code"]: {"status": code["status"], "hint": code["hint"]}
                          for code in codes}, document["x-refusals"])
        refusal = document["components"]["schemas"]["Refusal"]
        self.assertEqual(refusal["properties"]["code"]["enum"], [code["code"] for code in codes])
        for code in codes:
            self.assertRegex(code["hint"], r"^[A-Z].*\.$")
        with open(os.path.join(HERE, "..", "..", "docs", "API.md"), encoding="utf-8") as page:
            rows = re.findall(r"^\| `([A-Z_]+)` \| (\d{3}) \| (.*) \|$", page.read(), re.M)
        self.assertEqual(rows, [(code["code"], str(code["status"]), code["hint"])
                                for code in codes])

    def test_every_reference_leads_somewhere(self):
        def walk(value):
            if isinstance(value, dict):
                self.described.follow(value)
                for member in value.values():
                    walk(member)
            elif isinstance(value, list):
                for member in value:
                    walk(member)
        walk(self.described.document)

    def test_answers_have_the_shape_that_is_described(self):
        self.ask("GET", "/health")
        self.ask("GET", "/api/status")
        links = self.ask("GET", "/api/trending?limit=100")["links"]
        self.assertGreater(len(links), 3)
        posts = self.ask("GET", f"/api/links/{links[0]['id']}/posts", at="/api/links/{id}/posts")
        self.assertGreater(len(posts["posts"]), 0)
        for name in ("create", "read", "update", "list", "delete"):
            self.ask_example(f"/api/data/{name}")
        handle = {"queryHandle": self.ask_example("/api/data/query-open")["queryHandle"]}
        self.assertEqual(len(self.ask("POST", "/api/data/query-next", handle)["items"]), 2)
        self.ask("POST", "/api/data/query-next", handle)
        self.ask("POST", "/api/data/query-prev", handle)
        self.assertEqual(len(self.ask("GET", "/api/admin/handles")["handles"]), 1)
        self.ask("POST", "/api/data/query-close", handle)
        self.ask("POST", "/api/data/query-next", handle, status="404")
        self.ask("POST", "/api/data/query-open", {"collection": "nope"}, status="404")
        self.ask("POST", "/api/data/query-open", {}, status="400")
        self.assertEqual(self.ask_example("/api/admin/backfill-progress")["state"], "read")
        self.ask("POST", "/api/admin/backfill-progress", {}, status="400")
        self.ask("POST", "/api/admin/verify", {})
        self.ask("POST", "/api/admin/backup", {"path": self.home.folder + "/copy.db"})

    def test_it_is_fetched_once(self):
        connection = SocketConnection(self.daemon.socket)
        connection.request("GET", "/api/openapi.json")
        answer = connection.getresponse()
        answer.read()
        tag = answer.headers["ETag"]
        connection.request("GET", "/api/openapi.json", headers={"If-None-Match": tag})
        answer = connection.getresponse()
        self.assertEqual((answer.status, answer.read()), (304, b""))
        connection.close()


if __name__ == "__main__":
    OpenApi.program, OpenApi.sim_program = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1], verbosity=2)
