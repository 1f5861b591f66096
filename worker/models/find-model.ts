// From what a person wrote to the name that is sent (X2). Refused is what cannot be a model: a slip in the name of one of Claude's, a version
// that there never was, and at the API of their maker any plain word. Names of other makers and servers go through as they are.
import type { FoundModel, ModelTable } from '../../activities/configuration.ts';
import { nearName } from '../../workflows/contract/options-problem.ts';
import { baseName, catalogue } from './catalogue.ts';

export type Finding = {
  /** What `default` and `inherit` mean where there is nothing else to inherit. Absent: the catalogue's. */
  readonly model?: string | undefined;
  /** Names and prefixes that the worker's configuration knows. */
  readonly configured?: ModelTable;
  /** The API of the maker itself: it has no names but its own. */
  readonly official?: boolean;
};

const STANDING: readonly string[] = ['default', 'inherit'];

export function findModel(given: string, finding: Finding = {}): FoundModel {
  const { model = catalogue.default, configured = {}, official = false } = finding;
  const name = given.trim();
  if (Object.keys(configured).some((prefix) => name.startsWith(prefix))) return { name };
  const word = name.toLowerCase().replace(/\[1m\]$/, '');
  if (STANDING.includes(word))
    return STANDING.includes(model) ? { name: catalogue.default } : findModel(model, finding);
  const alias = Object.hasOwn(catalogue.aliases, word) ? catalogue.aliases[word] : undefined;
  if (alias !== undefined) return { name: alias };
  const { base } = baseName(name);
  if (Object.hasOwn(catalogue.models, base))
    return { name: official ? idOf(name, base) : name.replace(/\[1m\]$/i, '') };
  const problem = /^claude/.test(base) ? claudeProblem(base, official) : wordProblem(word, official);
  return problem === null ? { name } : { problem: `${JSON.stringify(given.slice(0, 80))} is no model: ${problem}` };
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

/** A model that is newer than the catalogue is none of them: its name has the form, and goes through. */
function claudeProblem(base: string, official: boolean): string | null {
  const parts = lineOf(base);
  if (parts === null) {
    const slip = nearName(base, Object.keys(catalogue.models));
    return official || slip !== undefined ? meant(base) : null;
  }
  const known = newest.get(parts.line);
  if (known !== undefined) return parts.version <= known ? meant(base) : null;
  return nearName(parts.line, [...newest.keys()]) === undefined ? null : meant(base);
}

function wordProblem(word: string, official: boolean): string | null {
  if (!/^[a-z]+$/.test(word)) return null;
  const near = nearName(word, [
    ...Object.keys(catalogue.aliases).filter((alias) => alias.length > 4),
    'opus',
    ...STANDING,
  ]);
  if (near !== undefined) return `did you mean ${near}?`;
  return official
    ? `there are ${Object.keys(catalogue.aliases).join(', ')}, and whole names such as ${catalogue.default}`
    : null;
}

const MOST_NEAR = 3;

/** The nearest of the same line, else of all. */
function meant(base: string): string {
  const line = /^claude-([a-z]+)/.exec(base)?.[1] ?? '';
  const lines = [...newest.keys()];
  const near = nearName(line, lines) ?? lines.find((each) => base.includes(each));
  const ofLine = Object.keys(catalogue.models).filter((known) => near !== undefined && lineOf(known)?.line === near);
  const names = (ofLine.length > 0 ? ofLine : Object.values(catalogue.aliases)).slice(0, MOST_NEAR);
  return `did you mean ${[...new Set(names)].join(', ').replace(/, ([^,]*)$/, ' or $1')}?`;
}
