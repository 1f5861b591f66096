// One embedded Temporal server for all files of the `server` tier: the product's own, on a data folder of its own.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { dataFolder } from '../../worker/embedded/data-folder.ts';
import { findBinary } from '../../worker/embedded/find-binary.ts';
import { joinServer } from '../../worker/embedded/join-server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    temporalAddress: string;
    /** Of the tier's workers; absent: the product's own. */
    maxCachedWorkflows?: number;
    /** The tier's sessions are replayed after each file. */
    replays?: true;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const root = mkdtempSync(join(tmpdir(), 'perdure-server-'));
  const folder = dataFolder({ PERDURE_DATA: root });
  const env = process.env;
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const binary = (wanted: string | null) => findBinary({ env, wanted, say });
  const embedded = await joinServer({ folder, role: 'command', worker: false, env, binary, say });
  project.provide('temporalAddress', embedded.address);
  return async () => {
    await embedded.leave();
    rmSync(root, { recursive: true, force: true });
  };
}
