// From what a person wrote to the name that is sent (X2). Refused is what cannot be a model: a slip
// in the name of one of Claude's, a version that there never was, and at the API of their maker any
// plain word. Names of other makers and servers go through as they are.
import type { FoundModel, ModelTable } from '../store/model-facts.ts';
import { nearName } from '../workflows/contract/options-problem.ts';
import { baseName, catalogue } from './catalogue.ts';

export type Finding = {
  /**
   * What `default` and `inherit` mean where there is nothing else to inherit. Absent: the
   * catalogue's.
   */
  readonly model?: string | undefined;
  /** Names and prefixes that the worker's configuration knows. */
  readonly configured?: ModelTable;
  /** The API of the maker itself: it has no names but its own. */
  readonly official?: boolean;
};

const STANDING: readonly string[] = ['default', 'inherit'];

/** A plain word of another maker's may lie beside the shortest. */
const SHORT: readonly string[] = [...Object.keys(catalogue.aliases).filter((alias) => alias !== 'best'), ...STANDING];

export function findModel(given: string, finding: Finding = {}): FoundModel {
  const { model = catalogue.default, configured = {}, official = false } = finding;
  const name = given.trim();
  if (Object.keys(configured).some((prefix) => name.startsWith(prefix))) return { name };
  const word = wordOf(name);
  if (STANDING.includes(word))
    return STANDING.includes(wordOf(model)) ? { name: catalogue.default } : findModel(model, finding);
  const alias = aliasOf(word);
  if (alias !== undefined) return { name: alias };
  const { base } = baseName(name);
  if (Object.hasOwn(catalogue.models, base))
    return { name: official ? idOf(name, base) : name.replace(/\[1m\]$/i, '') };
  const problem = slipIn(name) ?? (isClaude(base) ? versionProblem(base, official) : wordProblem(word, official));
  return problem === null ? { name } : { problem: `${JSON.stringify(given.slice(0, 80))} is no model: ${problem}` };
}

/**
 * What no server and no configuration can have meant, as a client may say before it asks a worker;
 * undefined where there is nothing to say.
 */
export function modelProblem(options: {
  readonly model?: string;
  readonly fallbackModels?: readonly string[];
}): string | undefined {
  const names = [options.model, ...(options.fallbackModels ?? [])].filter((name) => name !== undefined);
  const wrong = names.find((name) => aliasOf(wordOf(name)) === undefined && slipIn(name) !== null);
  return wrong === undefined ? undefined : `${JSON.stringify(wrong.slice(0, 80))} is no model: ${slipIn(wrong)}`;
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
 * A letter or two beside a short name, or beside the line in a whole one: `sonet`,
 * `claude-sonet-5-5`.
 */
function slipIn(name: string): string | null {
  const word = wordOf(name);
  if (STANDING.includes(word)) return null;
  if (/^[a-z]+$/.test(word)) {
    const near = nearName(word, SHORT);
    return near === undefined ? null : `did you mean ${near}?`;
  }
  const line = lineOf(baseName(name).base)?.line;
  if (line === undefined || newest.has(line)) return null;
  return nearName(line, [...newest.keys()]) === undefined ? null : meant(`claude-${line}`);
}

/** The maker's API knows no name that a gateway or a cloud has for it. */
function idOf(name: string, base: string): string {
  const id = catalogue.models[base]?.id ?? base;
  return name === base || name === id ? name : id;
}

type Line = { readonly line: string; readonly version: number };

/** `claude-opus-5-5` is version 5.5 of the line opus. */
function lineOf(base: string): Line | null {
  const parts = /^claude-([a-z]+)-(\d+)(?:-(\d{1,2}))?$/.exec(base);
  return parts ? { line: parts[1] ?? '', version: Number(parts[2]) + Number(parts[3] ?? 0) / 100 } : null;
}

/** Of each line, the newest version that is known. */
const newest = new Map<string, number>();
for (const base of Object.keys(catalogue.models)) {
  const { line, version } = lineOf(base) ?? { line: '', version: 0 };
  if (line !== '') newest.set(line, Math.max(version, newest.get(line) ?? 0));
}

function isClaude(base: string): boolean {
  return base.startsWith('claude');
}

/**
 * One that is newer than the catalogue is none of its models, and goes through. So does, at other
 * servers, what has no version.
 */
function versionProblem(base: string, official: boolean): string | null {
  const parts = lineOf(base);
  if (parts === null) return official || isSlip(base) ? meant(base) : null;
  return parts.version <= (newest.get(parts.line) ?? 0) ? meant(base) : null;
}

function isSlip(base: string): boolean {
  return /\d/.test(base) && nearName(base, Object.keys(catalogue.models)) !== undefined;
}

function wordProblem(word: string, official: boolean): string | null {
  if (!official || !/^[a-z]+$/.test(word)) return null;
  return `there are ${Object.keys(catalogue.aliases).join(', ')}, and whole names such as ${catalogue.default}`;
}

const MOST_NEAR = 3;

/** The nearest of the same line, else of all. */
function meant(base: string): string {
  const line = /^claude-([a-z]+)/.exec(base)?.[1] ?? '';
  const lines = [...newest.keys()];
  const near = nearName(line, lines) ?? lines.find((each) => base.includes(each));
  const ofLine = Object.entries(catalogue.models).flatMap(([known, { retires = catalogue.date }]) =>
    near !== undefined && lineOf(known)?.line === near && retires >= catalogue.date ? [known] : [],
  );
  const names = (ofLine.length > 0 ? ofLine : Object.values(catalogue.aliases)).slice(0, MOST_NEAR);
  return `did you mean ${[...new Set(names)].join(', ').replace(/, ([^,]*)$/, ' or $1')}?`;
}
