// The live channel on files, for one machine. Losing it loses nothing that is stored, so it never
// throws and never waits for the disk: lines go to the page cache, a few at a time, with calls that
// take microseconds.
import { closeSync, mkdirSync, openSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { TextBatch } from '../../system/async.ts';
import type { Log } from '../../system/log.ts';
import { createAttemptReader } from './attempt-reader.ts';
import { BATCH, type LiveFate, type LiveLine, type LiveWriter } from './events.ts';
import { attemptFile, isMissing, listAttempts, sessionFolder } from './files.ts';
import { folderChanges } from './folder-changes.ts';
import { followAttempts, type Live } from './follow.ts';
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
