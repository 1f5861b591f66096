// What a worker's configuration adds to a run, on a real server: tools that come and go and change
// what follows, attachments, and the run's name as its parts are told it.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { processInfo } from '../../system/process/proc.ts';
import { defineTool, type Tool } from '../../tools/tool.ts';
import { reply, toolUse, type ParsedRequest, type Reply } from '../../scripted-model/index.ts';
import { defaultHandover, UPDATES, type PendingApproval } from '../../workflows/contract/session.ts';
import { harness, type OpenSession } from '../support/harness.ts';
import { newestTold as told, offered } from '../support/offered.ts';
import { until } from '../support/until.ts';

const readA = toolUse('read', { path: 'a.txt' });

function simple(name: string, call: Tool['call']): Tool {
  return defineTool({
    name,
    description: `Does ${name}.`,
    inputSchema: z.strictObject({}),
    risk: 'write',
    recovery: 'rerun',
    call,
  });
}

describe('tools of the configuration', () => {
  test('one that comes is offered from the next iteration on, and one that went is told to be gone and refused (L44)', async () => {
    let here = false;
    const later = simple('later', () => Promise.resolve({ content: 'It ran.' }));
    const script = (_request: ParsedRequest, n: number): Reply => {
      if (n === 1) here = true;
      if (n === 3) here = false;
      return [reply([readA]), reply([toolUse('later', {})]), reply([readA])][n - 1] ?? ended(n);
    };
    const ended = (n: number): Reply => (n === 4 ? reply([toolUse('later', {})]) : reply('Done.'));
    const h = await harness({ script, worker: { config: { tools: () => (here ? [later] : []) } } });
    writeFileSync(join(h.cwd, 'a.txt'), 'hello');
    const session = await h.open('Go.');
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 5 });
    const bodies = h.bodies();
    expect(bodies.map((body) => offered(body).includes('later'))).toEqual([false, true, true, false, false]);
    expect(told(bodies[2])).toContain('It ran.');
    expect(told(bodies[3])).toContain('"type":"tool_removal"');
    expect(told(bodies[4])).toMatch(/"is_error":true.*later|later.*"is_error":true/);
  });

  test('what one modifies holds for the calls after it, also of later turns and after a handover (L4 L38)', async () => {
    const modify = { cwd: 'sub', allowedTools: ['read', 'enter'] };
    const enter = simple('enter', () => Promise.resolve({ content: 'Entered.', modify }));
    const write = toolUse('bash', { command: 'touch made' });
    const h = await harness({
      script: [reply([readA, toolUse('enter', {}), readA, write]), reply([readA]), reply('Done.')],
      worker: { config: { tools: [enter] } },
      handover: { ...defaultHandover, iterations: 1 },
    });
    mkdirSync(join(h.cwd, 'sub'));
    writeFileSync(join(h.cwd, 'a.txt'), 'of the root');
    writeFileSync(join(h.cwd, 'sub', 'a.txt'), 'of the folder');
    const session = await h.open('Go.');
    await session.ended(1);
    const [first, second, third] = h.bodies();
    expect(second?.messages.at(-2)?.content).toMatchObject([
      { content: expect.stringContaining('of the root') },
      { content: expect.stringContaining('Entered.') },
      { content: expect.stringContaining('of the folder') },
      { is_error: true, content: expect.stringContaining('enter') },
    ]);
    expect(offered(second)).toEqual(['enter', 'read']);
    expect(third?.messages.at(-1)?.content).toMatchObject([{ content: expect.stringContaining('of the folder') }]);
    expect(offered(first)).toContain('bash');
    expect(third?.tools).toEqual(first?.tools);
  });
});

describe('what is attached', () => {
  test('outcomes come first, then queued messages, then files changed by others; a provider’s facts are told once (L43)', async () => {
    const opened: { session?: OpenSession } = {};
    const script = async (_request: ParsedRequest, n: number): Promise<Reply> => {
      if (n === 1) return reply([readA]);
      if (n > 2) return reply('Done.');
      writeFileSync(join(h.cwd, 'a.txt'), 'changed by someone else');
      await opened.session?.send('And then?');
      return reply([toolUse('glob', { pattern: '*' })]);
    };
    let ready = '';
    const memory = { name: 'memory', collect: () => (ready === '' ? null : ready) };
    const h = await harness({ script, worker: { config: { attachments: [memory] } } });
    writeFileSync(join(h.cwd, 'a.txt'), 'hello');
    ready = 'The user likes tables.';
    opened.session = await h.open('Go.');
    await opened.session.ended(1);
    const last = told(h.bodies()[2]);
    const order = ['tool_result', 'And then?', 'a.txt'].map((part) => last.lastIndexOf(part));
    expect(order.every((at, n) => at > (order[n - 1] ?? -1))).toBe(true);
    const all = JSON.stringify(h.bodies()[2]?.messages);
    expect(all.split('The user likes tables.')).toHaveLength(2);
    const notices = (await opened.session.entries()).flatMap((entry) =>
      entry.kind === 'notice' ? [entry.notice] : [],
    );
    expect(notices).toMatchObject([
      { kind: 'attachment', source: 'memory', text: '> The user likes tables.' },
      { kind: 'files_changed', paths: ['a.txt'] },
    ]);
  });
});

