// A worker is killed in the middle of a tool: the effect happened once, and another worker finds
// out about it.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { gate, reply, text, toolUse } from '../../../scripted-model/index.ts';
import type { RunOptions } from '../../../workflows/contract/session.ts';
import { outcomes } from '../../support/agents.ts';
import { crashHarness } from '../../support/crash-harness.ts';
import type { KilledCase } from '../../support/killed-together.ts';
import { processesOf } from '../../support/processes.ts';
import { until } from '../../support/until.ts';

const effect = (then: string) => toolUse('bash', { command: `echo effect >> effects.log; ${then}` });

const inATool: KilledCase = {
  name: 'in a tool: the effect happened once, its outcome is unknown, and another worker finishes the run (L40)',
  script: [reply([effect('sleep 60')]), reply('I will check.')],
  play: async (h) => {
    const session = await h.open();
    await until(() => h.effects().length > 0);
    await h.died();
    await h.replaced();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
    expect(h.effects()).toEqual(['effect']);
    expect(JSON.stringify(h.bodies()[1])).toMatch(/outcome unknown/i);
  },
};

const interrupted = (name: string, run: Partial<RunOptions>): KilledCase => ({
  name,
  script: [reply([text('I begin.'), effect('sleep 60')])],
  play: async (h) => {
    const session = await h.open(run);
    const watching = h.follow(session);
    await until(() => h.effects().length > 0);
    await h.died();
    await session.interrupt();
    await h.replaced();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_tools', by: 'interrupt' }, turns: 1 });
    const entries = await session.entries();
    expect(entries.filter(({ kind }) => kind === 'reply')).toHaveLength(1);
    expect(entries.find(({ kind }) => kind === 'outcomes')).toMatchObject({
      outcomes: [{ content: expect.stringContaining('outcome unknown') as string, log: { outcome: 'unknown' } }],
    });
    expect(h.effects()).toEqual(['effect']);
    expect(processesOf(h.cwd)).toEqual([]);
    expect(h.bodies()).toHaveLength(1);
    await watching.converges();
    await h.follow(session).converges();
  },
});

const early = [toolUse('read', { path: 'a.txt' }, 'toolu_1'), text('and so on')];
const heldEarly = gate();

const safeCall: KilledCase = {
  name: 'a safe call that had run early runs again with the next attempt, and has one outcome (L37 L40)',
  script: [reply(early, { hold: heldEarly.hold, holdAfterEvent: 7 }), reply(early), reply('Done.')],
  play: async (h) => {
    const session = await h.open();
    const watching = h.follow(session);
    await until(() => h.liveText(session.id).includes('tool_end'));
    await h.died();
    writeFileSync(join(h.cwd, 'a.txt'), 'hello again\n');
    await h.replaced();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    heldEarly.release();
    expect(h.bodies().at(-1)?.messages.at(-1)).toMatchObject({
      content: [{ content: expect.stringContaining('hello again') as string }],
    });
    expect(await outcomes(session)).toHaveLength(1);
    await watching.converges();
  },
};

/** Its first request is never answered. */
const slowPage = { url: '', asked: 0 };

async function servePage(): Promise<void> {
  const server = createServer((_request, response) => {
    slowPage.asked += 1;
    if (slowPage.asked > 1) response.setHeader('content-type', 'text/plain').end('It rains in Oslo.');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => server.closeAllConnections());
  onTestFinished(() => void server.close());
  slowPage.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const fetchedPage: KilledCase = {
  name: 'while a page of the web is fetched: it is fetched again, and has one outcome (L40 L86)',
  script: ({ messages }) =>
    messages.length === 1 ? reply([toolUse('web_fetch', { url: slowPage.url })]) : reply('It rains.'),
  play: async (h) => {
    await servePage();
    const session = await h.open();
    await until(() => slowPage.asked === 1);
    await h.died();
    await h.replaced();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
    expect(slowPage.asked).toBe(2);
    expect(await outcomes(session)).toMatchObject([
      { content: expect.stringContaining('It rains in Oslo.') as string },
    ]);
  },
};

const heldReply = gate();

const ownQueue: KilledCase = {
  name: 'a call of a dead worker is taken over once, by a worker of its own task queue (L3 L50)',
  script: [reply('Dies.', { hold: heldReply.hold, holdAfterEvent: 4 }), reply('Done.')],
  play: async (h) => {
    const session = await h.open();
    await until(() => h.bodies().length === 1);
    await h.died();
    const stranger = await crashHarness({ script: [] });
    const other = await stranger.worker();
    const { raw } = await h.client.workflow.getHandle(session.id).describe();
    expect(raw.pendingActivities).toMatchObject([{ attempt: 1, lastFailure: null }]);
    await h.replaced();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    heldReply.release();
    expect(h.bodies()).toHaveLength(2);
    await other.kill();
  },
};

export const inToolCases: readonly KilledCase[] = [
  inATool,
  interrupted(
    'in a tool that ran with its reply: interrupted, its outcome is unknown, and nothing of it is left (L39 L40 L47 L48)',
    {},
  ),
  interrupted(
    'in a tool that ran the regular way: interrupted, its outcome is unknown, and nothing is left (L39 L40 L47 L48)',
    { maxTokens: 1_000_000 },
  ),
  safeCall,
  fetchedPage,
  ownQueue,
];
