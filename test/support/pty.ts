// A program on a pseudo-terminal, as `script` of util-linux makes one; what it writes is shown on a
// screen that a test can read.
import { spawn } from 'node:child_process';
import { onTestFailed, onTestFinished } from 'vitest';
import { terminalScreen } from './terminal-screen.ts';
import { until } from './until.ts';

export type PtyOptions = {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly columns?: number;
  /** It does not tell its size. */
  readonly tellsNoSize?: true;
};

export function onTerminal(command: readonly string[], { cwd, env, columns = 80, tellsNoSize }: PtyOptions) {
  const quoted = command.map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(' ');
  const size = tellsNoSize === true ? 'cols 0 rows 0' : `cols ${columns} rows 40`;
  const whole = `stty ${size}; ${quoted}; echo "[status $?]"; stty -a | grep -o ' [-]*icanon'`;
  const child = spawn('script', ['-qfec', whole, '/dev/null'], { cwd, env: { TERM: 'xterm-256color', ...env } });
  onTestFinished(() => void child.kill('SIGKILL'));
  const screen = terminalScreen(columns);
  onTestFailed(() => void process.stderr.write(`the terminal showed:\n${screen.lines().join('\n')}\n`));
  let raw = '';
  child.stdout.on('data', (bytes: Buffer) => {
    raw += bytes.toString();
    screen.write(bytes.toString());
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  return {
    lines: screen.lines,
    /** Everything that was written. */
    raw: () => raw,
    type: (text: string) => void child.stdin.write(text),
    /** Waits until a row of the screen holds it. */
    shows: (text: string) => until(() => screen.lines().some((line) => line.includes(text))),
    ended,
  };
}
