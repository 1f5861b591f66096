// Runs a command that the person in a chat typed behind an exclamation mark: as that person, in the
// workspace. The model sees nothing of it until the person sends the next message, which takes its
// output along.
import { spawn } from 'node:child_process';
import type { Env } from '../../connection/data-folder.ts';
import { showUnseen } from '../../system/text.ts';

export type ShellRun = { readonly command: string; readonly output: string; readonly status: number | null };

/** Most characters of output that are kept: the end, which says how it went. */
const KEPT = 16_000;

type ShellPlace = {
  readonly cwd: string;
  readonly env: Env;
  /** Ends the command and what it started. */
  readonly signal: AbortSignal;
  /** Gets output as it comes. */
  readonly show: (text: string) => void;
};

/**
 * It has no terminal: what it would ask for, it cannot read. Throws when no shell can be started.
 */
export function runShellLine(command: string, { cwd, env, signal, show }: ShellPlace): Promise<ShellRun> {
  return new Promise((resolve, reject) => {
    // A group of its own: the command may have started others.
    const child = spawn(env['SHELL'] || 'sh', ['-c', command], {
      cwd,
      env: { ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    let output = '';
    const take = (bytes: Buffer): void => {
      const text = bytes.toString('utf8');
      output = (output + text).slice(-KEPT);
      show(text);
    };
    const stop = (): void => {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    signal.addEventListener('abort', stop, { once: true });
    child.once('error', reject);
    child.once('close', (status) => {
      signal.removeEventListener('abort', stop);
      resolve({ command, output, status });
    });
  });
}

/** Returns the command behind an exclamation mark, or null for other texts. */
export function shellLineOf(text: string): string | null {
  return /^!\s*(\S[^]*)$/.exec(text.trim())?.[1] ?? null;
}

/**
 * Puts what the person ran below a message. `redact` hides the secrets of the process, which a
 * command may have printed.
 */
export function withShellRuns(text: string, runs: readonly ShellRun[], redact: (text: string) => string): string {
  const parts = runs.map(({ command, output, status }) => {
    const how = status === 0 ? '' : status === null ? ', which a signal ended' : `, which ended with status ${status}`;
    const fence = '`'.repeat(Math.max(3, ...[...output.matchAll(/`+/g)].map(([ticks]) => ticks.length + 1)));
    return `I ran this command myself${how}: ${command}\n${fence}\n${showUnseen(output).trimEnd()}\n${fence}`;
  });
  return redact([text, ...parts].join('\n\n'));
}
