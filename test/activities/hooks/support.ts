// What the tests of hooks share: a context, a runner, commands made of this Node, and what is left
// of one.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import type { HookContext, HookRunner } from '../../../activities/hooks/hooks.ts';
import type { HookConfig } from '../../../activities/hooks/hook-config.ts';
import { createHookRunner } from '../../../activities/hooks/hook-runner.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { processInfo } from '../../../system/process/proc.ts';
import { tempDir } from '../../support/temp-dir.ts';

export function hookContext(more: Partial<HookContext> = {}): HookContext {
  return {
    session: 's-1' as SessionId,
    queryId: 'chain.1',
    depth: 0,
    iteration: 3,
    cwd: tempDir(),
    signal: new AbortController().signal,
    ...more,
  };
}

export const runner = (config: HookConfig): HookRunner =>
  createHookRunner(config, { env: { PATH: process.env['PATH'] }, folder: tempDir() });

/** A command that runs `script` as a program of Node. */
export const node = (script: string): readonly string[] => [process.execPath, '-e', script];

/** A command that answers `answer`. */
export const answering = (answer: unknown): readonly string[] =>
  node(`console.log(${JSON.stringify(JSON.stringify(answer))})`);

/** A process that was started under this name, as commands of hooks and of tools are. */
export async function processNamed(PERDURE_CALL: string): Promise<{ readonly alive: () => boolean }> {
  const env = { PERDURE_CALL, PATH: process.env['PATH'] };
  const child = spawn('sleep', ['300'], { detached: true, stdio: 'ignore', env });
  await once(child, 'spawn');
  onTestFinished(() => void child.kill('SIGKILL'));
  return { alive: () => processInfo(child.pid ?? 0) !== null };
}
