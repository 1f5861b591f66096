// Reads the front matter of a skill (L79), its name and when it helps, in YAML, or in what people
// write that is nearly YAML.
import { stripVTControlCharacters } from 'node:util';
import { z } from 'zod';
import { wellFormedText } from '../../../system/text.ts';

const LONGEST_DESCRIPTION = 1_024;

const frontSchema = z.object({
  name: z
    .string('has no name')
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'has a name that is not 1 to 64 letters, digits, "-", "_" or "."'),
  description: z.string('has no description').refine((text) => text.trim() !== '', 'has no description'),
});

/** Where a worker's skills are. */
export type SkillSettings = {
  /** Absolute paths: each is a folder of skills, or one itself. */
  readonly folders: readonly string[];
  /** Skills of a workspace count, too, or those of these names. */
  readonly workspace: boolean | readonly string[];
};

type FrontMatter = { readonly name: string; readonly description: string } | { readonly problem: string };

/** Splits a file. `folder` names a skill that has no name of its own. */
export async function splitFront(text: string, folder: string): Promise<FrontMatter & { readonly text: string }> {
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
function toPlainLine(text: string): string {
  const line = stripVTControlCharacters(text)
    .replaceAll(/[\p{Cc}\u2028\u2029\s]+/gu, ' ')
    .trim();
  return line.length <= LONGEST_DESCRIPTION ? line : `${wellFormedText(line.slice(0, LONGEST_DESCRIPTION - 1))}…`;
}
