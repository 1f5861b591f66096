// A copy of the built product whose programs count their steps, and stand still at one of them.
import { randomUUID } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { until } from '../support/until.ts';

/** The programs that change files, each a process of its own. */
export type StepProgram = 'capture' | 'restore' | 'worker' | 'command';

export type Reached = { readonly name: string; readonly place: string; readonly pid: number };

export type Stepping = {
  /** Where the copy is. */
  readonly base: string;
  /** From now on `program` stands still before its step `step`, counted from 1. */
  arm(program: StepProgram, step: number): void;
  /** Resolves with the step once it is reached; null when `over` resolves before. */
  whenReached(over: Promise<unknown>): Promise<Reached | null>;
  /** What stands still dies, and nothing stands still any more. */
  disarm(): void;
};

const ENTRIES = ['store/snapshots/capture-process.js', 'store/snapshots/restore/restore-process.js'];

/** `data` is the data folder in which programs that are held may write. */
export function copyProduct(root: string, base: string, data: string): Stepping {
  mkdirSync(base);
  for (const name of ['bin', 'dist', 'page', 'package.json', 'docs/openapi.v1.json', 'docs/events.v1.schema.json'])
    cpSync(join(root, name), join(base, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(base, 'node_modules'));
  cpSync(join(root, 'test', 'walk', 'count-steps.mjs'), join(base, 'count-steps.mjs'));
  const loading = `import ${JSON.stringify(pathToFileURL(join(base, 'count-steps.mjs')).href)};`;
  for (const entry of ENTRIES) prepend(join(base, 'dist', entry), loading);
  prepend(join(base, 'bin', 'perdure.mjs'), loading);
  const armed = join(base, 'armed.json');
  let mark = '';
  const findMark = (): Reached | null => {
    const found = placesOfMarks(base, data)
      .map((folder) => join(folder, mark))
      .find((path) => existsSync(path));
    return found === undefined ? null : readReached(found);
  };
  return {
    base,
    arm: (program, step) => {
      mark = `reached-${randomUUID()}`;
      writeFileSync(armed, JSON.stringify({ token: mark, mark, program, step }));
    },
    whenReached: async (over) => {
      let isOver = false;
      void over.finally(() => (isOver = true)).catch(() => undefined);
      return await until(() => findMark() ?? (isOver ? 'over' : null)).then((found) =>
        found === 'over' ? null : found,
      );
    },
    disarm: () => {
      rmSync(armed, { force: true });
      for (const folder of placesOfMarks(base, data)) rmSync(join(folder, mark), { force: true });
    },
  };
}

function prepend(path: string, line: string): void {
  const text = readFileSync(path, 'utf8');
  const shebang = /^#!.*\n/.exec(text)?.[0] ?? '';
  writeFileSync(path, `${shebang}${line}\n${text.slice(shebang.length)}`);
}

/** The copy itself, the snapshots, and the folders of sessions among them. */
function placesOfMarks(base: string, data: string): readonly string[] {
  const snapshots = join(data, 'snapshots');
  const sessions = join(snapshots, 'sessions');
  const below = listFolders(sessions).flatMap((session) => listFolders(session));
  return [base, snapshots, ...below];
}

function listFolders(folder: string): readonly string[] {
  const entries = existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : [];
  return entries.flatMap((entry) => (entry.isDirectory() ? [join(folder, entry.name)] : []));
}

/** The file may be there before what it says. */
function readReached(path: string): Reached | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Reached;
  } catch {
    return null;
  }
}
