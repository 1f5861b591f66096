// Files on their way through a session, as a program of the SDK sees them: `perdure serve` and a
// worker in processes of their own, killed on the way. What the programs of the cookbook do with
// files (mounts by relative names, files that come later, outputs) is among it.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toFile } from '@anthropic-ai/sdk';
import { expect, onTestFinished, test } from 'vitest';
import { gate, reply, type ScriptedModelOptions, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, modelFor, readyWorker } from '../support/cli.ts';
import { until } from '../support/until.ts';
import { workingSandboxes } from '../tools/sandboxes.ts';
import { serveManaged } from './served.ts';

const [best] = await workingSandboxes();
/** Commands see files below /mnt by bubblewrap alone. */
const test_ = test.skipIf(best?.kind !== 'bwrap');

async function managed(script: ScriptedModelOptions['script']) {
  const model = await modelFor(script);
  const place = cliPlace(model);
  const config = 'export default { memory: false, snapshots: true };';
  writeFileSync(join(place.root, 'settings/perdure/perdure.config.mjs'), config);
  const client = await serveManaged(place);
  const agent = await client.beta.agents.create({
    name: 'Analyst',
    model: 'claude-sonnet-5-5',
    tools: [
      {
        type: 'agent_toolset_20260401',
        default_config: { permission_policy: { type: 'always_allow' } },
        configs: [{ name: 'web_search', enabled: false }],
      },
    ],
  });
  /** Resolves once the session has ended so many turns. */
  const ended = (session: string, turns = 1): Promise<unknown> =>
    until(async () => {
      const { data } = await client.beta.sessions.events.list(session, { types: ['session.status_idle'] });
      return data.length === turns;
    });
  const send = (session: string, words: string) =>
    client.beta.sessions.events.send(session, {
      events: [{ type: 'user.message', content: [{ type: 'text', text: words }] }],
    });
  return { client, model, place, agent, ended, send };
}

const bash = (command: string) => toolUse('bash', { command });
const PIXELS = Buffer.from(Array.from({ length: 100_000 }, (_, at) => (at * 31) % 256));

test_(
  'an upload reaches commands and tools, outputs come back to the byte, and a kill on the way changes nothing',
  async () => {
    const { hold, release } = gate();
    onTestFinished(release);
    const { client, model, place, agent, ended, send } = await managed([
      reply([bash('cat /mnt/session/uploads/in/data.bin | wc -c; cp /mnt/session/uploads/in/data.bin first.bin')]),
      reply('This is never ended.', { hold, holdAfterEvent: 4 }),
      reply([bash('cp first.bin /mnt/session/outputs/copy.bin; ls /mnt/session/uploads')]),
      reply([toolUse('read', { file_path: '/mnt/session/uploads/notes.md' })]),
      reply([toolUse('write', { file_path: '/mnt/session/outputs/sub/report.md', content: 'done\n' })]),
      reply('All done.'),
      reply([
        bash(
          'cat /mnt/session/outputs/sub/report.md; cat /mnt/session/uploads/* 2>&1; rm /mnt/session/outputs/copy.bin',
        ),
      ]),
      reply('Again.'),
    ]);
    const first = await readyWorker(place);
    const file = await client.beta.files.upload({ file: await toFile(PIXELS, 'data.bin') });
    const session = await client.beta.sessions.create({
      agent: agent.id,
      environment_id: 'env_default',
      resources: [{ type: 'file', file_id: file.id, mount_path: 'in/data.bin' }],
    });
    await client.beta.files.delete(file.id);
    await send(session.id, 'Copy it.');
    await until(() => model.requests.length === 2);
    first.signal('SIGKILL');
    await first.status;
    // As on a machine that has laid nothing yet.
    rmSync(join(place.data, 'session-files'), { recursive: true });
    const notes = await client.beta.files.upload({ file: await toFile(Buffer.from('later\n'), 'notes.md') });
    const added = await client.beta.sessions.resources.add(session.id, {
      type: 'file',
      file_id: notes.id,
      mount_path: 'notes.md',
    });
    const second = await readyWorker(place);
    await ended(session.id);
    const requests = JSON.stringify(model.requests.at(-1)?.body);
    for (const words of ['100000', 'in\\nnotes.md', 'later', 'created /mnt/session/outputs/sub/report.md'])
      expect(requests).toContain(words);
    expect(requests).not.toContain('session-files');
    const outputs = async () =>
      (await client.beta.files.list({ scope_id: session.id })).data.filter((one) => one.downloadable);
    const names = async () => (await outputs()).map(({ filename }) => filename).toSorted();
    expect(await names()).toEqual(['copy.bin', 'report.md']);
    const copy = (await outputs()).find(({ filename }) => filename === 'copy.bin')!;
    expect(copy.size_bytes).toBe(PIXELS.length);
    expect(Buffer.from(await (await client.beta.files.download(copy.id)).arrayBuffer()).equals(PIXELS)).toBe(true);
    await client.beta.sessions.resources.delete(added.id, { session_id: session.id });
    second.signal('SIGKILL');
    await second.status;
    await readyWorker(place);
    await send(session.id, 'Again.');
    await ended(session.id, 2);
    expect(JSON.stringify(model.requests.at(-1)?.body)).toContain('in: Is a directory');
    await until(async () => (await names()).join() === 'report.md');
  },
);

test_('two sessions have one file each for itself, and neither sees what the other makes', async () => {
  const look = 'cat /mnt/session/uploads/shared.txt; ls /mnt/session/outputs; echo mine > /mnt/session/outputs/own';
  const { client, model, place, agent, ended, send } = await managed([
    reply([bash(look)]),
    reply('One.'),
    reply([bash(look)]),
    reply('Two.'),
  ]);
  await readyWorker(place);
  const file = await client.beta.files.upload({ file: await toFile(Buffer.from('for both\n'), 'shared.txt') });
  const resources = [{ type: 'file' as const, file_id: file.id, mount_path: 'shared.txt' }];
  const ids: string[] = [];
  for (const words of ['One.', 'Two.']) {
    const { id } = await client.beta.sessions.create({ agent: agent.id, environment_id: 'env_default', resources });
    await send(id, words);
    await ended(id);
    ids.push(id);
  }
  for (const at of [1, 3]) {
    const results = JSON.stringify(model.requests[at]?.body);
    expect(results).toContain('for both');
    expect(results).not.toContain('for both\\nown');
  }
  await client.beta.sessions.delete(ids[0]!);
  const { data } = await client.beta.files.list();
  expect(new Set(data.map(({ scope }) => scope?.id ?? null))).toEqual(new Set([null, ids[1]]));
});
