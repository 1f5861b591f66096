// The live channel on files, for one machine. Losing it loses nothing that is stored, so it never
// throws and never waits for the disk: lines go to the page cache, a few at a time, with calls that
// take microseconds.
import { closeSync, type FSWatcher, mkdirSync, openSync, unlinkSync, watch, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { TextBatch } from '../../system/async.ts';
import type { Log } from '../../system/log.ts';
import { createAttemptReader } from './attempt-reader.ts';
import { BATCH, type LiveFate, type LiveLine, type LiveWriter } from './events.ts';
import { attemptFile, isMissing, listAttempts, sessionFolder } from './files.ts';
import { type Changes, followAttempts, type Live } from './follow.ts';
import { NOTHING_SAID, peekIn } from './peek.ts';

type FileLiveOptions = {
  readonly dir: string;
  /**
   * Receives one line when the channel goes quiet, and another only after it has worked in between.
   */
  readonly log?: Log;
};

export function fileLive({ dir, log = () => undefined }: FileLiveOptions): Live {
  let warned = false;
  const report: ReportError = (error) => {
    if (!(error instanceof Error)) warned = false;
    else if (!warned) {
      warned = true;
      log('warn', `watchers of running sessions see nothing for now, ${dir} cannot be written: ${error.message}`);
    }
  };
  return {
    open: (header) => {
      const writer = openWriter(attemptFile(sessionFolder(dir, header.session), header), report);
      writer.line({ type: 'header', ...header });
      return { write: writer.line, end: writer.end };
    },
    forgetBefore: async (session, step) => {
      try {
        forgetAttempts(sessionFolder(dir, session), step);
      } catch (error) {
        report(error);
      }
    },
    follow: (session, { signal, from, log: tell = () => undefined }) => {
      const folder = sessionFolder(dir, session);
      const reader = createAttemptReader(folder, tell);
      return followAttempts({ reader, changes: folderChanges(folder, signal), signal, from, log: tell });
    },
    peek: (session) => {
      try {
        return Promise.resolve(peekIn(sessionFolder(dir, session)));
      } catch (error) {
        report(error);
        return Promise.resolve(NOTHING_SAID);
      }
    },
    check: () => Promise.resolve(null),
    close: () => Promise.resolve(),
  };
}

/** Reports an error of the channel; null reports that all is well. */
type ReportError = (error: unknown) => void;

/** Writes nothing after an error: a follower must not see a line without those before it. */
function openWriter(path: string, report: ReportError): { line(line: LiveLine): void; end: LiveWriter['end'] } {
  let state: 'open' | 'quiet' | 'ended' = 'open';
  let descriptor: number | null = null;
  const guarded = (work: () => void): void => {
    if (state !== 'open') return;
    try {
      work();
    } catch (error) {
      state = 'quiet';
      report(error);
    }
  };
  const batch = new TextBatch(BATCH, (text) =>
    guarded(() => {
      descriptor ??= openFile(path);
      writeFileSync(descriptor, text);
    }),
  );
  const line = (value: LiveLine): void => guarded(() => batch.add(`${JSON.stringify(value)}\n`));
  const end = async (fate: LiveFate): Promise<void> => {
    if (state === 'ended') return;
    line(fate);
    batch.flush();
    closeQuietly(descriptor, report);
    if (state === 'open') report(null);
    state = 'ended';
  };
  return { line, end };
}

function closeQuietly(descriptor: number | null, report: ReportError): void {
  try {
    if (descriptor !== null) closeSync(descriptor);
  } catch (error) {
    report(error);
  }
}

/**
 * Truncates a file that exists. An attempt number comes again after a reset of its workflow, and
 * where the end of a call is left to another step (L62): then the words of the first one are void.
 */
function openFile(path: string): number {
  try {
    return openSync(path, 'w', 0o600);
  } catch (error) {
    if (!isMissing(error)) throw error;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return openSync(path, 'w', 0o600);
  }
}

function forgetAttempts(folder: string, step: number): void {
  for (const name of listAttempts(folder)) {
    if (name.step >= step) continue;
    try {
      unlinkSync(attemptFile(folder, name));
    } catch (error) {
      // Another attempt may be forgetting it too.
      if (!isMissing(error)) throw error;
    }
  }
}

// Waits until something may have changed in a folder: watches it where the system can, and looks
// now and then in any case.
/**
 * Milliseconds that a watcher may be late where the system cannot watch: the folder is missing, on
 * a network file system, or watches have run out.
 */
const POLL_MS = 250;
/** A look takes longer the more files there are, and polls take a hundredth of the time. */
const POLL_SHARE = 0.01;
const LONGEST_POLL_MS = 2_000;

/** Elsewhere the system may tell of files in another order than that in which they came. */
const TELLS_IN_ORDER = process.platform === 'linux';

/** Returns changes that resolve when files come, go or grow, and now and then in any case. */
export function folderChanges(folder: string, signal: AbortSignal): Changes {
  let changed = false;
  /** Files that came or went; null: any may have. */
  let names: string[] | null = null;
  let wake: () => void = () => undefined;
  const notice = (event: unknown, name?: unknown): void => {
    changed = true;
    // The system reports a file that grew as a change, one that came or went as a rename.
    if (event !== 'change' && TELLS_IN_ORDER && typeof name === 'string') names?.push(name);
    else if (event !== 'change') names = null;
    wake();
  };
  const watching = watchFolder(folder, notice);
  signal.addEventListener('abort', notice, { once: true });
  return {
    next: async (took) => {
      // Look once more for changes from before the watch began.
      if (watching.ensure()) [changed, names] = [true, null];
      if (!changed && !signal.aborted && !(await waitForWake(pollMs(took), (resolve) => (wake = resolve))))
        names = null;
      const found = names;
      [changed, names] = [false, []];
      return found;
    },
    close: () => {
      signal.removeEventListener('abort', notice);
      watching.drop();
    },
  };
}

type Noticing = (event: unknown, name?: unknown) => void;

/**
 * Watches the folder above until the folder itself exists. `ensure` tells whether a new watch has
 * begun.
 */
function watchFolder(folder: string, changed: Noticing): { ensure(): boolean; drop(): void } {
  let watching: { readonly path: string; readonly watcher: FSWatcher } | null = null;
  const drop = (): void => {
    watching?.watcher.close();
    watching = null;
  };
  const ensure = (): boolean => {
    for (const path of [folder, dirname(folder)]) {
      if (watching?.path === path) return false;
      const watcher = tryWatch(path, changed, drop);
      if (!watcher) continue;
      drop();
      watching = { path, watcher };
      return true;
    }
    return false;
  };
  return { ensure, drop };
}

function pollMs(took: number): number {
  return Math.min(LONGEST_POLL_MS, Math.max(POLL_MS, took / POLL_SHARE));
}

/** Resolves to false when nothing woke it for so many milliseconds. */
async function waitForWake(ms: number, arm: (resolve: () => void) => void): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const woken = await new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
    arm(() => resolve(true));
  });
  clearTimeout(timer);
  return woken;
}

function tryWatch(path: string, changed: Noticing, failed: () => void): FSWatcher | null {
  try {
    return watch(path, { persistent: false }).on('change', changed).on('error', failed);
  } catch {
    // The folder is missing or cannot be watched: the poll sees what the watch would have.
    return null;
  }
}
