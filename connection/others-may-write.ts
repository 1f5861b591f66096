// Checks that no other user can write a file that chooses policy: not the file itself, and not a
// folder on the way to it, where another file could be put in its place.
import { type Stats, lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { codeOf } from '../system/text.ts';

/** Bits of a file's mode. */
const GROUP = 0o020;
const OTHERS = 0o002;
const STICKY = 0o1000;
const ROOT = 0;
/** Links that are followed on the way to a file; the system follows no more either. */
const MOST_LINKS = 40;

/**
 * Returns the end of a sentence that says who else may write the file and what to do, or null. A
 * missing file is not judged.
 */
export function foreignWriterProblem(path: string): string | null {
  const user = process.getuid?.();
  if (user === undefined) return null;
  const own = ownersOf(user);
  for (const { at, stats } of listWay(resolve(path))) {
    if (!own.has(stats.uid))
      return `${at} belongs to another user of this machine (${stats.uid}), who may change it: run \`chown ${user} ${at}\`, or name a file of your own`;
    // A link has no mode of its own. In a sticky folder others may add names, but take none away.
    if (stats.isSymbolicLink() || (stats.isDirectory() && (stats.mode & STICKY) !== 0)) continue;
    if ((stats.mode & OTHERS) !== 0) return describeWritable(at, 'o-w');
    if ((stats.mode & GROUP) !== 0 && !isPrivateGroup(stats)) return describeWritable(at, 'g-w');
  }
  return null;
}

/** Judges a folder of skills, all of whose files are read as the operator's words. */
export function foreignSkillsWriterProblem(folder: string): string | null {
  const files = [folder, ...foldersIn(folder)].map((each) => join(each, 'SKILL.md'));
  for (const path of [folder, ...files]) {
    const found = foreignWriterProblem(path);
    if (found !== null) return found;
  }
  return null;
}

const describeWritable = (at: string, mode: string): string =>
  `${at} can be written by other users of this machine: run \`chmod ${mode} ${at}\``;

function foldersIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name));
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return [];
  }
}

type WayStep = { readonly at: string; readonly stats: Stats };

/** Lists the file, and each folder and link on the way to it, also on the way that a link leads. */
function listWay(path: string): readonly WayStep[] {
  const steps = new Map<string, WayStep>();
  let left = MOST_LINKS;
  const walk = (target: string): void => {
    const parent = dirname(target);
    if (parent !== target) walk(parent);
    const stats = lstatSync(target, { throwIfNoEntry: false });
    if (!stats || steps.has(target)) return;
    steps.set(target, { at: target, stats });
    if (stats.isSymbolicLink() && (left -= 1) >= 0) walk(resolve(realpathSync(parent), readlinkSync(target)));
  };
  walk(path);
  return [...steps.values()];
}

/**
 * Returns the users that a file may belong to. In a user namespace the owners of files outside of
 * it, root too, all look like one.
 */
function ownersOf(user: number): ReadonlySet<number> {
  const outside = isAllMapped() ? [] : [Number(readOrEmpty('/proc/sys/kernel/overflowuid').trim() || '65534')];
  return new Set([user, ROOT, ...outside]);
}

function isAllMapped(): boolean {
  const map = readOrEmpty('/proc/self/uid_map');
  return map === '' || /^\s*0\s+0\s+4294967295\s*$/.test(map);
}

/**
 * Tells whether a group has a user's name and number, and no other member, as many systems make one
 * for each user.
 */
function isPrivateGroup({ uid, gid }: Stats): boolean {
  if (uid !== gid) return false;
  const line = readOrEmpty('/etc/group')
    .split('\n')
    .map((each) => each.split(':'))
    .find(([, , id]) => id === String(gid));
  const [name = '', , , members = ''] = line ?? [];
  return members.split(',').every((member) => member === '' || member === name);
}

function readOrEmpty(path: string): string {
  return statSync(path, { throwIfNoEntry: false }) ? readFileSync(path, 'utf8') : '';
}
