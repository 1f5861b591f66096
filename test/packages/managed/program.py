# A program of the Managed Agents API in Python: the unmodified SDK, each served method, a turn by
# the blocking and by the asynchronous client, and each class of error. Prints what it saw as JSON.
# Responses are held to the SDK's types.
import asyncio
import json
import os

import anthropic

OWNER = {"api_key": os.environ["OWNER_TOKEN"]}
LOOKER = {"api_key": os.environ["LOOK_TOKEN"]}
OPTIONS = {
    "base_url": os.environ["BASE_URL"],
    "auth_token": None,
    "max_retries": 0,
    "_strict_response_validation": True,
}


def say(words):
    return {"type": "user.message", "content": [{"type": "text", "text": words}]}


def error_of(call):
    try:
        call()
    except anthropic.APIStatusError as error:
        body = error.body["error"]
        return [type(error).__name__, error.status_code, body["type"], error.request_id is not None]
    return None


def lifecycle(client):
    beta = client.beta
    agent = beta.agents.create(
        name="Coder",
        model="claude-sonnet-5-5",
        system="You write files.",
        metadata={"team": "web"},
        tools=[
            {
                "type": "agent_toolset_20260401",
                "configs": [{"name": "web_fetch", "enabled": False}],
            }
        ],
    )
    changed = beta.agents.update(agent.id, version=agent.version, description="Writes.")
    environment = beta.environments.create(
        name="closed",
        config={"type": "cloud", "networking": {"type": "limited"}},
    )
    renamed = beta.environments.update(environment.id, name="shut")
    session = beta.sessions.create(agent=agent.id, environment_id=environment.id, title="One")
    events = []
    with beta.sessions.events.stream(session.id) as stream:
        beta.sessions.events.send(session.id, events=[say("Write a.txt.")])
        for event in stream:
            events.append(event)
            if event.type == "session.status_idle":
                break
    titled = beta.sessions.update(session.id, title="Two", metadata={"a": "b"})
    # Pages of two, walked by the SDK.
    listed = list(beta.sessions.events.list(session.id, limit=2))
    newest = beta.sessions.events.list(session.id, order="desc", limit=1).data[0]
    [use] = [event for event in listed if event.type == "agent.tool_use"]
    [result] = [event for event in listed if event.type == "agent.tool_result"]
    errors = failures(beta, agent, session)
    archived = beta.sessions.archive(session.id)
    closed = error_of(lambda: beta.sessions.events.send(session.id, events=[say("More.")]))
    deleted = beta.sessions.delete(session.id)
    beta.environments.archive(environment.id)
    removed = beta.environments.delete(environment.id)
    return {
        "versions": [version.version for version in beta.agents.versions.list(agent.id)],
        "agents": [one.id for one in beta.agents.list()] == [agent.id],
        "retrieved": beta.agents.retrieve(agent.id, version=1).description is None and changed.version == 2,
        "networking": [environment.config.networking.type, renamed.config.networking.type],
        "environments": "env_default" in [one.id for one in beta.environments.list()],
        "environment": beta.environments.retrieve("env_default").config.type,
        "streamed": [event.type for event in events if getattr(event, "processed_at", None)],
        "same": [event.id for event in events if getattr(event, "processed_at", None)] == [event.id for event in listed],
        "newest": newest.type,
        "input": use.input,
        "result": result.content[0].text,
        "titled": [titled.title, titled.metadata],
        "status": [titled.status, archived.status],
        "closed": closed,
        "errors": errors,
        "deleted": [deleted.type, removed.type],
        "gone": error_of(lambda: beta.sessions.retrieve(session.id)),
        "archivedAgent": beta.agents.archive(agent.id).archived_at is not None,
    }


def failures(beta, agent, session):
    wrong = anthropic.Anthropic(**OPTIONS, api_key="wrong")
    looker = anthropic.Anthropic(**OPTIONS, **LOOKER)
    stale = {"version": 1, "name": "Old"}
    large = [say("x" * 9_000_000)]
    return {
        "bad": error_of(lambda: beta.agents.create(name="", model="claude-sonnet-5-5")),
        "unknown": error_of(lambda: wrong.beta.agents.list()),
        "role": error_of(lambda: looker.beta.agents.create(name="A", model="claude-sonnet-5-5")),
        "missing": error_of(lambda: beta.agents.retrieve("agent_00000000000000000000000000")),
        "notServed": error_of(lambda: beta.messages.batches.list()),
        "conflict": error_of(lambda: beta.agents.update(agent.id, **stale)),
        "large": error_of(lambda: beta.sessions.events.send(session.id, events=large)),
    }


async def asynchronously():
    async with anthropic.AsyncAnthropic(**OPTIONS, **OWNER) as client:
        beta = client.beta
        agent = await beta.agents.create(name="Talker", model="claude-sonnet-5-5")
        session = await beta.sessions.create(agent=agent.id, environment_id="env_default")
        previewed = ""
        async with await beta.sessions.events.stream(session.id, event_deltas=["agent.message"]) as stream:
            await beta.sessions.events.send(session.id, events=[say("Hello?")])
            async for event in stream:
                if event.type == "event_delta":
                    previewed += event.delta.content.text
                if event.type == "agent.message":
                    said = event.content[0].text
                if event.type == "session.status_idle":
                    break
        # Another turn, which an interrupt ends.
        await beta.sessions.events.send(session.id, events=[say("Go on and on.")])
        while (await beta.sessions.retrieve(session.id)).status != "running":
            await asyncio.sleep(0.05)
        await beta.sessions.events.send(session.id, events=[{"type": "user.interrupt"}])
        while (await beta.sessions.retrieve(session.id)).status != "idle":
            await asyncio.sleep(0.05)
        types = [event.type async for event in beta.sessions.events.list(session.id, limit=3)]
        sessions = [one.id async for one in beta.sessions.list(limit=1)]
        return {
            "said": said,
            "prefix": said.startswith(previewed),
            "interrupted": types.count("user.interrupt"),
            "last": types[-1],
            "sessions": sessions == [session.id],
        }


print(
    json.dumps(
        {
            "blocking": lifecycle(anthropic.Anthropic(**OPTIONS, **OWNER)),
            "asynchronous": asyncio.run(asynchronously()),
        }
    )
)
