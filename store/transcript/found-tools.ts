// Which tools of MCP servers a session has found or called, in the order in which it last did:
// their definitions are sent where those of others are left out for their number (L74).
import type { Entry } from '../log/entries.ts';
import { type Entries, type Fold, foldEntries } from '../view/shared-view.ts';

/** The tools of a server are named `mcp__server__tool`; a server's name holds no `__`. */
export const SERVER_PREFIX = 'mcp__';

const LONGEST_NAME = 64;
/** The most tools that a session remembers to have found. */
const MOST_FOUND = 500;

const foundFold: Fold<Set<string>> = {
  begin: () => new Set(),
  copy: (found) => new Set(found),
  add(found, entry) {
    for (const name of toolsFoundIn(entry)) {
      found.delete(name);
      found.add(name);
    }
    for (const name of found) {
      if (found.size <= MOST_FOUND) break;
      found.delete(name);
    }
  },
};

export function foundTools(entries: Entries): ReadonlySet<string> {
  return foldEntries(foundFold, entries);
}

/** A tool that was called without having been found is one that the model needs, too. */
export function toolsFoundIn(entry: Entry): readonly string[] {
  if (entry.kind !== 'outcomes') return [];
  return entry.outcomes
    .flatMap(({ found = [], log: { name } }) => [name, ...found])
    .filter((name) => name.startsWith(SERVER_PREFIX) && name.length <= LONGEST_NAME);
}
