// The options of a run that say what the model is told and offered: an appended system prompt, and
// some of the worker's tools (L57).
import { expect, test } from 'vitest';
import { openRun } from '../../activities/run/open-run.ts';
import type { RunOptions } from '../../workflows/contract/session.ts';
import { benchDeps, fakeAttempt } from '../support/bench-deps.ts';
import { tempDir } from '../support/temp-dir.ts';
import { simpleTool } from '../tools/support.ts';

async function opened(options: Partial<RunOptions>) {
  const bench = await benchDeps({ script: [], tools: ['bash', 'read'].map((name) => simpleTool({ name })) });
  const given = { cwd: tempDir(), ...options };
  const result = await openRun(bench.deps)(fakeAttempt(), { chain: 'c', run: 2, step: 9, options: given });
  const config = result.kind === 'opened' ? await bench.deps.config(result.config) : undefined;
  return { result, config };
}

test('an appended system prompt follows the one that is given, or the worker’s own (L57 L58)', async () => {
  const own = await opened({ appendSystemPrompt: 'Answer in French.' });
  expect(own.config?.system).toMatch(/using the tools you are given[^]*\n\nAnswer in French\.\n\nWorkspace: /);
  const both = await opened({ systemPrompt: 'You are a poet.', appendSystemPrompt: 'Answer in French.' });
  expect(both.config?.system).toMatch(/^You are a poet\.\n\nAnswer in French\.\n\nWorkspace: /);
});

test('a run keeps the tools that it was opened with by name (L57)', async () => {
  expect((await opened({ tools: ['read'] })).config).toMatchObject({ tools: ['read'] });
  expect((await opened({})).config).not.toHaveProperty('tools');
});

test('a run keeps the variables for tools that it was opened with, and does not tell the model (L57)', async () => {
  const { config } = await opened({ toolEnv: { REGION: 'canary-north' } });
  expect(config?.toolEnv).toEqual({ REGION: 'canary-north' });
  expect(config?.system).not.toMatch(/REGION|canary/);
  expect((await opened({ toolEnv: { LD_PRELOAD: 'x' } })).result.kind).toBe('refused');
});

test('a tool that the worker does not have is refused with the one that was meant (L57)', async () => {
  const { result } = await opened({ tools: ['read', 'bsh'] });
  const detail = 'this worker has no tool "bsh": did you mean bash? (there are bash, read)';
  expect(result).toEqual({ kind: 'refused', detail, alerts: [] });
});

test.each([[{ tools: 'read' }], [{ tools: [7] }], [{ appendSystemPrompt: 7 }]])(
  '%j is refused (L57)',
  async (options) => {
    expect((await opened(options as never)).result.kind).toBe('refused');
  },
);
