// Which Temporal server a `temporal` binary holds, and whether it will do.
import { execFile } from 'node:child_process';
import type { Programs } from '../../activities/process/programs.ts';

/** A `temporal` that can be started; `server` is the version of the server in it, such as 1.29.1. */
export type Binary = { readonly path: string; readonly server: string };

/** Puts a binary in the folder `into` (absolute, there already) and returns its path, or says why not. */
export type BinarySource = (get: {
  readonly into: string;
  readonly programs: Programs;
  /** Progress for a person, one line each. */
  readonly say: (line: string) => void;
}) => Promise<{ readonly path: string } | { readonly problem: string }>;

/** The oldest server that the tuning and the flags were measured with. */
const OLDEST = [1, 29] as const;

/** The server's version, or why there is none to be had. */
export async function binaryVersion(
  path: string,
  programs: Programs,
): Promise<{ server: string } | { problem: string }> {
  const said = await run(path, programs);
  const version = /\bServer (\d+\.\d+\.\d+)/.exec(said)?.[1];
  return version === undefined ? { problem: 'does not say which server it holds' } : { server: version };
}

/** Undefined when it will do. `wanted` is the version that made the database, null for a new one. */
export function versionProblem(server: string, wanted: string | null): string | undefined {
  const [major, minor] = numbers(server);
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]))
    return `holds server ${server}, ${OLDEST.join('.')} or newer is needed`;
  if (wanted !== null && !sameSchema(server, wanted))
    return `holds server ${server}, the database was made by ${wanted}`;
  return undefined;
}

/** Temporal changes its schema only in minor releases, and a dev server does not migrate a database. */
export function sameSchema(a: string, b: string): boolean {
  return numbers(a).join('.') === numbers(b).join('.');
}

function numbers(version: string): readonly [number, number] {
  const [major, minor] = version.split('.').map(Number);
  return [major ?? 0, minor ?? 0];
}

function run(path: string, programs: Programs): Promise<string> {
  return new Promise((resolve) => {
    execFile(path, ['--version'], { env: programs.environment(), cwd: '/', timeout: 10_000 }, (_error, stdout) =>
      resolve(stdout),
    );
  });
}
