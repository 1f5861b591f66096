// A worker is killed beside calls: while it makes the context smaller, in a hook, or while a call
// waits for approval.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { notesFolder, readNotes } from '../../../activities/memory/notes.ts';
import { processInfo } from '../../../system/process/proc.ts';
import {
  fault,
  gate,
  reply,
  text,
  toolUse,
  type ParsedRequest,
  type Reply,
  type ReplyUsage,
} from '../../../scripted-model/index.ts';
import type { PendingApproval, RunOptions } from '../../../workflows/contract/session.ts';
import { asksForSummary } from '../../support/asks-for-summary.ts';
import { decidePatiently } from '../../support/crash-harness.ts';
import type { KilledCase, KilledPlace } from '../../support/killed-together.ts';
import { until } from '../../support/until.ts';

const inContext = (tokens: number): ReplyUsage => {
  return { input_tokens: tokens, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
};

/**
 * Reads a large file four times; what the API counts then makes the session stage or compact. Each
 * stretch names its case.
 */
function reading(tokens: number, small: (n: number) => Reply): (request: ParsedRequest) => Reply {
  let reads = 0;
  let asked = 0;
  return (request) => {
    if (asksForSummary(request)) return small((asked += 1));
    reads += 1;
    const [name = ''] = /\bcase-\d+\b/.exec(JSON.stringify(request)) ?? [];
    const look = [text(`I read for ${name}.`), toolUse('read', { path: 'large.txt' })];
    return reads <= 4 ? reply(look, reads === 4 ? { usage: inContext(tokens) } : {}) : reply('Done.');
  };
}

type Smaller = {
  readonly tokens: number;
  readonly kind: 'boundary' | 'collapse_staged';
  readonly count: number;
  readonly run?: Partial<RunOptions>;
};

function makingSmaller(name: string, { tokens, kind, count, run = {} }: Smaller): KilledCase {
  const held = gate();
  const dies = { ...reply('This attempt dies.'), hold: held.hold, holdAfterEvent: 2 };
  return {
    name,
    script: reading(tokens, (n) => (n === 1 ? dies : reply('The file was read.'))),
    play: async (h) => {
      const session = await h.open(run);
      await until(() => h.bodies().some(asksForSummary));
      await h.died();
      await h.replaced();
      expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 5 });
      held.release();
      const entries = await session.entries();
      expect(entries.filter((entry) => entry.kind === kind)).toHaveLength(count);
      expect(JSON.stringify(entries)).not.toContain('This attempt dies.');
    },
  };
}

const stopHook: KilledCase = {
  name: 'in a hook: the hook runs again elsewhere, and its answer counts once (L30)',
  script: [reply('Done.'), reply('Done again.')],
  play: async (h) => {
    writeFileSync(join(h.cwd, 'asks-again'), '');
    const session = await h.open();
    await until(() => h.lines('hooks.log').length > 0);
    await h.died();
    writeFileSync(join(h.cwd, 'go'), '');
    await h.replaced();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, iterations: 2 });
    expect(h.lines('hooks.log')).toEqual(['ran', 'ran', 'ran']);
  },
};

/**
 * In a run whose hook for `marker` hangs: `alive` are its processes, its command and what has left
 * the session of this.
 */
async function hangingHook(h: KilledPlace, marker: string, run: Partial<RunOptions> = {}) {
  writeFileSync(join(h.cwd, marker), '');
  const session = await h.open(run);
  const path = join(h.cwd, 'pids');
  await until(() => existsSync(path));
  const pids = readFileSync(path, 'utf8').trim().split(' ').map(Number);
  const [, other = 0] = pids;
  await until(() => processInfo(other)?.session === other);
  const alive = (): readonly number[] => pids.filter((pid) => processInfo(pid) !== null);
  onTestFinished(() => alive().forEach((pid) => process.kill(pid, 'SIGKILL')));
  expect(alive()).toHaveLength(2);
  return { session, alive };
}

const hookCommand = (name: string, marker: string): KilledCase => ({
  name,
  script: [reply('Done.')],
  play: async (h) => {
    const { session, alive } = await hangingHook(h, marker);
    await h.died();
    // The command ends with its worker; the rest is found by the next one.
    await until(() => alive().length === 1);
    await h.replaced();
    await until(() => alive().length === 0);
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  },
});

