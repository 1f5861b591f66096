// Reads what a repository ignores by files outside of a captured folder: the `.gitignore` of the
// folders above it, `info/exclude`, and what a person ignores everywhere, the weakest. Paths are
// bytes, kept as latin1.
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { isIgnored, parseIgnoreFile, type IgnoreRule, type IgnoreRules } from './ignore-rules.ts';
import { bytesOf, type RawPath } from './listing.ts';

/** Of a longer file only the whole lines up to here count. */
const MOST_BYTES = 1024 * 1024;

/** The rules that hold for a folder from outside of it, and the top of its repository. */
export type RulesAbove = { readonly top: RawPath | null; readonly rules: readonly IgnoreRules[] };

export class RepositoryRules {
  readonly #parsed = new Map<RawPath, { readonly text: string; readonly rules: readonly IgnoreRule[] }>();
  #version = 0;
  #personal = { text: '', rules: parseIgnoreFile('') };

  /** Grows where a file differs from what was read before. */
  get version(): number {
    return this.#version;
  }

  /** Takes the rules that hold in all repositories, as the text of their file. */
  setPersonal(text: string): void {
    if (text === this.#personal.text) return;
    this.#personal = { text, rules: parseIgnoreFile(text) };
    this.#version += 1;
  }

  /**
   * Returns the rules that hold for the folder `root` from outside of it, the weakest first. Rules
   * that ignore the folder itself do not count: someone works there all the same.
   */
  rulesAbove(root: RawPath): RulesAbove {
    const top = findTop(root);
    if (top === null) return { top, rules: [{ prefix: '', rules: this.#personal.rules }] };
    const parts = root.slice(top.length).split('/').filter(Boolean);
    const pathTo = (count: number): RawPath => parts.slice(0, count).join('/');
    const levels = parts.map((_, at): IgnoreRules => {
      const prefix = at === 0 ? '' : `${pathTo(at)}/`;
      return { prefix, rules: this.#read(`${top}/${prefix}.gitignore`) };
    });
    const stack = [...this.rulesOf(top, ''), ...levels];
    const folders = parts.map((_, at) => pathTo(at + 1));
    const ignores = (rules: readonly IgnoreRules[], folder: RawPath): boolean =>
      isIgnored(
        rules.filter(({ prefix }) => folder.length > prefix.length),
        folder,
        true,
      );
    const isLeftOut = folders.some((folder) => ignores(stack, folder));
    const counting = stack.map(({ prefix, rules }) => {
      const counts = (rule: IgnoreRule): boolean =>
        !folders.some((folder) => ignores([{ prefix, rules: [rule] }], folder));
      const above = parts.length === 0 ? '' : `${folders.at(-1)}/`.slice(prefix.length);
      return { prefix: '', above, rules: isLeftOut ? rules.filter(counts) : rules };
    });
    return { top, rules: counting };
  }

  /**
   * Returns the rules of a repository that lie in none of its files, the weakest first. Its paths
   * begin with `prefix`.
   */
  rulesOf(top: RawPath, prefix: RawPath): readonly IgnoreRules[] {
    const own = this.#read(`${findCommonFolder(top)}/info/exclude`);
    return [this.#personal.rules, own].map((rules) => ({ prefix, rules }));
  }

  #read(path: RawPath): readonly IgnoreRule[] {
    const text = readBeginning(path) ?? '';
    const known = this.#parsed.get(path);
    if (known?.text === text) return known.rules;
    const rules = parseIgnoreFile(text);
    this.#version += 1;
    this.#parsed.set(path, { text, rules });
    return rules;
  }
}

/** Returns the top of the repository or work tree that a folder lies in. */
function findTop(folder: RawPath): RawPath | null {
  for (let at = folder === '/' ? '' : folder; ; at = at.slice(0, at.lastIndexOf('/'))) {
    if (isTop(at)) return at;
    if (at === '') return null;
  }
}

function isTop(folder: RawPath): boolean {
  return kindOf(`${folder}/.git`) === 'file' || kindOf(`${folder}/.git/HEAD`) !== null;
}

function kindOf(path: RawPath): 'file' | 'other' | null {
  try {
    const stats = lstatSync(bytesOf(path), { throwIfNoEntry: false });
    return stats ? (stats.isFile() ? 'file' : 'other') : null;
  } catch {
    // What may not be looked at holds no rules.
    return null;
  }
}

/** Returns the folder that work trees of a repository share. */
function findCommonFolder(top: RawPath): RawPath {
  const own = findGitFolder(top);
  const common = readBeginning(`${own}/commondir`)?.trimEnd();
  return common === undefined || common === '' ? own : resolveFrom(own, common);
}

/** Returns git's own folder for the repository or work tree with that top. */
export function findGitFolder(top: RawPath): RawPath {
  const named = /^gitdir: (.*)/.exec(readBeginning(`${top}/.git`) ?? '')?.[1];
  return named === undefined ? `${top}/.git` : resolveFrom(top, named);
}

const resolveFrom = (folder: RawPath, path: RawPath): RawPath => (isAbsolute(path) ? path : join(folder, path));

const toWholeLines = (text: string): string => text.slice(0, text.lastIndexOf('\n') + 1);

/** Returns what counts of the text of a file of rules. */
export function wholeLines(text: string): string {
  return text.length > MOST_BYTES ? toWholeLines(text.slice(0, MOST_BYTES)) : text;
}

/** Returns null for all but a file that can be read. No link is followed to it. */
export function readBeginning(path: RawPath): string | null {
  let file: number;
  try {
    file = openSync(bytesOf(path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    // Git passes over one that it cannot read, too.
    return null;
  }
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) return null;
    const content = Buffer.allocUnsafe(Math.min(stats.size, MOST_BYTES));
    const text = content.subarray(0, readSync(file, content, 0, content.length, 0)).toString('latin1');
    return stats.size > MOST_BYTES ? toWholeLines(text) : text;
  } catch {
    return null;
  } finally {
    closeSync(file);
  }
}
