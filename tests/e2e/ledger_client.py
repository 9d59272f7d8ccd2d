# SPDX-License-Identifier: Apache-2.0
"""tidemark-sim, asked like the explorers and exchanges it stands for."""

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

    def requests(self, prefix):
        return [json.loads(line) for line in lines(self.get("/_sim/requests?path=" + prefix))]
