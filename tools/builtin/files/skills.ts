// Skills (L79): folders with a SKILL.md, whose front matter has its name and says when it helps.
// Skills of the worker's configuration are its operator's words; those of a workspace come from an
// untrusted place, and count only where the configuration allows it.
import type { Dirent } from 'node:fs';
import { opendir, readdir, realpath } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { ToolFailure } from '../../failures.ts';
import type { SkillSettings } from '../../skill-settings.ts';
import { confine, type Workspace } from './confine.ts';
import { openFile, readStart } from './open-inside.ts';
import { stripVTControlCharacters } from 'node:util';
import { z } from 'zod';
import { wellFormedText } from '../../../system/text.ts';

/** Reads the settings from a configuration; null where it wants no skills. */
export function readSkillSettings({
  skills: folders = [],
  workspaceSkills: workspace = false,
}: {
  readonly skills?: readonly string[] | undefined;
  readonly workspaceSkills?: boolean | readonly string[] | undefined;
}): SkillSettings | null {
  return folders.length > 0 || workspace !== false ? { folders, workspace } : null;
}

export type Skill = {
  readonly name: string;
  readonly description: string;
  readonly from: 'configuration' | 'workspace';
  /** The real path of its SKILL.md, and where it may be read. */
  readonly file: string;
  readonly place: Workspace;
};

/** `problem` is the end of a sentence about `file`. */
type BrokenSkill = { readonly file: string; readonly problem: string };

type FoundSkills = { readonly skills: readonly Skill[]; readonly problems: readonly BrokenSkill[] };

/**
 * `mayRead` answers by the rules for the tool `read`, in a workspace. `hidden` is Perdure's own
 * data.
 */
type SkillSearch = {
  readonly cwd: string;
  readonly hidden?: string | undefined;
  readonly mayRead: (path: string) => boolean;
};

export const SKILL_FILE = 'SKILL.md';
const IN_WORKSPACE = ['.perdure/skills', '.claude/skills'] as const;
/** The most folders looked into of one folder of skills, and skills of all folders together. */
const MOST_FOLDERS = 200;
const MOST_SKILLS = 100;
/** Files and folders of one skill. */
const MOST_LOOKED_AT = 1_000;
/** Bytes. */
const LARGEST = 256 * 1024;
const LONGEST_FRONT = 8 * 1024;

/**
 * Finds the skills. Of two with one name the first counts: of the configuration in its order, then
 * of the workspace. Throws nothing of the system's own.
 */
export async function findSkills({ folders, workspace }: SkillSettings, at: SkillSearch): Promise<FoundSkills> {
  const places = [
    ...folders.map((folder) => ({ folder, from: 'configuration' as const })),
    ...(workspace !== false
      ? IN_WORKSPACE.map((name) => ({ folder: join(at.cwd, name), from: 'workspace' as const }))
      : []),
  ];
  const all = (await Promise.all(places.map((place) => readSkillsIn(place, at)))).flat();
  const counts = (each: Skill | BrokenSkill): boolean =>
    typeof workspace === 'boolean' ||
    'problem' in each ||
    each.from === 'configuration' ||
    workspace.includes(each.name);
  const found = all.filter(counts);
  const skills = new Map<string, Skill>();
  const problems: BrokenSkill[] = [];
  for (const each of found) {
    const first = 'problem' in each ? undefined : skills.get(each.name);
    if ('problem' in each) problems.push(each);
    else if (first) problems.push({ file: each.file, problem: `has the name of ${first.file}, which counts` });
    else if (skills.size >= MOST_SKILLS)
      problems.push({ file: each.file, problem: `is one too many: ${MOST_SKILLS} count` });
    else skills.set(each.name, each);
  }
  return { skills: [...skills.values()], problems };
}

type SkillPlace = { readonly folder: string; readonly from: Skill['from'] };

