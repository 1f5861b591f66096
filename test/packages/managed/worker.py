# A worker of a self-hosted environment in Python: the unmodified SDK, its own tools.
import asyncio
import os

import anthropic


async def main():
    client = anthropic.AsyncAnthropic(base_url=os.environ["BASE_URL"], api_key=None, auth_token="unused")
    worker = client.beta.environments.work.worker(
        environment_id=os.environ["ENVIRONMENT_ID"],
        environment_key=os.environ["ENVIRONMENT_KEY"],
        workdir=os.environ["WORKDIR"],
        max_idle=1,
    )
    await worker.run()


asyncio.run(main())
