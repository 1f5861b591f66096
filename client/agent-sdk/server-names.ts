// Converts names of servers and their tools, which may be any text in a program, to names that the
// API, rules and configurations accept.
import { createHash } from 'node:crypto';
import { nameServerTool, SERVER_PREFIX, VALID_NAME } from '../faces/tools.ts';

/**
 * A server's name in a configuration: at most 32 characters, no two `_` together and none at an
 * end.
 */
const LONGEST = 32;

/** Maps the given names to valid ones. A hash keeps names apart that would become the same. */
export function serverNames(originals: readonly string[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const used = new Set<string>();
  // Valid names come first, so that they stay as they are.
  for (const each of originals.toSorted((a, b) => Number(plainName(b) === b) - Number(plainName(a) === a))) {
    const plain = plainName(each);
    const fits = plain !== '' && plain.length <= LONGEST && !used.has(plain);
    const name = fits ? plain : `${plain.slice(0, LONGEST - 9).replace(/_$/, '')}-${hashOf(each)}`;
    names.set(each, name);
    used.add(name);
  }
  return names;
}

/** Returns the full names of a server's tools, in the same order. */
export function toolNames(server: string, tools: readonly string[]): readonly string[] {
  const used = new Set<string>();
  return tools.map((tool) => {
    const plain = `${SERVER_PREFIX}${server}__${replaceInvalid(tool)}`;
    // `toolName` gives a name that ends with a space a hash.
    const name = VALID_NAME.test(plain) && !used.has(plain) ? plain : nameServerTool(server, `${tool} `);
    used.add(name);
    return name;
  });
}

/** Replaces the server and tool names in a rule, or in an entry of a tool list. */
export function renameRule(rule: string, names: ReadonlyMap<string, string>): string {
  const all = [...names];
  // The names as given come before their cleaned forms.
  for (const [written, name] of [
    ...all,
    ...all.map(([original, valid]) => [replaceInvalid(original), valid] as const),
  ]) {
    const prefix = `${SERVER_PREFIX}${written}`;
    const rest = rule.slice(prefix.length);
    if (rule.startsWith(prefix) && /^(?:$|__|\()/.test(rest))
      return `${SERVER_PREFIX}${name}${rest.replace(/^__[^(]+/, replaceInvalidInRule)}`;
  }
  return rule.startsWith(SERVER_PREFIX) ? rule.replace(/^[^(]+/, replaceInvalidInRule) : rule;
}

const replaceInvalid = (name: string): string => name.replaceAll(/[^A-Za-z0-9_-]/g, '_');
/** A rule may hold `*`, which stands for any characters. */
const replaceInvalidInRule = (name: string): string => name.replaceAll(/[^A-Za-z0-9_*-]/g, '_');

function plainName(name: string): string {
  return replaceInvalid(name).replaceAll(/_{2,}/g, '_').replaceAll(/^_|_$/g, '');
}

function hashOf(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, 8);
}
