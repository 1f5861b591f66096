// A worker of a self-hosted environment as the SDK documents it, in a process of its own:
// node worker.mjs BASE_URL ENVIRONMENT KEY FOLDER MODE, where MODE is `plain`, `fenced`, `custom`
// (which also has a tool of the app), `dispatch` (which spawns a process for each item and returns
// at once) or `handle` (that process).
import { spawn } from 'node:child_process';
import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { betaAgentToolset20260401 } from '@anthropic-ai/sdk/tools/agent-toolset/node';

const [baseURL, environmentId, environmentKey, workdir, mode] = process.argv.slice(2);
const client = new Anthropic({ baseURL, apiKey: null, authToken: environmentKey, logLevel: 'info' });
const { fenced } = mode === 'fenced' ? await import('../../../dist/client/sandbox/index.js') : {};
const getOrder = betaTool({
  name: 'get_order',
  description: 'Looks up an order.',
  inputSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
  run: ({ id }) => `the worker has found ${id}`,
});
const modes = {
  fenced: (context) => fenced(betaAgentToolset20260401(context), context),
  custom: (context) => [...betaAgentToolset20260401(context), getOrder],
};
const tools = modes[mode];
const { work } = client.beta.environments;
const worker = work.worker({
  environmentId,
  environmentKey,
  workdir,
  maxIdleMs: 2_000,
  ...(tools && { tools }),
});
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());

/** Hands an item to a process that knows nothing but the item. */
function handOver({ id, data, secret }) {
  const args = [process.argv[1], baseURL, environmentId, '', workdir, 'handle'];
  const item = { ANTHROPIC_WORK_ID: id, ANTHROPIC_SESSION_ID: data.id, ANTHROPIC_WORK_SECRET: secret };
  spawn(process.execPath, args, {
    stdio: 'inherit',
    env: { ...process.env, ...item, ANTHROPIC_ENVIRONMENT_ID: environmentId },
  });
  console.log('spawned', JSON.parse(Buffer.from(secret, 'base64url').toString()).api_base_url);
}

if (mode === 'handle') await worker.handleItem();
else if (mode === 'dispatch')
  for await (const item of work.poller({ environmentId, environmentKey, signal: stop.signal })) handOver(item);
else await worker.run(stop.signal);
