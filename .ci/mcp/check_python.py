"""Connects a Python client to a server, lists, calls, and pages through a search, again after a restart of the server;
prints what was negotiated. It is run by restarting.py.

    check_python.py mcp1|mcp2|fastmcp URL
"""

import asyncio
import json
import os
import sys


def restart_server():
    os.write(int(os.environ["RESTART_ASK"]), b".")
    assert os.read(int(os.environ["RESTART_DONE"]), 1)


async def walk(call_tool):
    """Pages through all reviews of five stars, and returns how many there were."""
    seen, cursor = [], None
    while True:
        arguments = {"rating": 5, "limit": 40} | ({"cursor": cursor} if cursor else {})
        page = await call_tool("search_reviews", arguments)
        seen += [review["id"] for review in page["reviews"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == page["matched"], (len(seen), page["matched"])
    return len(seen)


def content(result):
    """Returns the structured content, after a check that the text block is the same."""
    structured = getattr(result, "structuredContent", None) or getattr(result, "structured_content", None)
    assert structured == json.loads(result.content[0].text)
    return structured


def has_failed(result):
    return bool(getattr(result, "isError", False) or getattr(result, "is_error", False))


async def mcp1(url):
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client

    async with streamablehttp_client(url) as (read, write, session_id):
        async with ClientSession(read, write) as session:
            begun = await session.initialize()
            assert session_id(), "no session id"
            await session.send_ping()
            tools = (await session.list_tools()).tools

            async def call(name, arguments):
                return content(await session.call_tool(name, arguments))

            count = await walk(call)
            restart_server()
            assert await walk(call) == count
            assert has_failed(await session.call_tool("search_reviews", {"rating": 9}))
            assert (await session.list_resources()).resources
            assert (await session.read_resource("reviews://business")).contents[0].text
            assert (await session.get_prompt("summarize_reviews", {})).messages
            return begun.protocolVersion, len(tools), count


async def mcp2(url):
    from mcp import Client

    results = []
    for mode in ("auto", "legacy", "2026-07-28"):
        async with Client(url, mode=mode) as client:
            tools = (await client.list_tools()).tools

            async def call(name, arguments):
                return content(await client.call_tool(name, arguments))

            count = await walk(call)
            restart_server()
            assert await walk(call) == count
            assert has_failed(await client.call_tool("search_reviews", {"rating": 9}))
            assert (await client.list_resources()).resources
            assert (await client.get_prompt("summarize_reviews", {})).messages
            results.append((mode, client.protocol_version, len(tools), count))
    return results


async def fastmcp(url):
    from fastmcp import Client

    async with Client(url) as client:
        tools = await client.list_tools()

        async def call(name, arguments):
            return content(await client.call_tool(name, arguments))

        count = await walk(call)
        restart_server()
        assert await walk(call) == count
        assert has_failed(await client.call_tool("search_reviews", {"rating": 9}, raise_on_error=False))
        assert await client.list_resources()
        assert await client.list_prompts()
        return len(tools), count


if __name__ == "__main__":
    client, url = sys.argv[1:]
    print(client, asyncio.run({"mcp1": mcp1, "mcp2": mcp2, "fastmcp": fastmcp}[client](url)))
