// Reads what a repository ignores by files outside of a captured folder: the `.gitignore` of the
// folders above it, `info/exclude`, and what a person ignores everywhere, the weakest. Paths are
// bytes, kept as latin1.
import { lstatSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { type IgnoreRule, type IgnoreRules, isIgnored, parseIgnoreFile } from './ignore-rules.ts';
import { bytesOf, type RawPath } from './listing.ts';
import { readBeginning } from './read-beginning.ts';
import { homedir } from 'node:os';
import { type RepositoryPlace, RepositoryQuestion } from './ask-repository.ts';

/** Rules of a repository, and whether it ignores the case of names. */
export type OwnRules = { readonly rules: readonly IgnoreRules[]; readonly ignoresCase: boolean };

/** The rules that hold for a folder from outside of it, and the top of its repository. */
export type RulesAbove = OwnRules & { readonly top: RawPath | null };

/** A person's settings for all repositories. */
export type PersonalSettings = {
  /** The text of a file of ignore rules. */
  readonly rules: string;
  /** `core.ignoreCase` for repositories that do not say it themselves. */
  readonly ignoresCase: boolean;
};

export const NO_PERSONAL: PersonalSettings = { rules: '', ignoresCase: false };

type Parsed = { readonly text: string; readonly ignoresCase: boolean; readonly rules: readonly IgnoreRule[] };

export class RepositoryRules {
  readonly #parsed = new Map<string, Parsed>();
  readonly #case: RepositoryCase;
  #version = 0;
  #personal = NO_PERSONAL;

  /** `git` is the path of git. */
  constructor(git: string) {
    this.#case = new RepositoryCase(git);
  }

  /** Grows where a file differs from what was read before. */
  get version(): number {
    return this.#version + this.#case.version;
  }

  /** Takes what holds in all repositories. */
  setPersonal(settings: PersonalSettings): void {
    const { rules, ignoresCase } = this.#personal;
    if (settings.rules === rules && settings.ignoresCase === ignoresCase) return;
    this.#personal = settings;
    this.#version += 1;
  }

  /**
   * Returns the rules that hold for the folder `root` from outside of it, the weakest first. Rules
   * that ignore the folder itself do not count: someone works there all the same.
   */
  rulesAbove(root: RawPath): RulesAbove {
    const top = findTop(root);
    if (top === null) {
      const { ignoresCase } = this.#personal;
      return { top, rules: [{ prefix: '', rules: this.#personalRules(ignoresCase) }], ignoresCase };
    }
    const { rules: own, ignoresCase } = this.rulesOf(top, '');
    const parts = root.slice(top.length).split('/').filter(Boolean);
    const pathTo = (count: number): RawPath => parts.slice(0, count).join('/');
    const levels = parts.map((_, at): IgnoreRules => {
      const prefix = at === 0 ? '' : `${pathTo(at)}/`;
      return { prefix, rules: this.#read(`${top}/${prefix}.gitignore`, ignoresCase) };
    });
    const stack = [...own, ...levels];
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
    return { top, rules: counting, ignoresCase };
  }

  /**
   * Returns the rules of a repository that lie in none of its files, the weakest first. Its paths
   * begin with `prefix`.
   */
  rulesOf(top: RawPath, prefix: RawPath): OwnRules {
    const gitFolder = findGitFolder(top);
    const common = findCommonFolder(gitFolder);
    const ignoresCase = this.#case.ignoresCase({ top, gitFolder, common }) ?? this.#personal.ignoresCase;
    const own = this.#read(`${common}/info/exclude`, ignoresCase);
    return { rules: [this.#personalRules(ignoresCase), own].map((rules) => ({ prefix, rules })), ignoresCase };
  }

  #read(path: RawPath, ignoresCase: boolean): readonly IgnoreRule[] {
    const { rules, isNew } = this.#parse(path, readBeginning(path) ?? '', ignoresCase);
    if (isNew) this.#version += 1;
    return rules;
  }

  #personalRules(ignoresCase: boolean): readonly IgnoreRule[] {
    return this.#parse(`personal ${ignoresCase}`, this.#personal.rules, ignoresCase).rules;
  }

  /** Parses a text where it is another than the one before it by that name. */
  #parse(name: string, text: string, ignoresCase: boolean): { readonly rules: readonly IgnoreRule[]; isNew: boolean } {
    const known = this.#parsed.get(name);
    if (known?.text === text && known.ignoresCase === ignoresCase) return { rules: known.rules, isNew: false };
    const rules = parseIgnoreFile(text, ignoresCase);
    this.#parsed.set(name, { text, ignoresCase, rules });
    return { rules, isNew: true };
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
    // A file that may not be read has no rules.
    return null;
  }
}

/**
 * Returns the folder that work trees of a repository share; `own` is git's own one of a work tree.
 */
function findCommonFolder(own: RawPath): RawPath {
  const common = readBeginning(`${own}/commondir`)?.trimEnd();
  return common === undefined || common === '' ? own : resolveFrom(own, common);
}

/** Returns git's own folder for the repository or work tree with that top. */
export function findGitFolder(top: RawPath): RawPath {
  const named = /^gitdir: (.*)/.exec(readBeginning(`${top}/.git`) ?? '')?.[1];
  return named === undefined ? `${top}/.git` : resolveFrom(top, named);
}

const resolveFrom = (folder: RawPath, path: RawPath): RawPath => (isAbsolute(path) ? path : join(folder, path));

/** A configuration that has none of these says nothing of it. */
const TELLING = /ignorecase|include|worktreeconfig/i;

type Known = {
  /** The files that were read, each with its state at that time. */
  readonly files: ReadonlySet<RawPath>;
  readonly state: string;
  readonly ignoresCase: boolean | null;
};

/** `common` is the folder of git's own that work trees share. */
type CasePlace = Omit<RepositoryPlace, 'folder'> & { readonly common: RawPath };

const configOf = ({ common }: CasePlace): RawPath => `${common}/config`;

/**
 * Knows whether a repository ignores the case of names (`core.ignoreCase`, as git sets it on file
 * systems that do): its rules do so then. Git reads the configuration, with what that includes.
 * Paths are bytes, kept as latin1.
 */
class RepositoryCase {
  readonly #question: RepositoryQuestion;
  readonly #known = new Map<RawPath, Known>();
  #version = 0;

  /** `git` is the path of git. */
  constructor(git: string) {
    this.#question = new RepositoryQuestion(git, ['config', '--list', '--show-origin', '-z']);
  }

  /** Grows where a repository says another thing than before. */
  get version(): number {
    return this.#version;
  }

  /**
   * Returns null where the repository does not say. Where git fails, what it said before counts.
   */
  ignoresCase(place: CasePlace): boolean | null {
    const { top } = place;
    const known = this.#known.get(top);
    const files = known?.files ?? new Set([configOf(place)]);
    const state = describeFiles(files);
    if (known?.state === state) return known.ignoresCase;
    const current = this.#read(place, state);
    if (current === null) return known?.ignoresCase ?? null;
    if (current.ignoresCase !== (known?.ignoresCase ?? null)) this.#version += 1;
    // A file that changed meanwhile is read once more.
    const isSteady = describeFiles(files) === state;
    this.#known.set(top, { ...current, state: isSteady ? describeFiles(current.files) : state });
    return current.ignoresCase;
  }

  #read(place: CasePlace, state: string): CaseReading | null {
    const config = configOf(place);
    const files = new Set([config]);
    const text = readBeginning(config);
    // A link is followed by git alone.
    if (text !== null && !TELLING.test(text)) return { files, ignoresCase: null };
    if (state === '') return { files, ignoresCase: null };
    const printed = this.#question.ask(state, { ...place, folder: place.top });
    return printed === null ? null : parseCase(printed, [config, `${place.gitFolder}/config.worktree`]);
  }
}

type CaseReading = Pick<Known, 'files' | 'ignoresCase'>;

/** Reads lines of an origin, a key and its value. */
function parseCase(printed: string, own: readonly RawPath[]): CaseReading {
  const files = new Set(own);
  let ignoresCase: boolean | null = null;
  const fields = printed.split('\0');
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const origin = /^file:(.*)$/s.exec(fields[at] ?? '')?.[1];
    if (origin === undefined) continue;
    files.add(origin);
    const [, key = '', value] = /^([^\n]*)(?:\n(.*))?$/s.exec(fields[at + 1] ?? '') ?? [];
    if (key === 'core.ignorecase') ignoresCase = isTrue(value);
    // Whether a condition holds may depend on the branch.
    if (key.startsWith('includeif.')) files.add(`${dirname(own[1] ?? '')}/HEAD`);
    if (/^include(if\..*)?\.path$/s.test(key) && value !== undefined) files.add(resolveIncluded(origin, value));
  }
  return { files, ignoresCase };
}

const isTrue = (value: string | undefined): boolean =>
  value === undefined || /^(true|yes|on|[+-]?0*[1-9]\d*[kmg]?)$/i.test(value);

function resolveIncluded(origin: RawPath, path: RawPath): RawPath {
  if (path.startsWith('~/')) return join(Buffer.from(homedir()).toString('latin1'), path.slice(2));
  return isAbsolute(path) ? path : join(dirname(origin), path);
}

/** Returns a text that is another where one of the files is; empty without any. */
function describeFiles(files: ReadonlySet<RawPath>): string {
  return [...files].flatMap((file) => describeFile(file)).join(' ');
}

function describeFile(path: RawPath): readonly (string | number)[] {
  try {
    const stats = statSync(bytesOf(path), { throwIfNoEntry: false });
    return stats ? [path, stats.ino, stats.size, stats.mtimeMs, stats.ctimeMs] : [];
  } catch {
    return [];
  }
}
