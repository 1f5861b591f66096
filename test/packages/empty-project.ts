// A project that has nothing but the packed tarball: what a user has after the first `npm install`.
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const execute = promisify(execFile);
export const root = fileURLToPath(new URL('../../', import.meta.url));

export type Done = { readonly status: number; readonly out: string; readonly err: string };

/** Runs a program to its end; never throws for its status. */
export async function runProgram(
  file: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: Readonly<Record<string, string | undefined>> },
): Promise<Done> {
  const env = { ...process.env, ...options.env };
  try {
    const { stdout, stderr } = await execute(file, [...args], { cwd: options.cwd, env, maxBuffer: 64 * 1024 * 1024 });
    return { status: 0, out: stdout, err: stderr };
  } catch (error) {
    const {
      code,
      stdout = '',
      stderr = '',
      message,
    } = error as NodeJS.ErrnoException & Partial<Record<'stdout' | 'stderr', string>>;
    if (typeof code !== 'number') throw new Error(`${file} did not run: ${message}`, { cause: error });
    return { status: code, out: stdout, err: stderr };
  }
}

async function mustRun(...[file, args, options]: Parameters<typeof runProgram>): Promise<string> {
  const { status, out, err } = await runProgram(file, args, options);
  if (status !== 0) throw new Error(`${file} ${args.join(' ')} ended with ${status}:\n${out}${err}`);
  return out;
}

/** Packs what is built; returns the tarball's path. */
export async function packed(folder: string): Promise<string> {
  const args = ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder];
  const out = await mustRun('npm', args, { cwd: root });
  return join(folder, out.trim().split('\n').at(-1) ?? '');
}

/** `manager`: which installs the tarball into it. */
export async function emptyProject(
  folder: string,
  tarball: string,
  manager: 'npm' | 'pnpm',
  more: readonly string[] = [],
) {
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'empty', version: '1.0.0', private: true }));
  if (manager === 'npm') {
    const args = ['install', '--no-audit', '--no-fund', '--prefer-offline', tarball, ...more];
    await mustRun('npm', args, { cwd: folder });
  } else {
    // The newest that runs on Node 20.
    const args = ['exec', '--yes', '--', 'pnpm@10.18.3', 'add', '--prefer-offline', tarball, ...more];
    await mustRun('npm', args, { cwd: folder });
  }
  return projectAt(folder);
}

export function projectAt(folder: string) {
  return {
    folder,
    write: (name: string, text: string): string => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    },
  };
}

/** Where each package of a scope lies, at any depth of an npm tree: `common` → its folders. */
export function copiesOf(scope: string, folder: string): ReadonlyMap<string, readonly string[]> {
  const copies = new Map<string, string[]>();
  const walk = (modules: string): void => {
    for (const entry of readdirSync(modules, { withFileTypes: true })) {
      if (!entry.isDirectory() || entry.name === '.bin') continue;
      const path = join(modules, entry.name);
      const packages = entry.name.startsWith('@') ? readdirSync(path).map((name) => join(path, name)) : [path];
      for (const each of packages) {
        if (entry.name === scope)
          copies.set(each.slice(path.length + 1), [...(copies.get(each.slice(path.length + 1)) ?? []), each]);
        if (readdirSync(each).includes('node_modules')) walk(join(each, 'node_modules'));
      }
    }
  };
  walk(join(folder, 'node_modules'));
  return copies;
}
