// What the tests of hooks share: a context, a runner, and commands made of this Node.
import type { HookConfig } from '../../activities/hooks/hook-config.ts';
import { hookRunner } from '../../activities/hooks/hook-runner.ts';
import type { HookContext, HookRunner } from '../../activities/hooks/hooks.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { tempDir } from '../support/temp-dir.ts';

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

export const runner = (config: HookConfig): HookRunner => hookRunner(config, { env: { PATH: process.env['PATH'] } });

/** A command that runs `script` as a program of Node. */
export const node = (script: string): readonly string[] => [process.execPath, '-e', script];

/** A command that answers `answer`. */
export const answering = (answer: unknown): readonly string[] =>
  node(`console.log(${JSON.stringify(JSON.stringify(answer))})`);
