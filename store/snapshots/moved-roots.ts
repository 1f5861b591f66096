// Follows a folder through forks (T10): what was captured, or brought back, before a fork moved
// counts as of the folder that the fork has in its place.
import { type Entry, rewoundIn } from '../log/entries.ts';

/** Returns `entries` with each captured folder under the name that it has at their end. */
export function withMovedRoots(entries: readonly Entry[]): readonly Entry[] {
  const names = new Map<string, string>();
  const nameOf = (root: string): string => names.get(root) ?? root;
  const renamed = entries.toReversed().map((entry): Entry => {
    if (entry.kind === 'notice' && entry.notice.kind === 'forked' && entry.notice.moved) {
      const { from, to } = entry.notice.moved;
      names.set(from, nameOf(to));
    }
    return names.size === 0 ? entry : renameRoots(entry, nameOf);
  });
  return names.size === 0 ? entries : renamed.toReversed();
}

function renameRoots(entry: Entry, nameOf: (root: string) => string): Entry {
  const rename = <Named extends { readonly root: string }>(roots: readonly Named[]): readonly Named[] =>
    roots.map((each) => ({ ...each, root: nameOf(each.root) }));
  if (entry.kind === 'files') return { ...entry, roots: rename(entry.roots) };
  const rewound = rewoundIn(entry);
  if (entry.kind !== 'steered' || !rewound) return entry;
  const { files, known } = rewound;
  const renamed = { ...rewound, ...(files && { files: rename(files) }), ...(known && { known: rename(known) }) };
  return { ...entry, steered: { ...entry.steered, rewound: renamed } };
}
