// What tests of tools share: a workspace folder that goes away, a bench over a store in memory,
// simple tools.
import { mkdtempSync, realpathSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { thisHost, type Host } from '../../system/process/kill-tree.ts';
import * as execute from '../../activities/calls/execute.ts';
import { checkInput } from '../../system/schema/input-schema.ts';
import { createRegistry } from '../../tools/registry.ts';
import { defineTool, type Tool, type ToolContext, type ToolOutput } from '../../tools/tool.ts';
import {
  type ApprovalNeeded,
  CallContext,
  type CallEnvironment,
  type CallRun,
  type DelegationNeeded,
  type EarlyRun,
  type VoidAttempt,
} from '../../activities/calls/call-context.ts';
import type { CallBlock } from '../../activities/calls/call-port.ts';
import { memoryStore } from '../support/memory-store.ts';
import { StoreError, type Store } from '../../store/values/store.ts';
import type { CallKey, SessionId } from '../../workflows/contract/ids.ts';
import { noHooks } from '../support/no-hooks.ts';
import { removeFolder } from '../support/temp-dir.ts';

export type CallDone = execute.CallDone;

export type Executed = CallDone | VoidAttempt | ApprovalNeeded | DelegationNeeded;

/** A fresh folder by real path, removed when the test ends. */
export function tempFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'perdure-test-')));
  onTestFinished(() => removeFolder(folder));
  return folder;
}

/** Attempts of a test share its process and stand for workers that are gone. */
export const workersGone: Host = { ...thisHost(), liveness: () => 'dead' };

export function bench(tools: readonly Tool[], more: Partial<CallEnvironment> = {}): CallEnvironment {
  const { store = memoryStore() } = more;
  return {
    registry: createRegistry(tools),
    hooks: noHooks,
    mode: 'bypass',
    cwd: '/workspace',
    store,
    ofHost: store,
    session: 'session-1' as SessionId,
    host: workersGone,
    queryId: 'query',
    depth: 0,
    ...more,
  };
}

export function request(name: string, input: unknown = {}): CallBlock {
  return { index: 2, id: 'toolu_1', name, input };
}

/** Runs a call under its key. */
export const executeCall = (environment: CallEnvironment, block: CallBlock, run: CallRun) =>
  execute.executeCall(new CallContext(environment, block, { ...run, id: run.key }));

/** Runs a call as while its reply streams. */
export const executeEarly = (environment: CallEnvironment, block: CallBlock, run: EarlyRun) =>
  execute.executeEarly(new CallContext(environment, block, run));

export function callRun(more: Partial<CallRun> = {}): CallRun {
  return {
    key: 'chain.head.2' as CallKey,
    safe: false,
    signal: new AbortController().signal,
    fence: () => Promise.resolve(true),
    mayHaveBegun: false,
    iteration: 1,
    begins: () => undefined,
    progress: () => undefined,
    say: () => undefined,
    ...more,
  };
}

/** Throws unless the call came to an outcome. */
export function done(executed: Executed): CallDone {
  if (executed.kind !== 'done') throw new Error(`no outcome: ${JSON.stringify(executed)}`);
  return executed;
}

/** A store whose first write of an outcome is lost, as when a worker dies just before it. */
export function losingFirstOutcome(store: Store): Store {
  let lost = false;
  return {
    ...store,
    create: async (key, bytes) => {
      if (lost || !key.endsWith('.outcome')) return await store.create(key, bytes);
      lost = true;
      throw new StoreError('unavailable', 'the worker is gone');
    },
  };
}

/** What a tool gets, for calling one without the executor. */
export function toolContext(cwd: string, more: Partial<ToolContext> = {}): ToolContext {
  return {
    cwd,
    dir: cwd,
    signal: new AbortController().signal,
    idempotencyKey: `test-${crypto.randomUUID()}`,
    queryId: 'query',
    depth: 0,
    progress: () => undefined,
    fence: async () => undefined,
    readStored: async () => null,
    spawned: async () => undefined,
    ...more,
  };
}

/**
 * A tool that takes `{text?}` and answers what `call` says; effectful and reported unless told
 * otherwise.
 */
export function simpleTool(
  more: Partial<Tool> & { call?: (input: unknown, context: ToolContext) => Promise<ToolOutput> },
): Tool {
  return {
    ...defineTool({
      name: 'simple',
      description: 'A tool of a test.',
      inputSchema: z.strictObject({ text: z.string().optional() }),
      risk: 'execute',
      recovery: 'report',
      call: async ({ text }) => ({ content: text ?? 'done' }),
    }),
    ...more,
  };
}

/** Pids of living processes whose command line holds `text`. */
export async function processesWith(text: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const line = await readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '');
      return line.includes(text) ? Number(pid) : null;
    }),
  );
  return found.filter((pid) => pid !== null);
}

/** The input as the tool's schema returns it. */
export function inputFor({ inputSchema }: Pick<Tool, 'inputSchema'>, input: unknown): unknown {
  const checked = checkInput(inputSchema, input);
  if (!checked.ok) throw new Error(JSON.stringify(checked.problems));
  return checked.value;
}
