// Skills as a program of the SDK meets them: read and run by a session on this deployment, also on a
// worker that begins anew, and laid by the SDK's own EnvironmentWorker in a sandbox.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { toFile } from '@anthropic-ai/sdk';
import type Anthropic from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { reply, toolUse } from '../../../scripted-model/index.ts';
import { readyWorker } from '../../support/cli.ts';
import { until } from '../../support/until.ts';
import { bash, managed, sandbox, say, turnEnd } from './stage.ts';

const TEXT = '---\nname: tables\ndescription: Sums numbers in a table.\n---\nRun `sh scripts/sum.sh`.\n';
const read = (path: string) => reply([toolUse('read', { file_path: path })]);

async function upload({ beta }: Anthropic, text = TEXT) {
  const files = { 'tables/SKILL.md': text, 'tables/scripts/sum.sh': 'echo the sum is 42\n' };
  return beta.skills.create({
    files: await Promise.all(Object.entries(files).map(([path, words]) => toFile(Buffer.from(words), path))),
  });
}

async function sessionWith(client: Anthropic, skill_id: string, environment_id: string): Promise<string> {
  const tools = [{ type: 'agent_toolset_20260401' as const }];
  const skills = [{ type: 'custom' as const, skill_id }];
  const agent = await client.beta.agents.create({ name: 'Coder', model: 'claude-sonnet-5-5', tools, skills });
  return (await client.beta.sessions.create({ agent: agent.id, environment_id })).id;
}

test('a session reads and runs a skill of its agent, also once that is deleted and on a host without it (G64)', async () => {
  const staged = await managed(() => [
    read('/mnt/skills/tables/SKILL.md'),
    bash('sh /mnt/skills/tables/scripts/sum.sh'),
    reply('42.'),
    bash('cd /mnt/skills/tables && cat SKILL.md && (echo x > SKILL.md || echo kept)'),
    reply('Still there.'),
  ]);
  const { client, model, place, worker } = staged;
  const skill = await upload(client);
  const session = await sessionWith(client, skill.id, 'env_default');
  await say(client, session, 'Sum it.');
  const own = { ...staged, session };
  const first = JSON.stringify(await turnEnd(own));
  expect(first).toContain('Run `sh scripts/sum.sh`.');
  expect(first).toContain('the sum is 42');
  expect(JSON.stringify(model.requests[0])).toContain('/mnt/skills/tables/SKILL.md: Sums numbers in a table.');
  await client.beta.skills.delete(skill.id);
  process.kill(worker.pid, 'SIGKILL');
  await worker.status;
  // Another host has none of it.
  for (const suffix of ['.mnt', '.mnt-state'])
    rmSync(join(place.root, 'agents', `${session}${suffix}`), { recursive: true });
  await readyWorker(place);
  await say(client, session, 'Once more.');
  const second = JSON.stringify((await turnEnd(own, 2)).slice(-8));
  expect(second).toContain('Run `sh scripts/sum.sh`.');
  expect(second).toContain('kept');
});

test('the SDK’s worker lays the skills of a session into its folder, and takes them away (G55 G64)', async () => {
  const staged = await managed(() => [
    read('skills/tables/SKILL.md'),
    bash('sh skills/tables/scripts/sum.sh'),
    reply('42.'),
  ]);
  const { client, model, place, environment } = staged;
  const skill = await upload(client);
  const session = await sessionWith(client, skill.id, environment);
  await upload(client, TEXT.replace('Sums', 'Adds'));
  await client.beta.skills.delete(skill.id);
  const worker = sandbox(staged);
  await say(client, session, 'Sum it.');
  const events = JSON.stringify(await turnEnd({ ...staged, session }));
  expect(events).toContain('Run `sh scripts/sum.sh`.');
  expect(events).toContain('the sum is 42');
  expect(JSON.stringify(model.requests[0])).toContain('- skills/tables/SKILL.md: Sums numbers in a table.');
  expect(worker.said()).not.toContain('failed to download skill');
  const [folder = ''] = readdirSync(place.root).filter((name) => name.startsWith('sandbox-'));
  await until(() => !existsSync(join(place.root, folder, 'skills/tables')));
});
