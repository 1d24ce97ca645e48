"""Drives every tool and resource of `piton mcp` with the official client.

usage: mcp_drive.py PITON auto|legacy, in a folder of its own
"""

import asyncio
import os
import sys

from mcp import Client
from mcp.client.stdio import StdioServerParameters

VERSIONS = {"auto": "2026-07-28", "legacy": "2025-11-25"}

# What is sent to each tool, and what the answer says.
CALLS = [
    ("record", {"status": "failed", "error": "cc was not found"}, "recorded attempt 1 at auth"),
    ("log", {"type": "milestone_reached", "description": "half of it"}, "logged milestone_reached"),
    ("learn", {"type": "build-command", "content": "Run make gen before the tests"}, "learning-0001"),
    ("ask", {"question": "tabs or blanks?"}, "asked as d1"),
    ("prepare", {}, "cc was not found"),
    ("recall", {"text": "make gen before tests"}, "learning-0001"),
    ("status", {}, "Nothing has been run here yet"),
    ("next", {}, "1 question waits for a person"),
]

RESOURCES = ["piton://item", "piton://guardrails", "piton://progress"]


def expect(holds, what):
    if not holds:
        sys.exit(f"not so: {what}")


async def drive(piton, mode):
    environment = {"PATH": os.environ["PATH"], "HOME": os.getcwd(), "USER": "ada"}
    server = StdioServerParameters(command=piton, args=["mcp", "--item", "auth"], env=environment)
    async with Client(server, mode=mode) as client:
        expect(client.protocol_version == VERSIONS[mode], client.protocol_version)
        expect(client.server_info.name == "piton", client.server_info)
        listed = [tool.name for tool in (await client.list_tools()).tools]
        expect(sorted(listed) == sorted(name for name, _, _ in CALLS), listed)
        for name, arguments, says in CALLS:
            answer = await client.call_tool(name, arguments)
            expect(not answer.is_error and says in answer.content[0].text, answer)
            expect(isinstance(answer.structured_content, dict), answer)
        wrong = await client.call_tool("recall", {"txt": 1})
        expect(wrong.is_error and "`txt`" in wrong.content[0].text, wrong)
        resources = [str(one.uri) for one in (await client.list_resources()).resources]
        expect(resources == RESOURCES, resources)
        for uri in RESOURCES:
            contents = (await client.read_resource(uri)).contents[0]
            expect(contents.mime_type == "text/markdown" and contents.text, contents)
    print(f"{mode}: all {len(CALLS)} tools and {len(RESOURCES)} resources")


asyncio.run(drive(sys.argv[1], sys.argv[2]))
