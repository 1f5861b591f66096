// Names of servers and their tools as programs write them, which may be anything, and as the API,
// rules and configurations take them.
import { createHash } from 'node:crypto';
import { nameServerTool } from '../../tools/mcp/servers.ts';
import { SERVER_PREFIX } from '../../tools/listed.ts';
import { VALID_NAME } from '../../tools/registry.ts';

/**
 * A server's name in a configuration: at most 32 characters, no two `_` together and none at an
 * end.
 */
const LONGEST = 32;

/** By the names that the program gave. Those that would be one name are told apart by a hash. */
export function serverNames(given: readonly string[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const used = new Set<string>();
  // One that may stay as it is does, whatever comes before it.
  for (const each of given.toSorted((a, b) => Number(plainName(b) === b) - Number(plainName(a) === a))) {
    const plain = plainName(each);
    const fits = plain !== '' && plain.length <= LONGEST && !used.has(plain);
    const name = fits ? plain : `${plain.slice(0, LONGEST - 9).replace(/_$/, '')}-${hashOf(each)}`;
    names.set(each, name);
    used.add(name);
  }
  return names;
}

/** The names of a server's tools in the same order. */
export function toolNames(server: string, tools: readonly string[]): readonly string[] {
  const used = new Set<string>();
  return tools.map((tool) => {
    const plain = `${SERVER_PREFIX}${server}__${replaced(tool)}`;
    // No name ends with a space: it gets a hash.
    const name = VALID_NAME.test(plain) && !used.has(plain) ? plain : nameServerTool(server, `${tool} `);
    used.add(name);
    return name;
  });
}

/** Rules and lists that name a server, or a tool of it, as such programs do. */
export function renamedRule(rule: string, names: ReadonlyMap<string, string>): string {
  const all = [...names];
  // As it was given before what it may have become.
  for (const [written, name] of [...all, ...all.map(([given, ours]) => [replaced(given), ours] as const)]) {
    const prefix = `${SERVER_PREFIX}${written}`;
    const rest = rule.slice(prefix.length);
    if (rule.startsWith(prefix) && /^(?:$|__|\()/.test(rest))
      return `${SERVER_PREFIX}${name}${rest.replace(/^__[^(]+/, replacedRule)}`;
  }
  return rule.startsWith(SERVER_PREFIX) ? rule.replace(/^[^(]+/, replacedRule) : rule;
}

const replaced = (name: string): string => name.replaceAll(/[^A-Za-z0-9_-]/g, '_');
/** `*` stands for any characters. */
const replacedRule = (name: string): string => name.replaceAll(/[^A-Za-z0-9_*-]/g, '_');

function plainName(name: string): string {
  return replaced(name).replaceAll(/_{2,}/g, '_').replaceAll(/^_|_$/g, '');
}

function hashOf(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, 8);
}
