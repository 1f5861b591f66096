// `perdure run` beyond files and the shell, once over: each tool that reaches further, in one run
// of a scripted model.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { reply, toolUse, type ParsedRequest, type Reply } from '../../scripted-model/index.ts';
import { cliPlace, jsonLines, modelFor } from '../support/cli.ts';
import { pngOf } from '../support/images.ts';
import { oddServer } from '../support/mcp/servers.ts';
import { git, initRepository } from '../support/repository.ts';

async function page(): Promise<string> {
  const server = createServer(
    (_, response) => void response.setHeader('content-type', 'text/html').end('<p>It is 42.'),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const said = ({ messages }: ParsedRequest): string => JSON.stringify(messages);
const found = (request: ParsedRequest, id: RegExp): string => id.exec(said(request))?.[0] ?? 'none';
const agent = (prompt: string, more: object) => toolUse('agent', { description: prompt, prompt, ...more });
const write = toolUse('write', { path: 'made.txt', content: 'by an agent\n' });
const serve = toolUse('bash', { command: 'echo up; sleep 10000', background: true });

/** What the session asks for, a reply a turn; its agents are known by their prompts. */
const turns: readonly ((request: ParsedRequest, url: string) => Reply)[] = [
  (_, url) =>
    reply([
      toolUse('todo', { tasks: [{ text: 'reach far', state: 'doing' }] }),
      toolUse('skill', { name: 'review' }),
      toolUse('read', { path: 'dot.png' }),
      toolUse('web_fetch', { url }),
      toolUse('mcp__odd__echo', { text: 'hello' }),
    ]),
  () => reply([serve, agent('In a worktree.', { isolation: 'worktree' }), agent('Beside.', { background: true })]),
  (request) =>
    reply([toolUse('bash_output', { id: found(request, /bg-[0-9a-f]{8}/) }), toolUse('wait', { seconds: 1 })]),
  (request) => reply([toolUse('bash_stop', { id: found(request, /bg-[0-9a-f]{8}/) })]),
];

/** Once the end of the agent in the background was told. */
function rest(request: ParsedRequest): Reply {
  if (said(request).includes('"agent_output"')) return reply('Done.');
  if (!said(request).includes('which worked in the background and has ended'))
    return reply([toolUse('wait', { seconds: 1 })]);
  return reply([toolUse('agent_output', { agent: found(request, /agent-[0-9a-f]{16}-2/) })]);
}

function scripted(url: string): (request: ParsedRequest) => Reply {
  return (request) => {
    const turn = request.messages.filter(({ role }) => role === 'assistant').length;
    const first = JSON.stringify(request.messages[0]);
    if (first.includes('In a worktree.')) return turn === 0 ? reply([write]) : reply('Made.');
    if (first.includes('Beside.')) return reply('Beside it.');
    return turns[turn]?.(request, url) ?? rest(request);
  };
}

test('run reaches skills, pages, images, servers, agents and the background (L66 L71 L72 L74 L79 L82 L83 L84 L85 L86)', async () => {
  const place = cliPlace(await modelFor(scripted(await page())));
  initRepository(place.cwd, { 'a.txt': 'a\n' });
  writeFileSync(join(place.cwd, 'dot.png'), pngOf(10, 10));
  const skill = join(place.root, 'skills', 'review');
  mkdirSync(skill, { recursive: true });
  writeFileSync(join(skill, 'SKILL.md'), '---\nname: review\ndescription: Reviews code\n---\nAs review says.\n');
  const config = join(place.root, 'reach.config.mjs');
  const settings = {
    memory: false,
    skills: [join(place.root, 'skills')],
    webFetch: { privateHosts: ['127.0.0.1'] },
    mcpServers: { odd: oddServer() },
  };
  writeFileSync(config, `export default ${JSON.stringify(settings)};`);
  const ran = await place.run('run', '--json', '--permission-mode', 'bypass', '--config', config, 'Reach far.');
  const events = jsonLines(ran.out);
  expect(events.at(-1)).toMatchObject({ type: 'result', reason: 'completed', text: 'Done.' });
  const ends = events.filter(({ type }) => type === 'tool_end');
  expect(ends.filter(({ isError }) => isError)).toEqual([]);
  const outcomes = JSON.stringify(ends.map(({ content }) => content));
  for (const part of [
    'As review says.',
    'It is 42.',
    'hello',
    'Its changes are on branch',
    '1 file changed',
    'Beside it.',
  ])
    expect(outcomes).toContain(part);
  expect(git(place.cwd, 'branch', '--list', 'perdure/*')).toMatch(/perdure\/agent-[0-9a-f]{16}-1/);
  expect(git(place.cwd, 'status', '--short')).toBe('?? dot.png');
});
