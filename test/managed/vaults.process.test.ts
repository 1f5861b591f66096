// Vaults as a program uses them (G65): the SDK, `perdure serve` and workers in processes of their
// own, servers that look at tokens, and a token endpoint whose refresh tokens rotate.
import type Anthropic from '@anthropic-ai/sdk';
import type { BetaManagedAgentsSessionEvent } from '@anthropic-ai/sdk/resources/beta/sessions';
import { expect, test } from 'vitest';
import { reply, type ScriptedModelOptions, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, modelFor, readyWorker } from '../support/cli.ts';
import { filesWith } from '../support/files-with.ts';
import { oddAddress } from '../support/mcp/addresses.ts';
import { tokenEndpoint } from '../support/mcp/token-endpoint.ts';
import { until } from '../support/until.ts';
import { configureManaged, serveManaged } from './served.ts';
import { collect } from './staged.ts';

async function managed(url: string, script: ScriptedModelOptions['script']) {
  const model = await modelFor(script);
  const place = cliPlace(model);
  configureManaged(place, { mcpServers: { [url]: {} } });
  const client = await serveManaged(place, {}, ['--managed-private-hosts', '127.0.0.1']);
  const worker = await readyWorker(place);
  const agent = await client.beta.agents.create({
    name: 'Caller',
    model: 'claude-sonnet-5-5',
    mcp_servers: [{ type: 'url', name: 'shop', url }],
    tools: [
      {
        type: 'mcp_toolset',
        mcp_server_name: 'shop',
        default_config: { permission_policy: { type: 'always_allow' } },
      },
    ],
  });
  const newSession = async (...vault_ids: string[]): Promise<string> =>
    (await client.beta.sessions.create({ agent: agent.id, environment_id: 'env_default', vault_ids })).id;
  return { client, model, place, worker, newSession };
}

const say = (client: Anthropic, session: string) =>
  client.beta.sessions.events.send(session, {
    events: [{ type: 'user.message', content: [{ type: 'text', text: 'Go.' }] }],
  });

const idle = (client: Anthropic, session: string): Promise<readonly BetaManagedAgentsSessionEvent[]> =>
  until(async () => {
    const events = await collect(client.beta.sessions.events.list(session));
    return events.some(({ type }) => type === 'session.status_idle') ? events : null;
  });

const results = (events: readonly BetaManagedAgentsSessionEvent[]) =>
  events.flatMap((event) => (event.type === 'agent.mcp_tool_result' ? [event.is_error] : []));
const errors = (events: readonly BetaManagedAgentsSessionEvent[]) =>
  events.flatMap((event) => (event.type === 'session.error' ? [event.error.type] : []));

test('each person’s sessions call with the token of their vault, which is nowhere else (G65)', async () => {
  const odd = await oddAddress({ token: () => 'Bearer sesame-ana' });
  const { url } = odd.settings;
  const script: ScriptedModelOptions['script'] = (_, n) =>
    n % 2 === 1 ? reply([toolUse('mcp__shop__note', {})]) : reply('Done.');
  const { client, model, place, worker, newSession } = await managed(url, script);
  const { vaults } = client.beta;
  const open = async (name: string, token: string) => {
    const vault = await vaults.create({ display_name: name });
    const auth = { type: 'static_bearer', mcp_server_url: url, token } as const;
    return { vault, credential: await vaults.credentials.create(vault.id, { auth }) };
  };
  const [ana, ben] = [await open('Ana', 'sesame-ana'), await open('Ben', 'sesame-ben')];
  const [first, second] = [await newSession(ana.vault.id), await newSession(ben.vault.id)];
  await say(client, first);
  const ofAna = await idle(client, first);
  expect([results(ofAna), errors(ofAna)]).toEqual([[false], []]);
  await say(client, second);
  const ofBen = await idle(client, second);
  expect([results(ofBen), errors(ofBen)]).toEqual([[true], ['mcp_authentication_failed_error']]);
  expect(new Set(odd.seen)).toEqual(new Set(['Bearer sesame-ana', 'Bearer sesame-ben']));
  // A token that is replaced holds from the next turn on, without a restart.
  const auth = { type: 'static_bearer', token: 'sesame-ana' } as const;
  await vaults.credentials.update(ben.credential.id, { vault_id: ben.vault.id, auth });
  const third = await newSession(ben.vault.id);
  await say(client, third);
  expect(results(await idle(client, third))).toEqual([false]);
  const told = JSON.stringify([ofAna, ofBen, model.requests.map(({ body }) => body)]);
  for (const secret of ['sesame-ana', 'sesame-ben']) {
    expect(told + worker.out() + worker.err()).not.toContain(secret);
    expect(filesWith(place.data, secret)).toEqual([]);
  }
  const shown = await place.run('show', first, '--json');
  expect(shown.out).toContain('noted note');
  expect(shown.out).not.toContain('sesame');
});

test('a worker killed while it refreshes a token leaves the refresh to the next one (G65)', async () => {
  let [sent, isHeld] = [0, true];
  const endpoint = await tokenEndpoint({
    expiresIn: 3_600,
    before: async () => {
      sent += 1;
      return isHeld ? await new Promise<never>(() => undefined) : undefined;
    },
  });
  const odd = await oddAddress({ token: () => 'Bearer access-2' });
  const { url } = odd.settings;
  // A call that comes before the server is connected is refused: a later one runs.
  const script: ScriptedModelOptions['script'] = ({ messages }) =>
    JSON.stringify(messages.at(-1)).includes('noted note')
      ? reply('Done.')
      : reply([toolUse('mcp__shop__note', {})], { delayMs: messages.length > 1 ? 1_000 : 0 });
  const { client, place, worker, newSession } = await managed(url, script);
  const vault = await client.beta.vaults.create({ display_name: 'Ana' });
  const { credentials } = client.beta.vaults;
  const credential = await credentials.create(vault.id, {
    auth: {
      type: 'mcp_oauth',
      mcp_server_url: url,
      access_token: 'access-1',
      refresh: {
        client_id: 'perdure',
        refresh_token: 'refresh-1',
        token_endpoint: endpoint.url,
        token_endpoint_auth: { type: 'none' },
      },
    },
  });
  const session = await newSession(vault.id);
  await say(client, session);
  await until(() => sent === 1);
  process.kill(worker.pid, 'SIGKILL');
  await worker.status;
  isHeld = false;
  const next = await readyWorker(place);
  expect(results(await idle(client, session)).at(-1)).toBe(false);
  expect(endpoint.asked.map(({ form }) => form.get('refresh_token'))).toEqual(['refresh-1', 'refresh-1']);
  expect(endpoint.isGone()).toBe(false);
  const checked = await credentials.mcpOAuthValidate(credential.id, { vault_id: vault.id });
  expect(checked).toMatchObject({ status: 'valid', has_refresh_token: true, refresh: null });
  for (const secret of ['access-2', 'refresh-1', 'refresh-2']) {
    expect(filesWith(place.data, secret)).toEqual([]);
    expect(next.out() + next.err()).not.toContain(secret);
  }
});
