// Turns what a person wrote into the name that is sent (X2). It refuses names that cannot be a
// model: a slip in the name of one of Claude's, a version that never existed, and at the API of
// their maker any plain word. Names of other makers and servers go through unchanged.
import type { FoundModel, ModelTable } from '../store/model-facts.ts';
import { nearName } from '../workflows/contract/did-you-mean.ts';
import { parseBaseName, catalogue } from './catalogue.ts';

type FindModelOptions = {
  /**
   * The meaning of `default` and `inherit` where nothing else can be inherited. Absent: the
   * catalogue's.
   */
  readonly model?: string | undefined;
  /** Names and prefixes that the worker's configuration knows. */
  readonly configured?: ModelTable;
  /** True for the API of the maker itself, which knows only its own names. */
  readonly official?: boolean;
};

const STAND_INS: readonly string[] = ['default', 'inherit'];

/**
 * Short names that a slip is compared with. A plain word of another maker may be close to the
 * shortest, `best`.
 */
const SHORT_NAMES: readonly string[] = [
  ...Object.keys(catalogue.aliases).filter((alias) => alias !== 'best'),
  ...STAND_INS,
];

export function findModel(requested: string, finding: FindModelOptions = {}): FoundModel {
  const { model = catalogue.default, configured = {}, official = false } = finding;
  const name = requested.trim();
  if (Object.keys(configured).some((prefix) => name.startsWith(prefix))) return { name };
  const word = wordOf(name);
  if (STAND_INS.includes(word))
    return STAND_INS.includes(wordOf(model)) ? { name: catalogue.default } : findModel(model, finding);
  const alias = aliasOf(word);
  if (alias !== undefined) return { name: alias };
  const { base } = parseBaseName(name);
  if (Object.hasOwn(catalogue.models, base))
    return { name: official ? idOf(name, base) : name.replace(/\[1m\]$/i, '') };
  const problem = findSlip(name) ?? (isClaude(base) ? versionProblem(base, official) : wordProblem(word, official));
  return problem === null ? { name } : { problem: `${JSON.stringify(requested.slice(0, 80))} is no model: ${problem}` };
}

/**
 * Returns why a name cannot be meant by any server or configuration, so that a client can say it
 * before it asks a worker; undefined when a name may be meant.
 */
export function modelProblem(options: {
  readonly model?: string;
  readonly fallbackModels?: readonly string[];
}): string | undefined {
  const names = [options.model, ...(options.fallbackModels ?? [])].filter((name) => name !== undefined);
  const wrong = names.find((name) => aliasOf(wordOf(name)) === undefined && findSlip(name) !== null);
  return wrong === undefined ? undefined : `${JSON.stringify(wrong.slice(0, 80))} is no model: ${findSlip(wrong)}`;
}

function wordOf(name: string): string {
  return name
    .trim()
    .toLowerCase()
    .replace(/\[1m\]$/, '');
}

function aliasOf(word: string): string | undefined {
  return Object.hasOwn(catalogue.aliases, word) ? catalogue.aliases[word] : undefined;
}

/**
 * Finds a slip of a letter or two in a short name, or in the line of a whole one: `sonet`,
 * `claude-sonet-5-5`.
 */
function findSlip(name: string): string | null {
  const word = wordOf(name);
  if (STAND_INS.includes(word)) return null;
  if (/^[a-z]+$/.test(word)) {
    const near = nearName(word, SHORT_NAMES);
    return near === undefined ? null : `did you mean ${near}?`;
  }
  const line = parseLine(parseBaseName(name).base)?.line;
  if (line === undefined || newestVersions.has(line)) return null;
  return nearName(line, [...newestVersions.keys()]) === undefined ? null : suggestNames(`claude-${line}`);
}

/** Returns the maker's own name: its API knows none of those that gateways and clouds use. */
function idOf(name: string, base: string): string {
  const id = catalogue.models[base]?.id ?? base;
  return name === base || name === id ? name : id;
}

type ModelLine = { readonly line: string; readonly version: number };

/** Parses a base name: `claude-opus-5-5` is version 5.5 of the line opus. */
function parseLine(base: string): ModelLine | null {
  const parts = /^claude-([a-z]+)-(\d+)(?:-(\d{1,2}))?$/.exec(base);
  return parts ? { line: parts[1] ?? '', version: Number(parts[2]) + Number(parts[3] ?? 0) / 100 } : null;
}

/** The newest known version of each line. */
const newestVersions = new Map<string, number>();
for (const base of Object.keys(catalogue.models)) {
  const { line, version } = parseLine(base) ?? { line: '', version: 0 };
  if (line !== '') newestVersions.set(line, Math.max(version, newestVersions.get(line) ?? 0));
}

function isClaude(base: string): boolean {
  return base.startsWith('claude');
}

/**
 * Refuses a version that never existed. A version that is newer than the catalogue goes through,
 * and at other servers so does a name without a version.
 */
function versionProblem(base: string, official: boolean): string | null {
  const parts = parseLine(base);
  if (parts === null) return official || isSlip(base) ? suggestNames(base) : null;
  return parts.version <= (newestVersions.get(parts.line) ?? 0) ? suggestNames(base) : null;
}

function isSlip(base: string): boolean {
  return /\d/.test(base) && nearName(base, Object.keys(catalogue.models)) !== undefined;
}

function wordProblem(word: string, official: boolean): string | null {
  if (!official || !/^[a-z]+$/.test(word)) return null;
  return `there are ${Object.keys(catalogue.aliases).join(', ')}, and whole names such as ${catalogue.default}`;
}

const MOST_NEAR = 3;

/** Suggests the nearest models of the same line, else of all. */
function suggestNames(base: string): string {
  const line = /^claude-([a-z]+)/.exec(base)?.[1] ?? '';
  const lines = [...newestVersions.keys()];
  const near = nearName(line, lines) ?? lines.find((each) => base.includes(each));
  const ofLine = Object.entries(catalogue.models).flatMap(([known, { retires = catalogue.date }]) =>
    near !== undefined && parseLine(known)?.line === near && retires >= catalogue.date ? [known] : [],
  );
  const names = (ofLine.length > 0 ? ofLine : Object.values(catalogue.aliases)).slice(0, MOST_NEAR);
  return `did you mean ${[...new Set(names)].join(', ').replace(/, ([^,]*)$/, ' or $1')}?`;
}
