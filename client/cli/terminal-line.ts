// One line from the person at the terminal. The terminal stays as it is, so that Ctrl-C means what it meant.
import { createInterface } from 'node:readline';

export type ReadLine = (question: string, signal: AbortSignal) => Promise<string | null>;

/** Milliseconds. What was typed before there was a question is at hand at once, and is no answer to it. */
const EARLY_MS = 150;

type Terminal = Pick<NodeJS.Process, 'stdin' | 'stderr'>;

/** Null unless a person can be asked: both are terminals. The line is null when the signal came first, or nothing more comes. */
export function terminalLine({ stdin, stderr }: Terminal): ReadLine | null {
  if (!stdin.isTTY || !stderr.isTTY) return null;
  return (question, signal) => {
    if (signal.aborted) return Promise.resolve(null);
    stderr.write(question);
    const lines = createInterface({ input: stdin, terminal: false });
    let listening = false;
    // Timers come before input: what lay there is read between the two.
    setTimeout(() => setImmediate(() => (listening = true)), EARLY_MS);
    return new Promise((resolve) => {
      const end = (line: string | null): void => {
        signal.removeEventListener('abort', stop);
        resolve(line);
        lines.close();
      };
      const stop = (): void => {
        stderr.write('\n');
        end(null);
      };
      signal.addEventListener('abort', stop, { once: true });
      lines.on('line', (line) => void (listening && end(line)));
      lines.once('close', () => end(null));
    });
  };
}