const waitingCall: KilledCase = {
  name: 'while a call waits for approval: it is decided without any worker of before, and the effect happens once (L55)',
  script: [reply([toolUse('bash', { command: 'echo effect >> effects.log' })]), fault({ status: 529 }), reply('Done.')],
  play: async (h) => {
    const session = await h.open({ permissionMode: 'default' });
    const waiting = (): Promise<PendingApproval> => until(async () => (await session.memo())?.approvals?.[0] ?? null);
    const { call: name, inputHash } = await waiting();
    await h.died();
    await h.replaced();
    expect((await waiting()).call).toBe(name);
    expect(h.effects()).toEqual([]);
    await decidePatiently(h.client, session, 'approve', { call: name, inputHash });
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
    expect(h.effects()).toEqual(['effect']);
  },
};

const toldWait: KilledCase = {
  name: 'while its wait is told to a hook: the hook is told again, nothing of it is left, and the call is decided once (O17 L55)',
  script: [reply([toolUse('bash', { command: 'echo effect >> effects.log' })]), reply('Done.')],
  play: async (h) => {
    const hung = await hangingHook(h, 'hangs-at-wait', { permissionMode: 'default' });
    const { session } = hung;
    await h.died();
    await h.replaced();
    await until(() => hung.alive().length === 0);
    const { call, inputHash } = await until(async () => (await session.memo())?.approvals?.[0] ?? null);
    await until(() => h.lines('told.log').length === 2);
    await decidePatiently(h.client, session, 'approve', { call, inputHash });
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
    expect(h.lines('told.log')).toHaveLength(2);
    expect(h.effects()).toEqual(['effect']);
  },
};

const openQuestion: KilledCase = {
  name: 'while a question waits: it is answered without any worker of before, once, and keeps its deadline (L81)',
  script: [reply([toolUse('ask_user', { question: 'Which colour?' })]), fault({ status: 529 }), reply('Done.')],
  play: async (h) => {
    const session = await h.open();
    const waiting = (): Promise<PendingApproval> => until(async () => (await session.memo())?.approvals?.[0] ?? null);
    const asked = await waiting();
    await h.died();
    await h.replaced();
    expect(await waiting()).toEqual(asked);
    await decidePatiently(h.client, session, 'answer', {
      call: asked.call,
      body: { kind: 'text', text: 'green' },
      by: 'ann',
    });
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
    expect(JSON.stringify(h.bodies().at(-1))).toContain('The user answered: green');
  },
};

function makingNote(): KilledCase {
  const held = gate();
  let asked = 0;
  const dies = { ...reply('# This attempt dies'), hold: held.hold, holdAfterEvent: 2 };
  return {
    name: 'while a note is made of a run: another worker makes it, once (L56 L80)',
    script: (request) => (asksForSummary(request) ? ((asked += 1) === 1 ? dies : reply('# Kept')) : reply('Done.')),
    play: async (h) => {
      const session = await h.open({ memory: true });
      const folder = notesFolder(join(dirname(h.storePlace), 'data'), h.cwd);
      await until(() => h.bodies().some(asksForSummary));
      await h.died();
      expect(existsSync(folder)).toBe(false);
      await h.replaced();
      await until(() => existsSync(folder) && readdirSync(folder).some((name) => name.endsWith('.md')));
      held.release();
      await session.handle.cancel();
      await until(async () => (await session.handle.describe()).status.name === 'CANCELLED');
      expect((await readNotes(folder)).map((note) => note.text)).toEqual(['# Kept']);
      expect(h.bodies().filter(asksForSummary)).toHaveLength(2);
    },
  };
}

export const besideCallCases: readonly KilledCase[] = [
  makingSmaller('in a compaction: nothing of it is stored, and the next worker compacts once (L10)', {
    tokens: 26_000,
    kind: 'boundary',
    count: 1,
  }),
  makingSmaller('while it stages: nothing of it is stored, and the next worker stages (L9)', {
    tokens: 19_500,
    kind: 'collapse_staged',
    count: 2,
    // A model whose thinking is bound to what came before stages nothing.
    run: { model: 'claude-sonnet-5' },
  }),
  makingNote(),
  stopHook,
  openQuestion,
  toldWait,
  hookCommand('in a stop hook: the processes of its command do not outlive it for long (L21 L30)', 'hangs-at-stop'),
  hookCommand('in a postSampling hook: the processes of its command do not outlive it for long (L21 L30)', 'hangs'),
  waitingCall,
];
