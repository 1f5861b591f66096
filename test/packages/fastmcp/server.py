"""A server as FastMCP has them: `server.py` over its input and output, `server.py PORT` at an address."""

import os
import sys

from fastmcp import Context, FastMCP

if os.environ.get("BROKEN"):
    raise RuntimeError("the shop has no database")

server = FastMCP("shop")


@server.tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool
async def confirm(ctx: Context) -> str:
    """Asks for a size."""
    answer = await ctx.elicit("Which size?", response_type=str)
    return f"{answer.action}: {getattr(answer, 'data', None)}"


if len(sys.argv) > 1:
    server.run(transport="http", host="127.0.0.1", port=int(sys.argv[1]), show_banner=False)
else:
    server.run(show_banner=False)
