// Finds the processes that a run of the tests has started and that outlive it. Linux alone tells of them (/proc): elsewhere none is found.
// The product gives what it starts an environment from allow-lists, so that no variable of a run's own arrives there. But all that a test
// makes lies in the run's temporary folder, if it has one (TMPDIR): what works there names it in its environment, arguments or working folder.
import { readFileSync, readlinkSync } from 'node:fs';
import { allProcesses } from '../../activities/process/proc.ts';

export type SeenProcess = {
  readonly pid: number;
  readonly parent: number;
  /** Its arguments, with blanks between them. */
  readonly line: string;
  /** What it was started with: `NAME=value`, separated by NUL. */
  readonly environment: string;
  readonly cwd: string;
};

/** `own`: the process that asks. It and those above it are no part of what it has started. */
export function ofRun(folder: string, seen: readonly SeenProcess[], own: number): readonly SeenProcess[] {
  const parents = new Map(seen.map(({ pid, parent }) => [pid, parent]));
  const above = new Set<number>();
  for (let pid: number | undefined = own; pid !== undefined && !above.has(pid); pid = parents.get(pid)) above.add(pid);
  return seen.filter(
    (one) => !above.has(one.pid) && [one.environment, one.line, one.cwd].some((text) => text.includes(folder)),
  );
}

export function seeProcesses(): readonly SeenProcess[] {
  return allProcesses().map(({ pid, parent }) => ({
    pid,
    parent,
    line: orEmpty(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()),
    environment: orEmpty(() => readFileSync(`/proc/${pid}/environ`, 'utf8')),
    cwd: orEmpty(() => readlinkSync(`/proc/${pid}/cwd`)),
  }));
}

/** It has ended meanwhile, or belongs to someone else. */
function orEmpty(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}

/** Only where something is left are they waited for: what was killed as the last thing of a run is gone in a moment. */
const PATIENCE_MS = 60_000;
const POLL_MS = 50;

/**
 * What is left when the run is over, a line each, at most after a minute. Blocks: it is for the `exit` of the process that started the run, when
 * servers of whole tiers have been stopped as well.
 */
export function leftOver(folder: string): readonly string[] {
  const rest = new Int32Array(new SharedArrayBuffer(4));
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const left = ofRun(folder, seeProcesses(), process.pid);
    if (left.length === 0 || performance.now() > deadline)
      return left.map(
        ({ pid, parent, line }) => `process ${pid} (parent ${parent}) is left over: ${line.slice(0, 300)}`,
      );
    Atomics.wait(rest, 0, 0, POLL_MS);
  }
}
