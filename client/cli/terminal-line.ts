// One line from the person at the terminal. The terminal stays as it is, so that Ctrl-C means what it meant.
import { createInterface } from 'node:readline';

export type ReadLine = (question: string, signal: AbortSignal) => Promise<string | null>;

type Terminal = Pick<NodeJS.Process, 'stdin' | 'stderr'>;

/** Null unless a person can be asked: both are terminals. The line is null when the signal came first, or nothing more comes. */
export function terminalLine({ stdin, stderr }: Terminal): ReadLine | null {
  if (!stdin.isTTY || !stderr.isTTY) return null;
  return (question, signal) => {
    if (signal.aborted) return Promise.resolve(null);
    stderr.write(question);
    const lines = createInterface({ input: stdin, terminal: false });
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
      lines.once('line', end);
      lines.once('close', () => end(null));
    });
  };
}
