// Knows whether a repository ignores the case of names (`core.ignoreCase`, as git sets it on file
// systems that do): its rules do so then. Git reads the configuration, with what that includes.
// Paths are bytes, kept as latin1.
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { statSync } from 'node:fs';
import { type AskedPlace, RepositoryQuestion } from './ask-repository.ts';
import { bytesOf, type RawPath } from './listing.ts';
import { readBeginning } from './read-beginning.ts';

/** A configuration that has none of these says nothing of it. */
const TELLING = /ignorecase|include|worktreeconfig/i;

type Known = {
  /** What was read, and how each of it was then. */
  readonly files: ReadonlySet<RawPath>;
  readonly state: string;
  readonly ignoresCase: boolean | null;
};

/** `common` is the folder of git's own that work trees share. */
type CasePlace = Omit<AskedPlace, 'folder'> & { readonly common: RawPath };

const configOf = ({ common }: CasePlace): RawPath => `${common}/config`;

export class RepositoryCase {
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

  /** Returns null where the repository does not say. Where git fails, what it said before counts. */
  ignoresCase(place: CasePlace): boolean | null {
    const { top } = place;
    const known = this.#known.get(top);
    const files = known?.files ?? new Set([configOf(place)]);
    const state = describeFiles(files);
    if (known?.state === state) return known.ignoresCase;
    const current = this.#read(place, state);
    if (current === null) return known?.ignoresCase ?? null;
    if (current.ignoresCase !== (known?.ignoresCase ?? null)) this.#version += 1;
    // What has changed meanwhile is read once more.
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
