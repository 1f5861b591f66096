// Opens a person's own editor, $VISUAL or $EDITOR, on a temporary file that no command of an agent
// sees. The result counts as the person's words.
// Suspends what runs at the terminal as Ctrl-Z does, until the shell continues it.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Env, openDataFolder } from '../../connection/data-folder.ts';
import { reasonOf } from '../../system/text.ts';

type PersonsEditor = (text: string) => Promise<string | null>;

/**
 * Resolves with the edited text; null when there is no editor or it failed, which `say` reports.
 */
export function createPersonsEditor(env: Env, say: (line: string) => void): PersonsEditor {
  return async (text) => {
    const editor = env['VISUAL'] || env['EDITOR'];
    if (!editor) return (say('no editor is known: set EDITOR'), null);
    const folder = mkdtempSync(join(openDataFolder(env).root, 'edit-'));
    const file = join(folder, 'text.md');
    try {
      writeFileSync(file, text, { mode: 0o600 });
      const status = await runEditor(editor, file, env);
      if (status === 0) return readFileSync(file, 'utf8');
      say(`the editor ${editor} ended with ${status === null ? 'a signal' : `status ${status}`}: nothing was changed`);
      return null;
    } catch (error) {
      say(`the editor ${editor} cannot be used: ${reasonOf(error)}`);
      return null;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
}

/** Starts the editor through a shell, since its command may have arguments. */
function runEditor(editor: string, file: string, env: Env): Promise<number | null> {
  const child = spawn('sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit', env: { ...env } });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve(status));
  });
}

type Job = Pick<NodeJS.Process, 'once' | 'off' | 'kill'>;

/** Milliseconds after which a process that still runs was not suspended. */
const RUNS_ON_MS = 500;

/**
 * Suspends the whole job, as the terminal would: a shell takes the terminal back only when npx, or
 * a shell between, has stopped too. Resolves when the job continues, and soon where nobody could
 * continue it, since the system then suspends nothing.
 */
export function suspendJob(job: Job): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => end(), RUNS_ON_MS);
    const end = (): void => {
      clearTimeout(timer);
      job.off('SIGCONT', end);
      resolve();
    };
    job.once('SIGCONT', end);
    job.kill(0, 'SIGTSTP');
  });
}
