#!/usr/bin/env python3
"""Asks a reviews service a question as an agent does, over MCP, with nothing but Python's standard library.

    python3 agent.py http://127.0.0.1:8080 "Do they call back?"

A model would choose the tool and its arguments from the list of tools, and phrase the answer. This program always calls
`search_reviews`, and prints the reviews that fit best, each with the address under which it can be cited.
"""

import json
import sys
import urllib.request

REVISION = "2025-11-25"


class Service:
    """A session with the MCP server of a service."""

    def __init__(self, address):
        self.endpoint = f"{address.rstrip('/')}/mcp"
        self.headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        self.last_id = 0
        client = {"name": "example-agent", "version": "1"}
        begun = self.call("initialize", protocolVersion=REVISION, capabilities={}, clientInfo=client)
        # How to use the tools, in the words of the service: they belong into the prompt of a model.
        self.instructions = begun.get("instructions", "")
        self.headers["MCP-Protocol-Version"] = begun["protocolVersion"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, method, **params):
        self.last_id += 1
        answer = self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer["result"]

    def send(self, message):
        request = urllib.request.Request(self.endpoint, json.dumps(message).encode(), self.headers)
        with urllib.request.urlopen(request, timeout=10) as response:
            if session := response.headers["Mcp-Session-Id"]:
                self.headers["Mcp-Session-Id"] = session
            body = response.read()
        return json.loads(body) if body else None

    def use(self, tool, **arguments):
        """Calls a tool. A wrong argument is an error whose message tells a model what to do instead."""
        result = self.call("tools/call", name=tool, arguments=arguments)
        if result.get("isError"):
            raise RuntimeError(result["content"][0]["text"])
        return result["structuredContent"]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    address, question = sys.argv[1:]
    service = Service(address)
    tools = [tool["name"] for tool in service.call("tools/list")["tools"]]
    print(f"{len(tools)} tools: {', '.join(tools)}\n")

    found = service.use("search_reviews", words=question, limit=3)
    print(f"{question}\n{found['matched']} reviews have all these words; the ones that fit best:\n")
    for review in found["reviews"]:
        print(f"{review['rating']} of 5, {review['author']}, {review['date']}")
        print(f"  {review['text']}")
        print(f"  {address.rstrip('/')}/reviews/{review['id']}\n")


main()
