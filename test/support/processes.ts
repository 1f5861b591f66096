// The processes that work in a folder, by what /proc says of them.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

export function processesOf(folder: string): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const inside = readlinkSync(`/proc/${pid}/cwd`).startsWith(folder);
        const zombie = /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
        return inside && !zombie
          ? [`${pid} ${readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')}`]
          : [];
      } catch {
        // It ended while we looked.
        return [];
      }
    });
}

/** The arguments of a process and of all that it and its children started. */
export function argumentsOfDescendants(pid: number): readonly string[] {
  const read = (of: string, name: string): string => {
    try {
      return readFileSync(`/proc/${of}/${name}`, 'utf8');
    } catch {
      // It ended while we looked.
      return '';
    }
  };
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((child) => [child, /\) \S (\d+) /.exec(read(child, 'stat'))?.[1]] as const);
  const below = (of: string): readonly string[] => [
    read(of, 'cmdline').replaceAll('\0', ' '),
    ...parents.flatMap(([child, parent]) => (parent === of ? below(child) : [])),
  ];
  return below(String(pid));
}