describe('instructions of a workspace', () => {
  const script = [reply([readA]), reply([toolUse('read', { path: 'sub/b.txt' })]), reply([readA]), reply('Done.')];
  const files = { 'AGENTS.md': 'Use tabs.', 'a.txt': 'a', 'sub/AGENTS.md': 'Here, use spaces.', 'sub/b.txt': 'b' };
  const fill = (cwd: string): void => {
    mkdirSync(join(cwd, 'sub'));
    for (const [name, content] of Object.entries(files)) writeFileSync(join(cwd, name), content);
  };
  const times = (body: unknown, words: string): number => JSON.stringify(body).split(words).length - 1;

  test('are told once, those of a folder when a file of it was read, also with a handover at every iteration (L78)', async () => {
    const h = await harness({ script, handover: { ...defaultHandover, iterations: 1 } });
    fill(h.cwd);
    const session = await h.open('Go.');
    await session.ended(1);
    expect(h.bodies().map((body) => times(body.messages, 'Use tabs.'))).toEqual([1, 1, 1, 1]);
    expect(h.bodies().map((body) => times(body.messages, 'Here, use spaces.'))).toEqual([0, 0, 1, 1]);
    expect(JSON.stringify(h.bodies()[0]?.system)).not.toContain('Use tabs.');
  });

  test('are not told in a run that is opened with `instructions: false` (L78)', async () => {
    const h = await harness({ script: [reply('Done.')] });
    fill(h.cwd);
    const session = await h.open('Go.', { instructions: false });
    await session.ended(1);
    expect(times(h.bodies()[0]?.messages, 'Use tabs.')).toBe(0);
  });
});

describe('a run', () => {
  test('has one query id and depth for its tools, hooks, providers, handlers and watchers (L13)', async () => {
    const seen: (readonly [string, string, number])[] = [];
    type Run = { readonly queryId: string; readonly depth: number };
    const hear = (who: string) => (given: Run) => {
      seen.push([who, given.queryId, given.depth]);
    };
    const hook = (who: string) => [hear(who)];
    const spy = simple('spy', async (_input, context) => (hear('tool')(context), { content: 'seen' }));
    const config = {
      tools: [spy],
      hooks: {
        sessionStart: hook('sessionStart'),
        promptSubmitted: hook('promptSubmitted'),
        preTool: hook('preTool'),
        postTool: hook('postTool'),
        stop: hook('stop'),
        postSampling: hook('postSampling'),
      },
      attachments: [{ name: 'memory', collect: (given: Run) => (hear('provider')(given), null) }],
      afterStop: [{ name: 'after', timeoutMs: 10_000, run: async (given: Run) => hear('handler')(given) }],
    };
    const h = await harness({ script: [reply([toolUse('spy', {})]), reply('Done.')], worker: { config } });
    const session = await h.open('Go.');
    await session.ended(1);
    await until(() => seen.some(([who]) => who === 'handler'));
    const names = [
      'sessionStart',
      'promptSubmitted',
      'preTool',
      'tool',
      'postTool',
      'stop',
      'postSampling',
      'postSampling',
      'provider',
      'handler',
    ];
    expect(new Set(seen.map(([who]) => who))).toEqual(new Set(names));
    const [[, queryId] = ['', '']] = seen;
    expect(queryId).toMatch(/\.1$/);
    for (const [, id, depth] of seen) expect([id, depth]).toEqual([queryId, 0]);
    expect(h.liveText(session.id)).toContain(`"run_start","run":1,"queryId":"${queryId}","depth":0`);
  });
});

describe('a worker that stops in a program that lives on', () => {
  test('ends the commands that nobody waits for (L21)', async () => {
    const command = 'echo $$ > new; mv new pid; sleep 300';
    const config = { hooks: { postSampling: [{ command }] } };
    const h = await harness({ script: [reply('Done.')], worker: { config } });
    const session = await h.open('Go.');
    await session.ended(1);
    const path = join(h.cwd, 'pid');
    await until(() => existsSync(path));
    await h.worker.stop();
    expect(processInfo(Number(readFileSync(path, 'utf8')))).toBeNull();
  });
});

test('a run waits for a worker with the hooks that it was opened with (L33 L57)', async () => {
  const guard = { name: 'guard', run: () => undefined };
  const h = await harness({
    script: [reply([toolUse('bash', { command: 'touch made' })]), reply('Done.')],
    worker: { config: { hooks: { preTool: [guard] } } },
  });
  const session = await h.open('Go.', { permissionMode: 'default' });
  const [{ call, inputHash }] = await until(async () => (await session.memo())?.approvals as [PendingApproval]);
  await h.worker.stop();
  const unguarded = await h.startWorker({ config: {} });
  await session.handle.executeUpdate(UPDATES.approve, { args: [{ call, inputHash }] });
  const waiting = await until(session.lastFailure);
  expect(waiting).toContain('lacks hooks that the run was begun with (preTool guard)');
  await unguarded.stop();
  expect(existsSync(join(h.cwd, 'made'))).toBe(false);
  const guarded = await h.startWorker();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(existsSync(join(h.cwd, 'made'))).toBe(true);
  await guarded.stop();
});
