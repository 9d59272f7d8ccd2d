# SPDX-License-Identifier: Apache-2.0
"""tidemark-sim, asked like the explorers and exchanges it stands for."""

import base64
import datetime
import hashlib
import hmac
import http.client
import json
import urllib.parse

from sim_client import Simulator, lines


class Ledger(Simulator):
    """A running simulator of chains."""

    def call(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, dict(answer.getheaders()), data

    def explorer(self, provider, **parameters):
        parameters = {"module": "account", "apikey": "k", "sort": "asc", **parameters}
        status, _, body = self.call("GET", f"/{provider}/api?" + urllib.parse.urlencode(parameters))
        assert status == 200, status
        return json.loads(body)

    def moralis(self, address, **parameters):
        parameters = {"chain": "eth", "order": "ASC", "limit": 7, **parameters}
        return self.call("GET", f"/moralis/wallets/{address}/history?"
                         + urllib.parse.urlencode(parameters), headers={"x-api-key": "k"})

    def alchemy(self, method, *params):
        status, _, body = self.call("POST", "/alchemy/v2/k", json.dumps(
            {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
        assert status == 200, status
        return json.loads(body)

    def kraken(self, nonce, secret=None, **form):
        """A page of the ledger, signed."""
        body = urllib.parse.urlencode({"nonce": nonce, **form})
        path, key = "/0/private/Ledgers", self.keys()["kraken"]
        signed = path.encode() + hashlib.sha256(f"{nonce}{body}".encode()).digest()
        secret = base64.b64decode(secret or key["secret"])
        signature = base64.b64encode(hmac.new(secret, signed, hashlib.sha512).digest()).decode()
        status, _, data = self.call("POST", "/kraken" + path, body, {
            "API-Key": key["key"], "API-Sign": signature,
            "Content-Type": "application/x-www-form-urlencoded"})
        assert status == 200, (status, data)
        return json.loads(data)

    def accounts(self):
        return [json.loads(line) for line in lines(self.get("/_sim/ledger/accounts"))]

    def truth(self, account, stream, orphaned=0):
        return [json.loads(line) for line in lines(self.get(
            f"/_sim/ledger/truth?account={account}&stream={stream}&orphaned={orphaned}"))]

    def keys(self):
        return json.loads(self.get("/_sim/ledger/keys"))

    def act(self, what, count=1):
        status, body = self.ask("POST", f"/_sim/ledger/act?do={what}&count={count}")
        assert status == 200, body
        return json.loads(body)

    def block_time(self, block):
        """When it was made, as ISO 8601."""
        rows = self.explorer("etherscan", action="txlist", address=self.accounts()[0]["ethereum"])
        first, second = ((int(row["blockNumber"]), int(row["timeStamp"]))
                         for row in (rows["result"][0], rows["result"][-1]))
        pace = (second[1] - first[1]) // (second[0] - first[0])
        at = datetime.datetime.fromtimestamp(first[1] + (block - first[0]) * pace, datetime.UTC)
        return at.strftime("%Y-%m-%dT%H:%M:%SZ")

    def requests(self, prefix):
        return [json.loads(line) for line in lines(self.get("/_sim/requests?path=" + prefix))]
