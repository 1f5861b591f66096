// A worker of a self-hosted environment as the SDK documents it, in a process of its own:
// node worker.mjs BASE_URL ENVIRONMENT KEY FOLDER [fenced | handle].
import Anthropic from '@anthropic-ai/sdk';
import { betaAgentToolset20260401 } from '@anthropic-ai/sdk/tools/agent-toolset/node';

const [baseURL, environmentId, environmentKey, workdir, mode] = process.argv.slice(2);
const client = new Anthropic({ baseURL, apiKey: null, authToken: environmentKey, logLevel: 'info' });
const { fenced } = mode === 'fenced' ? await import('../../../dist/client/sandbox/index.js') : {};
const tools = fenced && ((context) => fenced(betaAgentToolset20260401(context), context));
const worker = client.beta.environments.work.worker({
  environmentId,
  environmentKey,
  workdir,
  maxIdleMs: 2_000,
  ...(tools && { tools }),
});
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
if (mode === 'handle') await worker.handleItem();
else await worker.run(stop.signal);
