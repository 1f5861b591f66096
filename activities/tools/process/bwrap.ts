// The arguments for bubblewrap: what a shell command can see and change of this machine's files.
import { existsSync, realpathSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join, sep } from 'node:path';

export type Confinement = {
  /** The workspace: an absolute real path. */
  readonly cwd: string;
  /** Where the command begins; the workspace when absent. */
  readonly dir?: string;
  /** Perdure's own data: hidden where it exists. */
  readonly dataDir?: string | undefined;
  /** Nothing at all is writable and there is no network: for commands that were judged to only read (L55). */
  readonly readOnly?: boolean;
};

type Mount = { readonly kind: '--bind' | '--ro-bind' | '--tmpfs' | '--dev' | '--proc'; readonly path: string };

/** What root keeps: enough to work on files of any owner, nothing that could undo a mount or make a device. */
const ROOT_CAPABILITIES = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'SETGID', 'SETUID'];

/** Everything up to the command itself. */
export function bwrapArguments(confinement: Confinement): string[] {
  const dataDir = existing(confinement.dataDir === undefined ? [] : [confinement.dataDir]);
  return [
    'bwrap',
    '--die-with-parent',
    '--unshare-pid',
    ...(confinement.readOnly === true ? ['--unshare-net'] : []),
    ...(process.getuid?.() === 0 ? keepCapabilities() : []),
    ...mounts(confinement, dataDir).flatMap(({ kind, path }) => (isNew(kind) ? [kind, path] : [kind, path, path])),
    ...dataDir.flatMap((path) => ['--remount-ro', path]),
    '--chdir',
    confinement.dir ?? confinement.cwd,
    '--',
  ];
}

/** Shallow before deep, so that a workspace inside the data folder stays in view, and a data folder inside the workspace does not. */
function mounts({ cwd, readOnly }: Confinement, dataDir: readonly string[]): readonly Mount[] {
  const workspace: Mount = { kind: readOnly === true ? '--ro-bind' : '--bind', path: cwd };
  const shared = readOnly === true ? [] : existing(sharedFolders());
  const all: readonly Mount[] = [
    { kind: cwd === sep ? workspace.kind : '--ro-bind', path: sep },
    { kind: '--dev', path: '/dev' },
    { kind: '--proc', path: '/proc' },
    ...dataDir.map((path) => ({ kind: '--tmpfs', path }) as const),
    ...shared.map((path) => ({ kind: '--bind', path }) as const),
    ...(cwd === sep ? [] : [workspace]),
  ];
  return all.toSorted((a, b) => depth(a.path) - depth(b.path));
}

/** What commands share with the rest of the machine: temporary files, and caches without which each install starts anew. */
function sharedFolders(): string[] {
  return ['/tmp', tmpdir(), process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), join(homedir(), '.npm')];
}

function existing(paths: readonly string[]): string[] {
  return [...new Set(paths.filter((path) => existsSync(path)).map((path) => realpathSync(path)))];
}

function isNew(kind: Mount['kind']): boolean {
  return kind === '--tmpfs' || kind === '--dev' || kind === '--proc';
}

function depth(path: string): number {
  return path.split(sep).filter((segment) => segment !== '').length;
}

function keepCapabilities(): string[] {
  return ['--cap-drop', 'ALL', ...ROOT_CAPABILITIES.flatMap((name) => ['--cap-add', `CAP_${name}`])];
}
