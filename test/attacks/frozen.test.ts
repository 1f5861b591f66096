// A worker frozen (SIGSTOP) between the start of a call and its effect, which comes back (SIGCONT)
// when its work was given to another on the same machine: the effect happens once at most. The
// cases wait for the same 30 s, so they wait together.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createBashTool } from '../../tools/builtin/bash.ts';
import { findClaim } from '../../activities/calls/journal.ts';
import { probeSandbox } from '../../tools/sandbox.ts';
import { Superseded } from '../../tools/tool.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { UPDATES } from '../../workflows/contract/session.ts';
import { crashHarness } from '../support/crash-harness.ts';
import { until } from '../support/until.ts';
import {
  executeCall,
  bench,
  callRun,
  processesWith,
  request,
  simpleTool,
  tempFolder,
  toolContext,
} from '../tools/support.ts';

const configFile = new URL('../support/crash-config.mjs', import.meta.url).href;

/** Frozen before its effect; `then` what is said when the other worker has found the call. */
async function frozenIn(tool: 'deliver_verify' | 'deliver_ask') {
  const h = await crashHarness({ script: [reply([toolUse(tool, { hangs: 'before' })]), reply('Done.')], configFile });
  const first = await h.worker();
  const session = await h.open('Deliver it.', { permissionMode: 'default', permissions: { allow: [tool] } });
  await until(() => h.lines('starts.log').length === 1);
  process.kill(first.pid, 'SIGSTOP');
  writeFileSync(join(h.cwd, 'answer'), '');
  const second = await h.worker();
  const asked = async () => until(async () => (await session.memo())?.approvals?.[0]);
  const thaws = async (): Promise<void> => {
    writeFileSync(join(h.cwd, 'go'), '');
    process.kill(first.pid, 'SIGCONT');
    await first.drain();
    await second.kill();
  };
  return { h, session, asked, thaws };
}

test('a check that finds nothing done does not run a call again whose worker is only frozen, and a person is told of it (L40)', async () => {
  const [verified, asking] = await Promise.all([frozenIn('deliver_verify'), frozenIn('deliver_ask')]);
  const { session, asked } = asking;
  const { call, reason } = await asked();
  expect(reason).toMatch(
    /the worker that started it \(process \d+\) is not known to be gone and may yet go on with it; allow to/,
  );
  await session.handle.executeUpdate(UPDATES.deny, { args: [{ call, reason: 'wait for it' }] });
  for (const { h, session: one, thaws } of [verified, asking]) {
    expect(await one.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    expect(JSON.stringify(h.bodies()[1]?.messages.at(-1))).toContain('outcome unknown');
    await thaws();
    expect(h.lines('starts.log')).toHaveLength(1);
    expect(h.effects().length).toBeLessThanOrEqual(1);
  }
  const told = JSON.stringify(verified.h.bodies()[1]?.messages.at(-1));
  expect(told).toMatch(/Its check found nothing done, but the worker that started it .* is not known to be gone/);
});

test('an attempt that finds itself given up claims nothing, calls no tool and starts no process (L40 L50)', async () => {
  const ran: unknown[] = [];
  const shared = bench([simpleTool({ call: async (input) => (ran.push(input), { content: '' }) })]);
  const call = { session: shared.session, key: callRun().key };
  const answers = (...current: readonly boolean[]) => {
    let asked = 0;
    return () => Promise.resolve(current[asked++] ?? false);
  };
  const run = (...current: readonly boolean[]) =>
    executeCall(shared, request('simple'), callRun({ fence: answers(...current) }));
  expect(await run(false)).toEqual({ kind: 'void', cause: 'superseded' });
  expect(await findClaim(shared.store, call)).toBeNull();
  // Between its claim and its call: what it leaves says that the tool was not called.
  expect(await run(true, false)).toMatchObject({ kind: 'void', cause: 'superseded' });
  expect(await findClaim(shared.store, call)).toMatchObject({ stopped: { began: false } });
  expect(ran).toEqual([]);
  // Nor does it say what became of a call that another may be running.
  expect(await run(false)).toEqual({ kind: 'void', cause: 'superseded' });

  const bash = createBashTool({ sandbox: await probeSandbox({ kinds: ['group'], unconfined: true }) });
  const seconds = `${600 + process.pid / 1e7}`;
  const late = { ...toolContext(tempFolder()), fence: () => Promise.reject(new Superseded()) };
  await expect(bash.call({ command: `sleep ${seconds}` }, late)).rejects.toThrow(Superseded);
  expect(await processesWith(`sleep ${seconds}`)).toEqual([]);
});
