// One walk: a folder of its own, its sessions, and how it looks at them. The operations lie in files
// of their own.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Entry } from '../../store/log/entries.ts';
import { openJudge, type Judge } from './ask-git.ts';
import { TOOLS } from './changes.ts';
import { judgeMoment, type Bounds, type Moment } from './expect-files.ts';
import { compareLooks, Contents, lookAtFolder, type FolderLook } from './look-folder.ts';
import type { Product } from './product.ts';
import type { WalkSession } from './walk-session.ts';

export type Walk = {
  readonly product: Product;
  readonly name: string;
  /** Everything of the walk lies in it: `workspace`, `outside`, folders of forks. */
  readonly place: string;
  readonly folder: string;
  readonly bounds: Bounds;
  /** Faults that are left out, because they are known. */
  readonly without: ReadonlySet<string>;
  readonly contents: Contents;
  readonly judge: Judge;
  readonly sessions: WalkSession[];
  readonly problems: string[];
  /** Counts turns, forks and copies, for names. */
  count: number;
};

export type WalkOptions = {
  readonly product: Product;
  readonly name: string;
  readonly place: string;
  readonly bounds: Bounds;
  readonly without: ReadonlySet<string>;
  readonly beginning: string;
};

export function openWalk({ beginning, ...options }: WalkOptions): Walk {
  const folder = join(options.place, 'workspace');
  mkdirSync(folder, { recursive: true });
  const scratch = join(options.place, '..', `${options.name}-rules`);
  const judge = openJudge(scratch, { home: options.product.home, include: options.bounds.include ?? [] });
  const walk: Walk = { ...options, folder, judge, contents: new Contents(), sessions: [], problems: [], count: 0 };
  writeFileSync(join(options.place, 'tools.sh'), TOOLS);
  change(walk, folder, beginning);
  return walk;
}

export const withTools = (script: string): string => `. ../tools.sh\n${script}`;

/** Changes a folder as a person would. */
export function change({ product: { home } }: Pick<Walk, 'product'>, folder: string, script: string): void {
  const env = { PATH: process.env['PATH'], HOME: home, GIT_CONFIG_NOSYSTEM: '1', LC_ALL: 'C' };
  const done = spawnSync('bash', ['-c', withTools(script)], { cwd: folder, env, encoding: 'utf8' });
  if (done.status !== 0) throw new Error(`${script}: ${done.stderr}`);
}

/** Looks at a folder, and says what a snapshot of this moment must hold. */
export function lookNow(walk: Walk, folder: string, session: WalkSession | null): Moment {
  const look = lookAtFolder(folder, walk.contents);
  const ignored = walk.judge.findIgnored(folder, look, look.entries.keys());
  const rules = walk.judge.keepRules(folder, look);
  const before = session?.known ?? null;
  return judgeMoment({ look, ignored, rules, bounds: walk.bounds, before, isNext: session?.isNext ?? false });
}

/** What lies beside the folders of the sessions: nothing that the product does may change it. */
export type Around = { readonly names: readonly string[]; readonly looks: ReadonlyMap<string, FolderLook> };

export function lookAround(walk: Walk, ...but: readonly string[]): Around {
  const names = readdirSync(walk.place).filter((name) => name !== 'tools.sh' && !but.includes(join(walk.place, name)));
  const looks = names.map((name) => [name, lookAtFolder(join(walk.place, name), walk.contents)] as const);
  return { names, looks: new Map(looks) };
}

export function compareAround(before: Around, after: Around): readonly string[] {
  const appeared = after.names.filter((name) => !before.names.includes(name));
  const changed = before.names.flatMap((name) => {
    const [was, is] = [before.looks.get(name), after.looks.get(name)];
    return was && is ? compareLooks(was, is).map((what) => `${name}: ${what}`) : [`${name} is gone`];
  });
  return [...appeared.map((name) => `${name} appeared beside the folder`), ...changed];
}

export async function readTranscript({ product }: Walk, id: string): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  for await (const { entry } of product.sessions.transcript(id)) entries.push(entry);
  return entries;
}

/** Says how a conversation differs from what it must be; `added` entries may follow. */
export function compareEntries(expected: readonly Entry[], is: readonly Entry[], added: number): readonly string[] {
  const at = expected.findIndex((entry, index) => JSON.stringify(entry) !== JSON.stringify(is[index]));
  if (at >= 0) return [`entry ${at} of the conversation is ${is[at]?.kind ?? 'missing'}, not ${expected[at]?.kind}`];
  return is.length > expected.length + added
    ? [`the conversation has ${is.length - expected.length} entries more than it had then`]
    : [];
}