async function readSkillsIn(
  { folder, from }: SkillPlace,
  { cwd, hidden, mayRead }: SkillSearch,
): Promise<readonly (Skill | BrokenSkill)[]> {
  const root = from === 'workspace' ? cwd : await realpath(folder).catch(() => null);
  if (root === null) return [{ file: folder, problem: 'is not there' }];
  const place: Workspace = { root, hidden, ...(from === 'workspace' && { mayUse: mayRead }) };
  const found: (Skill | BrokenSkill)[] = [];
  // Folders are read one at a time, so that others have their turn between two.
  for (const file of await listSkillFiles(folder)) {
    const each = await readSkill(file, place, from);
    if (each !== null) found.push(each);
  }
  return found;
}

/** Lists the files in one order, however the system lists them. */
async function listSkillFiles(folder: string): Promise<readonly string[]> {
  try {
    const names = (await readdir(folder)).toSorted();
    if (names.includes(SKILL_FILE)) return [join(folder, SKILL_FILE)];
    return names.slice(0, MOST_FOLDERS).map((name) => join(folder, name, SKILL_FILE));
  } catch {
    return [];
  }
}

/** Reads one skill; null where none exists. */
async function readSkill(path: string, place: Workspace, from: Skill['from']): Promise<Skill | BrokenSkill | null> {
  try {
    const found = confine(place, path);
    if (found.missing.length > 0) return null;
    const opened = await openFile(place, found);
    const { handle, stats } = opened;
    try {
      if (stats.size > LARGEST) return { file: path, problem: `has ${stats.size} bytes: a skill has ${LARGEST}` };
      const front = await readStart(opened, LONGEST_FRONT);
      const { text: _, ...facts } = await splitFront(front, basename(dirname(path)));
      if ('problem' in facts) return { file: path, problem: facts.problem };
      return { ...facts, description: shortenDescription(facts.description), from, file: found.path, place };
    } finally {
      handle.close();
    }
  } catch (error) {
    if (!(error instanceof ToolFailure)) throw error;
    return { file: path, problem: `cannot be read: ${error.message}` };
  }
}

/** Reads what a SKILL.md says, with its description in whole. `folder` names one without a name. */
export async function parseSkill(bytes: Uint8Array, folder: string): Promise<FrontMatter> {
  if (bytes.length > LARGEST) return { problem: `has ${bytes.length} bytes: a skill has ${LARGEST}` };
  const { text: _, ...facts } = await splitFront(Buffer.from(bytes.subarray(0, LONGEST_FRONT)).toString(), folder);
  return facts;
}

/** Reads the text behind the front matter. Throws ToolFailure. */
export async function readSkillBody({ file, place }: Skill): Promise<string> {
  const opened = await openFile(place, confine(place, file));
  try {
    return (await splitFront(await readStart(opened, LARGEST), '')).text;
  } finally {
    opened.handle.close();
  }
}

/** Lists the real paths where the tool `read` may read besides a run's folders. */
export async function findSkillFolders({ folders }: SkillSettings): Promise<readonly string[]> {
  const real = await Promise.all(folders.map((folder) => realpath(folder).catch(() => null)));
  return real.filter((folder) => folder !== null);
}

/**
 * Lists files of a skill that may be read, for a model that has loaded it; of a large folder, some
 * of those that lie highest.
 */
export async function listSkillResources(
  { file, place }: Skill,
  mayRead: SkillSearch['mayRead'],
  most: number,
): Promise<readonly string[]> {
  const folders = [dirname(file)];
  const paths: string[] = [];
  let left = MOST_LOOKED_AT;
  for (const folder of folders) {
    const entries = await listEntries(folder, left);
    left -= entries.length;
    for (const entry of entries) {
      const path = join(folder, entry.name);
      if (path === file || !mayRead(path)) continue;
      if (entry.isDirectory()) folders.push(path);
      else if (entry.isFile()) paths.push(path);
    }
  }
  const display = (path: string): string => (place.mayUse ? relative(place.root, path) : path);
  return paths.toSorted().slice(0, most).map(display);
}

