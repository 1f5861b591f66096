// A restore that dies at a step of it. The program of a worker is held before it writes anything;
// when the worker is dead, another one takes the same request up to the step, and kills itself
// there.
import { spawnSync } from 'node:child_process';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { RestoreStep } from '../../store/snapshots/restore/restore-folder.ts';

const PROGRAM = join(import.meta.dirname, '../store/snapshots/restore-killed.mjs');

/**
 * Puts a pipe that nothing writes to in the place of what a restore reads before it writes. Returns
 * what puts all back.
 */
export function holdRestore(own: string): () => void {
  const [path, aside] = [join(own, 'others-folders'), join(own, 'others-folders.aside')];
  if (existsSync(path)) renameSync(path, aside);
  expect(spawnSync('mkfifo', [path]).status).toBe(0);
  return () => {
    rmSync(path);
    if (existsSync(aside)) renameSync(aside, path);
  };
}

/** Dies right before the step of that kind with that number, of which the first is 1. */
export function dieAt(request: string, kind: RestoreStep['kind'], number: number): void {
  const { signal } = spawnSync(process.execPath, [PROGRAM, request, kind, String(number)]);
  expect(signal).toBe('SIGKILL');
}
