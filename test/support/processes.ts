// The processes that work in a folder, by what /proc says of them.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { allProcesses } from '../../system/process/proc.ts';

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
  const all = allProcesses();
  const below = (of: number): readonly string[] => [
    argumentsOf(of),
    ...all.flatMap((one) => (one.parent === of ? below(one.pid) : [])),
  ];
  return below(pid);
}

function argumentsOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    // It ended while we looked.
    return '';
  }
}