/** Lists a folder; empty for one that cannot be read. */
async function listEntries(folder: string, most: number): Promise<readonly Dirent[]> {
  const entries: Dirent[] = [];
  if (most === 0) return entries;
  try {
    for await (const entry of await opendir(folder)) if (entries.push(entry) === most) break;
  } catch {
    // The entries read so far are kept.
  }
  return entries.toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

// Reads the front matter of a skill (L79), its name and when it helps, in YAML, or in what people
// write that is nearly YAML.
const LONGEST_DESCRIPTION = 1_024;

const frontSchema = z.object({
  name: z
    .string('has no name')
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'has a name that is not 1 to 64 letters, digits, "-", "_" or "."'),
  description: z.string('has no description').refine((text) => text.trim() !== '', 'has no description'),
});

type FrontMatter = { readonly name: string; readonly description: string } | { readonly problem: string };

/** Splits a file. `folder` names a skill that has no name of its own. */
async function splitFront(text: string, folder: string): Promise<FrontMatter & { readonly text: string }> {
  const [whole, yaml] = /^\uFEFF?---[ \t]*\r?\n([^]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(text) ?? [];
  if (whole === undefined || yaml === undefined)
    return { problem: 'does not begin with front matter between two lines "---"', text };
  return { ...(await parseFront(yaml, folder)), text: text.slice(whole.length) };
}

/** Lists and keys that one line may open, and brackets of the whole text. */
const MOST_OPENED = 20;
const MOST_BRACKETS = 100;

/**
 * Tells whether the text is nested too deep: a parser that calls itself for each level runs out of
 * stack, and an expression that is compiled there ends the process.
 */
function isNestedDeep(yaml: string): boolean {
  const opened = (line: string): number => line.match(/(?:^|[\s[{])[-?:](?=\s|$)/g)?.length ?? 0;
  return (
    (yaml.match(/[[{]/g)?.length ?? 0) > MOST_BRACKETS || yaml.split('\n').some((line) => opened(line) > MOST_OPENED)
  );
}

/**
 * Parses the front matter. Only the two fields are turned into values: for a few kilobytes of
 * aliases or nested keys that takes gigabytes, or minutes.
 */
async function parseFront(yaml: string, folder: string): Promise<FrontMatter> {
  let value: unknown;
  if (isNestedDeep(yaml))
    return { problem: 'has front matter that is nested too deep: it needs a name and a description' };
  // It has some seventy files, and most sessions have no skill.
  const { isMap, parseDocument } = await import('yaml');
  try {
    const document = parseDocument(yaml, { logLevel: 'silent', schema: 'core' });
    const fields = document.errors.length === 0 && isMap(document.contents) ? document.contents : readLooseFields(yaml);
    value = {
      name: fields.get('name') ?? (folder === '' ? undefined : folder),
      description: fields.get('description'),
    };
  } catch (error) {
    return { problem: `has front matter that cannot be read: ${toFirstLine(String(error))}` };
  }
  const checked = frontSchema.safeParse(value);
  if (!checked.success) return { problem: checked.error.issues[0]?.message ?? 'has no name' };
  const { name, description } = checked.data;
  return { name, description: toPlainLine(description) };
}

/**
 * Reads text that is not YAML, as people write it: a description with a colon in it. Indented lines
 * belong to the one before.
 */
function readLooseFields(yaml: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  let last: string | undefined;
  for (const line of yaml.split(/\r?\n/)) {
    const [, key, value = ''] = /^([A-Za-z][\w-]*):(.*)$/.exec(line) ?? [];
    if (key !== undefined) fields.set((last = key), value.trim().replace(/^(["'])(.*)\1$/, '$2'));
    else if (last !== undefined && /^\s/.test(line)) fields.set(last, `${fields.get(last) ?? ''} ${line.trim()}`);
  }
  return fields;
}

const toFirstLine = (text = ''): string => toPlainLine(text.split('\n')[0] ?? '').slice(0, 200);

/** Makes one line without control characters: it is shown to people, and stands in a list. */
const toPlainLine = (text: string): string =>
  stripVTControlCharacters(text)
    .replaceAll(/[\p{Cc}\u2028\u2029\s]+/gu, ' ')
    .trim();

const shortenDescription = (line: string): string =>
  line.length <= LONGEST_DESCRIPTION ? line : `${wellFormedText(line.slice(0, LONGEST_DESCRIPTION - 1))}…`;
