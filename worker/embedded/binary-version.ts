// Tells which Temporal server a `temporal` binary holds, and whether it will do.
import { execFile } from 'node:child_process';
import type { Programs } from '../../system/process/programs.ts';
import { releaseOf, sameSchema } from './server-record.ts';

/**
 * A `temporal` that can be started; `server` is the version of the server in it, such as 1.29.1.
 */
export type Binary = { readonly path: string; readonly server: string };

/** The oldest server that the tuning and the flags were measured with. */
const OLDEST = [1, 29] as const;

/** Resolves to the server's version, or to why it cannot be told. */
export async function binaryVersion(
  path: string,
  programs: Programs,
): Promise<{ server: string } | { problem: string }> {
  const output = await readVersionText(path, programs);
  const version = /\bServer (\d+\.\d+\.\d+)/.exec(output)?.[1];
  return version === undefined ? { problem: 'does not say which server it holds' } : { server: version };
}

/**
 * Returns undefined when the server will do. `wanted` is the version that made the database, null
 * for a new one.
 */
export function versionProblem(server: string, wanted: string | null): string | undefined {
  const [major, minor] = releaseOf(server);
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]))
    return `holds server ${server}, ${OLDEST.join('.')} or newer is needed`;
  if (wanted !== null && !sameSchema(server, wanted))
    return `holds server ${server}, the database was made by ${wanted}`;
  return undefined;
}

function readVersionText(path: string, programs: Programs): Promise<string> {
  return new Promise((resolve) => {
    execFile(path, ['--version'], { env: programs.environment(), cwd: '/', timeout: 10_000 }, (_error, stdout) =>
      resolve(stdout),
    );
  });
}
