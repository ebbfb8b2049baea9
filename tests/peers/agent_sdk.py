"""An agent that uses the Python SDK of the Model Context Protocol, of version 1 or 2: mends a kernel, prints what it saw.

agent_sdk.py URL, or agent_sdk.py -- COMMAND...; prints one JSON object. Any environment with the package `mcp` runs it.
"""
import contextlib
import importlib.metadata
import json
import sys
from pathlib import Path

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

PAIR = Path(__file__).resolve().parents[2] / "examples" / "pair"


def plain(result):
    """A result as the server sent it, in both versions of the SDK."""
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


@contextlib.asynccontextmanager
async def transport(words):
    """The streams of a client: of a command, or of a URL."""
    if words[0] == "--":
        async with stdio_client(StdioServerParameters(command=words[1], args=words[2:])) as streams:
            yield streams
        return
    try:
        from mcp.client.streamable_http import streamable_http_client as client
    except ImportError:
        from mcp.client.streamable_http import streamablehttp_client as client
    async with client(words[0]) as streams:
        yield streams[:2]


async def verified(session, kernel):
    """The structured result of `verify`, and the notices of its progress."""
    told = []

    async def tell(_progress, _total, message):
        told.append(message)

    arguments = {"reference": (PAIR / "reference.py").read_text(), "kernel": kernel}
    result = plain(await session.call_tool("verify", arguments, progress_callback=tell))
    return result["structuredContent"], told


async def work(words):
    """What an agent does, as a dict."""
    right = (PAIR / "kernel.py").read_text()
    wrong = right.replace("x * x + shift", "x * x - shift")
    async with transport(words) as (read, write), ClientSession(read, write) as session:
        hello = plain(await session.initialize())
        tools = plain(await session.list_tools())["tools"]
        first, told = await verified(session, wrong)
        explained = plain(await session.call_tool("explain", {"word": first["error_class"]}))
        second, _ = await verified(session, right)
        refused = plain(await session.call_tool("verify", {"kernal": right}))
        kept = plain(await session.read_resource(second["verdict_uri"]))["contents"][0]
        return {"sdk": importlib.metadata.version("mcp"), "protocol": hello["protocolVersion"],
                "tools": sorted(each["name"] for each in tools), "first": first["status"], "told": told,
                "explained": explained["structuredContent"]["entries"][0]["word"], "second": second["status"],
                "refused": refused["isError"], "kept": json.loads(kept["text"])["status"],
                "resources": len(plain(await session.list_resources())["resources"])}


async def discover(words):
    """The protocol that version 2 agrees on by itself: it asks for the newest first; null for version 1."""
    try:
        from mcp import Client
    except ImportError:
        return None
    target = words[0] if words[0] != "--" else stdio_client(StdioServerParameters(command=words[1], args=words[2:]))
    async with Client(target) as client:
        return plain(await client.call_tool("explain", {"word": "race"}))["structuredContent"]["entries"][0]["word"]


async def main(words):
    """Prints the result."""
    print(json.dumps({**await work(words), "discovered": await discover(words)}))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1:])
